"""How clusters become one from layer to layer."""

from typing import Any

from kedge.plots.canvas import axes_or_new, cluster_marker
from kedge.plots.numbers.fitted_model import count_clusters
from kedge.plots.numbers.layers import cluster_tree, layers_of


def layers(model: Any, ax: Any = None) -> Any:
    """Draw the tree of merges: which clusters become one as fewer are left.

    Parameters
    ----------
    model : SGL or MSGL
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure; clusters are at the bottom, numbered as in ``labels_``.
    """
    tree = cluster_tree(layers_of(model), count_clusters(model))
    ax = axes_or_new(ax)
    for join in tree.joins:
        ax.plot(*join.path.T, color="0.5", linewidth=1.2, zorder=1)
    for place, cluster in enumerate(tree.order):
        ax.scatter([place], [0], s=40, zorder=2, **cluster_marker(cluster))
    ax.set_xticks(range(len(tree.order)), [str(cluster) for cluster in tree.order])
    ax.set_yticks(range(len(tree.counts)), [str(count) for count in tree.counts])
    ax.set(xlabel="cluster", ylabel="clusters left", title=f"{len(tree.order)} clusters, merged down to one")
    return ax
