"""The exact graph of a fit: from soft labels to exactly k connected components."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kedge.engines.contract import Engine
from kedge.model.exact_structure import GroupProblems, connected_groups, group_anchors, solve_within_groups
from kedge.model.new_rows import vote_over_views
from kedge.model.row_problem import View
from kedge.sources.contract import RowSource


@dataclass(frozen=True)
class ExactFit:
    """The graph with exactly k components, their numbers for rows and anchors, and the anchors that it uses."""

    graph: sparse.csr_array
    labels: NDArray[np.int64]
    anchor_labels: NDArray[np.int64]
    used_anchors: NDArray[np.intp]
    ridge_factors: NDArray[np.float64]


def exact_structure(
    engine: Engine,
    source: RowSource,
    anchors: list[NDArray[Any]],
    labels: NDArray[np.int64],
    anchor_labels: NDArray[np.int64],
    support: NDArray[np.float64],
    **problem_options: Any,
) -> ExactFit:
    """Solve every row again on the anchors of its own cluster; see :mod:`kedge.model.exact_structure`."""
    n_clusters = support.shape[1]
    if labels.max() + 1 < n_clusters:
        labels, groups = _labels_of_anchor_groups(source, anchors, n_clusters)
    else:
        groups = group_anchors(support, anchor_labels)

    def solve_all(problems: GroupProblems) -> sparse.csr_array:
        blocks = engine.map_blocks(lambda block: solve_within_groups(problems, block, labels[block.rows]))
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))

    exact = connected_groups(solve_all, anchors, groups, labels, **problem_options)
    return ExactFit(exact.graph, labels, groups[exact.used_anchors], exact.used_anchors, exact.ridge_factors)


def _labels_of_anchor_groups(
    source: RowSource, anchors: list[NDArray[Any]], n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group anchors by k-means and rows by their nearest anchor, for a graph too uniform to embed."""
    views = source.read(slice(0, source.n_rows))
    distinct = _count_distinct(views, n_clusters)
    if distinct < n_clusters:
        raise ValueError(
            f"structure='exact' needs at least n_clusters={n_clusters} distinct rows, but X has {distinct}; ask for "
            f"at most {distinct} clusters, or take structure='soft'"
        )
    warnings.warn(
        "the graph is too uniform to be embedded (alpha is very large); the components of structure='exact' are taken "
        "from k-means of the anchors instead. Lower alpha",
        ConvergenceWarning,
        stacklevel=9,
    )
    joined = np.hstack(anchors)
    groups = KMeans(n_clusters, n_init=10, random_state=0).fit_predict(joined).astype(np.int64)
    observed = source.observed(slice(0, source.n_rows))
    labels = vote_over_views(views, observed, anchors, [1.0] * len(views), groups, n_neighbors=1)
    if len(np.unique(labels)) < n_clusters:
        raise ValueError(
            f"structure='exact' found rows for only {len(np.unique(labels))} of n_clusters={n_clusters} groups of "
            "anchors; choose anchors near the rows, or lower alpha"
        )
    return labels, groups


def _count_distinct(views: Sequence[View], enough: int) -> int:
    """Count distinct rows, but no further than needed."""
    seen: set[bytes] = set()
    for row in range(views[0].shape[0]):
        seen.add(b"".join(_bytes_of(view, row) for view in views))
        if len(seen) >= enough:
            break
    return len(seen)


def _bytes_of(view: View, row: int) -> bytes:
    if not sparse.issparse(view):
        return bytes((view[row] + 0.0).tobytes())  # minus zero is zero
    part = slice(view.indptr[row], view.indptr[row + 1])
    kept = view.data[part] != 0
    order = np.argsort(view.indices[part][kept])
    return bytes(view.indices[part][kept][order].tobytes() + view.data[part][kept][order].tobytes())
