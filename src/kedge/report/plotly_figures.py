"""Figures as JSON for the copy of Plotly on the page; colours that follow the theme are set there."""

from collections.abc import Sequence
from typing import Any

from kedge.optional_libraries import load_library
from kedge.report.markup import safe_in_script

_PURPOSE = "a report"
# Axes of heat maps: lines would show between the cells.
CELLS = {"showgrid": False, "zeroline": False, "ticks": ""}


def plotly_program() -> str:
    """Return the JavaScript of Plotly."""
    program: str = load_library("plotly.offline", "report", _PURPOSE).get_plotlyjs()
    # In a script element the program would end at this.
    if "</script" in program.lower():
        program = program.replace("</script", "<\\/script")
    return program


def figure_json(traces: Sequence[dict[str, Any]], layout: dict[str, Any], height: int) -> str:
    """Return traces and layout, checked by Plotly, as JSON; NumPy arrays are packed.

    A trace says in ``meta`` what the page does with it: "sequential" or "diverging" for the colour scale,
    "outlined" for an outline in the colour of text, "quiet" for the colour of secondary marks.
    """
    graph_objects = load_library("plotly.graph_objects", "report", _PURPOSE)
    whole = {
        "height": height,
        "autosize": True,
        "margin": {"l": 10, "r": 10, "t": 20, "b": 10},
        "template": graph_objects.layout.Template(),
    }
    made = graph_objects.Figure(data=list(traces), layout=whole | layout)
    return safe_in_script(str(made.to_json()))


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with room for its labels."""
    return {"title": {"text": title, "standoff": 12}, "automargin": True, **more}


def cluster_axis(title: str, n_clusters: int) -> dict[str, Any]:
    """Return an axis whose places are clusters."""
    return axis(title, tick0=0, dtick=max(1, -(-n_clusters // 20)), range=[-0.6, n_clusters - 0.4])


def colour_bar(title: str) -> dict[str, Any]:
    """Return a bar above the figure, where it fits on narrow screens, too."""
    place = {"orientation": "h", "x": 0.5, "y": 1.0, "yanchor": "bottom", "thickness": 10, "len": 1.0}
    return place | {"title": {"text": title, "side": "top"}, "ypad": 4, "outlinewidth": 0}
