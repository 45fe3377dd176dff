"""Which kernel is used, the compiled one or its NumPy twin, and how many threads libraries may take."""

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from kedge.kernels.contract import (
    CommunityGraph,
    FloatArray,
    Kernel,
    Merges,
    PreparedHessian,
    RowMatrix,
    RowSolution,
    RowSums,
    SolveOptions,
)
from kedge.kernels.reference import ReferenceKernel
from kedge.user_warnings import warn_user

# Why the extension cannot be loaded; empty if it can.
_problem = ""
try:
    import kedge._native as _native
except ImportError as error:
    _problem = str(error) or "ImportError"

# Above this share of the anchors in the support, working with the zeroed entries is cheaper than with the support
# (benchmarks/row_solver prints the crossing point).
LARGE_SUPPORT = 0.45
# Rows looked at to see how large supports are; with fewer rows than the second number the inverse is not worth it.
PROBED_ROWS, LEAST_ROWS = 8, 4


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
        return _native.smallest_columns(np.ascontiguousarray(values), count)  # type: ignore[no-any-return]

    def find_communities(self, graph: CommunityGraph, seeds: Sequence[int]) -> list[NDArray[np.int64]]:
        """Find communities; see :class:`kedge.kernels.contract.Kernel`."""
        native = _native.CommunityGraph(*graph)
        return [_native.find_communities(native, seed) for seed in seeds]

    def merge_communities(self, graph: CommunityGraph) -> Merges:
        """Merge communities; see :class:`kedge.kernels.contract.Kernel`."""
        return _native.merge_communities(_native.CommunityGraph(*graph))  # type: ignore[no-any-return]

    def move_nodes(self, graph: CommunityGraph, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move nodes; see :class:`kedge.kernels.contract.Kernel`."""
        return _native.move_nodes(_native.CommunityGraph(*graph), labels)  # type: ignore[no-any-return]


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
    if start is not None and not isinstance(start, np.ndarray):
        rows = start.indptr.astype(np.int64), start.indices.astype(np.int32), np.ascontiguousarray(start.data)
        out = _native.solve_rows_from_csr(hessian.matrix, *large, linear, *rows, _native.Options(*options))
    else:
        out = _native.solve_rows(hessian.matrix, *large, linear, start, _native.Options(*options))
    coefficients = out.get("dense")
    if coefficients is None:
        coefficients = sparse.csr_array((out["data"], out["indices"], out["indptr"]), shape=linear.shape)
    sums = None
    if options.want_sums:
        sums = RowSums(out["gram"], out["column_sums"], out["linear_part"], out["quadratic_part"])
    return RowSolution(coefficients, out["status"], sums)


@cache
def available_kernels() -> dict[str, Kernel]:
    """Return the kernels of this installation by name, the preferred one first."""
    if not _problem:
        return {"compiled": CompiledKernel(), "reference": ReferenceKernel()}
    warn_user(
        f"kedge's compiled row solver could not be loaded ({_problem}); the NumPy one is used, which is hundreds of "
        "times slower. Reinstall kedge with a C++20 compiler at hand, or run `kedge doctor`.",
        RuntimeWarning,
    )
    return {"reference": ReferenceKernel()}


def choose_kernel(name: str | None = None) -> Kernel:
    """Return the kernel of that name, or the preferred one."""
    kernels = available_kernels()
    if name is None:
        return next(iter(kernels.values()))
    if name not in kernels:
        raise ValueError(f"kernel must be one of {sorted(kernels)} here, got {name!r}")
    return kernels[name]


def _smallest_columns(values: FloatArray, count: int) -> tuple[NDArray[np.int32], FloatArray]:
    return choose_kernel().smallest_columns(values, count)


# Anchors are searched again and again, so the compiled routine is called directly. It takes C order.
smallest_columns = _smallest_columns if _problem else _native.smallest_columns


def default_threads() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread_per_library() -> Any:
    """Hold BLAS and OpenMP to one thread each: blocks of rows run side by side instead, and pools do not fight.

    Use it in a ``with`` block, or as the initializer of threads that start inside one.
    """
    return _thread_pools().limit(limits=1)
