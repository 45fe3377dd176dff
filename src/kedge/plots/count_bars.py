"""Why so many clusters."""

from typing import Any

from kedge.plots.canvas import axes_or_new, whole_numbers
from kedge.plots.colours import COLOURS
from kedge.plots.numbers.choices import count_choice


def cluster_count(model: Any, ax: Any = None) -> Any:
    """Draw what speaks for each number of clusters that was considered.

    Parameters
    ----------
    model : SGL or MSGL
        Fitted with ``n_clusters="auto"``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    choice = count_choice(model)
    ax = axes_or_new(ax)
    bars = ax.bar(choice.counts, choice.scores, color="0.75")
    bars[0].set_color(COLOURS[0])
    whole_numbers(ax.xaxis)
    second = "" if choice.second is None else f", then {choice.second} ({100 * choice.closeness:.0f} % of its score)"
    ax.set(xlabel="number of clusters", ylabel="score", title=f"chosen: {choice.chosen}{second}")
    return ax
