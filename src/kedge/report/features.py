"""The section about what distinguishes each cluster, view by view."""

from typing import Any

import numpy as np

from kedge.plots.fitted_model import TOP_OF_CLUSTER, FeatureContrasts
from kedge.report.markup import CELLS, Section, axis, escape, heat_map, named_axis, plotly_text, shortened
from kedge.report.material import Material

# Columns of the heat map of features.
MOST_COLUMNS = 40
# Smaller differences would be shown as zero.
LEAST_NAMED = 0.05
MINUS = "\N{MINUS SIGN}"


def features(material: Material) -> Section | None:
    """Show a heat map and a table per view; None without data or with a single cluster."""
    if material.views is None or material.n_clusters < 2:
        return None
    section = Section("features", "What distinguishes each cluster")
    section.say(
        "For every feature, the mean of a cluster is compared with the mean of all other rows. Differences are in "
        f"standard deviations of all rows: + is higher, {MINUS} is lower."
    )
    for view, (contrasts, names) in enumerate(zip(material.contrasts, material.feature_names, strict=True)):
        columns = _columns(contrasts)
        if not columns:
            continue
        caption = "Top features of each cluster"
        if len(material.view_names) > 1:
            section.body += f"<h3>{escape(material.view_names[view])}</h3>"
            caption += f" in {shortened(material.view_names[view], 40)}"
        _draw_features(section, contrasts, columns, [names[column] for column in columns], f"-{view}")
        header = ("cluster", "higher than in the rest", "lower than in the rest")
        section.tabulate(caption, header, _top_features(contrasts, names), numbers_from=3)
    return section if section.figures else None


def _columns(contrasts: FeatureContrasts) -> list[int]:
    """Return the top features of all clusters, taking the best of each first."""
    tops = [contrasts.top_of_cluster(cluster) for cluster in range(len(contrasts.differences))]
    ranked = (int(top[rank]) for rank in range(TOP_OF_CLUSTER) for top in tops if rank < len(top))
    return sorted(list(dict.fromkeys(ranked))[:MOST_COLUMNS])


def _draw_features(
    section: Section, contrasts: FeatureContrasts, columns: list[int], names: list[str], part: str
) -> None:
    shown = contrasts.differences[:, columns]
    n_clusters, limit = len(shown), float(np.abs(shown).max())
    trace = heat_map(
        shown.astype(np.float32),
        "diverging",
        "standard deviations from the rest",
        "cluster %{y}, %{customdata}: %{z:+.2f}",
        customdata=[[plotly_text(name) for name in names]] * n_clusters,
        zmin=-limit,
        zmax=limit,
    )
    layout = {
        "xaxis": named_axis("", [plotly_text(name, 16) for name in names], tickangle=-90, **CELLS),
        "yaxis": axis("cluster", autorange="reversed", dtick=max(1, n_clusters // 20), **CELLS),
    }
    section.draw(
        [trace],
        layout,
        int(np.clip(190 + 26 * n_clusters, 260, 900)),
        label=f"Heat map of the {len(columns)} features that differ most in {n_clusters} clusters; a table follows.",
        caption=f"The {len(columns)} features that differ most, and how far each cluster is from the rest.",
        part=part,
    )


def _top_features(contrasts: FeatureContrasts, names: list[str]) -> list[tuple[Any, ...]]:
    rows = []
    for cluster, differences in enumerate(contrasts.differences):
        named: dict[str, list[str]] = {"+": [], MINUS: []}
        for column in contrasts.top_of_cluster(cluster):
            if abs(differences[column]) >= LEAST_NAMED:
                sign = "+" if differences[column] > 0 else MINUS
                named[sign].append(f"{shortened(names[column], 40)} {sign}{abs(differences[column]):.1f}")
        rows.append((cluster, named["+"] or "none", named[MINUS] or "none"))
    return rows
