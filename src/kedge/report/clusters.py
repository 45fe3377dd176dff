"""Sections about the clusters: sizes, layers, what distinguishes them, typical rows, confidence, and their number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.plots import COLOURS, PATTERNS, SYMBOLS, colour_of, fitted_model, shape_of
from kedge.plots.fitted_model import DOUBTFUL, TOP_OF_CLUSTER, FeatureContrasts
from kedge.plots.layer_tree import ClusterTree, cluster_splits, cluster_tree
from kedge.plots.projection import find_prototypes
from kedge.report import markup
from kedge.report.markup import Section, axis, counted, escape, named_axis, percent, shortened
from kedge.report.material import Material
from kedge.report.row_map import points

# Columns of the heat map of features.
MOST_COLUMNS = 40
# Smaller differences would be shown as zero.
LEAST_NAMED = 0.05
MINUS = "\N{MINUS SIGN}"
# How many of the least sure rows are listed, and the confidence above which none is.
MOST_LISTED, SURE = 12, 0.995
# From this share of the best score on, the second best number of clusters is nearly as good.
CLOSE = 0.8
# Larger images are thinned out to this many pixels per side.
MOST_PIXELS = 32


def sizes(material: Material) -> Section:
    """Draw how many rows each cluster holds."""
    counts = fitted_model.cluster_sizes_of(material.model)
    trace = markup.bars(
        np.arange(len(counts)),
        counts.astype(np.int32),
        "cluster %{x}: %{y:,} rows",
        colours=[colour_of(cluster) for cluster in range(len(counts))],
        patterns=[PATTERNS[shape_of(cluster)] for cluster in range(len(counts))],
    )
    ticks = {"tick0": 0, "dtick": max(1, -(-len(counts) // 20)), "range": [-0.6, len(counts) - 0.4]}
    rows = [(cluster, f"{count:,}", percent(count / counts.sum())) for cluster, count in enumerate(counts)]
    spread = f"from {counts.min()} to {counts.max()}"
    return Section("sizes", "Sizes").draw(
        [trace],
        {"xaxis": axis("cluster", **ticks), "yaxis": axis("rows"), "bargap": 0.25},
        label=f"Bar chart of the number of rows in each of {len(counts)} clusters, {spread}.",
        caption="Rows in each cluster. Colours are the same in all figures of this page.",
        listed=("The sizes as a table", "Rows in each cluster", ("cluster", "rows", "share"), rows),
    )


def layers(material: Material) -> Section | None:
    """Show the tree of merges, drawn and in tables; None if there is one layer."""
    tree = cluster_tree(material.layers, material.n_clusters)
    splits = cluster_splits(material.layers, material.n_clusters)
    if not (tree.joins or splits):
        return None
    section = Section("layers", "Layers")
    section.say(
        f"The graph has {counted(len(material.model.tree_) + 1, 'community', 'communities')}. The two that lose the "
        f"least modularity are merged, again and again, until one is left. This page shows the layer of "
        f"{counted(material.n_clusters, 'cluster')}. If a merge costs little, fewer clusters describe the rows nearly "
        f"as well. <code>labels_at(k)</code> and the file layers.csv of a run give the labels of the other layers."
    )
    if tree.joins:
        _draw_tree(section, tree)
        rows: list[tuple[Any, ...]] = []
        for join in tree.joins:
            parts = " with ".join(" + ".join(str(cluster) for cluster in part) for part in join.parts)
            rows.append((join.n_clusters, parts, f"{join.loss:.4f}"))
        coarser = ("clusters left", "merged", "modularity lost")
        section.tabulate("Fewer clusters: which ones merge", coarser, rows, numbers_from=2)
    if splits:
        rows = []
        for split in splits:
            parts = " + ".join(f"{size:,}" for size in split.sizes)
            rows.append((split.n_clusters, f"cluster {split.cluster}", parts, f"{split.loss:.4f}"))
        finer = ("clusters then", "split", "rows of the parts", "modularity gained")
        section.tabulate("More clusters: which ones split", finer, rows, numbers_from=3)
    return section


def _draw_tree(section: Section, tree: ClusterTree) -> None:
    grey = {"color": "rgba(128,128,128,0.9)", "width": 1.5}
    lines = []
    for join in tree.joins:
        text = f"{counted(join.n_clusters, 'cluster')} left, {join.loss:.4f} of modularity lost"
        lines.append(points(join.path, mode="lines", line=grey, text=text))
    look = {"color": [colour_of(one) for one in tree.order], "symbol": [SYMBOLS[shape_of(one)] for one in tree.order]}
    leaves = points(
        np.stack([np.arange(len(tree.order)), np.zeros(len(tree.order))], axis=1),
        text=[f"cluster {cluster}" for cluster in tree.order],
        cliponaxis=False,
        marker={"size": 10} | look,
    )
    plain = {"showgrid": False, "zeroline": False}
    layout = {
        "xaxis": named_axis("cluster", [str(cluster) for cluster in tree.order], **plain),
        "yaxis": named_axis("clusters left", [str(count) for count in tree.counts], **plain),
        "showlegend": False,
        "hovermode": "closest",
    }
    section.draw(
        [*lines, leaves],
        layout,
        min(160 + 24 * len(tree.counts), 620),
        label=f"Tree in which {counted(len(tree.order), 'cluster')} merge into one, in {len(tree.joins)} steps.",
        caption="The clusters are at the bottom. Lines join clusters that merge: the lower, the less the merge costs.",
    )


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
    trace = markup.heat_map(
        shown.astype(np.float32),
        "diverging",
        "standard deviations from the rest",
        "cluster %{y}, %{customdata}: %{z:+.2f}",
        customdata=[[markup.plotly_text(name) for name in names]] * n_clusters,
        zmin=-limit,
        zmax=limit,
    )
    layout = {
        "xaxis": named_axis("", [markup.plotly_text(name, 16) for name in names], tickangle=-90, **markup.CELLS),
        "yaxis": axis("cluster", autorange="reversed", dtick=max(1, n_clusters // 20), **markup.CELLS),
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


def prototypes(material: Material) -> Section:
    """List the rows nearest to the centres of the clusters, and show them if they are images."""
    rows = find_prototypes(material.model)
    section = Section("prototypes", "Typical rows")
    section.say("The rows nearest to the centre of each cluster in the embedding, nearest first.")
    for view, shape in enumerate(material.image_shapes):
        if shape is not None and material.views is not None:
            name = f"prototypes-pixels-{view}"
            section.figures[name] = _pixels(material.views[view][np.concatenate(rows)], shape)
            if len(material.view_names) > 1:
                section.body += f"<h3>{escape(material.view_names[view])}</h3>"
            section.body += _images(material, rows, name)
    lines = [
        (cluster, [shortened(material.row_name(int(row)), 40) for row in own] or "no rows")
        for cluster, own in enumerate(rows)
    ]
    return section.tabulate("Typical rows of each cluster", ("cluster", "rows"), lines, numbers_from=2)


def _pixels(block: Any, shape: tuple[int, int]) -> str:
    """Return the pixels of images, from 0 to 255, as JSON."""
    pixels = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
    down, along = (-(-side // MOST_PIXELS) for side in shape)
    pixels = pixels.reshape(len(pixels), *shape)[:, ::down, ::along]
    # A row that lacks the view is left blank.
    low, high = (np.nanmin(pixels), np.nanmax(pixels)) if np.isfinite(pixels).any() else (0.0, 1.0)
    scaled = np.nan_to_num((pixels - low) / max(high - low, np.finfo(float).tiny))
    numbers = np.round(255 * scaled).astype(np.uint8)
    _, height, width = numbers.shape
    return markup.as_json({"height": height, "width": width, "pixels": numbers.reshape(len(numbers), -1).tolist()})


def _images(material: Material, rows: list[NDArray[np.intp]], source: str) -> str:
    """Return a canvas for each image, with a name for screen readers and on hovering."""
    lines, place = [], 0
    for cluster, own in enumerate(rows):
        line = f'<li><span class="cluster-name">{cluster}</span>'
        for row in own.tolist():
            name = escape(f"Cluster {cluster}: {material.row_name(row)}", 80)
            pixels = f'data-pixels="{source}" data-place="{place}"'
            line += f'<canvas {pixels} role="img" aria-label="{name}" title="{name}"></canvas>'
            place += 1
        lines.append(f"{line}</li>")
    return f'<ul class="images">{"".join(lines)}</ul>'


def confidence(material: Material) -> Section | None:
    """Draw the histogram and list the least sure rows; None for a fit as published."""
    values = material.confidence
    if values is None:
        return None
    counts, edges, share_doubtful = fitted_model.confidence_histogram(material.model)
    doubtful, share = edges[:-1] < DOUBTFUL, percent(share_doubtful)
    bins = [
        (f"{low:.2f} to {high:.2f}", f"{count:,}")
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]
    histogram = markup.bars(
        np.round((edges[:-1] + edges[1:]) / 2, 4),
        counts.astype(np.int32),
        "%{y:,} rows near %{x:.2f}",
        colours=[COLOURS[1] if one else COLOURS[0] for one in doubtful],
        patterns=["/" if one else "" for one in doubtful],
        width=float(edges[1] - edges[0]),
    )
    section = Section("confidence", "Confidence")
    section.draw(
        [histogram],
        {"xaxis": axis("confidence", range=[0, 1], dtick=0.1), "yaxis": axis("rows")},
        label=f"Histogram of the confidence of all rows; {share} are below {DOUBTFUL:g}.",
        caption=(
            f"How far a row's own cluster leads the second best one among the rows around it. {share} of the rows are "
            f"below {DOUBTFUL:g} (hatched): there, the second best cluster holds more than half as much as their own. "
            f"A label with high confidence can still be wrong."
        ),
        listed=("The histogram as a table", "Rows by confidence", ("confidence", "rows"), bins),
    )
    least = [
        (material.row_name(row), int(material.labels[row]), f"{values[row]:.2f}")
        for row in np.argsort(values, kind="stable")[:MOST_LISTED].tolist()
        if values[row] < SURE
    ]
    if least:
        section.tabulate("The least sure rows", ("row", "cluster", "confidence"), least)
    return section


def cluster_count(material: Material) -> Section | None:
    """Draw the score of each number of clusters; None if the number was given."""
    if "n_clusters" not in (getattr(material.model, "auto_report_", None) or {}):
        return None
    choice = fitted_model.count_choice(material.model)
    chosen, second, closeness = choice["chosen"], choice["second"], choice["closeness"]
    words = "There was no other candidate."
    if second is not None:
        advice = "so look at both" if closeness >= CLOSE else "so the choice is fairly clear"
        words = f"Second best is {second}, with {percent(closeness, 0)} of the score, {advice}."
    section = Section("cluster-count", "Number of clusters")
    section.say(f"The data suggest {counted(chosen, 'cluster')}. {words} This is advice, not proof.")
    ranked = [(int(one["n_clusters"]), float(one["score"])) for one in choice["ranked"]]
    if len(ranked) == 1:
        return section
    counts, scores = zip(*sorted(ranked), strict=True)
    colours = [COLOURS[0] if count == chosen else "rgba(128,128,128,0.45)" for count in counts]
    rows = [(count, f"{score:.3f}") for count, score in ranked]
    x, y = [str(count) for count in counts], np.array(scores, dtype=np.float32)
    return section.draw(
        [markup.bars(x, y, "%{x} clusters: score %{y:.3f}", colours=colours)],
        {"xaxis": axis("number of clusters", type="category"), "yaxis": axis("score")},
        label=f"Bar chart of the scores of {len(counts)} numbers of clusters; {chosen} has the best.",
        caption="The score of each candidate; the chosen number is in blue.",
        listed=("The scores as a table", "Candidates, best first", ("number of clusters", "score"), rows),
    )
