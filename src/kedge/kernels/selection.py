"""Which kernel is used, the compiled one or its NumPy twin, and how many threads libraries may take."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from kedge.kernels.contract import FloatArray, Kernel, PreparedHessian, RowMatrix, RowSolution, RowSums, SolveOptions
from kedge.kernels.reference import REFERENCE
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


def _on_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda graph, *rest: function(_native.CommunityGraph(*graph), *rest)


def _labels_on_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    # The extension's integers are another type of the same size, which shows when labels are printed.
    return lambda graph, *rest: np.asarray(function(_native.CommunityGraph(*graph), *rest), dtype=np.int64)


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


def _solve_rows(
    hessian: PreparedHessian, linear: FloatArray, start: RowMatrix | None, options: SolveOptions
) -> RowSolution:
    """Solve every row with the C++ active-set solver; the same bits for any number of threads."""
    large = hessian.projected_inverse if expects_large_supports(hessian, linear, start) else (None, None)
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
        compiled = Kernel(
            name="compiled",
            solve_rows=_solve_rows,
            smallest_columns=_native.smallest_columns,
            join_weights=_native.join_weights,
            find_communities=_labels_on_graph(_native.find_communities),
            merge_communities=_on_graph(_native.merge_communities),
            move_nodes=_labels_on_graph(_native.move_nodes),
            nearest_centers=_native.nearest_centers,
            move_rows_between_sums=_native.move_rows_between_sums,
        )
        return {"compiled": compiled, "reference": REFERENCE}
    warn_user(
        f"kedge's compiled row solver could not be loaded ({_problem}); the NumPy one is used, which is hundreds of "
        "times slower. Reinstall kedge with a C++20 compiler at hand, or run `kedge doctor`.",
        RuntimeWarning,
    )
    return {"reference": REFERENCE}


def choose_kernel(name: str | None = None) -> Kernel:
    """Return the kernel of that name, or the preferred one."""
    kernels = available_kernels()
    if name is None:
        return next(iter(kernels.values()))
    if name not in kernels:
        raise ValueError(f"kernel must be one of {sorted(kernels)} here, got {name!r}")
    return kernels[name]


def _warn_and_search(values: FloatArray, count: int) -> tuple[NDArray[np.int32], FloatArray]:
    return choose_kernel().smallest_columns(values, count)


def _warn_and_join(columns: NDArray[np.int32], smallest: FloatArray) -> tuple[NDArray[np.int32], FloatArray, float]:
    return choose_kernel().join_weights(columns, smallest)


# Anchors are searched again and again, so callers get the compiled routines themselves. They take arrays in C order.
smallest_columns = _warn_and_search if _problem else _native.smallest_columns
join_weights = _warn_and_join if _problem else _native.join_weights


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
