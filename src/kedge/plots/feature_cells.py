"""What distinguishes each cluster."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kedge.plots.canvas import DIVERGING, axes_or_new
from kedge.plots.numbers.features import contrast_features
from kedge.plots.numbers.fitted_model import count_clusters, labels_of


def features(model: Any, X: Any, feature_names: Sequence[str] | None = None, ax: Any = None, *, top: int = 3) -> Any:
    """Draw how far the means of clusters are from those of the other rows, for the features that differ most.

    Parameters
    ----------
    model : fitted clusterer
        Any with ``labels_``.
    X : array or CSR array of shape (n_samples, n_features)
        The rows of the fit, or one view of them.
    feature_names : list of str or None, default=None
        Names of the columns; None means those that the model has seen, else numbers.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
    top : int, default=3
        Features per cluster.

    Returns
    -------
    ax : matplotlib Axes
        With the figure.
    """
    labels = labels_of(model)
    if X.shape[0] != len(labels):
        raise ValueError(f"X has {X.shape[0]} rows, but the model has {len(labels)}: give the rows of the fit")
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    if names is None or (feature_names is None and len(names) != X.shape[1]):
        names = [str(column) for column in range(X.shape[1])]
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names, but X has {X.shape[1]} columns: give one per column")
    found = contrast_features(X, labels, count_clusters(model))
    chosen = [found.top_of_cluster(cluster, top) for cluster in range(len(found.differences))]
    columns = list(dict.fromkeys(np.concatenate(chosen).tolist()))
    ax = axes_or_new(ax)
    shown = found.differences[:, columns]
    limit = float(np.abs(shown).max(initial=1e-9))
    image = ax.imshow(shown, aspect="auto", cmap=DIVERGING, vmin=-limit, vmax=limit, interpolation="nearest")
    ax.set_xticks(range(len(columns)), [str(names[column])[:24] for column in columns], rotation=90)
    ax.figure.colorbar(image, ax=ax, label="standard deviations from the rest")
    ax.set(ylabel="cluster", title="features that differ most")
    return ax
