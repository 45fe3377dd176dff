"""Figures by matplotlib (extra ``plots``), as PNG and SVG."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kedge.reproduce.plan import Experiment
from kedge.reproduce.summary import Line

SHOWN = {"acc": "ACC", "nmi": "NMI", "inverse_purity": "inverse purity"}


def draw(experiment: Experiment, lines: Sequence[Line], folder: Path) -> list[Path]:
    """Draw the figures of an experiment and return their files; one per data set where data sets are apart."""
    drawer = DRAWERS[experiment.kind]
    if experiment.kind in ("objective", "time", "complexity"):
        return _save(drawer, list(lines), experiment.title, folder / experiment.name)
    files = []
    for data in experiment.data:
        own = [line for line in lines if line.data == data and line.means]
        if own:
            files += _save(drawer, own, f"{experiment.title}: {data}", folder / f"{experiment.name}-{data}")
    return files


def _save(drawer: Callable[[Any, list[Line]], None], lines: list[Line], title: str, stem: Path) -> list[Path]:
    # The object-oriented interface needs no display and leaves no global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    drawer(figure, lines)
    figure.suptitle(title)
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for file in files:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def _over_anchors(figure: Any, lines: list[Line]) -> None:
    axes = figure.subplots()
    ordered = sorted(lines, key=lambda line: int(line.settings["n_anchors"]))
    n_anchors = [int(line.settings["n_anchors"]) for line in ordered]
    for measure, name in SHOWN.items():
        means = [line.means[measure] for line in ordered]
        axes.errorbar(n_anchors, [m.value for m in means], [m.spread for m in means], marker="o", capsize=3, label=name)
    axes.set_xlabel("number of anchors")
    axes.set_ylabel("percent, mean and standard deviation over seeds")
    axes.legend()


def _over_alpha_and_beta(figure: Any, lines: list[Line]) -> None:
    alphas = sorted({float(line.settings["alpha"]) for line in lines})
    betas = sorted({float(line.settings["beta"]) for line in lines})
    axes = figure.subplots(1, len(SHOWN), sharey=True)
    for panel, (measure, name) in zip(np.atleast_1d(axes), SHOWN.items(), strict=True):
        table = np.full((len(alphas), len(betas)), np.nan)
        for line in lines:
            place = alphas.index(float(line.settings["alpha"])), betas.index(float(line.settings["beta"]))
            table[place] = line.means[measure].value
        image = panel.imshow(table, origin="lower", aspect="auto", cmap="viridis")
        middle = (np.nanmin(table) + np.nanmax(table)) / 2
        for (row, column), value in np.ndenumerate(table):
            color = "black" if value > middle else "white"
            panel.text(column, row, f"{value:.0f}", ha="center", va="center", color=color, fontsize=7)
        panel.set_xticks(range(len(betas)), [f"{beta:g}" for beta in betas], rotation=45)
        panel.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
        panel.set_xlabel("beta")
        panel.set_title(name)
        figure.colorbar(image, ax=panel, shrink=0.7)
    np.atleast_1d(axes)[0].set_ylabel("alpha")


def _objectives(figure: Any, lines: list[Line]) -> None:
    axes = figure.subplots()
    for line in lines:
        if line.records:
            values = np.array(line.records[0]["objective"])
            axes.plot(np.arange(1, len(values) + 1), values / values[0], marker="o", label=f"{line.data}, {line.label}")
    axes.set_xlabel("iteration")
    axes.set_ylabel("objective, share of that of the first iteration")
    axes.legend()


def _time_over_rows(figure: Any, lines: list[Line]) -> None:
    axes = figure.subplots()
    for label in dict.fromkeys(line.label for line in lines):
        own = [line for line in lines if line.label == label and line.means]
        axes.loglog([line.n_rows for line in own], [line.means["seconds"].value for line in own], "o-", label=label)
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=7, ncols=2)


DRAWERS: dict[str, Callable[[Any, list[Line]], None]] = {
    "anchors": _over_anchors,
    "sensitivity": _over_alpha_and_beta,
    "objective": _objectives,
    "time": _time_over_rows,
    "complexity": _time_over_rows,
}
