"""The directions between rows that carry most of a matrix: its leading left singular vectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import linalg, sparse

Array = NDArray[np.float64]

# Up to this many rows or features their Gram matrix gives the leading directions exactly at moderate cost; above, they
# are found by random projection with so many rounds of improvement and so many spare directions.
_SMALL_SIDE = 2000
_ROUNDS, _SPARE = 7, 10
# Singular values below this part of the largest cannot be told from rounding in a Gram matrix.
_GRAM_NOISE = 1e-7


@dataclass(frozen=True)
class RowSpace:
    """``X ~ basis diag(singular_values) directions'``, the best such matrix of its rank; directions are not kept."""

    basis: Array  # Shape (n_rows, rank). Orthonormal columns.
    singular_values: Array  # Shape (rank,). Positive, descending; none if X is zero.
    remainder: Array  # Shape (n_rows,). Length of what each row of X has outside the directions.


def whole_row_space(X: Any) -> RowSpace:
    """Decompose all of X.

    O(n d min(n, d)); a sparse X is not made dense, and singular values below 1e-7 of its largest are then dropped.
    """
    n_rows, n_features = X.shape
    if not sparse.issparse(X):
        basis, values, _ = linalg.svd(X, full_matrices=False, check_finite=False)
        return _cut(basis, values, max(n_rows, n_features) * np.finfo(np.float64).eps, np.zeros(n_rows))
    if n_features < n_rows:
        basis, values = _rayleigh_ritz(X, _gram_vectors(X.T @ X, n_features))
    else:
        squares, basis = linalg.eigh((X @ X.T).toarray(), driver="evd", check_finite=False)
        basis, values = basis[:, ::-1], np.sqrt(squares[::-1].clip(min=0.0))
    return _cut(basis, values, _GRAM_NOISE, np.zeros(n_rows))


def leading_row_space(X: Any, rank: int, random_state: RandomState) -> RowSpace:
    """Find the leading directions, at most ``rank``.

    Exact up to 2,000 rows or features, O(n d min(n, d)); by random projection with seven rounds of improvement above,
    O(n d rank), or what is stored of a sparse X in place of n d.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        Not changed.
    rank : int
        Positive.
    random_state : RandomState
        Seeds the random projection.
    """
    n_rows, n_features = X.shape
    rank = min(rank, n_rows, n_features)
    if n_features <= min(n_rows, _SMALL_SIDE):
        features = _gram_vectors(X.T @ X, rank)
    elif n_rows <= _SMALL_SIDE:
        features = _orthonormal(X.T @ _gram_vectors(X @ X.T, rank))
    else:
        features = _random_vectors(X, min(rank + _SPARE, n_rows, n_features), random_state)
    basis, values = _rayleigh_ritz(X, features)
    basis, values = basis[:, :rank], values[:rank]
    squares = np.asarray((X * X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    inside = np.einsum("ij,ij->i", basis * values, basis * values)
    # A difference of squares is exact to about 1e-15 of them: less than that is nothing.
    outside = np.where(squares - inside > 1e-13 * squares, squares - inside, 0.0)
    return _cut(basis, values, _GRAM_NOISE, np.sqrt(outside))


def _cut(basis: Array, values: Array, noise: float, remainder: Array) -> RowSpace:
    kept = values > noise * values.max(initial=0.0)
    return RowSpace(np.ascontiguousarray(basis[:, kept]), values[kept], remainder)


def _gram_vectors(gram: Any, count: int) -> Array:
    matrix = gram.toarray() if sparse.issparse(gram) else gram
    order = len(matrix)
    return np.asarray(linalg.eigh(matrix, subset_by_index=[order - count, order - 1], check_finite=False)[1])


def _random_vectors(X: Any, count: int, random_state: RandomState) -> Array:
    features = _orthonormal(X.T @ random_state.standard_normal((X.shape[0], count)))
    for _ in range(_ROUNDS):
        features = _orthonormal(X.T @ _orthonormal(X @ features))
    return features


def _orthonormal(columns: Array) -> Array:
    return np.asarray(np.linalg.qr(columns)[0])


def _rayleigh_ritz(X: Any, features: Array) -> tuple[Array, Array]:
    """Return the left singular vectors and the values of X restricted to some orthonormal directions."""
    orthonormal, triangle = np.linalg.qr(X @ features)
    rotation, values, _ = linalg.svd(triangle, check_finite=False)
    return np.asarray(orthonormal @ rotation), values
