"""How many anchors, and how many sets of them, where the user leaves it open; and what cannot be."""

from typing import Any

ANCHORS_PER_CLUSTER = 5
# Sets of anchors for small data; with more rows than this together fewer sets are built.
MOST_SETS = 10
ROWS_OF_ALL_SETS = 50_000


def default_anchor_count(n_rows: int, n_clusters: int) -> int:
    """Five per cluster, and never more than the rows allow."""
    return max(n_clusters, min(ANCHORS_PER_CLUSTER * n_clusters, n_rows))


def default_set_count(n_rows: int, n_anchors: int | str) -> int:
    """Ten sets for few rows, where they cost nothing and luck counts most; one from 50,000 rows on.

    A user who gives the number of anchors gets one set of that size.
    """
    if not isinstance(n_anchors, str):
        return 1
    return max(1, min(MOST_SETS, ROWS_OF_ALL_SETS // n_rows))


def checked_anchor_count(n_anchors: int | str, n_rows: int, n_clusters: int) -> int:
    """Return the number of anchors, or say which count does not fit which."""
    if n_rows < n_clusters:
        raise ValueError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}; ask for fewer clusters")
    if isinstance(n_anchors, str):
        return default_anchor_count(n_rows, n_clusters)
    if n_anchors < n_clusters:
        raise ValueError(f"n_anchors={n_anchors} should be >= n_clusters={n_clusters}; raise it or leave it 'auto'")
    if n_anchors > n_rows:
        raise ValueError(f"n_anchors={n_anchors} should be <= n_samples={n_rows}; lower it or leave it 'auto'")
    return int(n_anchors)


def checked_given_anchors(anchors: Any, n_clusters: int, n_features: int) -> Any:
    """Return given anchors as they are if they fit the data."""
    if anchors.shape[1] != n_features:
        raise ValueError(f"anchors have {anchors.shape[1]} features, but X has {n_features}")
    if len(anchors) < n_clusters:
        raise ValueError(f"{len(anchors)} anchors were given, but n_clusters={n_clusters} needs at least as many")
    return anchors
