"""Threads, layout and the rest of the batch do not change a row."""

import numpy as np
import pytest
from scipy import sparse

from kedge.kernels import solve_rows

RNG = np.random.default_rng(0)
ANCHORS = RNG.normal(size=(50, 12))
LINEAR = -2 * RNG.normal(size=(1500, 12)) @ ANCHORS.T


def hessian_with(ridge):
    return 2 * ANCHORS @ ANCHORS.T + 2 * ridge * np.eye(50)


@pytest.mark.parametrize("ridge", [0.1, 300.0])
@pytest.mark.parametrize("sparse_output", [False, True])
@pytest.mark.parametrize("n_threads", [2, 7])
def test_thread_count_changes_no_bit(ridge, sparse_output, n_threads):
    def solve(threads):
        options = {"want_sums": True, "sparse_output": sparse_output, "kernel": "compiled"}
        return solve_rows(hessian_with(ridge), LINEAR, n_threads=threads, **options)

    one, many = solve(1), solve(n_threads)
    for part in ("gram", "column_sums", "linear_part", "quadratic_part"):
        np.testing.assert_array_equal(getattr(one.sums, part), getattr(many.sums, part))
    if sparse_output:
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one.coefficients, part), getattr(many.coefficients, part))
    else:
        np.testing.assert_array_equal(one.coefficients, many.coefficients)
    np.testing.assert_array_equal(one.status, many.status)


def test_start_moves_a_small_support_by_rounding_at_most():
    hessian = hessian_with(0.1)
    cold = solve_rows(hessian, LINEAR, kernel="compiled").coefficients
    starts = [cold, np.roll(cold, 1, axis=0), np.roll(cold, 1, axis=1), sparse.csr_array(cold)]
    for start in starts:
        warm = solve_rows(hessian, LINEAR, start=start, kernel="compiled").coefficients
        np.testing.assert_array_equal(warm > 0, cold > 0)
        # Another order of the same support; the condition of the Hessian, some 1e3, enlarges the rounding.
        np.testing.assert_allclose(warm, cold, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.1, 300.0])
def test_a_row_does_not_depend_on_its_neighbours(ridge):
    hessian = hessian_with(ridge)
    whole = solve_rows(hessian, LINEAR, kernel="compiled").coefficients
    pieces = [solve_rows(hessian, LINEAR[i : i + 333], kernel="compiled").coefficients for i in range(0, 1500, 333)]
    np.testing.assert_array_equal(np.vstack(pieces), whole)
    order = RNG.permutation(len(LINEAR))
    shuffled = solve_rows(hessian, LINEAR[order], kernel="compiled").coefficients
    np.testing.assert_array_equal(shuffled, whole[order])


def test_large_supports_solved_alone_agree_to_rounding():
    hessian = hessian_with(300.0)
    whole = solve_rows(hessian, LINEAR, kernel="compiled").coefficients
    # One row at a time never pays for the inverse, so this takes the other path.
    alone = np.vstack([solve_rows(hessian, row[None], kernel="compiled").coefficients for row in LINEAR[:50]])
    np.testing.assert_allclose(alone, whole[:50], rtol=0, atol=1e-13)


def as_read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


LAYOUTS = {
    "read-only": as_read_only,
    "fortran": np.asfortranarray,
    "every second column": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed twice": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "list": lambda a: a.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=list(LAYOUTS))
def test_memory_layout_changes_no_bit(layout, kernel):
    rows = LINEAR[:40]
    expected = solve_rows(hessian_with(1.0), rows, start=np.abs(rows), kernel=kernel).coefficients
    lay = LAYOUTS[layout]
    got = solve_rows(lay(hessian_with(1.0)), lay(rows), start=lay(np.abs(rows)), kernel=kernel).coefficients
    if kernel == "compiled":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
    assert got.flags.c_contiguous


def test_float32_rows_are_solved_in_double_and_returned_in_float32(kernel):
    rows = LINEAR[:40].astype(np.float32)
    exact = solve_rows(hessian_with(1.0), rows.astype(np.float64), kernel=kernel)
    got = solve_rows(hessian_with(1.0), rows, kernel=kernel, want_sums=True)
    assert got.coefficients.dtype == np.float32
    np.testing.assert_array_equal(got.coefficients, exact.coefficients.astype(np.float32))
    assert got.sums.gram.dtype == np.float64
    in_sparse_form = solve_rows(hessian_with(1.0), rows, kernel=kernel, sparse_output=True).coefficients
    assert in_sparse_form.dtype == np.float32
    np.testing.assert_array_equal(in_sparse_form.toarray(), got.coefficients)
