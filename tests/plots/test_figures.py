"""Every figure shows the numbers of the model on the axes given, or says what the model lacks."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from kedge import MSGL, SGL, plots
from kedge.plots.layer_tree import choose_layers, cluster_splits, cluster_tree, layers_of

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(4), [30, 40, 50, 60]))
    return 6 * rng.normal(size=(4, 5))[labels] + rng.normal(size=(180, 5)), labels


@pytest.fixture(scope="module")
def model(rows):
    return SGL(4, random_state=0).fit(rows[0])


@pytest.fixture(scope="module")
def several_views(rows):
    return MSGL(4, beta=0.1, random_state=0).fit({"_left": rows[0][:, :3], "right": rows[0][:, 3:]})


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_bars_are_the_sizes(model, ax):
    assert plots.cluster_sizes(model, ax) is ax
    assert [bar.get_height() for bar in ax.patches] == np.bincount(model.labels_).tolist()


def test_map_shows_every_row_and_every_anchor_once(model, ax):
    plots.map(model, ax=ax)
    shown = [len(dots.get_offsets()) for dots in ax.collections]
    assert sum(shown) == len(model.labels_) + len(model.anchor_labels_)
    assert shown[::2] == np.bincount(model.labels_).tolist()


def test_map_of_new_rows_and_of_a_sample(model, rows, ax):
    plots.map(model, rows[0][:25], ax)
    assert sum(len(dots.get_offsets()) for dots in ax.collections[::2]) == 25
    ax.clear()
    plots.map(model, ax=ax, most_rows=40)
    assert 40 <= sum(len(dots.get_offsets()) for dots in ax.collections[::2]) <= 60
    assert "a sample of" in ax.get_title()


def test_the_map_keeps_apart_what_is_apart(model):
    from kedge.plots.projection import map_rows

    found = map_rows(model)
    centers = found.cluster_points
    nearest = np.linalg.norm(found.points[:, None] - centers[None], axis=2).argmin(axis=1)
    assert (nearest == found.labels).mean() > 0.95
    apart = np.linalg.norm(found.anchor_points[:, None] - centers[None], axis=2).argmin(axis=1)
    assert (apart == found.anchor_labels).mean() > 0.9


def test_graph_keeps_the_weight_of_every_row(model, ax):
    plots.anchor_graph(model, ax)
    shown = np.asarray(ax.images[0].get_array())
    assert shown.shape[1] <= 150 < len(model.anchor_labels_)
    assert np.allclose(shown.sum(axis=1), 1.0)


def test_shares_between_clusters_are_those_of_the_whole_graph(model):
    from kedge.plots.fitted_model import sort_graph

    blocks = sort_graph(model, most_lines=20, most_columns=9)
    dense = model.graph_.toarray()
    for cluster in range(4):
        own = dense[model.labels_ == cluster]
        expected = [own[:, model.anchor_labels_ == other].sum() / len(own) for other in range(4)]
        assert np.allclose(blocks.shares[cluster], expected)
        on_cluster = blocks.weights[:, blocks.column_labels == cluster].sum(axis=1)
        assert np.allclose(on_cluster, dense[blocks.rows][:, model.anchor_labels_ == cluster].sum(axis=1))
    assert blocks.share_inside() == pytest.approx(np.mean(np.diag(blocks.shares)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_features_are_compared_with_the_rest(model, rows, ax, form):
    X = rows[0] + 1e6 if form is np.asarray else rows[0]
    plots.features(model, form(X), ax=ax, top=5)
    own = model.labels_ == 2
    expected = (X[own].mean(axis=0) - X[~own].mean(axis=0)) / X.std(axis=0)
    columns = [int(tick.get_text()) for tick in ax.get_xticklabels()]
    assert np.allclose(np.asarray(ax.images[0].get_array())[2], expected[columns], rtol=1e-6)


def test_rows_without_a_view_do_not_count():
    from kedge.plots.fitted_model import contrast_features

    X = np.array([[1.0, 2.0], [3.0, 2.0], [np.nan, np.nan], [7.0, 2.0]])
    found = contrast_features(X, np.array([0, 0, 1, 1]), 2)
    assert found.mean == pytest.approx([11 / 3, 2.0])
    assert found.differences[0] == pytest.approx([(2 - 7) / np.std([1, 3, 7]), 0.0])


def test_prototypes_are_nearest_to_the_centre_of_their_cluster(model):
    from kedge.plots.projection import coordinates, find_prototypes

    points = coordinates(model, model.embedding_)
    for cluster, found in enumerate(find_prototypes(model)):
        own = np.flatnonzero(model.labels_ == cluster)
        distances = np.linalg.norm(points[own] - points[own].mean(axis=0), axis=1)
        assert found.tolist() == own[np.argsort(distances)[:5]].tolist()


def test_lines_are_weights_and_objective(several_views, ax):
    plots.view_weights(several_views, ax)
    assert np.array_equal(ax.lines[1].get_ydata(), several_views.view_weights_history_[:, 1])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["left", "right"]
    ax.clear()
    plots.objective(several_views, ax)
    assert np.array_equal(ax.lines[0].get_ydata(), several_views.objective_)


def test_histogram_counts_all_rows(model, ax):
    plots.confidence(model, ax)
    assert sum(bar.get_height() for bar in ax.patches) == len(model.labels_)


def test_classes_are_counted(model, rows, ax):
    plots.classes(model, rows[1], ax)
    assert np.asarray(ax.images[0].get_array()).sum(axis=1).tolist() == [30, 40, 50, 60]


def test_the_number_that_the_data_chose_is_in_the_title(rows, ax):
    model = SGL(random_state=0).fit(rows[0])
    plots.cluster_count(model, ax)
    assert f"chosen: {model.n_clusters_}" in ax.get_title()


def test_layers_join_all_clusters_one_after_the_other(model, ax):
    plots.layers(model, ax)
    assert len(ax.collections) == 4
    assert len(ax.lines) == 3
    assert [text.get_text() for text in ax.get_yticklabels()] == ["4", "3", "2", "1"]
    tops = [line.get_ydata().max() for line in ax.lines]
    assert tops == [1.0, 2.0, 3.0]


def test_joins_follow_the_layers_and_splits_hold_all_rows(rows):
    model = SGL(2, random_state=0).fit(rows[0])
    assert model.n_communities_ > 2
    found = layers_of(model)
    assert [layer.n_clusters for layer in found] == list(range(model.n_communities_, 1, -1))
    for layer in found:
        np.testing.assert_array_equal(layer.labels, model.labels_at(layer.n_clusters))
    assert sum(layer.loss for layer in found) == pytest.approx(model.tree_[:, 2].sum())
    [join] = cluster_tree(found, 2).joins
    assert (join.n_clusters, join.parts) == (1, [[0], [1]])
    splits = cluster_splits(found, 2)
    assert [split.n_clusters for split in splits] == list(range(3, model.n_communities_ + 1))
    sizes = np.bincount(model.labels_)
    assert all(sum(split.sizes) <= 1.1 * sizes[split.cluster] for split in splits)


@pytest.mark.parametrize(("n_communities", "n_clusters"), [(1, 1), (5, 1), (12, 10), (300, 40), (40, 40), (3, 7)])
def test_layers_to_write_are_few_and_hold_the_chosen_one(n_communities, n_clusters):
    counts = choose_layers(n_communities, n_clusters)
    assert counts == sorted(set(counts), reverse=True)
    assert n_clusters in counts
    assert len(counts) <= 20
    assert counts[0] == max(n_communities, n_clusters)
    assert counts[-1] == min(2, n_clusters)
    if n_communities > 20:
        assert {n_clusters - 1, 2, 4, 8} <= set(counts)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (plots.view_weights, "only MSGL weighs views"),
        (plots.cluster_count, "n_clusters='auto'"),
    ],
)
def test_what_a_model_lacks_is_said(model, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(model)


def test_unfitted_and_single_clusters_are_refused(rows):
    with pytest.raises(NotFittedError):
        plots.cluster_sizes(SGL(2))
    with pytest.raises(ValueError, match="two clusters or more"):
        plots.map(SGL(1, random_state=0).fit(rows[0]))


def test_wrong_rows_and_names_are_refused(model, rows):
    with pytest.raises(ValueError, match="X has 179 rows"):
        plots.features(model, rows[0][1:])
    with pytest.raises(ValueError, match="feature_names has 2 names"):
        plots.features(model, rows[0], ["a", "b"])


def test_matplotlib_is_loaded_when_something_is_drawn():
    program = "import sys, kedge.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_matplotlib_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"kedge\[plots\]"):
        plots.cluster_sizes(model)
