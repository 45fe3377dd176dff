"""The anchor graph, sorted into its blocks."""

from typing import Any

import numpy as np

from kedge.plots.canvas import SEQUENTIAL, axes_or_new
from kedge.plots.numbers.graph_blocks import sort_graph


def anchor_graph(model: Any, ax: Any = None) -> Any:
    """Draw the weights of rows on anchors, both sorted by cluster.

    Of more than 300 rows a sample is drawn; of more than 150 anchors, neighbours in the same cluster share a column.

    Parameters
    ----------
    model : SGL or MSGL
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    blocks = sort_graph(model)
    ax = axes_or_new(ax)
    image = ax.imshow(blocks.weights, aspect="auto", cmap=SEQUENTIAL, vmin=0.0, interpolation="nearest")
    for labels, draw in ((blocks.row_labels, ax.axhline), (blocks.column_labels, ax.axvline)):
        for place in np.flatnonzero(np.diff(labels)):
            draw(place + 0.5, color="0.6", linewidth=0.5)
    for labels, set_ticks in ((blocks.row_labels, ax.set_yticks), (blocks.column_labels, ax.set_xticks)):
        clusters = np.unique(labels)
        set_ticks([float(np.flatnonzero(labels == one).mean()) for one in clusters], [str(one) for one in clusters])
    ax.figure.colorbar(image, ax=ax, label="weight")
    ax.set(
        xlabel="anchors, by cluster",
        ylabel="rows, by cluster",
        title=f"{100 * blocks.share_inside():.0f} % of the weight inside clusters",
    )
    return ax
