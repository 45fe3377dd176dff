"""The row problem for callers: checks, the call of a kernel, and errors that name the row."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kedge.kernels.contract import (
    FloatArray,
    PreparedHessian,
    RowMatrix,
    RowSolution,
    RowStatus,
    SolveOptions,
    check_real,
)
from kedge.kernels.selection import choose_kernel, default_threads
from kedge.user_warnings import warn_convergence

DEFAULT_TOL = 1e-10
# More threads than this are never of use and would only cost memory.
MOST_THREADS = 1024


def simplex_qp(
    hessian: ArrayLike | PreparedHessian,
    linear: ArrayLike,
    *,
    start: ArrayLike | sparse.sparray | None = None,
    tol: float = DEFAULT_TOL,
    n_threads: int | None = None,
) -> FloatArray:
    """Minimise ``1/2 z'Hz + f_i'z`` over the probability simplex for every row ``f_i`` of ``linear``.

    Solutions are exact: entries off the support are exact zeros. A row with s nonzeros of m costs about ``m s`` per
    active-set round plus ``s^3 / 6``; where most entries are nonzero, support and complement exchange their roles.
    Memory beyond the result is O(m^2) per thread.

    Parameters
    ----------
    hessian : array-like of shape (n_anchors, n_anchors) or PreparedHessian
        Symmetric positive definite, the same for all rows.
    linear : array-like of shape (n_rows, n_anchors)
        One linear term per row; float32 is read as it is and decides the dtype of the result.
    start : array-like or sparse array of shape (n_rows, n_anchors), default=None
        Where to start: the positive entries of each row are its first support. It need not be feasible, and it changes
        the result by rounding at most.
    tol : float, default=1e-10
        Bound on the optimality residual of a row relative to the largest entry of the Hessian plus the largest
        entry of its linear term.
    n_threads : int, default=None
        Threads to use; None means every processor this process may use. The result does not depend on it.

    Returns
    -------
    Z : ndarray of shape (n_rows, n_anchors)
        Nonnegative rows that sum to one.

    Warns
    -----
    ConvergenceWarning
        If rows miss ``tol`` on the fast and on the slow path: the Hessian is nearly singular, or ``tol`` too small.

    Examples
    --------
    >>> import numpy as np
    >>> from kedge import simplex_qp
    >>> simplex_qp(np.eye(3), [[0.0, 0.0, 0.0], [-5.0, 0.0, 0.0]])
    array([[0.33333333, 0.33333333, 0.33333333],
           [1.        , 0.        , 0.        ]])
    """
    return np.asarray(solve_rows(hessian, linear, start=start, tol=tol, n_threads=n_threads).coefficients)


def solve_rows(
    hessian: ArrayLike | PreparedHessian,
    linear: ArrayLike,
    *,
    start: ArrayLike | sparse.sparray | None = None,
    tol: float = DEFAULT_TOL,
    n_threads: int | None = None,
    sparse_output: bool = False,
    want_sums: bool = False,
    kernel: str | None = None,
) -> RowSolution:
    """Solve the rows of :func:`simplex_qp` and return everything the same pass can give.

    Parameters
    ----------
    hessian, linear, start, tol, n_threads
        As in :func:`simplex_qp`.
    sparse_output : bool, default=False
        Return the coefficients as a CSR array; no dense (n_rows, n_anchors) result is made.
    want_sums : bool, default=False
        Also return ``Z'Z``, the column sums and the two parts of the objective, summed in the same pass.
    kernel : {"compiled", "reference"}, default=None
        Which implementation; None takes the compiled one where there is one.

    Returns
    -------
    RowSolution
        Coefficients, a status per row, and the sums.
    """
    options = SolveOptions(_checked_tol(tol), _checked_threads(n_threads), sparse_output, want_sums)
    prepared = hessian if isinstance(hessian, PreparedHessian) else PreparedHessian(hessian)
    rows = _checked_linear(linear, prepared.n_anchors)
    begin = None if start is None else _checked_start(start, rows)
    solution = choose_kernel(kernel).solve_rows(prepared, rows, begin, options)
    _report_rows(solution.status, rows, options.tol)
    return solution


def _checked_linear(linear: ArrayLike, n_anchors: int) -> FloatArray:
    if sparse.issparse(linear):
        raise TypeError("linear must be a dense array; a sparse one was given, call .toarray() on it")
    rows: NDArray[Any] = np.asarray(linear)
    check_real(rows, "linear")
    if rows.ndim != 2 or rows.shape[1] != n_anchors:
        raise ValueError(
            f"linear must have shape (n_rows, {n_anchors}) to go with the hessian, got shape {rows.shape}"
            + ("; for a single row pass linear[None, :]" if rows.shape == (n_anchors,) else "")
        )
    return _readable(rows, np.float32 if rows.dtype.kind == "f" and rows.dtype.itemsize == 4 else np.float64)


def _readable(array: NDArray[Any], dtype: type[np.floating[Any]]) -> FloatArray:
    """Return the array in that dtype, copied only if its bytes cannot be read in place."""
    converted = array.astype(dtype, copy=False)
    in_place = converted.flags.aligned and all(step % converted.itemsize == 0 for step in converted.strides)
    return converted if in_place else converted.copy()


def _checked_start(start: ArrayLike | sparse.sparray, linear: FloatArray) -> RowMatrix:
    given = sparse.csr_array(start) if sparse.issparse(start) else np.asarray(start)
    check_real(given, "start")
    if given.shape != linear.shape:
        raise ValueError(f"start must have the shape of linear, {linear.shape}, got {given.shape}")
    if isinstance(given, np.ndarray):
        return _readable(_fitting(given, linear.dtype), linear.dtype.type)
    try:
        given.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"start is not a valid sparse array: {error}") from None
    if not given.has_canonical_format:
        given = given.copy()
        given.sum_duplicates()
    return sparse.csr_array((_fitting(given.data, linear.dtype), given.indices, given.indptr), shape=given.shape)


def _fitting(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values in that dtype; only signs and finiteness matter, so large values need not overflow."""
    if values.dtype == dtype or values.dtype.kind != "f":
        return values.astype(dtype, copy=False)
    return np.where(np.isfinite(values), np.sign(values), np.nan).astype(dtype)


def _checked_tol(tol: object) -> float:
    if not isinstance(tol, Real) or not 0 < float(tol) < 1:
        raise ValueError(f"tol must be a number between 0 and 1, got {tol!r}")
    return float(tol)


def _checked_threads(n_threads: object) -> int:
    if n_threads is None:
        return default_threads()
    if not isinstance(n_threads, Integral) or n_threads < 1:
        raise ValueError(f"n_threads must be a positive integer or None, got {n_threads!r}")
    return min(int(n_threads), MOST_THREADS)


def _report_rows(status: NDArray[np.int8], linear: FloatArray, tol: float) -> None:
    if not status.any():
        return
    broken = np.flatnonzero(status == RowStatus.LINEAR_NOT_FINITE)
    if len(broken):
        row = int(broken[0])
        column = int(np.flatnonzero(~np.isfinite(linear[row]))[0])
        raise ValueError(
            f"linear has {linear[row, column]} in row {row}, column {column}"
            f"{_and_more(broken)}; every entry must be finite"
        )
    broken = np.flatnonzero(status == RowStatus.START_NOT_FINITE)
    if len(broken):
        raise ValueError(f"start has NaN or infinity in row {broken[0]}{_and_more(broken)}; every entry must be finite")
    missed = np.flatnonzero(status == RowStatus.TOLERANCE_MISSED)
    if len(missed):
        warn_convergence(
            f"row {missed[0]}{_and_more(missed)} missed tol={tol:g} in double precision: raise tol, or make the "
            "hessian better conditioned (a larger alpha, or a multiple of the identity added to it)"
        )


def _and_more(rows: NDArray[np.intp]) -> str:
    return f" (and {len(rows) - 1} more rows)" if len(rows) > 1 else ""
