"""What notebooks show of a fitted model, below the view of its parameters that scikit-learn makes."""

from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

# Clusters that are listed with their sizes.
MOST_LISTED = 12
# Below this a label is worth a look.
_DOUBTFUL = 0.5
_STYLE = (
    "font:13px/1.5 system-ui,sans-serif;margin:.5em 0 0;border-left:3px solid #0072B2;padding:.2em 0 .2em .8em;"
    "max-width:60em"
)


def html_with_summary(estimator: Any) -> str:
    """Return scikit-learn's view of an estimator and, after a fit, a few lines on what was found."""
    return str(estimator_html_repr(estimator)) + summary_html(estimator)


def summary_html(estimator: Any) -> str:
    """Return clusters, sizes, confidence and view weights in HTML; nothing before a fit.

    Labels that are on disk or on a cluster are not fetched for a look.
    """
    labels = getattr(estimator, "labels_", None)
    if not isinstance(labels, np.ndarray):
        return ""
    sizes = np.bincount(labels, minlength=int(getattr(estimator, "n_clusters_", 0)))
    listed = ", ".join(f"{size:,}" for size in sizes[:MOST_LISTED])
    if len(sizes) > MOST_LISTED:
        listed += f" and {len(sizes) - MOST_LISTED} more from {sizes[MOST_LISTED:].min():,} to {sizes.max():,}"
    lines = [f"<strong>{len(labels):,} rows in {len(sizes)} clusters</strong> of {listed} rows"]
    confidence = getattr(estimator, "confidence_", None)
    if isinstance(confidence, np.ndarray):
        share = 100 * float((confidence < _DOUBTFUL).mean())
        lines.append(f"confidence {confidence.mean():.2f} on average; {share:.1f} % of the rows are below {_DOUBTFUL}")
    weights = getattr(estimator, "view_weights_", None)
    if weights is not None:
        views = zip(estimator.view_names_, weights, strict=True)
        lines.append("view weights: " + ", ".join(f"{escape(str(name)[:60])} {weight:.3f}" for name, weight in views))
    return f'<div class="kedge-summary" style="{_STYLE}">{"<br>".join(lines)}</div>'
