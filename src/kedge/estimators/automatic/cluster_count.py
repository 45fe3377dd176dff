"""The number of clusters, where it is left to the data."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState

from kedge.engines.library_threads import one_thread_per_library
from kedge.model.anchor_selection.row_access import sample_rows, side_by_side
from kedge.model.cluster_evidence import LEAST_ROWS_PER_CLUSTER, MOST_CLUSTERS, count_clusters
from kedge.sources.contract import RowSource

# Rows that are looked at.
MOST_ROWS = 2_000


def find_cluster_count(
    estimator: Any, source: RowSource, random_state: RandomState
) -> tuple[int, dict[str, Any] | None]:
    """Return the number of clusters and what speaks for it; the user's number and None if there is one."""
    if not isinstance(estimator.n_clusters, str):
        return int(estimator.n_clusters), None
    if estimator.recipe == "published":
        raise ValueError("n_clusters='auto' is not for recipe='published'; give a number")
    rows = sample_rows(source.n_rows, MOST_ROWS, random_state)
    least, most = _range(estimator.n_clusters_range, len(rows))
    with one_thread_per_library():
        evidence = count_clusters(side_by_side(source.read(rows)), least, most, random_state)
    ranked = [
        {"n_clusters": count, "score": score} for count, score in zip(evidence.counts, evidence.scores, strict=True)
    ]
    report: dict[str, Any] = {
        "chosen": evidence.counts[0],
        "from": evidence.kind,
        "range": [least, most],
        "n_rows": len(rows),
        "ranked": ranked,
        "second": None,
        "closeness": 0.0,
    }
    if len(ranked) > 1:
        report["second"] = evidence.counts[1]
        report["closeness"] = float(np.clip(evidence.scores[1] / max(evidence.scores[0], 1e-12), 0.0, 1.0))
    return evidence.counts[0], report


def _range(given: Any, n_rows: int) -> tuple[int, int]:
    """Return the least and most clusters that may be found."""
    # Three rows are the fewest of which any two can be clusters and one is left to tell them apart.
    if n_rows < 4:
        raise ValueError(f"n_clusters='auto' needs at least 4 rows, got n_samples={n_rows}; give a number")
    if given is None:
        return 2, max(2, min(MOST_CLUSTERS, n_rows // LEAST_ROWS_PER_CLUSTER))
    if len(given) != 2 or not all(isinstance(end, Integral) and not isinstance(end, bool) for end in given):
        raise ValueError(f"n_clusters_range must be two whole numbers, least and most: {given!r}")
    least, most = int(given[0]), int(given[1])
    if not 2 <= least <= most <= n_rows - 2:
        raise ValueError(
            f"n_clusters_range={given!r} must satisfy 2 <= least <= most <= {n_rows - 2}, the rows less two"
        )
    return least, most
