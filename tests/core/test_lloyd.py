"""Rounds of k-means that skip most distances end where rounds that compute all of them end."""

import numpy as np
import pytest

from kedge.core.lloyd import first_distinct, lloyd_rounds

rng = np.random.default_rng(0)
# Sketches tell nearly all of the first kind, and little of the second.
LOW_RANK = rng.normal(size=(700, 6)) @ rng.normal(size=(6, 120)) + 0.05 * rng.normal(size=(700, 120))
KINDS = {
    "low rank": LOW_RANK,
    "all directions": rng.normal(size=(700, 64)),
    "narrow": rng.normal(size=(700, 3)),
    "one column": rng.normal(size=(700, 1)),
    "far from the origin": LOW_RANK + 1e5,
    "one row far away": np.where(np.arange(700)[:, None] == 17, 1e4, LOW_RANK),
    "zeros and ones": (rng.random((700, 40)) < 0.2) * 1.0,
}


def all_distances(rows, starts, n_rounds):
    rows = rows.astype(np.float64)
    centers = rows[starts]
    for _ in range(n_rounds):
        nearest = np.square(rows[:, None] - centers).sum(axis=2).argmin(axis=1)
        centers = np.array(
            [rows[nearest == j].mean(axis=0) if (nearest == j).any() else own for j, own in enumerate(centers)]
        )
    return centers


@pytest.mark.parametrize("kind", KINDS)
def test_centres_are_those_of_plain_rounds(kind):
    rows = KINDS[kind]
    starts = first_distinct([rows], np.random.default_rng(1).permutation(700), 50)
    (centers,) = lloyd_rounds([rows], None, starts, 4)
    np.testing.assert_allclose(centers, all_distances(rows, starts, 4), atol=1e-9 * np.abs(rows).max())


@pytest.mark.parametrize("n_centers", [1, 2, 699])
def test_few_and_many_centres(n_centers):
    starts = np.arange(n_centers)
    (centers,) = lloyd_rounds([LOW_RANK], None, starts, 3)
    np.testing.assert_allclose(centers, all_distances(LOW_RANK, starts, 3), atol=1e-9)


def test_float32_rows_give_the_same_centres():
    starts = np.arange(0, 700, 14)
    (centers,) = lloyd_rounds([LOW_RANK.astype(np.float32)], None, starts, 4)
    assert centers.dtype == np.float32
    np.testing.assert_allclose(centers, all_distances(LOW_RANK.astype(np.float32), starts, 4), atol=1e-5)


def test_threads_change_no_bit():
    starts = np.arange(0, 700, 14)
    one, three = (lloyd_rounds([LOW_RANK.astype(np.float32)], None, starts, 4, n_threads)[0] for n_threads in (1, 3))
    np.testing.assert_array_equal(one, three)
