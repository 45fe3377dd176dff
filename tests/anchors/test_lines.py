"""Rows as lines: unit rows, seeding, k-means by |cosine|."""

import numpy as np
import pytest
from scipy import sparse

from kedge.anchors.rows import (
    assign_lines,
    cluster_lines,
    distinct_lines,
    seed_lines,
    unit_rows,
    update_lines,
)

either_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@either_form
def test_unit_rows_leave_out_zero_rows(form):
    units, kept = unit_rows(form(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])))
    np.testing.assert_array_equal(kept, [0, 2])
    np.testing.assert_allclose(dense(units), [[0.6, 0.8], [0.0, -1.0]], atol=1e-15)


@either_form
@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_unit_rows_neither_overflow_nor_vanish(form, scale):
    units, _ = unit_rows(form(np.array([[3.0, 4.0]]) * scale))
    np.testing.assert_allclose(dense(units), [[0.6, 0.8]], atol=1e-15)


@either_form
def test_a_line_is_kept_once_at_its_first_row(form):
    a, b = np.eye(3)[:2]
    np.testing.assert_array_equal(distinct_lines(form(np.array([a, -a, b, a, -b]))), [0, 2])


def test_lines_a_hair_apart_are_kept():
    angle = 1e-3
    assert len(distinct_lines(np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]]))) == 2


@either_form
def test_seeding_stops_when_no_line_is_left(form):
    lines = unit(np.random.default_rng(0).normal(size=(4, 3)))
    chosen = seed_lines(form(np.vstack([lines, -lines, lines])), 9, np.random.RandomState(0))
    assert sorted(chosen % 4) == [0, 1, 2, 3]


def test_assignment_is_by_the_largest_absolute_cosine():
    labels, winning = assign_lines(np.array([[-1.0, 0.0], [0.6, 0.8]]), np.eye(2))
    np.testing.assert_array_equal(labels, [0, 1])
    np.testing.assert_allclose(winning, [-1.0, 0.8])


@either_form
def test_the_sum_of_absolute_cosines_never_falls(form):
    rng = np.random.default_rng(1)
    units = form(unit(rng.normal(size=(300, 6))))
    centers = unit(rng.normal(size=(8, 6)))
    labels, winning = assign_lines(units, centers)
    totals = [np.abs(winning).sum()]
    for _ in range(12):
        centers = update_lines(units, labels, winning, 8)
        labels, winning = assign_lines(units, centers)
        totals.append(np.abs(winning).sum())
    assert np.diff(totals).min() >= -1e-10
    assert totals[-1] > totals[0] + 1


def test_a_cluster_without_rows_takes_the_row_worst_served():
    units = unit(np.array([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.5, 0.0, 1.0]]))
    labels, winning = assign_lines(units, np.array([[1.0, 0.0, 0.0], [0.0, -0.1, 0.0]]))
    assert set(labels) == {0}
    centers = update_lines(units, labels, winning, 2)
    np.testing.assert_allclose(centers[1], units[2])


def test_opposite_rows_orthogonal_to_their_centre_leave_no_zero_centre():
    units = np.array([[0.0, 1.0], [0.0, -1.0]])
    centers = update_lines(units, np.zeros(2, dtype=np.intp), np.zeros(2), 1)
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1.0)


@either_form
def test_noisy_lines_are_found_whatever_their_signs(form):
    rng = np.random.default_rng(2)
    lines = np.linalg.qr(rng.normal(size=(9, 6)))[0].T
    owner = np.repeat(np.arange(6), 40)
    rows = rng.choice([-1.0, 1.0], size=(240, 1)) * (lines[owner] + 0.1 * rng.normal(size=(240, 9)) / 3)
    units, _ = unit_rows(form(rows))
    seeds = dense(units[seed_lines(units, 6, np.random.RandomState(0))])
    labels, centers = cluster_lines(units, seeds, 20)
    # Means of forty rows a few degrees off their line.
    assert np.abs(centers @ lines.T).max(axis=0).min() > 0.999
    assert len(np.unique(np.stack([labels, owner]), axis=1).T) == 6
