"""The exact graph of a fit: k components, each the rows and anchors of one cluster."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from kedge.anchors.rows import row_fingerprints
from kedge.core.block_step import RowBlock
from kedge.core.exact_structure import (
    AnchorPairs,
    GroupProblems,
    connected_groups,
    group_anchors,
    pairs_of,
    solve_within_groups,
)
from kedge.core.labels import RowLabels, vote_over_views
from kedge.core.rows import RowSource, canonical_rows
from kedge.engines.contract import Engine
from kedge.user_warnings import warn_convergence

# Rows read at a time to count distinct ones.
_ROWS_COMPARED = 1000


@dataclass(frozen=True)
class NearestGroups:
    """Labels of rows by their nearest anchor."""

    anchors: list[NDArray[Any]]
    groups: NDArray[np.int64]
    needs_views: ClassVar[bool] = True

    def of(self, block: RowBlock) -> NDArray[np.int64]:
        """Return the groups of the nearest anchors."""
        weights = [1.0] * len(self.anchors)
        return vote_over_views(block.views, block.observed, self.anchors, weights, self.groups, n_neighbors=1)


def exact_structure(
    engine: Engine,
    source: RowSource,
    anchors: list[NDArray[Any]],
    labels: RowLabels,
    anchor_labels: NDArray[np.int64],
    support: NDArray[np.float64],
    n_clusters: int,
    **problem_options: Any,
) -> dict[str, Any]:
    """Solve every row again on the anchors of its own cluster; return the fitted attributes that change."""
    if support.shape[1] < n_clusters:
        groups = _group_anchors_themselves(source, anchors, n_clusters)
        labels = NearestGroups(anchors, groups)
        found = engine.per_row(labels.of, width=None, dtype=np.int64, with_views=labels.needs_views)
        _check_every_group_has_rows(found, n_clusters)
    else:
        groups = group_anchors(support, anchor_labels)
        found = engine.per_row(labels.of, width=None, dtype=np.int64, with_views=labels.needs_views)

    def solve_all(problems: GroupProblems) -> AnchorPairs:
        return engine.sum_blocks(partial(_pairs_of_block, problems, labels), with_views=True)

    exact = connected_groups(solve_all, anchors, groups, **problem_options)
    used = exact.used_anchors
    selection = sparse.csr_array((np.ones(len(used)), (used, np.arange(len(used)))), shape=(len(groups), len(used)))
    graph = engine.solve_graph(partial(_solve_block, exact.problems, labels), selection)
    return {
        "graph_": graph,
        "labels_": found,
        "anchor_labels_": groups[used],
        "used_anchors_": used,
        "ridge_factors_": exact.ridge_factors,
    }


def _solve_block(problems: GroupProblems, labels: RowLabels, block: RowBlock) -> sparse.csr_array:
    graph = solve_within_groups(problems, block, labels.of(block))
    graph.eliminate_zeros()
    return graph


def _pairs_of_block(problems: GroupProblems, labels: RowLabels, block: RowBlock) -> AnchorPairs:
    return pairs_of(_solve_block(problems, labels, block))


def _group_anchors_themselves(source: RowSource, anchors: list[NDArray[Any]], n_clusters: int) -> NDArray[np.int64]:
    """Group anchors by k-means, for a graph too uniform to embed."""
    distinct = _count_distinct(source, n_clusters)
    if distinct < n_clusters:
        raise ValueError(
            f"structure='exact' needs at least n_clusters={n_clusters} distinct rows, but X has {distinct}; ask for "
            f"at most {distinct} clusters, or take structure='soft'"
        )
    warn_convergence(
        "the graph is too uniform to be embedded (alpha is very large); the components of structure='exact' are taken "
        "from k-means of the anchors instead. Lower alpha"
    )
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=0).fit_predict(np.hstack(anchors)), dtype=np.int64)


def _check_every_group_has_rows(labels: Any, n_clusters: int) -> None:
    n_found = len(np.unique(np.asarray(labels)))
    if n_found < n_clusters:
        raise ValueError(
            f"structure='exact' found rows for only {n_found} of n_clusters={n_clusters} groups of anchors; choose "
            "anchors near the rows, or lower alpha"
        )


def _count_distinct(source: RowSource, enough: int) -> int:
    """Count distinct rows, but stop when there are enough."""
    seen: set[tuple[int, ...]] = set()
    for start in range(0, source.n_rows, _ROWS_COMPARED):
        views = source.read(slice(start, min(start + _ROWS_COMPARED, source.n_rows)))
        prints = np.column_stack([row_fingerprints(canonical_rows(view)) for view in views])
        seen.update(map(tuple, prints.tolist()))
        if len(seen) >= enough:
            break
    return len(seen)
