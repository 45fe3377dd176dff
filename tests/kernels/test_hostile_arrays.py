"""Arrays that are legal in Python but dangerous to read in place, and ones that are not legal at all."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from kedge.kernels import solve_rows

RNG = np.random.default_rng(0)
LINEAR = RNG.normal(size=(6, 3))
EXPECTED = solve_rows(np.eye(3), LINEAR, kernel="reference").coefficients


@pytest.mark.parametrize("column", [3, 7, 500_000_000, -1])
def test_sparse_start_with_columns_out_of_range_is_refused(column, kernel):
    start = sparse.csr_array((np.ones(3), np.array([0, 1, 2]), np.array([0, 1, 2, 3])), shape=(3, 3))
    start.indices[2] = column
    with pytest.raises(ValueError, match="start is not a valid sparse array"):
        solve_rows(np.eye(3), np.zeros((3, 3)), start=start, kernel=kernel)


def test_unaligned_rows_are_copied_first(kernel):
    packed = np.zeros(6, dtype=[("flag", "i1"), ("row", "f8", 3)])
    packed["row"] = LINEAR
    assert not packed["row"].flags.aligned
    got = solve_rows(np.eye(3), packed["row"], start=packed["row"], kernel=kernel).coefficients
    np.testing.assert_allclose(got, EXPECTED, atol=1e-15)


def test_sparse_start_with_strided_values_is_accepted(kernel):
    start = sparse.csr_array(np.abs(LINEAR))
    start.data = np.repeat(start.data, 2)[::2]
    got = solve_rows(np.eye(3), LINEAR, start=start, kernel=kernel).coefficients
    np.testing.assert_allclose(got, EXPECTED, atol=1e-15)


def test_start_of_another_dtype_neither_overflows_nor_vanishes(kernel):
    start = np.full((6, 3), 1e300)
    start[:, 0] = 1e-300
    rows = LINEAR.astype(np.float32)
    got = solve_rows(np.eye(3), rows, start=start, kernel=kernel).coefficients
    np.testing.assert_array_equal(got, solve_rows(np.eye(3), rows, kernel=kernel).coefficients)
    start[2, 1] = np.inf
    with pytest.raises(ValueError, match="start has NaN or infinity in row 2"):
        solve_rows(np.eye(3), rows, start=start, kernel=kernel)


def test_complex_sparse_start_is_refused():
    with pytest.raises(TypeError, match="start must hold real numbers"):
        solve_rows(np.eye(3), LINEAR, start=sparse.csr_array(LINEAR + 1j))


@pytest.mark.parametrize("dtype", [">f4", "<f4", np.float16, np.int8, bool])
def test_result_is_float32_only_for_float32_rows(dtype, kernel):
    got = solve_rows(np.eye(3), LINEAR.astype(dtype), kernel=kernel).coefficients
    assert got.dtype == (np.float32 if np.dtype(dtype).newbyteorder("=") == np.float32 else np.float64)


def test_absurd_thread_count_is_capped():
    got = solve_rows(np.eye(3), LINEAR, n_threads=2**70, kernel="compiled").coefficients
    np.testing.assert_allclose(got, EXPECTED, atol=1e-15)


def test_largest_finite_hessian_is_solved(kernel):
    got = solve_rows(np.eye(3) * 1.2e308, np.zeros((2, 3)), kernel=kernel).coefficients
    np.testing.assert_allclose(got, 1 / 3, atol=1e-15)


@pytest.mark.parametrize("n_rows", [1, 10])
def test_entries_that_are_zero_at_the_solution_are_exact_zeros(n_rows, kernel):
    anchors = np.random.default_rng(0).integers(-2, 3, size=(6, 6)).astype(float)
    hessian = anchors @ anchors.T + 10 * np.eye(6)
    rows = np.tile(-(np.array([0.3, 0.2, 0.2, 0.2, 0.1, 0.0]) @ hessian), (n_rows, 1))
    assert (solve_rows(hessian, rows, kernel=kernel).coefficients[:, -1] == 0).all()


@pytest.mark.needs("linux")
def test_threads_that_cannot_start_are_done_without():
    program = (
        "import resource, numpy as np, kedge\n"
        "F = np.random.default_rng(0).normal(size=(50_000, 20)); kedge.simplex_qp(np.eye(20), F[:100])\n"
        "pages = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        # Room for the result (8 MB), six stacks of threads (8.4 MB each), and some megabytes: a thread that has started
        # needs a little memory of its own, and the system ends the process where there is none.
        "resource.setrlimit(resource.RLIMIT_AS, (pages + 63_000_000,) * 2)\n"
        "print(kedge.simplex_qp(np.eye(20), F, n_threads=64).shape)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(50000, 20)", done.stderr[-500:]
