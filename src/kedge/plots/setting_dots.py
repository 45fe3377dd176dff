"""The settings that the automatic mode tried."""

from typing import Any

import numpy as np

from kedge.plots.canvas import axes_or_new, whole_numbers
from kedge.plots.colours import COLOURS
from kedge.plots.numbers.choices import setting_choice


def settings_tried(model: Any, ax: Any = None) -> Any:
    """Draw modularity, its spread and the share of votes of every setting, best first.

    Parameters
    ----------
    model : SGL or MSGL
        Fitted by ``automatic()``, or with another parameter left to the data.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure; the area of a dot is the share of the votes.
    """
    heard = [one for one in setting_choice(model).tried if one.modularity is not None]
    ax = axes_or_new(ax)
    places = np.arange(1, len(heard) + 1)
    values = np.array([one.modularity for one in heard], dtype=np.float64)
    spread = np.array([one.spread for one in heard], dtype=np.float64)
    ax.errorbar(places, values, yerr=spread, fmt="none", ecolor="0.7", zorder=1)
    colours = [COLOURS[1] if one.chosen else COLOURS[0] for one in heard]
    ax.scatter(places, values, s=[10 + 400 * one.share for one in heard], c=colours, zorder=2)
    whole_numbers(ax.xaxis)
    ax.set(xlabel="settings, best first", ylabel="modularity", title=f"{len(heard)} settings; chosen in orange")
    return ax
