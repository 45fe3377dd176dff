"""Axes to draw on, on matplotlib (extra ``plots``)."""

from typing import Any

from kedge.optional_libraries import load_library
from kedge.plots.colours import HATCHES, MARKERS, colour_of, shape_of

# White to dark blue, which also tells more from less in print.
SEQUENTIAL = "Blues"
DIVERGING = "RdBu_r"


def axes_or_new(ax: Any) -> Any:
    """Return the axes given, or new ones."""
    if ax is not None:
        return ax
    pyplot = load_library("matplotlib.pyplot", "plots", "drawing a figure")
    return pyplot.subplots(layout="constrained")[1]


def cluster_marker(cluster: int) -> dict[str, Any]:
    """Return colour and marker of a cluster for ``scatter``."""
    return {"color": colour_of(cluster), "marker": MARKERS[shape_of(cluster)]}


def cluster_fill(cluster: int) -> dict[str, Any]:
    """Return colour and hatching of a cluster for ``bar``."""
    return {"color": colour_of(cluster), "hatch": HATCHES[shape_of(cluster)], "edgecolor": "0.2", "linewidth": 0.5}


def whole_numbers(axis: Any) -> None:
    """Let the ticks of an axis be whole numbers."""
    ticker = load_library("matplotlib.ticker", "plots", "drawing a figure")
    axis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
