"""The number of clusters where it is left to the data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from benchmarks.automatic.cluster_counts import draw_clouds, draw_subspaces
from kedge import MSGL, SGL
from kedge.model.cluster_evidence import count_clusters

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COUNTS = range(2, 21)


@pytest.mark.parametrize("n_clusters", COUNTS)
@pytest.mark.parametrize("make", [draw_clouds, draw_subspaces])
def test_clusters_apart_are_counted_exactly(make, n_clusters):
    for seed in (0, 1):
        found = count_clusters(make(n_clusters, seed), 2, 40, np.random.RandomState(0))
        assert found.counts[0] == n_clusters


@pytest.mark.parametrize("n_clusters", [3, 9])
def test_a_fit_takes_the_number_that_was_found(n_clusters):
    model = SGL("auto", random_state=0).fit(draw_clouds(n_clusters, 5))
    assert model.n_clusters_ == n_clusters == len(np.unique(model.labels_))
    assert model.n_clusters == "auto"
    report = model.auto_report_["n_clusters"]
    assert (report["chosen"], report["second"], report["closeness"]) == (n_clusters, None, 0.0)
    assert model.embedding_.shape[1] == n_clusters == len(model.get_feature_names_out())


def test_digits_are_about_ten_and_the_second_guess_is_told():
    report = SGL("auto", random_state=0).fit(load_digits().data).auto_report_["n_clusters"]
    assert 8 <= report["chosen"] <= 12
    assert report["from"] == "gaps"
    assert report["second"] != report["chosen"]
    scores = [one["score"] for one in report["ranked"]]
    assert scores == sorted(scores, reverse=True)
    assert report["closeness"] == pytest.approx(scores[1] / scores[0])


def test_sparse_rows_are_counted_like_dense_ones():
    X = np.kron(np.eye(5), np.random.RandomState(0).uniform(0.1, 1.0, (30, 3)))
    dense, thin = (count_clusters(rows, 2, 20, np.random.RandomState(0)) for rows in (X, sparse.csr_array(X)))
    assert dense.counts == thin.counts == [5]


def test_the_range_is_kept():
    X = load_digits().data[:500]
    for least, most in ((2, 5), (14, 20)):
        model = SGL("auto", n_clusters_range=(least, most), random_state=0).fit(X)
        assert least <= model.n_clusters_ <= most
        assert model.auto_report_["n_clusters"]["range"] == [least, most]


def test_several_views_are_counted_together():
    X = draw_clouds(5, 2, n_features=12)
    model = MSGL("auto", random_state=0).fit([X[:, :6], X[:, 6:]])
    assert model.n_clusters_ == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [((2, 3, 4), "two whole numbers"), ((2.0, 5), "two whole numbers"), ((1, 5), "2 <= least"), ((9, 4), "2 <= least")],
)
def test_a_range_that_makes_no_sense_says_so(given, message):
    with pytest.raises(ValueError, match=message):
        SGL("auto", n_clusters_range=given).fit(draw_clouds(3, 0))


def test_few_rows_ask_for_a_number():
    with pytest.raises(ValueError, match="at least 4 rows"):
        SGL("auto").fit(np.eye(3))
    assert SGL("auto", random_state=0).fit(np.eye(6)).n_clusters_ >= 2


def test_equal_rows_do_not_break_the_count():
    assert SGL("auto", random_state=0).fit(np.ones((30, 3))).n_clusters_ >= 2
