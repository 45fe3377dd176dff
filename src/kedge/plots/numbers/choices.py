"""What the data decided: the number of clusters, and the settings that were tried."""

from dataclasses import dataclass
from typing import Any

from kedge.plots.numbers.fitted_model import needed


@dataclass(frozen=True)
class CountChoice:
    """Numbers of clusters and what speaks for each.

    Attributes
    ----------
    counts, scores : lists
        The candidates, best first.
    chosen : int
        The first.
    second : int or None
        The next best.
    closeness : float
        Its score as a share of the best.
    kind : str
        "pieces", where groups stay apart, or "gaps" in a spectrum.
    least, most : int
        The range that was searched.
    n_rows : int
        Rows looked at.
    """

    counts: list[int]
    scores: list[float]
    chosen: int
    second: int | None
    closeness: float
    kind: str
    least: int
    most: int
    n_rows: int


@dataclass(frozen=True)
class TriedSetting:
    """One setting of the automatic mode; modularity and spread are None where its clusterings failed."""

    anchors: str
    anchors_per_cluster: list[float]
    alpha: float
    locality: float
    modularity: float | None
    spread: float | None
    share: float
    chosen: bool

    def words(self) -> str:
        """Return the setting in a few words."""
        sizes = " to ".join(f"{size:g}" for size in (self.anchors_per_cluster[0], self.anchors_per_cluster[-1]))
        return f"{self.anchors}, {sizes} anchors per cluster, alpha {self.alpha:g}, locality {self.locality:g}"


@dataclass(frozen=True)
class SettingChoice:
    """The settings that were tried, best first, and why one was chosen.

    Attributes
    ----------
    tried : list of TriedSetting
        All of them.
    why : str
        In plain words.
    agreement : float
        How much the votes agree, from 0 to 1.
    penalties : dict
        Values of ``beta`` and ``gamma`` with their modularity, where they were left to the data.
    final : dict
        What was chosen in the end.
    """

    tried: list[TriedSetting]
    why: str
    agreement: float
    penalties: dict[str, list[tuple[float, float]]]
    final: dict[str, Any]


def count_choice(model: Any) -> CountChoice:
    """Return how the number of clusters was found."""
    remedy = "fit with n_clusters='auto', so that the data choose"
    report = needed(model, "auto_report_", remedy).get("n_clusters")
    if report is None:
        raise ValueError(f"the number of clusters of this {type(model).__name__} was given: {remedy}")
    return CountChoice(
        counts=[int(one["n_clusters"]) for one in report["ranked"]],
        scores=[float(one["score"]) for one in report["ranked"]],
        chosen=int(report["chosen"]),
        second=None if report["second"] is None else int(report["second"]),
        closeness=float(report["closeness"]),
        kind=str(report["from"]),
        least=int(report["range"][0]),
        most=int(report["range"][1]),
        n_rows=int(report["n_rows"]),
    )


def setting_choice(model: Any) -> SettingChoice:
    """Return how the settings were chosen."""
    remedy = "fit SGL.automatic() or MSGL.automatic(), which try settings"
    report = needed(model, "auto_report_", remedy)
    if "tried" not in report:
        raise ValueError(f"no settings were tried for this {type(model).__name__}: {remedy}")
    final = report["chosen"]
    tried = [_tried(one, final) for one in report["tried"]]
    return SettingChoice(
        tried=sorted(tried, key=lambda one: -1.0 if one.modularity is None else one.modularity, reverse=True),
        why=str(report["why"]),
        agreement=float(report["agreement"]),
        penalties={
            name: [(float(one[name]), float(one["modularity"])) for one in report[f"tried_{name}"]]
            for name in ("beta", "gamma")
            if f"tried_{name}" in report
        },
        final=dict(final),
    )


def _tried(one: dict[str, Any], final: dict[str, Any]) -> TriedSetting:
    setting = ("anchors", "anchors_per_cluster", "alpha", "locality")
    return TriedSetting(
        anchors=str(one["anchors"]),
        anchors_per_cluster=[float(size) for size in one["anchors_per_cluster"]],
        alpha=float(one["alpha"]),
        locality=float(one["locality"]),
        modularity=one["modularity"],
        spread=one["spread"],
        share=float(one["share"]),
        chosen=all(one[name] == final[name] for name in setting),
    )
