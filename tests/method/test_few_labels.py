"""Classes from a few labels, and which rows are worth one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

import kedge
from kedge import MSGL, SGL, SGLClassifier, few_labels
from kedge.datasets import make_multiview
from kedge.nearest_rows import NearestRows
from kedge.readers.sparse_files import save_csr


@parametrize_with_checks([SGLClassifier()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900]


def hide(y, per_class, seed=0):
    """Return y with -1 for all but some rows of every class, and these rows."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == one), per_class, replace=False) for one in np.unique(y)])
    known = np.full(len(y), -1)
    known[rows] = y[rows]
    return known, rows


@pytest.fixture(scope="module")
def fitted(digits):
    X, y = digits
    known, rows = hide(y, 5)
    return SGLClassifier(random_state=0).fit(X, known), known, rows


def test_five_labels_per_class_are_enough_for_digits():
    X, y = load_digits(return_X_y=True)
    known, rows = hide(y, 5)
    hidden = known < 0
    mine = (SGLClassifier(random_state=0).fit(X, known).transduction_ == y)[hidden].mean()
    rival = KNeighborsClassifier(1).fit(X[rows], y[rows]).score(X[hidden], y[hidden])
    assert mine > 0.95 > rival + 0.05


def test_rows_of_the_fit_are_predicted_as_in_the_fit(digits, fitted):
    X, _ = digits
    model, known, _ = fitted
    hidden = known < 0
    np.testing.assert_array_equal(model.predict(X)[hidden], model.transduction_[hidden])
    np.testing.assert_allclose(model.predict_proba(X)[hidden], model.label_distributions_[hidden], atol=1e-7)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)


def test_probabilities_are_near_the_accuracy(digits, fitted):
    _, y = digits
    model, known, _ = fitted
    hidden = known < 0
    sure = model.label_distributions_[hidden].max(axis=1)
    right = (model.transduction_ == y)[hidden]
    assert abs(sure.mean() - right.mean()) < 0.05
    doubtful = sure < 0.7
    assert doubtful.any()
    assert right[doubtful].mean() < 0.9 < right[~doubtful].mean()


def test_the_power_of_scores_follows_labels_that_are_held_out():
    X, y = make_blobs(2000, centers=4, cluster_std=0.5, random_state=0)
    distinct = SGLClassifier(random_state=0).fit(X, hide(y, 25)[0])
    X, y = make_blobs(2000, centers=4, cluster_std=2.5, random_state=0)
    overlapping = SGLClassifier(random_state=0).fit(X, hide(y, 25)[0])
    assert overlapping.sharpness_ < 1.5 < few_labels.SHARPNESS < distinct.sharpness_
    # With one label per class, none can be held out.
    lone = SGLClassifier(random_state=0).fit(X, hide(y, 1)[0])
    assert lone.sharpness_ == pytest.approx(few_labels.SHARPNESS)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_near_the_accuracy_where_classes_overlap(seed):
    X, y = make_blobs(2000, centers=4, cluster_std=2.5, random_state=seed)
    known, _ = hide(y, 25, seed)
    model = SGLClassifier(random_state=0).fit(X, known)
    sure = model.label_distributions_[known < 0].max(axis=1)
    right = (model.transduction_ == y)[known < 0]
    assert abs(sure.mean() - right.mean()) < 0.1
    for low, high in ((0.3, 0.6), (0.6, 0.8), (0.8, 1.0)):
        some = (sure > low) & (sure <= high)
        if some.sum() > 100:
            assert abs(sure[some].mean() - right[some].mean()) < 0.2


LETTERS = np.array(list("abcdefghij"), dtype=object)


@pytest.mark.parametrize(
    "hidden",
    [
        pytest.param(lambda y: np.where(y < 0, None, LETTERS[y]), id="None"),
        pytest.param(lambda y: np.where(y < 0, "", LETTERS[y]).astype(str), id="empty text"),
        pytest.param(lambda y: np.where(y < 0, np.nan, LETTERS[y]), id="NaN in text"),
        pytest.param(lambda y: pd.Series(np.where(y < 0, None, LETTERS[y])), id="series"),
        pytest.param(lambda y: pd.Series(pd.array(np.where(y < 0, None, y), dtype="Int64")), id="pandas.NA"),
        pytest.param(lambda y: pd.Series(np.where(y < 0, None, y)).astype("category"), id="categories"),
        pytest.param(lambda y: np.where(y < 0, np.nan, y.astype(float)), id="NaN"),
        pytest.param(lambda y: y.tolist(), id="list"),
    ],
)
def test_unknown_labels_may_be_written_in_many_ways(hidden):
    X, y = make_blobs(200, centers=10, cluster_std=0.3, random_state=0)
    known, _ = hide(y, 2)
    model, other = (SGLClassifier(random_state=0).fit(X, one) for one in (known, hidden(known)))
    assert len(other.classes_) == 10
    np.testing.assert_array_equal(np.searchsorted(other.classes_, other.transduction_), model.transduction_)


def test_given_labels_are_kept_unless_they_may_be_overruled(digits):
    X, y = digits
    known, rows = hide(y, 20)
    wrong = rows[::20]
    known[wrong] = (y[wrong] + 1) % 10
    kept = SGLClassifier(random_state=0).fit(X, known)
    np.testing.assert_array_equal(kept.transduction_[rows], known[rows])
    overruled = SGLClassifier(keep_labels=False, random_state=0).fit(X, known)
    assert (overruled.transduction_[wrong] == y[wrong]).mean() > 0.7


def test_wrong_labels_do_little_harm_and_are_named(digits):
    X, y = digits
    known, rows = hide(y, 30)
    rng = np.random.default_rng(0)
    wrong = rng.choice(rows, len(rows) // 5, replace=False)
    noisy = known.copy()
    noisy[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    hidden = known < 0
    model = SGLClassifier(random_state=0).fit(X, noisy)
    clean = SGLClassifier(random_state=0).fit(X, known)
    assert (model.transduction_ == y)[hidden].mean() > (clean.transduction_ == y)[hidden].mean() - 0.02
    named = model.label_disagreement_
    assert np.isin(wrong, named).mean() > 0.9
    assert np.isin(named, wrong).mean() > 0.9
    assert np.isin(named, rows).all()
    assert len(clean.label_disagreement_) < 0.05 * len(rows)


def test_disagreement_of_many_labels_is_that_of_single_solves(digits):
    # With more labels than anchors, all leverages come from one inverse.
    X, y = digits
    rng = np.random.default_rng(0)
    X, y = np.repeat(X, 12, axis=0) + rng.normal(size=(12 * len(X), X.shape[1])), np.repeat(y, 12)
    model = SGLClassifier(n_anchors=150, random_state=0).fit(X, y)
    assert len(y) > model.graph_.shape[1] + model.community_shares_.shape[1]
    evidence_of = [model.graph_, model.community_shares_, model.labelled_rows_, model.labelled_classes_]
    labelled, targets = few_labels.evidence(*evidence_of, model.community_classes_)
    system = few_labels.label_system(model.graph_, labelled, model.community_shares_)
    others = few_labels.scores_of_others(system, targets, model.class_scores_)
    for row in (0, 4000, len(y) - 1):
        kept = np.arange(len(y)) != row
        without = replace(system, labelled=labelled[kept]).solve(targets[kept])
        np.testing.assert_allclose(others[row], labelled[[row]].toarray()[0] @ without, atol=1e-5)


@pytest.mark.parametrize("parameters", [{}, {"new_classes": "auto"}, {"keep_labels": False}])
def test_other_labels_for_the_same_graph_are_as_a_new_fit(digits, parameters):
    X, y = digits
    few, many = hide(y, 5)[0], hide(y, 20, seed=1)[0]
    model = SGLClassifier(random_state=0, **parameters).fit(X, few).update_labels(many)
    fresh = SGLClassifier(random_state=0, **parameters).fit(X, many)
    np.testing.assert_array_equal(model.label_distributions_, fresh.label_distributions_)
    np.testing.assert_array_equal(model.label_disagreement_, fresh.label_disagreement_)
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


def test_labels_are_updated_wholly_or_not_at_all(digits, fitted):
    model, known, _ = fitted
    before = model.label_distributions_.copy()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.update_labels(known[:-1])
    with pytest.raises(ValueError, match="y has no label"):
        model.update_labels(np.full(len(known), -1))
    np.testing.assert_array_equal(model.label_distributions_, before)
    with pytest.raises(NotFittedError):
        SGLClassifier().update_labels(known)


def test_rows_that_no_label_reaches_get_equal_probabilities():
    # Two groups so far apart that no row of one shares an anchor or a community with the other.
    X, part = make_blobs([150, 150], centers=[[0, 0], [1000, 0]], random_state=0)
    y = np.where(part == 0, (X[:, 1] > 0).astype(int), -1)
    model = SGLClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_[part == 1], 0.5)
    prior = SGLClassifier(class_prior=[0.2, 0.8], random_state=0).fit(X, y)
    np.testing.assert_allclose(prior.label_distributions_[part == 1], [[0.2, 0.8]] * 150)


@pytest.mark.parametrize("per_class", [3, 10, 50])
def test_clusters_without_labels_become_classes(digits, per_class):
    X, y = digits
    known, _ = hide(y, per_class)
    known[np.isin(known, [3, 6, 7])] = -1
    model = SGLClassifier(new_classes="auto", random_state=0).fit(X, known)
    assert model.classes_[:7].tolist() == [0, 1, 2, 4, 5, 8, 9]
    assert len(model.classes_) >= 10
    for missing in (3, 6, 7):
        found, counts = np.unique(model.transduction_[y == missing], return_counts=True)
        best = found[counts.argmax()]
        assert best > 9
        assert (y[model.transduction_ == best] == missing).mean() > 0.8
    text = np.where(known < 0, "", LETTERS[known])
    named = SGLClassifier(new_classes="auto", random_state=0).fit(X, text)
    assert named.classes_[7:10].tolist() == ["new 1", "new 2", "new 3"]


def test_no_class_is_new_if_all_clusters_have_labels():
    X, y = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    known, _ = hide(y, 3)
    model = SGLClassifier(new_classes="auto", random_state=0).fit(X, known)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert (model.transduction_ == y).mean() > 0.95


def test_a_prior_moves_the_sizes_of_classes_towards_it():
    X, y = make_blobs([700, 100], centers=[[0, 0], [2.5, 0]], random_state=0)
    known, _ = hide(y, 2)
    sizes = [
        (SGLClassifier(class_prior=prior, random_state=0).fit(X, known).transduction_ == 1).mean()
        for prior in ([0.3, 0.7], [0.95, 0.05])
    ]
    assert sizes[0] > sizes[1]


def test_the_true_sizes_as_prior_raise_the_accuracy():
    X, y = make_blobs([1800, 200], centers=[[0, 0], [2.5, 0]], random_state=0)
    accuracies = []
    for prior in (None, [0.9, 0.1]):
        for seed in range(5):
            known, _ = hide(y, 2, seed)
            found = SGLClassifier(class_prior=prior, random_state=0).fit(X, known).transduction_
            accuracies.append((found == y).mean())
    assert np.mean(accuracies[5:]) > np.mean(accuracies[:5]) + 0.02


def test_minus_one_and_another_number_are_two_classes():
    X, y = make_moons(100, noise=0.05, random_state=0)
    with pytest.warns(UserWarning, match="both are classes"):
        model = SGLClassifier(random_state=0).fit(X, np.where(y == 1, 1, -1))
    assert model.classes_.tolist() == [-1, 1]


def test_views_of_every_form(subtests):
    views, y = make_multiview(400, n_clusters=4, n_views=3, n_features=(10, 20, 5), missing=0.2, random_state=0)
    known, _ = hide(y, 3)
    joined = np.hstack(views)
    for X, parameters in ((views, {}), (dict(zip("abc", views, strict=True)), {}), (joined, {"views": [10, 20, 5]})):
        with subtests.test(kind=type(X).__name__):
            model = SGLClassifier(random_state=0, **parameters).fit(X, known)
            assert (model.transduction_ == y).mean() > 0.9
            assert (model.predict(X) == y).mean() > 0.9


def test_rows_on_disk_sparse_rows_and_dask_give_the_same_classes(digits, fitted, tmp_path, subtests):
    model, known, _ = fitted
    X, _ = digits
    np.save(tmp_path / "digits.npy", X)
    da = pytest.importorskip("dask.array")
    for kind, rows in (("disk", tmp_path / "digits.npy"), ("dask", da.from_array(X, chunks=(500, -1)))):
        with subtests.test(kind=kind):
            other = SGLClassifier(random_state=0).fit(rows, known)
            np.testing.assert_array_equal(other.transduction_, model.transduction_)
            np.testing.assert_array_equal(other.predict(rows), model.predict(X))
            np.testing.assert_array_equal(other.label_disagreement_, model.label_disagreement_)
    other = SGLClassifier(scale="none", random_state=0).fit(sparse.csr_array(X), known)
    assert (other.transduction_ == model.transduction_).mean() > 0.95


def test_it_works_in_pipelines_searches_and_cross_validation():
    X, y = make_blobs(300, centers=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), SGLClassifier(random_state=0))
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.85
    search = GridSearchCV(SGLClassifier(random_state=0), {"scale": ["none", "zscore"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85


def test_threads_change_nothing(digits, fitted):
    model, known, _ = fitted
    one = SGLClassifier(random_state=0, n_jobs=1).fit(digits[0], known)
    np.testing.assert_array_equal(one.label_distributions_, model.label_distributions_)


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        ([-1] * 40, {}, "y has no label"),
        ([None] * 40, {}, "y has no label"),
        ([0, 1] * 20, {"class_prior": [1.0]}, "class_prior must hold a positive number for each of the 2 classes"),
        ([0, 1] * 20, {"class_prior": [1.0, -1.0]}, "class_prior must hold a positive number"),
        ([0, 1] * 20, {"class_prior": [1, 1], "new_classes": "auto"}, "leave out class_prior or new_classes"),
        (["a", 1] * 20, {}, "y mixes text with other labels, such as 1"),
        ([0.5, 1.5, np.nan, 2.0] * 10, {}, "Unknown label type"),
        ([0, 1] * 19, {}, "inconsistent numbers of samples"),
    ],
)
def test_bad_labels_and_priors_are_refused_clearly(y, parameters, message):
    X, _ = make_blobs(40, random_state=0)
    with pytest.raises(ValueError, match=message):
        SGLClassifier(**parameters).fit(X, y)


def test_a_fit_does_not_change_the_parameters(fitted):
    model, _, _ = fitted
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("make", [SGL, MSGL])
def test_rows_to_label_are_spread_over_the_clusters(make):
    X, y = make_blobs(600, centers=6, cluster_std=0.4, random_state=2)
    rows = make(6, random_state=0).fit(X).rows_to_label(6)
    assert sorted(y[rows]) == list(range(6))


@pytest.mark.parametrize(
    "parameters",
    [{"structure": "exact", "n_anchors": 60}, {"signed": True}, {"partition": "spectral"}, {"beta": 0.2}],
    ids=lambda parameters: next(iter(parameters)),
)
def test_rows_to_label_after_other_fits(parameters):
    X, y = make_blobs(300, centers=3, n_features=8, random_state=0)
    rows = SGL(3, random_state=0, **parameters).fit(X).rows_to_label(3)
    assert sorted(y[rows]) == [0, 1, 2]


def test_rows_to_label_beat_twice_as_many_random_rows(digits):
    X, y = digits
    asked = SGL(10, random_state=0).fit(X).rows_to_label(15)
    assert len(set(asked.tolist())) == 15

    def accuracy(rows):
        known = np.full(len(y), -1)
        known[rows] = y[rows]
        return (SGLClassifier(random_state=0).fit(X, known).transduction_ == y).mean()

    random = [accuracy(np.random.default_rng(seed).choice(len(y), 30, replace=False)) for seed in range(3)]
    assert accuracy(asked) > np.mean(random)


def test_rows_to_label_leave_out_what_has_a_label(fitted):
    model, _, rows = fitted
    assert not np.isin(model.rows_to_label(40), rows).any()


@pytest.mark.parametrize("n_rows", [0, 2.5, "all"])
def test_rows_to_label_refuse_what_is_no_count(fitted, n_rows):
    with pytest.raises((ValueError, TypeError), match="n_rows"):
        fitted[0].rows_to_label(n_rows)


@pytest.fixture(scope="module")
def documents():
    """Return sparse counts of words: four topics, and in each of them many themes with rare words of their own."""
    rng = np.random.default_rng(0)
    topic, theme = rng.integers(4, size=600), rng.integers(15, size=600)
    rates = np.full((600, 400), 0.02)
    for number in range(4):
        rates[topic == number, 40 * number : 40 * number + 40] = 0.15
    for row, own in enumerate(15 * topic + theme):
        rates[row, 160 + 4 * own : 164 + 4 * own] = 1.0
    return sparse.csr_array(rng.poisson(rates).astype(float)), topic, theme % 2


def test_few_sparse_rows_are_joined_to_their_nearest_rows(documents):
    # Whether the theme is even shows in rare words only.
    X, topic, is_odd = documents
    y = 2 * topic + is_odd
    known, _ = hide(y, 20)
    model = SGLClassifier(random_state=0).fit(X, known)
    dense = SGLClassifier(random_state=0).fit(X.toarray(), known)
    assert dense.row_graph_ is None
    assert (np.diff(model.row_graph_.indptr) == 10).all()
    hidden = known < 0
    accuracies = [(one.transduction_ == y)[hidden].mean() for one in (model, dense)]
    assert accuracies[0] > accuracies[1] + 0.05


def test_the_nearest_rows_are_those_that_scikit_learn_finds(documents):
    X, y, _ = documents
    model = SGLClassifier(scale="l2", random_state=0).fit(X, hide(y, 5)[0])
    scaled = normalize(X)
    farthest = NearestNeighbors(n_neighbors=10).fit(scaled).kneighbors(scaled)[0][:, -1]
    found = np.repeat(np.arange(600), 10), model.row_graph_.indices
    distances = np.linalg.norm((scaled[found[0]] - scaled[found[1]]).toarray(), axis=1).reshape(600, 10)
    np.testing.assert_allclose(distances.max(axis=1), farthest, atol=1e-7)


def test_nearest_rows_weigh_views_and_leave_out_those_that_a_row_lacks():
    rng = np.random.default_rng(0)
    fitted = [rng.normal(size=(40, 3)), rng.normal(size=(40, 5))]
    views = [sparse.csr_array(rng.normal(size=(6, 3))), rng.normal(size=(6, 5))]
    observed = np.array([[True, True], [True, False], [False, True]] * 2)
    views = [sparse.csr_array(views[0].toarray() * observed[:, :1]), views[1] * observed[:, 1:]]
    search = NearestRows([sparse.csr_array(fitted[0]), fitted[1]], [0.2, 5.0], [])
    found = search.find(views, observed)
    for row, seen in enumerate(observed):
        dense = [views[0].toarray()[row], views[1][row]]
        far = sum(
            weight * np.square(own - one).sum(axis=1)
            for own, one, weight, here in zip(fitted, dense, (0.2, 5.0), seen, strict=True)
            if here
        )
        assert found[[row]].indices.tolist() == np.sort(np.argsort(far)[:10]).tolist()
    np.testing.assert_allclose(found.data, 0.1)


def test_a_new_class_counts_as_many_labels_as_another(digits):
    X, y = digits
    known, rows = hide(np.where(y == 9, 8, y), 6)
    graph = SGL(10, random_state=0).fit(X)
    of_communities = np.full(graph.community_shares_.shape[1], -1)
    of_communities[[0, 1, 2]] = [9, 9, 10]
    evidence = few_labels.evidence(graph.graph_, graph.community_shares_, rows, known[rows], of_communities)
    np.testing.assert_allclose(np.square(evidence[1]).sum(axis=0), [6] * 11)


def test_joined_rows_are_predicted_as_in_the_fit(documents, tmp_path, subtests):
    X, y, _ = documents
    known, _ = hide(y, 5)
    model = SGLClassifier(random_state=0).fit(X, known)
    hidden = known < 0
    np.testing.assert_allclose(model.predict_proba(X)[hidden], model.label_distributions_[hidden], atol=1e-7)
    kedge.save(model, tmp_path / "model.kedge")
    save_csr(tmp_path / "documents", X)
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X.toarray(), chunks=(250, -1)).map_blocks(sparse.csr_array)
    others = {
        "dask": SGLClassifier(random_state=0).fit(lazy, known),
        "saved": kedge.load(tmp_path / "model.kedge"),
        "on disk": SGLClassifier(random_state=0).fit(tmp_path / "documents", known),
        "one thread": SGLClassifier(random_state=0, n_jobs=1).fit(X, known),
    }
    for name, other in others.items():
        with subtests.test(name):
            np.testing.assert_array_equal(other.transduction_, model.transduction_)
            np.testing.assert_array_equal(other.predict(X[:50]), model.predict(X[:50]))
            np.testing.assert_array_equal(other.label_disagreement_, model.label_disagreement_)
    single = SGLClassifier(random_state=0).fit(X.astype(np.float32), known)
    assert (single.transduction_ == model.transduction_).mean() > 0.98


def test_sparse_rows_beside_a_dense_view_that_some_new_rows_lack(documents):
    X, y, _ = documents
    rng = np.random.default_rng(0)
    views = [X, np.eye(4)[y] + rng.normal(scale=0.3, size=(600, 4))]
    known, _ = hide(y, 5)
    model = SGLClassifier(random_state=0).fit(views, known)
    assert model.row_graph_.shape == (600, 600)
    assert (model.predict(views) == model.transduction_)[known < 0].all()
    for lacking in (0, 1):
        some = [None if number == lacking else view for number, view in enumerate(views)]
        assert (model.predict(some) == y).mean() > 0.8
    observed = rng.random((600, 2)) > 0.2
    observed[~observed.any(axis=1)] = True
    assert SGLClassifier(random_state=0).fit(views, known, observed=observed).row_graph_ is None
