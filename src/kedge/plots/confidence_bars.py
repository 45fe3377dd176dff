"""How sure the labels are."""

from typing import Any

from kedge.plots.canvas import axes_or_new
from kedge.plots.colours import COLOURS
from kedge.plots.numbers.summary import DOUBTFUL, confidence_spread


def confidence(model: Any, ax: Any = None) -> Any:
    """Draw how many rows have which confidence.

    Parameters
    ----------
    model : SGL or MSGL
        A fitted model that is not ``as_published``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    found = confidence_spread(model)
    ax = axes_or_new(ax)
    colours = [COLOURS[1] if edge < DOUBTFUL else COLOURS[0] for edge in found.edges[:-1]]
    ax.bar(found.edges[:-1], found.counts, width=found.edges[1], align="edge", color=colours, edgecolor="0.2", lw=0.4)
    title = f"{100 * found.share_doubtful:.1f} % of the rows below {DOUBTFUL:g}"
    ax.set(xlabel="confidence", ylabel="rows", title=title, xlim=(0.0, 1.0))
    return ax
