"""The nearest centre of rows among those that bounds leave, and sums of rows that change centres."""

import numpy as np
import pytest

from kedge.kernels.selection import available_kernels, choose_kernel

rng = np.random.default_rng(0)
ROWS, CENTERS = (rng.normal(size=(count, 70)).astype(np.float32) for count in (90, 45))
SQUARES = np.square(ROWS[:, None].astype(np.float64) - CENTERS).sum(axis=2)


@pytest.fixture(params=available_kernels())
def kernel(request):
    return choose_kernel(request.param)


@pytest.mark.parametrize("share", [-np.inf, 0.0, 0.9, 0.999])
@pytest.mark.parametrize("guess", ["none", "random"])
def test_the_nearest_centre_is_found_whatever_the_bounds_and_guesses(kernel, share, guess):
    bounds = np.full_like(SQUARES, share) if share == -np.inf else share * SQUARES
    labels = np.full(90, -1) if guess == "none" else np.random.default_rng(1).integers(45, size=90)
    labels = labels.astype(np.int32)
    squares = kernel.nearest_centers(ROWS, CENTERS, bounds.astype(np.float32), labels)
    np.testing.assert_array_equal(labels, SQUARES.argmin(axis=1))
    np.testing.assert_allclose(squares, SQUARES.min(axis=1), rtol=1e-5)


def test_of_equally_near_centres_the_first_is_taken(kernel):
    twice = np.concatenate([CENTERS, CENTERS])
    labels = np.repeat(np.int32(89), 90)
    kernel.nearest_centers(ROWS, twice, np.zeros((90, 90), dtype=np.float32), labels)
    np.testing.assert_array_equal(labels, SQUARES.argmin(axis=1))


@pytest.mark.parametrize("width", [1, 31, 32, 33, 257, 600])
def test_rows_of_any_width(kernel, width):
    rows, centers = (np.random.default_rng(2).normal(size=(count, width)).astype(np.float32) for count in (20, 37))
    labels = np.full(20, -1, dtype=np.int32)
    kernel.nearest_centers(rows, centers, np.zeros((20, 37), dtype=np.float32), labels)
    squares = np.square(rows[:, None].astype(np.float64) - centers).sum(axis=2)
    np.testing.assert_array_equal(labels, squares.argmin(axis=1))


def test_a_bound_that_is_not_a_number_excludes_nothing():
    bounds = np.full((90, 45), np.nan, dtype=np.float32)
    labels = np.full(90, -1, dtype=np.int32)
    choose_kernel().nearest_centers(ROWS, CENTERS, bounds, labels)
    np.testing.assert_array_equal(labels, SQUARES.argmin(axis=1))


def test_sums_follow_the_labels(kernel):
    before, after = (np.random.default_rng(seed).integers(45, size=90).astype(np.int32) for seed in (3, 4))
    before[:30] = -1
    after[50:60] = before[50:60]
    sums = np.zeros((45, 70))
    np.add.at(sums, before[30:], ROWS[30:].astype(np.float64))
    for first, last in ((0, 20), (20, 70)):
        kernel.move_rows_between_sums(ROWS, before, after, first, last, sums)
    expected = np.zeros((45, 70))
    np.add.at(expected, after, ROWS.astype(np.float64))
    np.testing.assert_allclose(sums, expected, atol=1e-12)
