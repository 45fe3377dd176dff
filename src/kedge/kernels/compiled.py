"""The compiled routines, dressed as a kernel; cannot be imported where the extension is missing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import kedge._native as _native
from kedge.kernels.contract import (
    CommunityGraph,
    FloatArray,
    Merges,
    PreparedHessian,
    RowMatrix,
    RowSolution,
    RowSums,
    SolveOptions,
)

# Above this share of the anchors in the support, working with the zeroed entries is cheaper than with the support
# (benchmarks/row_solver prints the crossing point).
LARGE_SUPPORT = 0.45
# Rows looked at to see how large supports are; with fewer rows than the second number the inverse is not worth it.
PROBED_ROWS = 8
LEAST_ROWS = 4


def instruction_set() -> str:
    """Name the instruction set that the compiled loops use on this processor."""
    return str(_native.instruction_set())


def is_built_for_speed() -> bool:
    """Tell whether the solver was compiled for speed rather than for size."""
    return bool(_native.is_built_for_speed())


class CompiledKernel:
    """C++ active-set solver on standard threads; the same bits for any number of threads."""

    name = "compiled"

    def solve_rows(
        self, hessian: PreparedHessian, linear: FloatArray, start: RowMatrix | None, options: SolveOptions
    ) -> RowSolution:
        """Solve every row; see :class:`kedge.kernels.contract.Kernel`."""
        large = hessian.projected_inverse if expects_large_supports(hessian, linear, start) else (None, None)
        return call_native(hessian, large, linear, start, options)

    def smallest_columns(self, values: FloatArray, count: int) -> tuple[NDArray[np.int32], FloatArray]:
        """Scan every row once; see :class:`kedge.kernels.contract.Kernel`."""
        columns, smallest = _native.smallest_columns(np.ascontiguousarray(values), count)
        return columns, smallest

    def find_communities(self, graph: CommunityGraph, seeds: Sequence[int]) -> list[NDArray[np.int64]]:
        """Find communities; see :class:`kedge.kernels.contract.Kernel`."""
        native = native_graph(graph)
        return [np.asarray(_native.find_communities(native, seed), dtype=np.int64) for seed in seeds]

    def merge_communities(self, graph: CommunityGraph) -> Merges:
        """Merge communities; see :class:`kedge.kernels.contract.Kernel`."""
        pairs, losses = _native.merge_communities(native_graph(graph))
        return Merges(np.asarray(pairs, dtype=np.int64), np.asarray(losses, dtype=np.float64))

    def move_nodes(self, graph: CommunityGraph, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move nodes; see :class:`kedge.kernels.contract.Kernel`."""
        return np.asarray(_native.move_nodes(native_graph(graph), labels), dtype=np.int64)


def native_graph(graph: CommunityGraph) -> _native.CommunityGraph:
    """Return the graph as the extension takes it, without a copy."""
    return _native.CommunityGraph(graph.row_starts, graph.neighbors, graph.weights, graph.masses, graph.penalty)


def expects_large_supports(hessian: PreparedHessian, linear: FloatArray, start: RowMatrix | None) -> bool:
    """Decide for a block of rows whether most anchors will carry weight, from the start or from a few of the rows."""
    n_rows, n_anchors = linear.shape
    if n_rows < LEAST_ROWS:
        return False
    limit = LARGE_SUPPORT * n_anchors
    probe = np.unique(np.linspace(0, n_rows - 1, PROBED_ROWS).astype(np.intp))
    if start is None:
        # Supports are grown only until they settle the question.
        sizes = _native.count_supports(hessian.matrix, linear[probe], int(limit) + 1)
    elif isinstance(start, np.ndarray):
        sizes = np.count_nonzero(start[probe] > 0, axis=1)
    else:
        sizes = (start[probe] > 0).sum(axis=1)
    return bool(np.median(sizes) > limit)


def call_native(
    hessian: PreparedHessian,
    large: tuple[NDArray[np.float64], NDArray[np.float64]] | tuple[None, None],
    linear: FloatArray,
    start: RowMatrix | None,
    options: SolveOptions,
) -> RowSolution:
    """Run the extension with (``large``: the projected inverse and centre) or without the start for large supports."""
    native_options = _native.Options(options.tol, options.n_threads, options.sparse_output, options.want_sums)
    if start is not None and not isinstance(start, np.ndarray):
        rows = start.indptr.astype(np.int64), start.indices.astype(np.int32), np.ascontiguousarray(start.data)
        out = _native.solve_rows_from_csr(hessian.matrix, *large, linear, *rows, native_options)
    else:
        out = _native.solve_rows(hessian.matrix, *large, linear, start, native_options)
    coefficients = out.get("dense")
    if coefficients is None:
        parts = (out["data"], out["indices"], out["indptr"])
        coefficients = sparse.csr_array(parts, shape=linear.shape)
    sums = None
    if options.want_sums:
        sums = RowSums(out["gram"], out["column_sums"], out["linear_part"], out["quadratic_part"])
    return RowSolution(coefficients, out["status"], sums)
