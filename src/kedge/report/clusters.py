"""The clusters one by one: how many rows they hold, their typical rows, how sure labels are, why so many clusters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.plots.colours import COLOURS, PATTERNS, colour_of, shape_of
from kedge.plots.fitted_model import DOUBTFUL, cluster_sizes_of, confidence_histogram, count_choice
from kedge.plots.projection import find_prototypes
from kedge.report.markup import Section, as_json, axis, bars, counted, escape, percent, shortened
from kedge.report.material import Material

HEIGHT = 300
# The least sure rows are listed, unless they would be shown with a confidence of one.
MOST_LISTED, SURE = 12, 0.995
# From here on the second guess at the number of clusters is nearly as good.
CLOSE = 0.8
# Sides of the images on the page; larger ones are thinned out.
MOST_PIXELS = 32


def sizes(material: Material) -> Section:
    """Draw how many rows each cluster holds."""
    counts = cluster_sizes_of(material.model)
    least, most = counts.min(), counts.max()
    colours = [colour_of(cluster) for cluster in range(len(counts))]
    patterns = [PATTERNS[shape_of(cluster)] for cluster in range(len(counts))]
    x, y, hover = np.arange(len(counts)), counts.astype(np.int32), "cluster %{x}: %{y:,} rows"
    ticks = {"tick0": 0, "dtick": max(1, -(-len(counts) // 20)), "range": [-0.6, len(counts) - 0.4]}
    rows = [(cluster, f"{count:,}", percent(count / counts.sum())) for cluster, count in enumerate(counts)]
    section = Section("sizes", "Sizes")
    section.draw(
        [bars(x, y, hover, colours=colours, patterns=patterns)],
        {"xaxis": axis("cluster", **ticks), "yaxis": axis("rows"), "bargap": 0.25},
        HEIGHT,
        label=f"Bar chart of the number of rows in each of {len(counts)} clusters, from {least} to {most}.",
        caption="Rows in each cluster. Colours are the same in all figures of this page.",
        listed=("The sizes as a table", "Rows in each cluster", ("cluster", "rows", "share"), rows),
    )
    return section


def prototypes(material: Material) -> Section:
    """List the rows nearest to the centres of the clusters; where rows are images, show them."""
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
    section.tabulate("Prototypes of each cluster", ("cluster", "rows"), lines, numbers_from=2)
    return section


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
    return as_json({"height": height, "width": width, "pixels": numbers.reshape(len(numbers), -1).tolist()})


def _images(material: Material, rows: list[NDArray[np.intp]], source: str) -> str:
    """Return the places of the images, each with a name for screen readers and on hovering."""
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
    counts, edges, share_doubtful = confidence_histogram(material.model)
    doubtful, share = edges[:-1] < DOUBTFUL, percent(share_doubtful)
    bins = [
        (f"{low:.2f} to {high:.2f}", f"{count:,}")
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]
    histogram = bars(
        np.round((edges[:-1] + edges[1:]) / 2, 4),
        counts.astype(np.int32),
        "%{y:,} rows near %{x:.2f}",
        colours=[COLOURS[1] if one else COLOURS[0] for one in doubtful],
        patterns=["/" if one else "" for one in doubtful],
        width=float(edges[1] - edges[0]),
    )
    section = Section("confidence", "How sure")
    section.draw(
        [histogram],
        {"xaxis": axis("confidence", range=[0, 1], dtick=0.1), "yaxis": axis("rows")},
        HEIGHT,
        label=f"Histogram of the confidence of all rows; {share} are below {DOUBTFUL:g}.",
        caption=(
            f"How far a row's own cluster leads the next one among the rows around it. {share} of the rows are below "
            f"{DOUBTFUL:g} (hatched): the next cluster holds at least half as much. High confidence does not make a "
            f"label right."
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
    """Draw what speaks for each number of clusters; None where the number was given."""
    if "n_clusters" not in (getattr(material.model, "auto_report_", None) or {}):
        return None
    choice = count_choice(material.model)
    chosen, second, closeness = choice["chosen"], choice["second"], choice["closeness"]
    words = f"The data suggest {counted(chosen, 'cluster')}. "
    if second is None:
        words += "No other number came into question."
    else:
        warning = "so look at both" if closeness >= CLOSE else "so the choice is fairly clear"
        words += f"Second best is {second}, with {percent(closeness, 0)} of the score, {warning}."
    section = Section("cluster-count", "How many clusters")
    section.say(words, "This is advice, not proof.")
    ranked = [(int(one["n_clusters"]), float(one["score"])) for one in choice["ranked"]]
    if len(ranked) == 1:
        return section
    counts, scores = zip(*sorted(ranked), strict=True)
    colours = [COLOURS[0] if count == chosen else "rgba(128,128,128,0.45)" for count in counts]
    rows = [(count, f"{score:.3f}") for count, score in ranked]
    x, y = [str(count) for count in counts], np.array(scores, dtype=np.float32)
    section.draw(
        [bars(x, y, "%{x} clusters: score %{y:.3f}", colours=colours)],
        {"xaxis": axis("number of clusters", type="category"), "yaxis": axis("score")},
        HEIGHT,
        label=f"Bar chart of the scores of {len(counts)} numbers of clusters; {chosen} has the best.",
        caption="What speaks for each candidate; the chosen number is in blue.",
        listed=("The scores as a table", "Candidates, best first", ("number of clusters", "score"), rows),
    )
    return section
