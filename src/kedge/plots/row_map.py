"""Rows and anchors in two directions."""

from typing import Any

import numpy as np

from kedge.plots.canvas import axes_or_new, cluster_marker
from kedge.plots.numbers.embedded_rows import MOST_POINTS, map_rows


def map(model: Any, X: Any = None, ax: Any = None, *, most_rows: int = MOST_POINTS) -> Any:
    """Draw rows and anchors on two directions of the embedding in which the clusters are apart.

    Parameters
    ----------
    model : SGL or MSGL
        A fitted model with at least two clusters.
    X : rows or None, default=None
        New rows to embed, label and draw; None draws those of the fit.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
    most_rows : int, default=20,000
        Of more rows, a sample is drawn.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    found = map_rows(model, X, most_rows)
    ax = axes_or_new(ax)
    for cluster, center in enumerate(found.cluster_points):
        own, anchors = found.labels == cluster, found.anchor_labels == cluster
        style = cluster_marker(cluster)
        ax.scatter(*found.points[own].T, s=8, alpha=0.6, linewidths=0, rasterized=own.sum() > 2_000, **style)
        hollow = {"facecolors": "none", "edgecolors": style["color"], "marker": style["marker"]}
        ax.scatter(*found.anchor_points[anchors].T, s=30, linewidths=0.8, alpha=0.8, **hollow)
        if np.isfinite(center).all():
            box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": style["color"], "alpha": 0.85}
            ax.text(*center, str(cluster), ha="center", va="center", fontsize=9, bbox=box, color="black")
    shown = "" if len(found.rows) == found.n_rows else f", a sample of {len(found.rows):,}"
    ax.set(xlabel="first direction", ylabel="second direction", title=f"{found.n_rows:,} rows{shown}; anchors hollow")
    return ax
