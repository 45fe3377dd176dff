"""Clusters beside known classes."""

from typing import Any

from kedge.plots.canvas import SEQUENTIAL, axes_or_new
from kedge.plots.numbers.summary import compare_with_classes


def classes(model: Any, true_labels: Any, ax: Any = None) -> Any:
    """Draw how many rows of each class are in each cluster.

    Parameters
    ----------
    model : fitted clusterer
        Any with ``labels_``.
    true_labels : array-like of shape (n_samples,)
        The known class of every row.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    found = compare_with_classes(model, true_labels)
    ax = axes_or_new(ax)
    image = ax.imshow(found.table, aspect="auto", cmap=SEQUENTIAL, vmin=0, interpolation="nearest")
    ax.set_yticks(range(len(found.classes)), [name[:24] for name in found.classes])
    ax.set_xticks(range(len(found.clusters)), [str(cluster) for cluster in found.clusters])
    ax.figure.colorbar(image, ax=ax, label="rows")
    title = ", ".join(f"{name} {value:.3f}" for name, value in found.scores.items())
    ax.set(xlabel="cluster", ylabel="class", title=title)
    return ax
