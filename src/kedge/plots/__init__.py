"""Figures of fitted models in matplotlib (extra ``plots``); each function draws one and returns its Axes."""

from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any, ParamSpec

import numpy as np

from kedge.optional_libraries import load_library
from kedge.plots import fitted_model
from kedge.plots.layer_tree import cluster_tree, layers_of
from kedge.plots.projection import MOST_POINTS, map_rows

__all__ = ["anchor_graph", "classes", "cluster_count", "cluster_sizes", "confidence"]
__all__ += ["features", "layers", "map", "objective", "view_weights"]

P = ParamSpec("P")
# Colours of clusters, the same in all figures: six colours of Okabe and Ito, without the yellow that is hard to see on
# white, and a violet that is as far from them as they are from each other, also with colour blindness; a test measures
# it. From the eighth cluster on the colours repeat with another marker and another hatching.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9955EE")
# Names of Plotly and of matplotlib for the same shapes.
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
MARKERS = ("o", "s", "D", "^", "P", "X", "*", "v")
PATTERNS = ("", "/", "x", ".", "\\", "+", "-", "|")
HATCHES = ("", "//", "xx", "..", "\\\\", "++", "--", "||")
# White to dark blue, which also works in grey print.
SEQUENTIAL = "Blues"
DIVERGING = "RdBu_r"
_HEADER = "Parameters\n----------\n"
_AX_AND_RETURNS = """
ax : matplotlib Axes or None, default=None
    Where to draw; None makes a new figure.

Returns
-------
ax : matplotlib Axes
    The Axes with the figure.
"""


def colour_of(cluster: int) -> str:
    """Return the colour of a cluster."""
    return COLOURS[cluster % len(COLOURS)]


def shape_of(cluster: int) -> int:
    """Return which of the shapes a cluster has."""
    return cluster // len(COLOURS) % len(SYMBOLS)


def _figure(model: str) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Add the parameters that all figures share to the docstring of a figure; ``model`` describes the first."""

    def complete(draw: Callable[P, Any]) -> Callable[P, Any]:
        summary, _, more = cleandoc(draw.__doc__ or "").partition(_HEADER)
        own = f"model : fitted clusterer\n    {model}\n{more}"
        draw.__doc__ = f"{summary.rstrip()}\n\n{_HEADER}{own.rstrip()}{_AX_AND_RETURNS}"
        return draw

    return complete


@_figure("Any model with ``labels_``.")
def cluster_sizes(model: Any, ax: Any = None) -> Any:
    """Draw the number of rows in each cluster."""
    sizes = fitted_model.cluster_sizes_of(model)
    ax = _axes_or_new(ax)
    for cluster, size in enumerate(sizes):
        fill = {"color": colour_of(cluster), "hatch": HATCHES[shape_of(cluster)], "edgecolor": "0.2", "linewidth": 0.5}
        ax.bar(cluster, size, **fill)
    return _labelled(ax, "cluster", "rows", f"{sizes.sum():,} rows in {len(sizes)} clusters", whole_numbers=True)


@_figure("A fitted SGL or MSGL with at least two clusters.")
def map(model: Any, X: Any = None, ax: Any = None, *, most_rows: int = MOST_POINTS) -> Any:
    """Draw rows and anchors in the two directions of the embedding that best separate the clusters.

    Parameters
    ----------
    X : rows or None, default=None
        New rows to embed, label and draw; None draws the rows of the fit.
    most_rows : int, default=20,000
        Draw a sample if there are more rows.
    """
    found = map_rows(model, X, most_rows)
    ax = _axes_or_new(ax)
    for cluster, center in enumerate(found.cluster_points):
        own, anchors = found.labels == cluster, found.anchor_labels == cluster
        style = _cluster_marker(cluster)
        ax.scatter(*found.points[own].T, s=8, alpha=0.6, linewidths=0, rasterized=own.sum() > 2_000, **style)
        hollow = {"facecolors": "none", "edgecolors": style["color"], "marker": style["marker"]}
        ax.scatter(*found.anchor_points[anchors].T, s=30, linewidths=0.8, alpha=0.8, **hollow)
        if np.isfinite(center).all():
            box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": style["color"], "alpha": 0.85}
            ax.text(*center, str(cluster), ha="center", va="center", fontsize=9, bbox=box, color="black")
    shown = "" if len(found.rows) == found.n_rows else f", a sample of {len(found.rows):,}"
    return _labelled(ax, "first direction", "second direction", f"{found.n_rows:,} rows{shown}; anchors hollow")


@_figure("A fitted SGL or MSGL.")
def anchor_graph(model: Any, ax: Any = None) -> Any:
    """Draw the weights of rows on anchors, both sorted by cluster.

    With more than 300 rows a sample is drawn; with more than 150 anchors, some of the same cluster share a column.
    """
    blocks = fitted_model.sort_graph(model)
    ax = _axes_or_new(ax)
    _heat_map(ax, blocks.weights, "weight", cmap=SEQUENTIAL, vmin=0.0)
    sides = ((blocks.row_labels, ax.axhline, ax.set_yticks), (blocks.column_labels, ax.axvline, ax.set_xticks))
    for labels, draw_line, set_ticks in sides:
        for place in np.flatnonzero(np.diff(labels)):
            draw_line(place + 0.5, color="0.6", linewidth=0.5)
        clusters = np.unique(labels)
        set_ticks([float(np.flatnonzero(labels == one).mean()) for one in clusters], [str(one) for one in clusters])
    title = f"{100 * blocks.share_inside():.0f} % of the weight inside clusters"
    return _labelled(ax, "anchors, by cluster", "rows, by cluster", title)


@_figure("A fitted SGL or MSGL that is not ``as_published``.")
def confidence(model: Any, ax: Any = None) -> Any:
    """Draw a histogram of the confidence of the rows."""
    counts, edges, share_doubtful = fitted_model.confidence_histogram(model)
    ax = _axes_or_new(ax)
    colours = [COLOURS[1] if edge < fitted_model.DOUBTFUL else COLOURS[0] for edge in edges[:-1]]
    ax.bar(edges[:-1], counts, width=edges[1], align="edge", color=colours, edgecolor="0.2", lw=0.4)
    title = f"{100 * share_doubtful:.1f} % of the rows below {fitted_model.DOUBTFUL:g}"
    return _labelled(ax, "confidence", "rows", title, xlim=(0.0, 1.0))


@_figure('An SGL or MSGL fitted with ``n_clusters="auto"``.')
def cluster_count(model: Any, ax: Any = None) -> Any:
    """Draw the score of each number of clusters that was considered."""
    choice = fitted_model.count_choice(model)
    ax = _axes_or_new(ax)
    counts, scores = zip(*((one["n_clusters"], one["score"]) for one in choice["ranked"]), strict=True)
    ax.bar(counts, scores, color="0.75")[0].set_color(COLOURS[0])
    second = f", then {choice['second']} ({100 * choice['closeness']:.0f} % of its score)" if choice["second"] else ""
    return _labelled(ax, "number of clusters", "score", f"chosen: {choice['chosen']}{second}", whole_numbers=True)


@_figure("A fitted SGL or MSGL.")
def layers(model: Any, ax: Any = None) -> Any:
    """Draw the tree of merges, with the clusters of ``labels_`` at the bottom."""
    tree = cluster_tree(layers_of(model), fitted_model.count_clusters(model))
    ax = _axes_or_new(ax)
    for join in tree.joins:
        ax.plot(*join.path.T, color="0.5", linewidth=1.2, zorder=1)
    for place, cluster in enumerate(tree.order):
        ax.scatter([place], [0], s=40, zorder=2, **_cluster_marker(cluster))
    ax.set_xticks(range(len(tree.order)), [str(cluster) for cluster in tree.order])
    ax.set_yticks(range(len(tree.counts)), [str(count) for count in tree.counts])
    return _labelled(ax, "cluster", "clusters left", f"{len(tree.order)} clusters, merged down to one")


@_figure("Any model with ``labels_``.")
def features(model: Any, X: Any, feature_names: Sequence[str] | None = None, ax: Any = None, *, top: int = 3) -> Any:
    """Draw the features that differ most between clusters: the mean of each cluster against that of all other rows.

    Parameters
    ----------
    X : array or CSR array of shape (n_samples, n_features)
        The rows of the fit, or one view of them.
    feature_names : list of str or None, default=None
        Names of the columns; None means the names seen in fit, or column numbers.
    top : int, default=3
        Features per cluster.
    """
    labels = fitted_model.labels_of(model)
    if X.shape[0] != len(labels):
        raise ValueError(f"X has {X.shape[0]} rows, but the model has {len(labels)}: give the rows of the fit")
    names: Sequence[str] = getattr(model, "feature_names_in_", ()) if feature_names is None else feature_names
    if feature_names is not None and len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names, but X has {X.shape[1]} columns: give one per column")
    if len(names) != X.shape[1]:
        names = [str(column) for column in range(X.shape[1])]
    found = fitted_model.contrast_features(X, labels, fitted_model.count_clusters(model))
    chosen = [found.top_of_cluster(cluster, top) for cluster in range(len(found.differences))]
    columns = list(dict.fromkeys(np.concatenate(chosen).tolist()))
    shown = found.differences[:, columns]
    ax = _axes_or_new(ax)
    limit = float(np.abs(shown).max(initial=1e-9))
    _heat_map(ax, shown, "standard deviations from the rest", cmap=DIVERGING, vmin=-limit, vmax=limit)
    ax.set_xticks(range(len(columns)), [str(names[column])[:24] for column in columns], rotation=90)
    return _labelled(ax, "", "cluster", "features that differ most")


@_figure("Any model with ``objective_``.")
def objective(model: Any, ax: Any = None) -> Any:
    """Draw the objective at the end of each iteration."""
    values = fitted_model.objective_of(model)
    ax = _axes_or_new(ax)
    ax.plot(np.arange(1, len(values) + 1), values, marker="o", color=COLOURS[0])
    return _labelled(ax, "iteration", "objective", "objective at the end of each iteration", whole_numbers=True)


@_figure("A fitted MSGL.")
def view_weights(model: Any, ax: Any = None) -> Any:
    """Draw the weights of the views at the end of each iteration."""
    names, history = fitted_model.view_weights_of(model)
    ax = _axes_or_new(ax)
    iterations = np.arange(1, len(history) + 1)
    for view, name in enumerate(names):
        # A name that begins with an underscore would be left out of the legend.
        style = {"color": colour_of(view), "marker": MARKERS[view % len(MARKERS)], "label": name.lstrip("_") or name}
        ax.plot(iterations, history[:, view], **style)
    ax.legend()
    return _labelled(ax, "iteration", "weight", "weights of the views", whole_numbers=True, ylim=(0.0, None))


@_figure("Any model with ``labels_``.")
def classes(model: Any, true_labels: Any, ax: Any = None) -> Any:
    """Draw how many rows of each class are in each cluster.

    Parameters
    ----------
    true_labels : array-like of shape (n_samples,)
        The known class of every row.
    """
    found = fitted_model.compare_with_classes(model, true_labels)
    ax = _axes_or_new(ax)
    _heat_map(ax, found.table, "rows", cmap=SEQUENTIAL, vmin=0)
    ax.set_yticks(range(len(found.classes)), [name[:24] for name in found.classes])
    ax.set_xticks(range(len(found.clusters)), [str(cluster) for cluster in found.clusters])
    title = ", ".join(f"{name} {value:.3f}" for name, value in found.scores.items())
    return _labelled(ax, "cluster", "class", title)


def _axes_or_new(ax: Any) -> Any:
    if ax is not None:
        return ax
    return load_library("matplotlib.pyplot", "plots", "drawing a figure").subplots(layout="constrained")[1]


def _heat_map(ax: Any, values: Any, label: str, **colours: Any) -> None:
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **colours)
    ax.figure.colorbar(image, ax=ax, label=label)


def _cluster_marker(cluster: int) -> dict[str, Any]:
    return {"color": colour_of(cluster), "marker": MARKERS[shape_of(cluster)]}


def _labelled(ax: Any, x: str, y: str, title: str, *, whole_numbers: bool = False, **more: Any) -> Any:
    if whole_numbers:
        ticker = load_library("matplotlib.ticker", "plots", "drawing a figure")
        ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    ax.set(xlabel=x, ylabel=y, title=title, **more)
    return ax
