"""Typical rows of each cluster, as images where they are some."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.plots.numbers.embedded_rows import find_prototypes
from kedge.report.markup import Section, as_json, escape, paragraph, shortened, table
from kedge.report.material import Material

# Sides of the images on the page; larger ones are thinned out.
MOST_PIXELS = 32


def prototypes(material: Material) -> Section:
    """Return the rows nearest to the centres of the clusters."""
    rows = find_prototypes(material.model)
    words = "The rows nearest to the centre of each cluster in the embedding, nearest first."
    lines = [
        (cluster, [shortened(material.row_name(int(row)), 40) for row in own] or "no rows")
        for cluster, own in enumerate(rows)
    ]
    listed = table("Prototypes of each cluster", ("cluster", "rows"), lines, numbers_from=2)
    shown, figures = "", {}
    for view, shape in enumerate(material.image_shapes):
        if shape is not None and material.views is not None:
            images, data = _images(material, rows, view, shape)
            shown += images
            figures[f"prototypes-pixels-{view}"] = data
    return Section("prototypes", "Typical rows", paragraph(words) + shown + listed, figures)


def _images(material: Material, rows: list[NDArray[np.intp]], view: int, shape: tuple[int, int]) -> tuple[str, str]:
    """Return the places of the images and their pixels from 0 to 255."""
    assert material.views is not None
    chosen = np.concatenate(rows)
    block = material.views[view][chosen]
    pixels = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
    steps = [-(-side // MOST_PIXELS) for side in shape]
    pixels = pixels.reshape(len(chosen), *shape)[:, :: steps[0], :: steps[1]]
    # A row that lacks the view is left blank.
    low, high = (np.nanmin(pixels), np.nanmax(pixels)) if np.isfinite(pixels).any() else (0.0, 1.0)
    scaled = np.nan_to_num((pixels - low) / max(high - low, np.finfo(float).tiny))
    numbers = np.round(255 * scaled).astype(np.uint8)
    heading = f"<h3>{escape(material.view_names[view])}</h3>" if len(material.view_names) > 1 else ""
    lines, place = [], 0
    for cluster, own in enumerate(rows):
        canvases = []
        for row in own.tolist():
            name = f"Cluster {cluster}: {material.row_name(row)}"
            # An image of its own for screen readers and on hovering.
            canvases.append(_canvas(view, place, escape(name, 80)))
            place += 1
        lines.append(f'<li><span class="cluster-name">{cluster}</span>{"".join(canvases)}</li>')
    data: dict[str, Any] = {
        "height": int(numbers.shape[1]),
        "width": int(numbers.shape[2]),
        "pixels": numbers.reshape(len(chosen), -1).tolist(),
    }
    return f'{heading}<ul class="images">{"".join(lines)}</ul>', as_json(data)


def _canvas(view: int, place: int, name: str) -> str:
    source = f'data-pixels="prototypes-pixels-{view}" data-place="{place}"'
    return f'<canvas {source} role="img" aria-label="{name}" title="{name}"></canvas>'
