"""What notebooks show below the parameters of a fitted model."""

import numpy as np

from kedge import MSGL, SGL
from kedge.clusterer import summary_html


def test_nothing_is_added_before_a_fit():
    assert summary_html(SGL(2)) == ""


def test_clusters_sizes_confidence_and_weights_are_told():
    X = np.random.default_rng(0).normal(size=(50, 3)) + 9 * (np.arange(50) < 20)[:, None]
    model = MSGL(2, random_state=0).fit({"<script>": X, "second": X + 1})
    shown = model._repr_mimebundle_()["text/html"]
    assert "50 rows in 2 clusters" in shown
    assert "of 20, 30 rows" in shown
    assert f"{100 * (model.confidence_ < 0.5).mean():.1f} % of the rows" in shown
    assert f"&lt;script&gt; {model.view_weights_[0]:.3f}" in shown
    assert "<script>:" not in shown
    assert "sk-top-container" in shown


def test_many_clusters_are_cut_short():
    X = np.random.default_rng(0).normal(size=(200, 3))
    shown = summary_html(SGL(30, random_state=0).fit(X))
    assert "and 18 more from" in shown
