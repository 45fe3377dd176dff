"""In memory, out of core and on Dask, the same blocks give the same graph and the same labels."""

import dask
import dask.array
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from kedge import MSGL, SGL
from kedge.engines import choose

X, _ = make_blobs(90, n_features=5, centers=4, random_state=0)
OPTIONS = [
    {},
    {"beta": 0.3},
    {"n_anchors": 12},
    {"structure": "exact"},
    {"signed": True, "alpha": 3.0},
    {"scale": "zscore"},
    {"scale": "minmax", "structure": "exact"},
]


@st.composite
def partitions(draw):
    """Draw block sizes that add up to all rows: also blocks of one row, and an empty last one."""
    cuts = draw(st.lists(st.integers(1, 89), max_size=8, unique=True))
    ends = np.array([0, *sorted(cuts), 90])
    return [*np.diff(ends).tolist(), *([0] if draw(st.booleans()) else [])]


def slices_of(sizes):
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def fit_everywhere(make, sizes, tmp_path_factory, parts):
    """Return the models of one fit: in memory, from files, from Dask arrays, all with these blocks."""
    folder = tmp_path_factory.mktemp("views")
    for number, part in enumerate(parts):
        np.save(folder / f"{number}.npy", part)
    files = [folder / f"{number}.npy" for number in range(len(parts))]
    lazy = [dask.array.from_array(part, chunks=(tuple(sizes), -1)) for part in parts]
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="synchronous"):
        patch.setattr(choose, "cut_rows", lambda n_rows, step: slices_of(sizes))
        return [make().fit(given if len(parts) > 1 else given[0]) for given in (parts, files, lazy)]


def assert_same(models):
    first, stored, lazy = models
    graphs = [first.graph_.toarray(), stored.graph_.to_csr().toarray(), lazy.graph_.compute().toarray()]
    embeddings = [np.asarray(model.embedding_) for model in models]
    for graph, embedding, model in zip(graphs, embeddings, models, strict=True):
        np.testing.assert_allclose(graph, graphs[0], atol=1e-10)
        np.testing.assert_allclose(embedding, embeddings[0], atol=1e-10)
        np.testing.assert_array_equal(np.asarray(model.labels_), first.labels_)
        np.testing.assert_allclose(model.objective_, first.objective_, rtol=1e-12)
        assert model.n_components_ == first.n_components_


@given(partitions(), st.sampled_from(OPTIONS))
@settings(max_examples=20, deadline=None)
def test_one_view(tmp_path_factory, sizes, options):
    assert_same(fit_everywhere(lambda: SGL(4, random_state=0, **options), sizes, tmp_path_factory, [X]))


@given(partitions(), st.booleans())
@settings(max_examples=8, deadline=None)
def test_several_views_with_gaps(tmp_path_factory, sizes, gaps):
    views = [X[:, :3].copy(), X[:, 3:].copy(), X @ np.random.default_rng(0).normal(size=(5, 4))]
    if gaps:
        views[1][::7] = np.nan
    assert_same(fit_everywhere(lambda: MSGL(4, random_state=0), sizes, tmp_path_factory, views))
