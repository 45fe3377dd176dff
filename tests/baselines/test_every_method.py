"""What holds for every baseline: scikit-learn's checks, seeds, refusals."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from kedge.baselines import available
from kedge.baselines.base import Baseline, MultiViewBaseline
from kedge.datasets import make_union_of_subspaces

METHODS = [method.estimator for method in available()]
X, Y = make_union_of_subspaces(90, n_subspaces=3, dim=2, ambient_dim=12, random_state=0)


@pytest.mark.check
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([method() for method in METHODS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_one_seed_gives_one_result(method):
    model = method(3, random_state=7)
    first, second = clone(model).fit(X), clone(model).fit(X)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(model.fit_predict(X), first.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_labels_are_numbered_by_their_first_rows(method):
    labels = method(3, random_state=0).fit_predict(X)
    assert labels.dtype == np.int64
    found, first = np.unique(labels, return_index=True)
    np.testing.assert_array_equal(found, np.arange(len(found)))
    assert (np.diff(first) > 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_is_allowed_and_input_stays_as_it_is(method):
    rows = X.copy()
    rows.setflags(write=False)
    assert not method(1, random_state=0).fit(rows).labels_.any()
    np.testing.assert_array_equal(rows, X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_awkward_rows_are_placed_somewhere(method):
    rows = np.concatenate([X, np.zeros((2, 12)), X[:3], X[:3], -X[5:7]])
    labels = method(3, random_state=0).fit_predict(rows)
    assert set(labels) <= {0, 1, 2}


@pytest.mark.parametrize("method", METHODS)
def test_more_clusters_than_rows_are_refused(method):
    with pytest.raises(ValueError, match="n_samples=4 should be >= n_clusters=5"):
        method(5).fit(X[:4])


@pytest.mark.parametrize("method", METHODS)
def test_a_size_that_does_not_fit_is_refused_before_anything_large_is_allocated(method):
    rows = sparse.csr_array((3_000_000, 2))
    model = method(3, memory_limit=1e6)
    needs = model.memory_needed(*rows.shape)
    assert needs > 1e7
    tracemalloc.start()
    with pytest.raises(
        MemoryError, match=rf"^{method.__name__} of 3,000,000 rows needs about {needs / 2**30:,.1f} GiB"
    ):
        model.fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # what checks of the sparse matrix itself take
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("method", METHODS)
def test_memory_grows_with_the_rows_and_tells_how_many_fit(method):
    model = method(3)
    most = model.largest_n(24e9)
    assert model.memory_needed(most, 100) <= 24e9 < model.memory_needed(2 * most, 100)
    assert isinstance(model, Baseline)


@pytest.mark.parametrize("method", [m for m in METHODS if issubclass(m, MultiViewBaseline)])
def test_rows_that_lack_a_view_are_refused_by_name(method):
    other = X.copy()
    other[4] = np.nan
    with pytest.raises(ValueError, match="row 4 has NaN throughout 'words'"):
        method(3).fit({"pixels": X, "words": other})


def test_libraries_have_one_thread_inside_a_fit_but_for_those_of_scikit_learn(monkeypatch):
    seen = {}
    for method in METHODS:

        def look(self, *arguments, _method=method, **options):
            seen[_method] = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
            raise KeyboardInterrupt

        monkeypatch.setattr(method, "_cluster", look)
        monkeypatch.setattr(method, "_cluster_scaled", look, raising=False)
        with threadpool_limits(limits=2, user_api="blas"), pytest.raises(KeyboardInterrupt):
            method(3).fit(X)
    assert {method.__name__ for method, count in seen.items() if count > 1} == {"KMeans", "SpectralClustering"}
