"""A checked Hessian with what can be computed once for all rows."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

# Products such as A A' are symmetric up to rounding; anything beyond this share of the largest entry is a mistake.
_ASYMMETRY = 1e-8


class PreparedHessian:
    """A symmetric positive definite matrix, checked once and ready for many blocks of rows.

    Parameters
    ----------
    hessian : array-like of shape (n_anchors, n_anchors)
        Symmetric positive definite.

    Attributes
    ----------
    matrix : ndarray of shape (n_anchors, n_anchors)
        The Hessian in double precision and C order, exactly symmetric.
    """

    matrix: NDArray[np.float64]

    def __init__(self, hessian: ArrayLike) -> None:
        self.matrix = _checked_matrix(hessian)
        try:
            self._lower = np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            raise ValueError(_not_definite_message(self.matrix)) from None

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


def _checked_matrix(hessian: ArrayLike) -> NDArray[np.float64]:
    given: NDArray[Any] = np.asarray(hessian)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"hessian must hold real numbers, got dtype {given.dtype}")
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


def _not_definite_message(matrix: NDArray[np.float64]) -> str:
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    return (
        f"hessian must be positive definite, but its smallest eigenvalue is {smallest:.3g} "
        f"(largest entry {np.abs(matrix).max():.3g}); add a ridge: alpha > 0, or a small multiple of the identity"
    )
