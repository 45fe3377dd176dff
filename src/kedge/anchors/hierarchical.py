"""Anchors from a randomised tree that splits the rows by direction."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from kedge.anchors.rows import SAME_LINE, cluster_lines, cosines, unit_rows
from kedge.core.rows import dense_rows, sample_rows, take_rows

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

LEAST_SAMPLE, ROWS_PER_ANCHOR = 5_000, 10
SPLIT_ROUNDS = 10
REDRAWS = 5
# Singular values only rank the splits, so a few digits are enough.
_POWER_ROUNDS = 10
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Leaf:
    """A set of rows, and what splitting it in two would give."""

    rows: Rows  # Shape (any,). Row numbers.
    direction: Array  # Shape (n_features,). First right singular vector of the rows at unit length.
    strength: float  # Squared first singular value.


@dataclass(frozen=True)
class Split:
    """A leaf with its two children, none if it cannot be split; the gain is what they add to the leaf's strength."""

    leaf: Leaf
    children: tuple[Leaf, ...]

    @property
    def gain(self) -> float:
        """Return the gain; minus infinity if the leaf cannot be split."""
        return sum(child.strength for child in self.children) - self.leaf.strength if self.children else -np.inf


def hierarchical_anchors(X: Any, n_anchors: int, random_state: RandomState) -> NDArray[Any]:
    """Return one row per leaf of :func:`grow_leaves`: the one closest in direction to the leaf's first singular vector.

    The tree grows on a uniform sample of the nonzero rows, at unit length. There are fewer anchors than asked for if
    the rows have fewer directions.

    References
    ----------
    Abdolali, Gillis and Rahmati, "Scalable and robust sparse subspace clustering using randomized clustering and
    multilayer graphs", Signal Processing, 2019. The rule by which a leaf splits is our reconstruction, with the gain of
    Gillis, Kuang and Park, "Hierarchical clustering of hyperspectral images using rank-two nonnegative matrix
    factorization", 2015.
    """
    sampled = sample_rows(X.shape[0], max(LEAST_SAMPLE, ROWS_PER_ANCHOR * n_anchors), random_state)
    units, nonzero = unit_rows(take_rows(X, sampled))
    if not len(nonzero):
        return np.empty((0, X.shape[1]), dtype=X.dtype)
    leaves = grow_leaves(units, n_anchors, random_state)
    return dense_rows(X, sampled[nonzero[[_middle_row(units, leaf) for leaf in leaves]]])


def grow_leaves(units: Any, n_leaves: int, random_state: RandomState) -> list[Leaf]:
    """Split the leaf of the largest gain until there are enough leaves or none can be split.

    Rows of ``units`` have unit length; those of the leaves partition them.
    """
    everything = np.arange(units.shape[0])
    splits = [_split(units, _make_leaf(units, everything, random_state), random_state)]
    while len(splits) < n_leaves:
        best = max(range(len(splits)), key=lambda i: splits[i].gain)
        children = splits[best].children
        if not children:
            break
        splits[best : best + 1] = [_split(units, child, random_state) for child in children]
    return [split.leaf for split in splits]


def _split(units: Any, leaf: Leaf, random_state: RandomState) -> Split:
    """Split by 2-means on lines from a random pair of directions; a split with an empty side is drawn again."""
    members = units[leaf.rows]
    for _ in range(REDRAWS + 1):
        first = int(random_state.randint(len(leaf.rows)))
        seeds = dense_rows(members, np.array([first]))
        others = np.flatnonzero(_closeness(members, seeds[0]) <= 1.0 - SAME_LINE)
        if not len(others):
            break
        second = int(others[random_state.randint(len(others))])
        sides, _ = cluster_lines(members, np.vstack([seeds, dense_rows(members, np.array([second]))]), SPLIT_ROUNDS)
        if 0 < sides.sum() < len(sides):
            return Split(leaf, tuple(_make_leaf(units, leaf.rows[sides == side], random_state) for side in (0, 1)))
    return Split(leaf, ())


def _make_leaf(units: Any, rows: Rows, random_state: RandomState) -> Leaf:
    return Leaf(rows, *leading_direction(units[rows], random_state))


def leading_direction(units: Any, random_state: RandomState) -> tuple[Array, float]:
    """Return the first right singular vector and the square of its singular value, good to about 1e-6."""
    _, values, vectors = randomized_svd(units, 1, n_iter=_POWER_ROUNDS, random_state=random_state)
    return np.asarray(vectors[0], dtype=np.float64), float(values[0]) ** 2


def _middle_row(units: Any, leaf: Leaf) -> int:
    closeness = _closeness(units[leaf.rows], leaf.direction)
    # Rows on one line differ by rounding only; the first of them is the same for dense and sparse input.
    return int(leaf.rows[(closeness >= closeness.max() - _ROUNDING).argmax()])


def _closeness(units: Any, direction: Array) -> Array:
    return np.abs(cosines(units, direction[None, :]))[:, 0]
