"""Rows on a union of subspaces, and clusters seen in several views."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state, check_scalar, gen_batches

Array = NDArray[Any]

# Rows drawn at a time: temporary arrays stay at a few MiB whatever the number of rows.
BLOCK_ROWS = 1 << 16
# Standard deviation of a row around its cluster centre in the hidden space, where centres are sqrt(2) apart.
CLUSTER_SPREAD = 0.15


def make_union_of_subspaces(
    n_samples: int = 1000,
    *,
    n_subspaces: int = 5,
    dim: int | Sequence[int] = 6,
    ambient_dim: int = 9,
    noise: float = 0.0,
    orthogonal: bool = False,
    nonnegative: bool = False,
    random_state: Any = None,
    dtype: DTypeLike = np.float64,
) -> tuple[Array, NDArray[np.int64]]:
    """Draw rows of unit length from random linear subspaces.

    A row is a Gaussian combination of an orthonormal basis of its subspace, scaled to unit length, plus noise. Memory
    beyond the result stays at a few MiB.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, at least one per subspace, split as evenly as possible.
    n_subspaces : int, default=5
        Number of subspaces.
    dim : int or sequence of int, default=6
        Dimension of every subspace, or one per subspace.
    ambient_dim : int, default=9
        Number of features.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise of each feature. Noisy rows are not scaled again.
    orthogonal : bool, default=False
        Make the subspaces orthogonal to each other; their dimensions must then add up to at most ``ambient_dim``.
    nonnegative : bool, default=False
        Combine with absolute values only: rows lie in the cone that the basis spans, and x and -x never both occur.
    random_state : int, RandomState instance or None, default=None
        Seed of bases, rows and their order.
    dtype : {float64, float32}, default=float64
        Type of the rows. The same seed gives the same rows in both, up to rounding.

    Returns
    -------
    X : ndarray of shape (n_samples, ambient_dim)
        The rows, in random order.
    y : ndarray of shape (n_samples,)
        Subspace of each row.

    Examples
    --------
    >>> from kedge.datasets import make_union_of_subspaces
    >>> X, y = make_union_of_subspaces(300, n_subspaces=3, dim=2, ambient_dim=10, random_state=0)
    >>> X.shape, [int((y == subspace).sum()) for subspace in range(3)]
    ((300, 10), [100, 100, 100])
    """
    check_scalar(n_subspaces, "n_subspaces", Integral, min_val=1)
    check_scalar(n_samples, "n_samples", Integral, min_val=n_subspaces)
    check_scalar(ambient_dim, "ambient_dim", Integral, min_val=1)
    check_scalar(noise, "noise", Real, min_val=0)
    dims = _one_per("dim", dim, "subspace", n_subspaces, min_val=1, max_val=ambient_dim)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {np.dtype(dtype)}")
    random_state = check_random_state(random_state)
    bases = _draw_bases(dims, ambient_dim, orthogonal, random_state)
    y = _balanced_labels(n_samples, n_subspaces, random_state)
    X: Array = np.empty((n_samples, ambient_dim), dtype=dtype)
    width = max(dims)
    for rows in gen_batches(n_samples, BLOCK_ROWS):
        # One draw for all that a row needs, so that the rows do not depend on the size of a block.
        draws = random_state.standard_normal((rows.stop - rows.start, width + (ambient_dim if noise else 0)))
        for subspace, basis in enumerate(bases):
            members = np.flatnonzero(y[rows] == subspace)
            # A row uses as many coefficients as its subspace has dimensions.
            weights = draws[members, : len(basis)]
            weights = np.abs(weights) if nonnegative else weights
            X[rows][members] = (weights / np.linalg.norm(weights, axis=1, keepdims=True)) @ basis
        if noise:
            X[rows] += noise * draws[:, width:]
    return X, y


def make_multiview(
    n_samples: int = 300,
    *,
    n_clusters: int = 3,
    n_views: int = 2,
    n_features: int | Sequence[int] = (10, 15),
    noise: float | Sequence[float] = 0.1,
    missing: float = 0.0,
    random_state: Any = None,
) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Draw clusters that several views show in different ways.

    Rows lie around ``n_clusters`` centres of a hidden space with as many dimensions. Each view is a random linear image
    of that space with its own units (views differ by orders of magnitude), origin and noise.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows, at least one per cluster, split as evenly as possible.
    n_clusters : int, default=3
        Number of clusters, the same in every view.
    n_views : int, default=2
        Number of views.
    n_features : int or sequence of int, default=(10, 15)
        Number of features of every view, or one per view.
    noise : float or sequence of float, default=0.1
        Standard deviation of the noise of every view, or one per view, relative to that of the view without noise.
        Far above 1, a view shows nothing of the clusters.
    missing : float, default=0.0
        Share of the rows that are NaN in each view, at most ``1 - 1 / n_views``: every row has at least one view.
    random_state : int, RandomState instance or None, default=None
        Seed of everything drawn.

    Returns
    -------
    views : list of ndarray of shape (n_samples, n_features[v])
        One array per view; row i is the same sample in all of them.
    y : ndarray of shape (n_samples,)
        Cluster of each row.

    Examples
    --------
    >>> from kedge.datasets import make_multiview
    >>> views, y = make_multiview(60, n_views=3, n_features=(4, 8, 6), random_state=0)
    >>> [view.shape for view in views]
    [(60, 4), (60, 8), (60, 6)]
    """
    check_scalar(n_clusters, "n_clusters", Integral, min_val=1)
    check_scalar(n_samples, "n_samples", Integral, min_val=n_clusters)
    check_scalar(n_views, "n_views", Integral, min_val=1)
    widths = _one_per("n_features", n_features, "view", n_views, min_val=1)
    levels = _one_per("noise", noise, "view", n_views, Real, min_val=0)
    check_scalar(missing, "missing", Real, min_val=0, max_val=1 - 1 / n_views)
    random_state = check_random_state(random_state)
    y = _balanced_labels(n_samples, n_clusters, random_state)
    hidden = np.eye(n_clusters)[y] + CLUSTER_SPREAD * random_state.standard_normal((n_samples, n_clusters))
    views = [_draw_view(hidden, width, level, random_state) for width, level in zip(widths, levels, strict=True)]
    for view, absent in zip(views, _absent_rows(n_samples, n_views, missing, random_state), strict=True):
        view[absent] = np.nan
    return views, y


def _one_per(name: str, value: Any, owner: str, count: int, kind: type = Integral, **bounds: Any) -> list[Any]:
    """Repeat a single value, or check that a sequence has one per owner."""
    values = [value] * count if np.ndim(value) == 0 else list(value)
    if len(values) != count:
        got = f"got {len(values)} numbers for n_{owner}s={count}"
        raise ValueError(f"{name} must be one number or one per {owner}, {got}")
    for i, item in enumerate(values):
        check_scalar(item, name if np.ndim(value) == 0 else f"{name}[{i}]", kind, **bounds)
    return values


def _balanced_labels(n_samples: int, count: int, random_state: Any) -> NDArray[np.int64]:
    """Return labels 0..count-1 in random order, as evenly as possible."""
    labels = np.arange(n_samples, dtype=np.int64) % count
    random_state.shuffle(labels)
    return labels


def _draw_bases(dims: list[int], ambient_dim: int, orthogonal: bool, random_state: Any) -> list[NDArray[np.float64]]:
    """Return one orthonormal basis per subspace, a vector per row."""
    if not orthogonal:
        return [np.linalg.qr(random_state.standard_normal((ambient_dim, dim)))[0].T for dim in dims]
    if sum(dims) > ambient_dim:
        raise ValueError(
            f"orthogonal subspaces of dimensions that add up to {sum(dims)} do not fit into ambient_dim={ambient_dim}; "
            "raise ambient_dim, or lower dim or n_subspaces"
        )
    joint = np.linalg.qr(random_state.standard_normal((ambient_dim, sum(dims))))[0].T
    return np.split(joint, np.cumsum(dims)[:-1])


def _draw_view(hidden: Array, n_features: int, noise: float, random_state: Any) -> NDArray[np.float64]:
    """Return a random linear image of the hidden rows with its own noise, units and origin."""
    image = hidden @ random_state.standard_normal((hidden.shape[1], n_features))
    image += noise * np.sqrt(image.var(axis=0).mean()) * random_state.standard_normal(image.shape)
    units = 10 ** random_state.uniform(-2, 2)
    return np.asarray(units * (image + random_state.standard_normal(n_features)))


def _absent_rows(n_samples: int, n_views: int, missing: float, random_state: Any) -> list[NDArray[np.int64]]:
    """Return the rows that each view lacks, equally many in all views."""
    # The views take turns at a random order, which wraps around. All together wrap at most n_views - 1 times, so no row
    # is taken by every view.
    order = random_state.permutation(n_samples)
    count = min(round(missing * n_samples), n_samples * (n_views - 1) // n_views)
    return [order[(view * count + np.arange(count)) % n_samples] for view in range(n_views)]
