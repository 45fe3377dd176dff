"""The course of the fit: the objective and the weights of the views, iteration by iteration."""

import numpy as np

from kedge.plots.colours import COLOURS, SYMBOLS, colour_of
from kedge.plots.numbers.summary import objective_of, view_weights_of
from kedge.report.markup import Section, counted, escape, figure, folded, paragraph, plotly_text, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT, HEIGHT_OF_VIEWS = 300, 320
# Iterations in the table; of more, the first and the last.
MOST_LISTED = 12


def objective(material: Material) -> Section:
    """Return a line of the objective, or a sentence where one iteration was the whole fit."""
    values = objective_of(material.model)
    title = "The course of the fit"
    if len(values) == 1:
        words = (
            f"One pass over the rows was the whole fit, with the objective at {in_digits(values[0])}: without a "
            f"structure penalty (beta = 0) there is nothing to repeat."
        )
        if material.model.beta != 0:
            words = f"The fit ended after one pass over the rows, with the objective at {in_digits(values[0])}."
        return Section("objective", title, paragraph(words))
    iterations = np.arange(1, len(values) + 1, dtype=np.int32)
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": iterations,
        "y": values,
        "line": {"color": COLOURS[0]},
        "marker": {"size": 7},
        "hovertemplate": "iteration %{x}: %{y:.6g}<extra></extra>",
    }
    layout = {
        "xaxis": axis("iteration", tick0=1, dtick=max(1, len(values) // 10)),
        "yaxis": axis("objective"),
    }
    fall = (values[0] - values[-1]) / max(abs(values[0]), np.finfo(float).tiny)
    verb = "fell" if fall >= 0 else "rose"
    caption = (
        f"The objective at the end of each iteration; it {verb} by {100 * abs(fall):.3g} % over "
        f"{counted(len(values), 'iteration')}."
    )
    ends = f"from {in_digits(values[0])} to {in_digits(values[-1])}"
    label = f"Line chart of the objective, {ends} in {len(values)} iterations."
    listed = [(number, in_digits(value)) for number, value in enumerate(values.tolist(), start=1)]
    if len(listed) > MOST_LISTED:
        listed = listed[: MOST_LISTED // 2] + listed[-MOST_LISTED // 2 :]
    content = table("Objective at the end of iterations", ("iteration", "objective"), listed)
    alternative = folded("The objective as a table", content)
    body = figure("objective-figure", label, caption, height=HEIGHT, alternative=alternative)
    return Section("objective", title, body, {"objective-figure": figure_json([trace], layout, HEIGHT)})


def in_digits(value: float) -> str:
    """Return a number with at least seven digits, large ones without an exponent."""
    return f"{value:,.1f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.7g}"


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
    body = figure("views-figure", label, caption, height=HEIGHT_OF_VIEWS, alternative=alternative)
    drawing = figure_json(traces, layout, HEIGHT_OF_VIEWS)
    return Section("views", "Weights of the views", body, {"views-figure": drawing})


def _ends(weights: np.ndarray) -> tuple[str, str]:
    return f"{weights[0]:.3f}", f"{weights[-1]:.3f}"
