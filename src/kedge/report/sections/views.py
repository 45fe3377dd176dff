"""How much each view counts, iteration by iteration."""

import numpy as np

from kedge.plots.colours import SYMBOLS, colour_of
from kedge.plots.numbers.summary import view_weights_of
from kedge.report.markup import Section, escape, figure, folded, plotly_text, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT = 320


def view_weights(material: Material) -> Section | None:
    """Return lines of the weights; None with one view."""
    if len(material.view_names) < 2:
        return None
    history = view_weights_of(material.model)[1]
    iterations = np.arange(1, len(history) + 1, dtype=np.int32)
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": plotly_text(name),
            "x": iterations,
            "y": history[:, view].astype(np.float32),
            "line": {"color": colour_of(view)},
            "marker": {"symbol": SYMBOLS[view % len(SYMBOLS)], "size": 8},
            "hovertemplate": "iteration %{x}: %{y:.3f}<extra>%{fullData.name}</extra>",
        }
        for view, name in enumerate(material.view_names)
    ]
    layout = {
        "xaxis": axis("iteration", tick0=1, dtick=max(1, len(history) // 10)),
        "yaxis": axis("weight", rangemode="tozero"),
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "showlegend": True,
    }
    last = history[-1]
    most = int(last.argmax())
    caption = (
        f"Weights at the end of each iteration. {escape(material.view_names[most])} counts most: {last[most]:.3f}."
    )
    label = f"Line chart of the weights of {len(last)} views over {len(history)} iterations."
    rows = [(name, *_ends(history[:, view])) for view, name in enumerate(material.view_names)]
    content = table("Weights of the views", ("view", "first iteration", "last iteration"), rows)
    alternative = folded("The weights as a table", content)
    body = figure("views-figure", label, caption, height=HEIGHT, alternative=alternative)
    return Section("views", "Weights of the views", body, {"views-figure": figure_json(traces, layout, HEIGHT)})


def _ends(weights: np.ndarray) -> tuple[str, str]:
    return f"{weights[0]:.3f}", f"{weights[-1]:.3f}"
