"""How many anchors, and how many sets of them, where the user leaves it open; and what cannot be."""

from collections.abc import Sequence
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


def checked_given_anchors(
    anchors: Sequence[Any], n_clusters: int, names: Sequence[str], widths: Sequence[int]
) -> Sequence[Any]:
    """Return given anchors, one array per view, as they are if they fit the data and each other."""
    if len(anchors) != len(names):
        raise ValueError(f"anchors has {len(anchors)} arrays, but there are {len(names)} views; give one per view")
    for one, name, width in zip(anchors, names, widths, strict=True):
        if one.shape[1] != width:
            raise ValueError(f"anchors have {one.shape[1]} features, but {name} has {width}")
        if len(one) != len(anchors[0]):
            raise ValueError(
                f"anchors of {name} are {len(one)}, of {names[0]} {len(anchors[0])}; anchor j of all views is one "
                "prototype, so give as many for each view"
            )
    if len(anchors[0]) < n_clusters:
        raise ValueError(f"{len(anchors[0])} anchors were given, but n_clusters={n_clusters} needs at least as many")
    return anchors
