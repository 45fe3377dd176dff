"""Rows drawn from random linear subspaces."""

import tracemalloc

import numpy as np
import pytest

from kedge.datasets import generators, make_union_of_subspaces


def ranks(X, y):
    return [int(np.linalg.matrix_rank(X[y == subspace], tol=1e-8)) for subspace in np.unique(y)]


def test_same_seed_gives_the_same_rows():
    first, second = (make_union_of_subspaces(50, noise=0.1, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(first[0], make_union_of_subspaces(50, noise=0.1, random_state=4)[0])


def test_a_random_state_is_drawn_from():
    random_state = np.random.RandomState(0)
    first, _ = make_union_of_subspaces(20, random_state=random_state)
    second, _ = make_union_of_subspaces(20, random_state=random_state)
    assert not np.array_equal(first, second)


def test_defaults_are_the_standard_benchmark():
    X, y = make_union_of_subspaces(random_state=0)
    assert X.shape == (1000, 9)
    assert ranks(X, y) == [6] * 5


def test_each_subspace_has_its_own_dimension():
    X, y = make_union_of_subspaces(200, n_subspaces=3, dim=[1, 4, 2], ambient_dim=12, random_state=0)
    assert ranks(X, y) == [1, 4, 2]
    assert np.linalg.matrix_rank(X, tol=1e-8) == 7


@pytest.mark.parametrize("nonnegative", [False, True])
def test_rows_have_unit_length(nonnegative):
    X, _ = make_union_of_subspaces(200, nonnegative=nonnegative, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=0, atol=1e-14)


def test_orthogonal_subspaces_share_no_direction():
    X, y = make_union_of_subspaces(90, n_subspaces=3, dim=(2, 3, 4), ambient_dim=9, orthogonal=True, random_state=0)
    assert ranks(X, y) == [2, 3, 4]
    products = np.abs(X @ X.T)
    assert products[y[:, None] != y].max() < 1e-14


def test_random_subspaces_are_not_orthogonal():
    X, y = make_union_of_subspaces(90, n_subspaces=3, dim=3, ambient_dim=9, random_state=0)
    assert np.abs(X @ X.T)[y[:, None] != y].max() > 0.1


def test_sizes_are_as_equal_as_possible_and_rows_are_in_random_order():
    _, y = make_union_of_subspaces(103, n_subspaces=5, random_state=0)
    assert sorted(np.bincount(y)) == [20, 20, 21, 21, 21]
    assert np.count_nonzero(np.diff(y)) > 50
    assert y.dtype == np.int64


def test_nonnegative_rows_span_the_subspace_but_never_face_each_other():
    X, y = make_union_of_subspaces(400, n_subspaces=4, dim=3, ambient_dim=20, nonnegative=True, random_state=0)
    assert ranks(X, y) == [3] * 4
    # Combinations of an orthonormal basis with nonnegative weights have nonnegative products.
    assert (X @ X.T)[y[:, None] == y].min() > -1e-12


def test_rows_of_a_whole_subspace_do_face_each_other():
    X, y = make_union_of_subspaces(400, n_subspaces=4, dim=3, ambient_dim=20, random_state=0)
    assert (X @ X.T)[y[:, None] == y].min() < -0.9


def test_noise_has_the_asked_deviation_and_is_added_to_the_unit_rows():
    X, y = make_union_of_subspaces(4000, n_subspaces=2, dim=2, ambient_dim=22, noise=0.05, random_state=0)
    for subspace in (0, 1):
        spectrum = np.linalg.svd(X[y == subspace], compute_uv=False) / np.sqrt((y == subspace).sum())
        # 2,000 rows know the deviation in each of the 20 empty directions to about a part in sixty, times the spread
        # of the extreme singular values.
        np.testing.assert_allclose(spectrum[2:], 0.05, rtol=0.15)
        np.testing.assert_allclose(spectrum[:2], np.sqrt(0.5), rtol=0.1)


def test_float32_rows_are_the_float64_rows_up_to_rounding():
    single, y_single = make_union_of_subspaces(100, noise=0.1, random_state=0, dtype=np.float32)
    double, y_double = make_union_of_subspaces(100, noise=0.1, random_state=0)
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_array_equal(y_single, y_double)
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_block_size_does_not_change_the_rows(noise, monkeypatch):
    whole, y = make_union_of_subspaces(100, dim=(1, 2, 3, 4, 5), noise=noise, random_state=0)
    monkeypatch.setattr(generators, "BLOCK_ROWS", 7)
    blocks, y_blocks = make_union_of_subspaces(100, dim=(1, 2, 3, 4, 5), noise=noise, random_state=0)
    np.testing.assert_array_equal(y, y_blocks)
    # A matrix product of other shape may round otherwise.
    np.testing.assert_allclose(whole, blocks, rtol=0, atol=1e-14)


def test_memory_peak_is_the_result_and_a_few_blocks(monkeypatch):
    monkeypatch.setattr(generators, "BLOCK_ROWS", 1000)
    tracemalloc.start()
    try:
        X, y = make_union_of_subspaces(200_000, ambient_dim=10, noise=0.1, random_state=0, dtype=np.float32)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    block = 1000 * (6 + 10) * 8
    assert peak < X.nbytes + y.nbytes + 10 * block


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_subspaces": 0}, ValueError, "n_subspaces"),
        ({"n_samples": 4}, ValueError, "n_samples == 4, must be >= 5"),
        ({"n_samples": 10.5}, TypeError, "n_samples"),
        ({"dim": 10}, ValueError, "dim == 10, must be <= 9"),
        ({"dim": 0}, ValueError, "dim"),
        ({"dim": (2, 3)}, ValueError, "one per subspace, got 2 numbers for n_subspaces=5"),
        ({"dim": (2, 3, 4, 5, 99)}, ValueError, r"dim\[4\] == 99"),
        ({"dim": 2.5}, TypeError, "dim"),
        ({"ambient_dim": 0}, ValueError, "ambient_dim"),
        ({"noise": -1.0}, ValueError, "noise"),
        ({"orthogonal": True}, ValueError, "add up to 30 do not fit into ambient_dim=9"),
        ({"dtype": np.int64}, ValueError, "float64 or float32, got int64"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        make_union_of_subspaces(**arguments)
