"""A graph with exactly k connected components: every row is rebuilt only from the anchors of its own cluster.

The clusters are those of the soft graph. Each anchor goes to the cluster that uses it most, and every row is solved
again on the anchors of its cluster, so clusters share no edge. A cluster may still fall apart, if some of its rows use
one part of its anchors and the other rows the rest. A larger ridge spreads rows over more anchors, so the ridge of such
a cluster is raised until the cluster is connected.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.block_step import RowBlock, joint_gram, solve_patterns
from kedge.core.driver_step import anchor_components
from kedge.core.rows import RowProblem, build_row_problem

# Factor by which the ridge of a cluster in pieces is raised, and how often. The last ridge is more than 1e30 times the
# first, which makes every weight positive.
RIDGE_STEP = 4.0
MOST_STEPS = 50


@dataclass(frozen=True)
class GroupProblems:
    """One row problem per cluster, on its own anchors."""

    problems: tuple[RowProblem, ...]
    anchors_of: tuple[NDArray[np.intp], ...]
    n_anchors: int


def group_anchors(support: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cluster of every anchor, such that every cluster has at least one.

    ``support`` is the weight of each cluster's rows on each anchor, and ``labels`` the cluster that uses each anchor
    most. A cluster without anchors takes the one it uses most among those that other clusters can spare.
    """
    n_anchors, n_clusters = support.shape
    if n_anchors < n_clusters:
        raise ValueError(f"{n_clusters} components need as many anchors, but there are {n_anchors} distinct ones")
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=n_clusters)
    for cluster in np.flatnonzero(sizes == 0):
        spare = np.flatnonzero(sizes[labels] > 1)
        anchor = spare[support[spare, cluster].argmax()]
        sizes[labels[anchor]] -= 1
        sizes[cluster] += 1
        labels[anchor] = cluster
    return labels


def solve_within_groups(
    groups: GroupProblems, block: RowBlock, labels: NDArray[np.int64], n_threads: int = 1
) -> sparse.csr_array:
    """Solve the rows of a block, each on the anchors of its cluster; ``labels`` are those of the block."""
    if not len(labels):
        return sparse.csr_array((0, groups.n_anchors), dtype=block.views[0].dtype)
    entries: list[tuple[Any, Any, Any]] = []
    for cluster in np.unique(labels):
        rows = np.flatnonzero(labels == cluster)
        problem, anchors = groups.problems[cluster], groups.anchors_of[cluster]
        observed = None if block.observed is None else block.observed[rows]
        linear = problem.weighted(problem.view_terms([view[rows] for view in block.views], observed))
        found, _ = solve_patterns(problem, linear, observed, n_threads=n_threads)
        # Mirrored anchors have two columns each; both count for the one anchor.
        columns = anchors[found.indices % len(anchors)]
        entries.append((found.data, np.repeat(rows, np.diff(found.indptr)), columns))
    data, rows, columns = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sparse.csr_array((data, (rows, columns)), shape=(len(labels), groups.n_anchors))


@dataclass(frozen=True)
class AnchorPairs:
    """How many rows use each pair of anchors: array or CSR array of shape (n_anchors, n_anchors)."""

    counts: Any

    def merge(self, other: Self) -> Self:
        """Add the counts of other rows."""
        return type(self)(self.counts + other.counts)


def pairs_of(graph: sparse.csr_array) -> AnchorPairs:
    """Count the rows that use each pair of anchors; stored zeros do not count."""
    used = sparse.csr_array(((graph.data != 0).astype(np.float64), graph.indices, graph.indptr), shape=graph.shape)
    return AnchorPairs(joint_gram(used))


@dataclass(frozen=True)
class ConnectedGroups:
    """The problems with a connected solution, the anchors it uses, and the factor by which each ridge was raised."""

    problems: GroupProblems
    used_anchors: NDArray[np.intp]
    ridge_factors: NDArray[np.float64]


def connected_groups(
    solve_all: Callable[[GroupProblems], AnchorPairs],
    anchors: Sequence[NDArray[np.floating[Any]]],
    anchor_groups: NDArray[np.int64],
    *,
    ridge: float,
    **problem_options: Any,
) -> ConnectedGroups:
    """Solve all rows within their clusters, raising ridges until every cluster is one component.

    ``solve_all`` solves every row, given the problems of the clusters, and returns which anchors rows use together.
    ``problem_options`` are those of :func:`kedge.core.rows.build_row_problem`.
    """
    n_clusters = int(anchor_groups.max()) + 1
    members = tuple(np.flatnonzero(anchor_groups == cluster) for cluster in range(n_clusters))
    factors = np.ones(n_clusters)
    for _ in range(MOST_STEPS):
        problems = tuple(
            build_row_problem([a[own] for a in anchors], ridge=ridge * factor, **problem_options)
            for own, factor in zip(members, factors, strict=True)
        )
        groups = GroupProblems(problems, members, len(anchor_groups))
        together = solve_all(groups).counts
        count, pieces = anchor_components(together, together.diagonal())
        used = np.flatnonzero(pieces >= 0)
        if count == n_clusters:
            return ConnectedGroups(groups, used, factors)
        pairs = np.unique(np.column_stack([anchor_groups[used], pieces[used]]), axis=0)
        factors[np.bincount(pairs[:, 0], minlength=n_clusters) > 1] *= RIDGE_STEP
    raise RuntimeError(f"the clusters could not be connected by raising the ridge {MOST_STEPS} times; this is a bug")
