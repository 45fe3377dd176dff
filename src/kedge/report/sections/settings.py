"""What the automatic mode tried, and what it chose."""

from typing import Any

import numpy as np

from kedge.plots.colours import COLOURS
from kedge.plots.numbers.choices import SettingChoice, TriedSetting, setting_choice
from kedge.report.markup import Section, escape, figure, folded, paragraph, percent, plotly_text, table
from kedge.report.material import Material
from kedge.report.plotly_figures import axis, figure_json

HEIGHT = 380


def settings(material: Material) -> Section | None:
    """Return the settings with their modularity and votes; None where nothing was left to the data."""
    report = getattr(material.model, "auto_report_", None)
    if not report or "tried" not in report:
        return None
    choice = setting_choice(material.model)
    heard = [one for one in choice.tried if one.modularity is not None]
    if not heard:
        return Section("settings", "What the automatic mode chose", paragraph(escape(choice.why, 2000)) + _all(choice))
    values = np.array([one.modularity for one in heard], dtype=np.float32)
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": np.arange(1, len(heard) + 1, dtype=np.int32),
        "y": values,
        "error_y": {
            "type": "data",
            "array": np.array([one.spread or 0.0 for one in heard], dtype=np.float32),
            "color": "rgba(128,128,128,0.6)",
            "thickness": 1,
            "width": 2,
        },
        "meta": "outlined",
        "marker": {
            "size": [float(6 + 60 * one.share) for one in heard],
            "color": [COLOURS[1] if one.chosen else COLOURS[0] for one in heard],
            "symbol": ["diamond" if one.chosen else "circle" for one in heard],
        },
        "text": [plotly_text(f"{one.words()}: votes {percent(one.share)}", 160) for one in heard],
        "hovertemplate": "%{text}<br>modularity %{y:.3f}<extra></extra>",
    }
    layout = {"xaxis": axis("settings, best first"), "yaxis": axis("modularity"), "hovermode": "closest"}
    best = heard[0]
    label = (
        f"Scatter plot of the modularity of {len(heard)} settings with its spread; the best reaches "
        f"{best.modularity:.3f}."
    )
    caption = "Modularity with its spread over draws. Larger marks have more votes; the orange diamond was kept."
    body = (
        paragraph(escape(choice.why, 2000), f"The votes agree to {percent(choice.agreement, 0)}.")
        + paragraph(_chosen(choice))
        + figure("settings-figure", label, caption, height=HEIGHT, alternative=_all(choice))
    )
    figures = {"settings-figure": figure_json([trace], layout, HEIGHT)}
    return Section("settings", "What the automatic mode chose", body, figures)


def _chosen(choice: SettingChoice) -> str:
    kept = next((one for one in choice.tried if one.chosen), None)
    words = "" if kept is None else f"Kept: {escape(kept.words(), 200)}"
    for name in ("beta", "gamma"):
        if name in choice.final:
            words += f", {name} {choice.final[name]:g}"
    return words + "."


def _all(choice: SettingChoice) -> str:
    header = ("setting", "modularity", "spread", "votes", "kept")
    content = table("Settings that were tried, best first", header, [_line(one) for one in choice.tried])
    for name, tried in choice.penalties.items():
        rows = [(f"{value:g}", f"{modularity:.3f}") for value, modularity in tried]
        content += table(f"Values of {name} that were tried in whole fits", (name, "modularity"), rows)
    return folded("All settings as a table", content)


def _line(one: TriedSetting) -> tuple[Any, ...]:
    if one.modularity is None or one.spread is None:
        return one.words(), "failed", "", percent(one.share), ""
    kept = "yes" if one.chosen else ""
    return one.words(), f"{one.modularity:.3f}", f"{one.spread:.3f}", percent(one.share), kept
