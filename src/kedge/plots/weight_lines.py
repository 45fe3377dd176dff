"""How much each view counts."""

from typing import Any

import numpy as np

from kedge.plots.canvas import axes_or_new, whole_numbers
from kedge.plots.colours import MARKERS, colour_of
from kedge.plots.numbers.summary import view_weights_of


def view_weights(model: Any, ax: Any = None) -> Any:
    """Draw the weights of the views at the end of each iteration.

    Parameters
    ----------
    model : MSGL
        A fitted model.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    names, history = view_weights_of(model)
    ax = axes_or_new(ax)
    iterations = np.arange(1, len(history) + 1)
    for view, name in enumerate(names):
        # A name that begins with an underscore would be left out of the legend.
        style = {"color": colour_of(view), "marker": MARKERS[view % len(MARKERS)], "label": name.lstrip("_") or name}
        ax.plot(iterations, history[:, view], **style)
    whole_numbers(ax.xaxis)
    ax.set(xlabel="iteration", ylabel="weight", title="weights of the views", ylim=(0.0, None))
    ax.legend()
    return ax
