"""The smallest entries of every row, and the weights that follow: the compiled search and its NumPy twin."""

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kedge.kernels import available_kernels, choose_kernel

COARSE = st.integers(-3, 3).map(float)
SHAPES = st.tuples(st.integers(0, 9), st.integers(1, 40))


@given(arrays(np.float64, SHAPES, elements=COARSE), st.data(), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=examples(200))
def test_every_kernel_returns_the_columns_of_a_stable_sort(values, data, dtype):
    count = data.draw(st.integers(1, values.shape[1]))
    values = values.astype(dtype)
    order = np.argsort(values, axis=1, kind="stable")[:, :count]
    for name in available_kernels():
        columns, smallest = choose_kernel(name).smallest_columns(values, count)
        assert columns.dtype == np.int32
        assert smallest.dtype == dtype
        np.testing.assert_array_equal(columns, order)
        np.testing.assert_array_equal(smallest, np.take_along_axis(values, order, axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 6])
def test_kernels_agree_on_many_columns(dtype, count):
    values = np.random.default_rng(0).normal(size=(50, 3000)).astype(dtype)
    results = [choose_kernel(name).smallest_columns(values, count) for name in available_kernels()]
    for columns, smallest in results:
        np.testing.assert_array_equal(columns, results[0][0])
        np.testing.assert_array_equal(smallest, results[0][1])


@given(arrays(np.float64, SHAPES, elements=COARSE), st.data(), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=examples(200))
def test_kernels_give_the_same_weights(values, data, dtype):
    values = np.hstack([values, values[:, :1]]).astype(dtype)  # at least two columns
    count = data.draw(st.integers(2, values.shape[1]))
    columns, smallest = choose_kernel("reference").smallest_columns(values, count)
    expected, weights, value = choose_kernel("reference").join_weights(columns, smallest)
    # All but the last value of a row get weight, in proportion to how far they are below it.
    by_hand = np.zeros(values.shape)
    np.put_along_axis(by_hand, columns, (smallest[:, -1:] - smallest).astype(np.float64), axis=1)
    totals = by_hand.sum(axis=1)
    spread = np.zeros(values.shape)
    np.put_along_axis(spread, expected, weights.astype(np.float64), axis=1)
    np.testing.assert_allclose(
        spread[totals > 0], (by_hand.T / np.where(totals > 0, totals, 1)).T[totals > 0], rtol=1e-6
    )
    for name in available_kernels():
        found, own, own_value = choose_kernel(name).join_weights(columns, smallest)
        assert (found.dtype, own.dtype) == (np.int32, dtype)
        np.testing.assert_array_equal(found, expected)
        # Sums of few numbers in another order differ in the last bits.
        np.testing.assert_allclose(own, weights, rtol=4 * np.finfo(dtype).eps)
        np.testing.assert_allclose(own_value, value, rtol=1e-6, atol=1e-6)
