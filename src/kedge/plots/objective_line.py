"""The course of a fit: the objective."""

from typing import Any

import numpy as np

from kedge.plots.canvas import axes_or_new, whole_numbers
from kedge.plots.colours import COLOURS
from kedge.plots.numbers.summary import objective_of


def objective(model: Any, ax: Any = None) -> Any:
    """Draw the objective at the end of each iteration.

    Parameters
    ----------
    model : fitted clusterer
        Any with ``objective_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    values = objective_of(model)
    ax = axes_or_new(ax)
    ax.plot(np.arange(1, len(values) + 1), values, marker="o", color=COLOURS[0])
    whole_numbers(ax.xaxis)
    ax.set(xlabel="iteration", ylabel="objective", title="objective at the end of each iteration")
    return ax
