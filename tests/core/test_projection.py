"""Centring and projection of rows, and the way back."""

import numpy as np
import pytest
from scipy import sparse

from kedge.core.scaling import ViewScaling, count_directions, with_projection

rng = np.random.default_rng(0)
NARROW = rng.normal(size=(80, 7)) + 5
WIDE = rng.normal(size=(300, 12)) @ rng.normal(size=(12, 400)) + 0.01 * rng.normal(size=(300, 400)) + 3


def projection(rows, signed=False):
    return with_projection(ViewScaling("none"), rows, rows.shape[0], signed)


def test_narrow_rows_are_centred_only():
    found = projection(NARROW)
    assert found.directions is None
    np.testing.assert_allclose(found.apply(NARROW), NARROW - NARROW.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.restore(found.apply(NARROW)), NARROW, atol=1e-12)


def test_wide_rows_keep_the_directions_that_hold_most_of_their_spread():
    found = projection(WIDE)
    projected = found.apply(WIDE)
    assert projected.shape == (300, count_directions(300, is_sparse=False))
    centred = WIDE - WIDE.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)[: projected.shape[1]]
    np.testing.assert_allclose(np.square(projected).sum(), np.square(values).sum(), rtol=1e-9)
    np.testing.assert_allclose(found.directions.T @ found.directions, np.eye(projected.shape[1]), atol=1e-9)
    assert np.abs(found.restore(projected) - WIDE).max() < 0.1


@pytest.mark.parametrize("n_rows", [40, 300])
def test_more_features_than_rows_and_fewer_give_the_same_projection(n_rows):
    rows = WIDE[:n_rows]
    products = projection(rows).apply(rows)
    left, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    expected = left[:, :12] * values[:12]
    np.testing.assert_allclose(products[:, :12] @ products[:, :12].T, expected @ expected.T, atol=1e-8 * values[0] ** 2)


def test_sparse_rows_and_rows_of_lines_are_not_centred():
    rows = sparse.csr_array(np.maximum(WIDE, 0))
    found = projection(rows)
    assert found.center is None
    assert isinstance(found.apply(rows), np.ndarray)
    np.testing.assert_allclose(found.apply(rows), rows @ found.directions)
    assert projection(NARROW, signed=True).center is None


def test_equal_rows_have_one_direction():
    rows = np.full((30, 200), 4.0)
    found = projection(rows)
    assert found.directions.shape == (200, 1)
    np.testing.assert_allclose(found.apply(rows), 0, atol=1e-9)


def test_float32_rows_stay_float32_and_no_rows_stay_none():
    found = projection(WIDE.astype(np.float32))
    assert found.apply(WIDE.astype(np.float32)).dtype == np.float32
    assert found.apply(WIDE[:0]).shape == (0, found.directions.shape[1])
