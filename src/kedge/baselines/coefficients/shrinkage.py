"""Proximal maps: what a nuclear norm, a sum of row lengths or a sum of absolute entries does to a matrix."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.float64]

# Singular values from the Gram matrix have an error of about 1e-16 times the largest squared over the threshold; with a
# threshold above this part of the largest, the shrunk matrix is right to twelve digits.
_GRAM_SUFFICES = 1e-4


def shrink_singular_values(matrix: Array, threshold: float) -> Array:
    """Lower all singular values by the threshold, at least to zero.

    This minimises ``threshold |J|_* + 1/2 |J - matrix|_F^2``. With the left singular vectors U and values s of the
    narrow side the result is ``U diag(max(1 - threshold / s, 0)) U'`` times the matrix. U comes from the Gram matrix
    where that is accurate enough, which halves the time of square matrices, and from a QR and a small singular value
    decomposition where it is not. O(l r^2) for sides l >= r.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns)
        Any matrix. Not changed.
    threshold : float
        Positive.
    """
    if linalg.norm(matrix) <= threshold:
        return np.zeros_like(matrix)
    if matrix.shape[0] > matrix.shape[1]:
        return np.ascontiguousarray(shrink_singular_values(matrix.T, threshold).T)
    gram = matrix @ matrix.T
    # The largest row sum is at least the largest eigenvalue.
    if threshold**2 >= _GRAM_SUFFICES**2 * np.abs(gram).sum(axis=1).max():
        squares, vectors = linalg.eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
        values = np.sqrt(squares.clip(min=0.0))
    else:
        del gram
        values, vectors = left_singular_pairs(matrix)
    kept = values > threshold
    vectors, factors = vectors[:, kept], 1.0 - threshold / values[kept]
    return np.asarray((vectors * factors) @ (vectors.T @ matrix))


def left_singular_pairs(matrix: Array) -> tuple[Array, Array]:
    """Return the singular values of a wide or square matrix and its left singular vectors as columns."""
    square = matrix if matrix.shape[0] == matrix.shape[1] else np.asarray(np.linalg.qr(matrix.T, mode="r")).T
    vectors, values, _ = linalg.svd(square, check_finite=False)
    return values, vectors


def shrink_rows(matrix: Array, threshold: float) -> Array:
    """Shorten every row by the threshold, at most to zero.

    This minimises ``threshold * sum of row lengths of J + 1/2 |J - matrix|_F^2``.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    rest = np.maximum(lengths - threshold, 0.0)
    factors = np.divide(rest, lengths, out=np.zeros_like(rest), where=lengths > 0)
    return np.asarray(matrix * factors[:, None])


def shrink_entries(matrix: Array, threshold: float) -> Array:
    """Move every entry towards zero by the threshold, at most to zero.

    This minimises ``threshold * sum of |entries of J| + 1/2 |J - matrix|_F^2``.
    """
    return np.asarray(matrix - np.clip(matrix, -threshold, threshold))
