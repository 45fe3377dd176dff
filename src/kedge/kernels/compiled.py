"""The compiled row solver, dressed as a kernel. Importing this module fails where the extension is missing."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import kedge._native as _native
from kedge.kernels.contract import FloatArray, RowMatrix, RowSolution, RowSums, SolveOptions
from kedge.kernels.prepared_hessian import PreparedHessian

# Above this share of the anchors in the support, working with the zeroed entries is cheaper than with the support
# (benchmarks/row_solver prints the crossing point).
LARGE_SUPPORT = 0.45
# Rows solved first to see how large supports are.
PROBED_ROWS = 16
# The inverse costs n_anchors^3 once; with fewer rows than this share of the anchors it is not earned back.
ROWS_PER_ANCHOR = 0.5


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
        self,
        hessian: PreparedHessian,
        linear: FloatArray,
        start: RowMatrix | None,
        options: SolveOptions,
    ) -> RowSolution:
        """Solve every row; see :class:`kedge.kernels.contract.Kernel`."""
        large = hessian.projected_inverse if expects_large_supports(hessian, linear, start) else (None, None)
        return call_native(hessian, large, linear, start, options)


def expects_large_supports(hessian: PreparedHessian, linear: FloatArray, start: RowMatrix | None) -> bool:
    """Decide for a block of rows whether most anchors will carry weight, from the start or from a few solved rows."""
    n_rows, n_anchors = linear.shape
    if n_rows < ROWS_PER_ANCHOR * n_anchors:
        return False
    probe = np.unique(np.linspace(0, n_rows - 1, PROBED_ROWS).astype(np.intp))
    weights: RowMatrix
    if start is None:
        options = SolveOptions(tol=1e-6, n_threads=1, sparse_output=True, want_sums=False)
        weights = call_native(hessian, (None, None), linear[probe], None, options).coefficients
    else:
        weights = start[probe]
    n_positive = int(np.count_nonzero((weights if isinstance(weights, np.ndarray) else weights.data) > 0))
    return bool(n_positive > LARGE_SUPPORT * n_anchors * len(probe))


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
        rows = start.indptr.astype(np.int64), start.indices.astype(np.int32), start.data
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
