"""How many rows each cluster holds."""

from typing import Any

from kedge.plots.canvas import axes_or_new, cluster_fill, whole_numbers
from kedge.plots.numbers.summary import cluster_sizes_of


def cluster_sizes(model: Any, ax: Any = None) -> Any:
    """Draw the number of rows in each cluster.

    Parameters
    ----------
    model : fitted clusterer
        Any with ``labels_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    sizes = cluster_sizes_of(model)
    ax = axes_or_new(ax)
    for cluster, size in enumerate(sizes):
        ax.bar(cluster, size, **cluster_fill(cluster))
    whole_numbers(ax.xaxis)
    ax.set(xlabel="cluster", ylabel="rows", title=f"{sizes.sum():,} rows in {len(sizes)} clusters")
    return ax
