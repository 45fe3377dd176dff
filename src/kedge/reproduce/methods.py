"""Estimators by the names that experiments use."""

from collections.abc import Mapping
from typing import Any

from kedge.baselines.registry import find_method
from kedge.estimators.multi_view import MSGL
from kedge.estimators.single_view import SGL

# Ours, by name; every other name is that of a baseline.
OURS = {"SGL": SGL, "MSGL": MSGL}
AS_PUBLISHED = {"SGL as published": SGL, "MSGL as published": MSGL}


def make_estimator(method: str, n_clusters: int, seed: int, parameters: Mapping[str, Any]) -> Any:
    """Return an estimator to fit; ours gets one thread, because units run side by side."""
    if method in AS_PUBLISHED:
        return AS_PUBLISHED[method].as_published(n_clusters, random_state=seed, n_jobs=1, **parameters)
    if method in OURS:
        return OURS[method](n_clusters, random_state=seed, n_jobs=1, **parameters)
    return find_method(method).make(n_clusters, random_state=seed, **parameters)


def memory_estimate(method: str, n_clusters: int, parameters: Mapping[str, Any], shape: tuple[int, int]) -> int:
    """Return about how many bytes a fit takes beyond the data."""
    n_samples, n_features = shape
    if method in OURS or method in AS_PUBLISHED:
        # A dense table of weights and its copies; the sets of anchors have five per cluster, unless told otherwise.
        n_anchors = parameters.get("n_anchors", 5 * n_clusters)
        return int(4 * 8 * n_samples * (int(n_anchors) if not isinstance(n_anchors, str) else 5 * n_clusters))
    return int(make_estimator(method, n_clusters, 0, parameters).memory_needed(n_samples, n_features))
