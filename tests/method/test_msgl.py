"""MSGL: what several views must and must not change."""

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from kedge import MSGL, SGL
from kedge.datasets import make_multiview, make_union_of_subspaces

VIEWS, Y = make_multiview(240, n_clusters=4, n_views=3, n_features=(6, 9, 12), noise=0.3, random_state=0)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([MSGL()])
def test_scikit_learn_checks_of_the_one_array_form(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "options", [{}, {"beta": 0.3}, {"locality": 0.5}, {"structure": "exact"}, {"n_init": 3}, {"n_anchors": 30}]
)
def test_one_view_is_sgl(options):
    X = load_digits().data[:300]
    several = MSGL(10, scale="none", random_state=0, **options).fit([X])
    single = SGL(10, random_state=0, **options).fit(X)
    np.testing.assert_allclose(several.graph_.toarray(), single.graph_.toarray(), atol=1e-10)
    np.testing.assert_allclose(several.objective_, single.objective_, rtol=1e-10)
    np.testing.assert_array_equal(several.labels_, single.labels_)
    np.testing.assert_array_equal(several.view_weights_, [1.0])
    np.testing.assert_array_equal(several.predict([X]), single.predict(X))
    np.testing.assert_allclose(several.transform([X[:50]]), single.transform(X[:50]), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"beta": 0.2}, {"structure": "exact"}])
def test_one_view_given_twice_is_that_view_alone(options):
    X, alone = VIEWS[1], {"n_anchors": 25, "scale": "zscore_l2", "random_state": 0, **options}
    rng = np.random.default_rng(0)
    anchors = X[rng.choice(240, 25, replace=False)]
    twice = MSGL(4, anchors=[anchors, anchors], **alone).fit([X, X])
    once = MSGL(4, anchors=[anchors], **alone).fit([X])
    np.testing.assert_allclose(twice.graph_.toarray(), once.graph_.toarray(), atol=1e-10)
    np.testing.assert_allclose(twice.view_weights_, 0.5, rtol=1e-12)
    np.testing.assert_array_equal(twice.labels_, once.labels_)


@pytest.mark.parametrize("options", [{}, {"beta": 0.2}, {"gamma": -0.3, "locality": 0.2}])
def test_permuted_views_permute_the_weights_only(options):
    rng = np.random.default_rng(1)
    rows = rng.choice(240, 30, replace=False)
    order = [2, 0, 1]
    fits = [
        MSGL(4, anchors=[v[rows] for v in views], random_state=0, **options).fit(views)
        for views in (VIEWS, [VIEWS[v] for v in order])
    ]
    np.testing.assert_allclose(fits[1].view_weights_, fits[0].view_weights_[order], rtol=1e-9)
    np.testing.assert_allclose(fits[1].graph_.toarray(), fits[0].graph_.toarray(), atol=1e-8)
    np.testing.assert_array_equal(fits[1].labels_, fits[0].labels_)


def test_units_of_a_view_do_not_matter():
    models = [
        MSGL(4, random_state=0).fit([VIEWS[0] * factor, VIEWS[1] - 7 * factor, VIEWS[2]]) for factor in (1.0, 1e4)
    ]
    np.testing.assert_allclose(models[1].view_weights_, models[0].view_weights_, rtol=1e-6)
    assert adjusted_rand_score(models[0].labels_, models[1].labels_) == 1


def test_clusters_shown_by_all_views_are_found():
    model = MSGL(4, random_state=0).fit(VIEWS)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert model.view_weights_history_.shape == (model.n_iter_, 3)
    np.testing.assert_allclose(model.view_weights_history_.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.view_weights_, model.view_weights_history_[-1])
    assert model.graph_.shape == (240, sum(model.anchor_set_sizes_))
    assert [a.shape[1] for a in model.anchors_] == [6, 9, 12]
    np.testing.assert_allclose(model.graph_.sum(axis=1), 1, atol=1e-12)


@st.composite
def random_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, n_views = draw(st.integers(12, 40)), draw(st.integers(1, 4))
    views = [rng.normal(size=(n, rng.integers(1, 6))) * 10.0 ** rng.integers(-2, 3) for _ in range(n_views)]
    observed = rng.uniform(size=(n, n_views)) > draw(st.sampled_from([0.0, 0.3]))
    observed[np.arange(n), rng.integers(0, n_views, n)] = True
    observed[rng.integers(0, n, 3)] = True
    options = {
        "gamma": draw(st.sampled_from([-0.05, -0.5, -1.0, -4.0, -30.0])),
        "alpha": draw(st.sampled_from([1e-3, 0.05, 1.0])),
        "beta": draw(st.sampled_from([0.0, 0.1, 3.0])),
        "locality": draw(st.sampled_from([0.0, 0.4])),
        "n_init": draw(st.sampled_from([1, 2])),
        "signed": draw(st.booleans()),
        "scale": draw(st.sampled_from(["none", "zscore", "zscore_l2"])),
        "view_prior": draw(st.sampled_from(["agreement", "equal"])),
        "anchor_alignment": "joint" if observed.all() else draw(st.sampled_from(["aligned", "per_view"])),
    }
    return views, observed, options


@given(random_problems())
@settings(max_examples=examples(80))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises(problem):
    views, observed, options = problem
    model = MSGL(2, n_anchors=6, max_iter=12, tol=0.0, random_state=0, **options).fit(views, observed=observed)
    steps = np.diff(model.objective_)
    # A view that is nearly rebuilt has a large weight, which also multiplies the rounding of its error; that rounding
    # is relative to the energy of the view, of which the first objective is a part.
    assert (steps <= 1e-9 * abs(model.objective_[0]) + 1e-12).all(), steps.max()
    assert (model.view_weights_ >= 0).all()
    np.testing.assert_allclose(model.view_weights_.sum(), 1)


def test_exact_structure_has_k_components():
    model = MSGL(4, structure="exact", random_state=0).fit(VIEWS)
    graph = model.graph_.tocoo()
    n, m = graph.shape
    whole = coo_array((graph.data, (graph.row, graph.col + n)), shape=(n + m, n + m))
    count, labels = connected_components(whole, directed=False)
    assert count == 4
    assert adjusted_rand_score(labels[:n], model.labels_) == 1
    assert adjusted_rand_score(Y, model.labels_) > 0.95


def test_signed_anchors_find_mirrored_subspaces_in_two_views():
    X, y = make_union_of_subspaces(600, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
    other = np.hstack([X[:, 4:], X[:, :4]])
    model = MSGL(3, signed=True, n_anchors=60, scale="none", random_state=0).fit([X, other])
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict([-X, -other]), model.predict([X, other]))


def test_callback_stops_and_keeps_the_result():
    seen = []
    model = MSGL(4, random_state=0, tol=0.0, callback=lambda report: seen.append(report) or len(seen) == 2).fit(VIEWS)
    assert model.n_iter_ == len(seen) == 2
    assert len(model.labels_) == 240


def test_float32_stays_float32():
    views = [view.astype(np.float32) for view in VIEWS]
    model = MSGL(4, random_state=0).fit(views)
    assert model.graph_.dtype == model.embedding_.dtype == np.float32
    assert all(anchors.dtype == np.float32 for anchors in model.anchors_)
    assert model.transform(views).dtype == np.float32
    wide = MSGL(4, random_state=0).fit(VIEWS)
    assert adjusted_rand_score(model.labels_, wide.labels_) > 0.98


@pytest.mark.parametrize("bad", ["constant", "zero", "duplicated rows"])
@pytest.mark.parametrize("scale", ["auto", "none"])
def test_a_view_without_information_breaks_nothing(bad, scale):
    other = {"constant": np.full((240, 3), 5.0), "zero": np.zeros((240, 3)), "duplicated rows": np.eye(4)[Y]}[bad]
    views = [view / np.abs(view).max() for view in VIEWS]
    model = MSGL(4, scale=scale, random_state=0).fit([*views, other])
    assert np.isfinite(model.view_weights_).all()
    assert np.isfinite(model.objective_).all()
    assert adjusted_rand_score(Y, model.labels_) > 0.9
    assert adjusted_rand_score(Y, model.predict([*views, other])) > 0.9


@pytest.mark.parametrize("n_columns", [2, 20, 200])
def test_noise_gets_the_lowest_weight_and_does_no_harm(n_columns):
    noise = np.random.default_rng(0).normal(size=(240, n_columns))
    model = MSGL(4, random_state=0).fit([*VIEWS, noise])
    assert model.view_weights_.argmin() == 3
    assert model.view_weights_[3] < 0.5 * model.view_weights_[:3].min()
    assert adjusted_rand_score(Y, model.labels_) > 0.95


def test_aligned_and_joint_anchors_belong_together_and_separate_ones_do_not():
    scores = {}
    for alignment in ("joint", "aligned", "per_view"):
        found = [
            MSGL(4, n_anchors=4, n_init=1, anchor_alignment=alignment, random_state=seed).fit(VIEWS)
            for seed in range(8)
        ]
        # Four anchors for four clusters: a draw that puts two into one cluster is bad luck, whatever the alignment.
        scores[alignment] = np.median([adjusted_rand_score(Y, model.labels_) for model in found])
    assert scores["joint"] > 0.95
    assert scores["aligned"] > scores["per_view"] + 0.1


@pytest.mark.parametrize("method", ["random", "ffs", "hierarchical"])
def test_other_anchor_methods(method):
    model = MSGL(4, anchors=method, n_anchors=24, n_init=2, random_state=0).fit(VIEWS)
    assert adjusted_rand_score(Y, model.labels_) > 0.8


def test_given_prior_weights():
    heavy = MSGL(4, view_prior=[10, 1, 1], random_state=0).fit(VIEWS)
    named = MSGL(4, view_prior={"a": 10}, random_state=0).fit(dict(zip("abc", VIEWS, strict=True)))
    np.testing.assert_allclose(heavy.view_weights_, named.view_weights_)
    assert heavy.view_weights_[0] > 0.6
    with pytest.raises(ValueError, match="one number for each of the 3 views"):
        MSGL(4, view_prior=[1, 2]).fit(VIEWS)


def test_threads_do_not_change_the_result():
    fits = [MSGL(4, beta=0.1, n_jobs=n_jobs, random_state=0).fit(VIEWS) for n_jobs in (1, 3)]
    assert (fits[0].graph_ != fits[1].graph_).nnz == 0
    np.testing.assert_array_equal(fits[0].view_weights_, fits[1].view_weights_)
