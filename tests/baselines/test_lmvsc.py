"""LMVSC against the authors' release, and what holds for anchor graphs side by side."""

import numpy as np
import pytest
from conftest import find_data, find_published
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from kedge import simplex_qp
from kedge.baselines import lmvsc
from kedge.baselines.lmvsc import LMVSC
from kedge.datasets import make_multiview
from kedge.metrics import clustering_accuracy

VIEWS, Y = make_multiview(150, n_clusters=3, noise=0.8, random_state=0)


def projector(embedding):
    return embedding @ embedding.T


def given_anchors(counts=(8, 8)):
    return [view[::5][:count] for view, count in zip(VIEWS, counts, strict=True)]


def csr(parts, name):
    entries = (parts[f"{name}_data"] * 1.0, parts[f"{name}_indices"].astype(np.int32), parts[f"{name}_indptr"])
    return sparse.csr_array(entries, shape=tuple(parts[f"{name}_shape"]))


@pytest.mark.needs("data", "published")
def test_graphs_and_embedding_equal_the_release(subtests):
    for alpha, projector_tol in (("0.01", 1e-6), ("1", 1e-6), ("100", 1e-5)):
        with subtests.test(alpha=alpha, projector_tol=projector_tol):
            with np.load(find_published("lmvsc_citeseer.npz"), allow_pickle=False) as file:
                release = dict(file)
            with np.load(find_data("citeseer_2view.npz"), allow_pickle=False) as file:
                views = [normalize(csr(file, f"view{v}")[release["rows"]]) for v in (0, 1)]
            anchors = [csr(release, f"anchors{v}").toarray() for v in (0, 1)]
            model = LMVSC(6, anchors=anchors, alpha=float(alpha), scale="none", random_state=0).fit(views)
            for number, graph in enumerate(model.graphs_):
                np.testing.assert_allclose(graph.toarray(), release[f"alpha{alpha}_Z{number}"], atol=1e-7)
            np.testing.assert_allclose(model.singular_values_, release[f"alpha{alpha}_singular_values"], rtol=1e-9)
            recorded = release[f"alpha{alpha}_U"]
            np.testing.assert_allclose(projector(model.embedding_), projector(recorded), atol=projector_tol)


@pytest.mark.parametrize("degree_normalize", [False, True])
def test_embedding_is_the_leading_left_singular_vectors_of_all_graphs(degree_normalize):
    model = LMVSC(3, anchors=given_anchors((8, 5)), degree_normalize=degree_normalize, random_state=0).fit(VIEWS)
    joined = np.hstack([graph.toarray() for graph in model.graphs_]) / np.sqrt(2)
    if degree_normalize:
        joined /= np.sqrt(joined.sum(axis=0) * np.sqrt(2))
        # Rows of every graph sum to one: the constant vector comes first, with value one.
        assert model.singular_values_[0] == pytest.approx(1, abs=1e-12)
    left, values, _ = np.linalg.svd(joined, full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(projector(model.embedding_), projector(left[:, :3]), atol=1e-10)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-10)


def test_graphs_solve_the_row_problems_of_their_own_views():
    model = LMVSC(3, alpha=0.3, scale="none", random_state=0).fit(VIEWS)
    for view, anchors, graph in zip(VIEWS, model.anchors_, model.graphs_, strict=True):
        expected = simplex_qp(0.6 * np.eye(9) + 2 * anchors @ anchors.T, -2 * view @ anchors.T)
        np.testing.assert_allclose(graph.toarray(), expected, atol=1e-10)


def test_order_of_the_anchors_of_a_view_does_not_matter():
    anchors = given_anchors()
    model = LMVSC(3, anchors=anchors, random_state=0)
    expected = model.fit(VIEWS).embedding_
    turned = model.set_params(anchors=[anchors[0], anchors[1][::-1]]).fit(VIEWS).embedding_
    np.testing.assert_allclose(turned, expected * np.sign((turned * expected).sum(axis=0)), atol=1e-10)


def test_copies_of_a_view_embed_like_the_view():
    anchors = given_anchors()[0]
    alone = LMVSC(3, anchors=[anchors], random_state=0).fit([VIEWS[0]])
    thrice = LMVSC(3, anchors=[anchors] * 3, random_state=0).fit([VIEWS[0]] * 3)
    np.testing.assert_allclose(projector(thrice.embedding_), projector(alone.embedding_), atol=1e-10)
    np.testing.assert_allclose(thrice.singular_values_, alone.singular_values_, rtol=1e-10)


@pytest.mark.parametrize("degree_normalize", [False, True])
def test_rows_of_the_fit_are_embedded_and_labelled_as_in_the_fit(degree_normalize):
    model = LMVSC(3, degree_normalize=degree_normalize, random_state=0).fit(VIEWS)
    np.testing.assert_allclose(model.transform(VIEWS), model.embedding_, atol=1e-10)
    np.testing.assert_array_equal(model.predict(VIEWS), model.labels_)


def test_new_rows_join_the_clusters_they_belong_to():
    model = LMVSC(3, random_state=0).fit([view[:100] for view in VIEWS])
    both = np.concatenate([model.labels_, model.predict([view[100:] for view in VIEWS])])
    assert clustering_accuracy(Y[:100], model.labels_) > 0.95
    assert clustering_accuracy(Y, both) > 0.95


def test_given_anchors_are_scaled_like_rows_of_x():
    model = LMVSC(3, anchors=[VIEWS[0][:6], VIEWS[1][:4]], random_state=0).fit(VIEWS)
    for anchors, rows in zip(model.anchors_, model._read_new_rows([view[:6] for view in VIEWS]), strict=True):
        np.testing.assert_allclose(anchors, rows[: len(anchors)], atol=1e-12)


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ([VIEWS[0][:5]], "anchors has 1 arrays for 2 views"),
        ([VIEWS[0][:5], VIEWS[1][:5, :4]], r"anchors\[1\] has 4 features, but 'view 1' has 15"),
        ([VIEWS[0][:5], VIEWS[1][:5] * np.nan], r"anchors\[1\] contains NaN"),
    ],
)
def test_anchors_that_do_not_fit_are_refused(anchors, message):
    with pytest.raises(ValueError, match=message):
        LMVSC(3, anchors=anchors).fit(VIEWS)


def test_default_is_three_anchors_per_cluster_up_to_200_and_to_the_rows():
    assert [len(a) for a in LMVSC(4, random_state=0).fit(VIEWS).anchors_] == [12, 12]
    assert LMVSC(90)._wanted_anchors(10_000) == 200
    assert [len(a) for a in LMVSC(4, random_state=0).fit([view[:10] for view in VIEWS]).anchors_] == [10, 10]
    assert [len(a) for a in LMVSC(2, n_anchors=99, random_state=0).fit([VIEWS[0][:7]]).anchors_] == [7]


def test_a_huge_ridge_leaves_nothing_to_cluster_and_says_so():
    with pytest.warns(ConvergenceWarning, match="only 1 singular values above rounding for 3 clusters"):
        model = LMVSC(3, alpha=1e9, random_state=0).fit(VIEWS)
    assert model.embedding_.shape == (150, 1)
    assert set(model.labels_) <= {0, 1, 2}


def test_relative_ridge_does_not_depend_on_the_units_of_a_view():
    other_units = [1000.0 * VIEWS[0], VIEWS[1]]
    model = LMVSC(3, scale="none", penalty_scale="relative", random_state=0)
    expected = model.fit(VIEWS).graphs_[0]
    np.testing.assert_allclose(model.fit(other_units).graphs_[0].toarray(), expected.toarray(), atol=1e-8)
    assert model.ridges_[0] == pytest.approx(0.1 * np.mean(np.sum(model.anchors_[0] ** 2, axis=1)))
    model.set_params(penalty_scale="absolute")
    assert model.fit(other_units).graphs_[0].nnz != model.fit(VIEWS).graphs_[0].nnz


def test_blocks_and_threads_do_not_change_the_result(monkeypatch):
    expected = LMVSC(3, random_state=0, n_jobs=1).fit(VIEWS)
    monkeypatch.setattr(lmvsc, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(lmvsc, "_GRAM_ROWS", 11)
    found = LMVSC(3, random_state=0, n_jobs=2).fit(VIEWS)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-10)
    for graph, other in zip(found.graphs_, expected.graphs_, strict=True):
        np.testing.assert_allclose(graph.toarray(), other.toarray(), atol=1e-12)
