"""What distinguishes each cluster, view by view."""

import numpy as np

from kedge.plots.numbers.features import FeatureContrasts
from kedge.report.markup import Section, escape, figure, paragraph, plotly_text, shortened, table
from kedge.report.material import Material
from kedge.report.plotly_figures import CELLS, axis, colour_bar, figure_json

# Columns of the heat map.
MOST_COLUMNS = 40
# Differences below this would be shown as zero.
LEAST_NAMED = 0.05
MINUS = "\N{MINUS SIGN}"


def features(material: Material) -> Section | None:
    """Return a heat map and a table per view; None without data, or where there is nothing to tell apart."""
    if material.views is None or material.n_clusters < 2 or material.feature_names is None:
        return None
    parts, figures = [], {}
    explained = (
        "For every feature, the mean of a cluster is compared with the mean of all other rows; the difference is given "
        f"in standard deviations of all rows, + for higher and {MINUS} for lower."
    )
    for view, (contrasts, names) in enumerate(zip(material.contrasts, material.feature_names, strict=True)):
        columns = _columns(contrasts)
        if not columns:
            continue
        heading = f"<h3>{escape(material.view_names[view])}</h3>" if len(material.view_names) > 1 else ""
        name, height = f"features-figure-{view}", _height(contrasts)
        figures[name] = _heat_map(contrasts, columns, names, height)
        label = (
            f"Heat map of {len(columns)} features that differ most between {material.n_clusters} clusters; the table "
            f"that follows names the top features of each cluster."
        )
        caption = f"The {len(columns)} features that differ most, and how far each cluster is from the rest in them."
        parts.append(heading + figure(name, label, caption, height=height) + _table(material, view, contrasts, names))
    if not parts:
        return None
    return Section("features", "What distinguishes each cluster", paragraph(explained) + "".join(parts), figures)


def _columns(contrasts: FeatureContrasts) -> list[int]:
    """Return the best features of all clusters, the best of each first, until there are enough."""
    n_clusters = len(contrasts.differences)
    tops = [contrasts.top_of_cluster(cluster) for cluster in range(n_clusters)]
    ranked = (int(top[rank]) for rank in range(6) for top in tops if rank < len(top))
    return sorted(list(dict.fromkeys(ranked))[:MOST_COLUMNS])


def _height(contrasts: FeatureContrasts) -> int:
    return int(np.clip(190 + 26 * len(contrasts.differences), 260, 900))


def _heat_map(contrasts: FeatureContrasts, columns: list[int], names: list[str], height: int) -> str:
    shown = contrasts.differences[:, columns]
    limit = float(np.abs(shown).max())
    trace = {
        "type": "heatmap",
        "meta": "diverging",
        "z": shown.astype(np.float32),
        "zmin": -limit,
        "zmax": limit,
        "xgap": 1,
        "ygap": 1,
        "customdata": [[plotly_text(names[column]) for column in columns]] * len(shown),
        "colorbar": colour_bar("standard deviations from the rest"),
        "hovertemplate": "cluster %{y}, %{customdata}: %{z:+.2f}<extra></extra>",
    }
    ticks = [plotly_text(names[column], 16) for column in columns]
    layout = {
        "xaxis": axis("", tickvals=list(range(len(columns))), ticktext=ticks, tickangle=-90, **CELLS),
        "yaxis": axis("cluster", autorange="reversed", dtick=max(1, len(shown) // 20), **CELLS),
    }
    return figure_json([trace], layout, height)


def _table(material: Material, view: int, contrasts: FeatureContrasts, names: list[str]) -> str:
    rows = []
    for cluster, differences in enumerate(contrasts.differences):
        top = [column for column in contrasts.top_of_cluster(cluster) if abs(differences[column]) >= LEAST_NAMED]
        higher = [_in_words(names[column], differences[column]) for column in top if differences[column] > 0]
        lower = [_in_words(names[column], differences[column]) for column in top if differences[column] < 0]
        rows.append((cluster, higher or "none", lower or "none"))
    caption = "Top features of each cluster"
    if len(material.view_names) > 1:
        caption += f" in {shortened(material.view_names[view], 40)}"
    return table(caption, ("cluster", "higher than in the rest", "lower than in the rest"), rows, numbers_from=3)


def _in_words(name: str, difference: float) -> str:
    return f"{shortened(name, 40)} {'+' if difference > 0 else MINUS}{abs(difference):.1f}"
