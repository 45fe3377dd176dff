"""What a kernel takes and gives: a checked Hessian, rows that are solved, nearest anchors, communities of a graph."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

# Products such as A A' are symmetric up to rounding; anything beyond this share of the largest entry is a mistake.
_ASYMMETRY = 1e-8


class PreparedHessian:
    """A symmetric positive definite matrix, checked once and ready for many blocks of rows.

    Parameters
    ----------
    hessian : array-like of shape (n_anchors, n_anchors)
        Symmetric positive definite; ``matrix`` keeps it in double precision, exactly symmetric.
    """

    def __init__(self, hessian: ArrayLike) -> None:
        self.matrix = _checked_matrix(hessian)
        try:
            self._lower = np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(self.matrix)[0])
            raise ValueError(
                f"hessian must be positive definite, but its smallest eigenvalue is {smallest:.3g} (largest entry "
                f"{np.abs(self.matrix).max():.3g}); add a ridge: alpha > 0, or a small multiple of the identity"
            ) from None

    @property
    def n_anchors(self) -> int:
        """Number of anchors, the order of the matrix."""
        return int(self.matrix.shape[0])

    @cached_property
    def projected_inverse(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(Q, c)`` with ``c - Q f`` the minimiser of ``1/2 z'Hz + f'z`` subject to ``sum(z) = 1`` alone.

        With P the inverse and u = P 1: Q = P - u u' / sum(u) and c = u / sum(u). Costs O(n_anchors^3), once.
        """
        inverse = linalg.cho_solve((self._lower, True), np.eye(self.n_anchors), check_finite=False)
        inverse = (inverse + inverse.T) / 2
        row_sums = inverse.sum(axis=1)
        centre = row_sums / row_sums.sum()
        return np.ascontiguousarray(inverse - np.outer(row_sums, centre)), centre


def check_real(given: Any, name: str) -> None:
    """Refuse an array of anything but real numbers."""
    if given.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {given.dtype}")


def _checked_matrix(hessian: ArrayLike) -> NDArray[np.float64]:
    given: NDArray[Any] = np.asarray(hessian)
    check_real(given, "hessian")
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.shape[0] == 0:
        raise ValueError(f"hessian must be a square matrix with at least one row, got shape {given.shape}")
    matrix = np.array(given, dtype=np.float64, order="C")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"hessian has {matrix[row, column]} in row {row}, column {column}; every entry must be finite")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > _ASYMMETRY * np.abs(matrix).max():
        row, column = np.unravel_index(int(gap.argmax()), gap.shape)
        raise ValueError(
            f"hessian must be symmetric, but entries ({row}, {column}) and ({column}, {row}) differ by "
            f"{gap.max():.3g}; pass (H + H.T) / 2 if that is what you mean"
        )
    return 0.5 * matrix + 0.5 * matrix.T  # the sum of two large entries could overflow


FloatArray = NDArray[np.floating[Any]]
Floats = NDArray[np.float32]
Labels = NDArray[np.int64]
RowMatrix: TypeAlias = FloatArray | sparse.csr_array


class RowStatus(IntEnum):
    """How a row ended; kernels return one code per row."""

    SOLVED = 0
    SOLVED_CAREFULLY = 1
    TOLERANCE_MISSED = 2
    LINEAR_NOT_FINITE = 3
    START_NOT_FINITE = 4


@dataclass(frozen=True)
class RowSums:
    """Sums over all rows, taken in the pass that solves them.

    With ``H = 2 alpha I + 2 A A'`` and ``f_i = -2 A x_i``, the squared reconstruction error and the ridge term follow
    from these and the squared norm of X, so no second pass over the rows is needed.
    """

    gram: NDArray[np.float64]
    column_sums: NDArray[np.float64]
    linear_part: float
    quadratic_part: float

    @property
    def objective(self) -> float:
        """Sum over rows of ``1/2 z'Hz + f'z``."""
        return 0.5 * self.quadratic_part + self.linear_part


@dataclass(frozen=True)
class RowSolution:
    """Solved rows: coefficients, one status per row, and the sums if they were asked for."""

    coefficients: RowMatrix
    status: NDArray[np.int8]
    sums: RowSums | None = None

    @property
    def n_careful(self) -> int:
        """Rows for which the fast path missed the tolerance and the slow path reached it."""
        return int(np.count_nonzero(self.status == RowStatus.SOLVED_CAREFULLY))


class SolveOptions(NamedTuple):
    """How a kernel solves rows, and what it returns."""

    tol: float
    n_threads: int
    sparse_output: bool
    want_sums: bool


class CommunityGraph(NamedTuple):
    """A symmetric graph in CSR form, with positive weights and no self loops.

    Weights and masses are shares of their sums. A community of mass K costs ``penalty * K**2``.
    """

    row_starts: NDArray[np.int64]
    neighbors: NDArray[np.int32]
    weights: NDArray[np.float64]
    masses: NDArray[np.float64]
    penalty: float


# The two communities of each merge, lower number first, and the modularity it loses. Merge t makes number n_nodes + t.
Merges: TypeAlias = tuple[Labels, NDArray[np.float64]]


@dataclass(frozen=True)
class Kernel:
    """Functions that work row by row or node by node. Their inputs are already checked and share one dtype."""

    name: str
    #: Solves every row of the linear terms. Rows that are not finite get their status and unspecified coefficients.
    solve_rows: Callable[[PreparedHessian, FloatArray, RowMatrix | None, SolveOptions], RowSolution]
    #: Returns columns and values of the smallest entries of every row, ascending. Ties go to the first column.
    smallest_columns: Callable[[FloatArray, int], tuple[NDArray[np.int32], FloatArray]]
    #: Joins rows to all but the last of these columns: returns the columns, ascending, weights that sum to one and are
    #: proportional to the difference to the last value (equal if all are zero), and the sum of weights times values.
    join_weights: Callable[[NDArray[np.int32], FloatArray], tuple[NDArray[np.int32], FloatArray, float]]
    #: Returns the communities of high modularity (Leiden) that a seed leads to, numbered by their first nodes.
    find_communities: Callable[[CommunityGraph, int], Labels]
    #: Merges the two communities that lose least modularity until one is left. Every node begins as its own.
    merge_communities: Callable[[CommunityGraph], Merges]
    #: Moves nodes to neighbouring clusters while that raises modularity. No cluster loses its last node.
    move_nodes: Callable[[CommunityGraph, Labels], Labels]
    #: Returns the squared distance of each row to its nearest centre, and writes that centre over the guess given.
    nearest_centers: Callable[[Floats, Floats, Floats, NDArray[np.int32]], Floats]
    #: Moves rows whose label changed from the sum of the old centre to that of the new one, in a range of columns.
    move_rows_between_sums: Callable[
        [Floats, NDArray[np.int32], NDArray[np.int32], int, int, NDArray[np.float64]], None
    ]
