"""The objective over the iterations."""

import numpy as np

from kedge.plots.colours import COLOURS
from kedge.plots.numbers.summary import objective_of
from kedge.report.markup import Section, counted, figure, folded, paragraph, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT = 300
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
