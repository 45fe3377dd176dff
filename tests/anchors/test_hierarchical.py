"""The randomised tree of rows and its anchors."""

import numpy as np
import pytest
from scipy import sparse

from kedge.anchors import hierarchical
from kedge.anchors.hierarchical import grow_leaves, hierarchical_anchors, leading_direction
from kedge.anchors.rows import unit_rows

either_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def some_units(n=200, d=6, seed=0):
    return unit_rows(np.random.default_rng(seed).normal(size=(n, d)))[0]


@either_form
@pytest.mark.parametrize("n_leaves", [1, 2, 7, 40])
def test_leaves_partition_the_rows(form, n_leaves):
    leaves = grow_leaves(form(some_units()), n_leaves, np.random.RandomState(0))
    assert len(leaves) == n_leaves
    np.testing.assert_array_equal(np.sort(np.concatenate([leaf.rows for leaf in leaves])), np.arange(200))


@pytest.mark.parametrize("n_anchors", [1, 9, 60, 200])
def test_anchors_are_distinct_rows_of_the_data(n_anchors):
    X = np.random.default_rng(1).normal(size=(200, 4)) * 5
    anchors = hierarchical_anchors(X, n_anchors, np.random.RandomState(0))
    places = [np.flatnonzero((anchor == X).all(axis=1)).item() for anchor in anchors]
    assert len(set(places)) == n_anchors


@either_form
def test_the_leading_direction_is_the_first_singular_vector(form):
    units = some_units(80, 5, 3)
    direction, strength = leading_direction(form(units), np.random.RandomState(0))
    _, values, vectors = np.linalg.svd(units)
    assert strength == pytest.approx(values[0] ** 2, rel=1e-6)
    assert abs(direction @ vectors[0]) > 1 - 1e-4


def test_the_leading_direction_is_found_when_signed_rows_cancel():
    units = np.array([[1.0, 0.0]] + 50 * [[0.0, 1.0], [0.0, -1.0]])
    direction, strength = leading_direction(units, np.random.RandomState(0))
    assert strength == pytest.approx(100.0, rel=1e-6)
    assert abs(direction[1]) > 1 - 1e-4


def test_no_split_lowers_the_total_strength():
    units = some_units()
    totals = []
    for n_leaves in range(1, 12):
        leaves = grow_leaves(units, n_leaves, np.random.RandomState(0))
        totals.append(sum(np.linalg.norm(units[leaf.rows], 2) ** 2 for leaf in leaves))
    assert np.diff(totals).min() >= -1e-9


def test_the_leaf_of_the_largest_gain_is_split_first(monkeypatch):
    splits = []
    original = hierarchical._split

    def record(*arguments):
        splits.append(original(*arguments))
        return splits[-1]

    monkeypatch.setattr(hierarchical, "_split", record)
    grow_leaves(some_units(), 12, np.random.RandomState(0))
    waiting = [splits[0]]
    for first in range(1, len(splits), 2):
        largest = max(waiting, key=lambda split: split.gain)
        np.testing.assert_array_equal(splits[first].leaf.rows, largest.children[0].rows)
        waiting = [split for split in waiting if split is not largest] + splits[first : first + 2]
    assert len(waiting) == 12


def test_two_leaves_separate_orthogonal_subspaces():
    rng = np.random.default_rng(0)
    X = np.zeros((120, 8))
    X[:60, :2], X[60:, 4:6] = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    X[:60, 0] += 4
    X[60:, 4] -= 4
    leaves = grow_leaves(unit_rows(X)[0], 2, np.random.RandomState(0))
    assert sorted(sorted({int(row) // 60 for row in leaf.rows}) for leaf in leaves) == [[0], [1]]


def test_a_leaf_of_one_line_is_never_split():
    lines = np.random.default_rng(0).normal(size=(3, 4))
    units = unit_rows(np.vstack([lines, -lines, 2 * lines]))[0]
    leaves = grow_leaves(units, 9, np.random.RandomState(0))
    assert sorted(sorted(leaf.rows % 3) for leaf in leaves) == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]


def test_a_leaf_that_never_splits_in_two_is_given_up(monkeypatch):
    tries = []
    monkeypatch.setattr(
        hierarchical, "cluster_lines", lambda rows, seeds, _: (tries.append(1) or np.zeros(len(rows), int), seeds)
    )
    leaves = grow_leaves(some_units(10), 4, np.random.RandomState(0))
    assert len(leaves) == 1
    assert len(tries) == 6


def test_the_anchor_of_a_leaf_is_closest_to_its_first_singular_vector():
    X = np.random.default_rng(5).normal(size=(50, 3)) + 2
    anchor = hierarchical_anchors(X, 1, np.random.RandomState(0))[0]
    units = unit_rows(X)[0]
    closeness = np.abs(units @ np.linalg.svd(units)[2][0])
    np.testing.assert_array_equal(anchor, X[closeness.argmax()])


def test_zero_rows_alone_have_no_anchors():
    assert hierarchical_anchors(np.zeros((5, 2)), 3, np.random.RandomState(0)).shape == (0, 2)


def test_the_tree_grows_on_a_bounded_sample(monkeypatch):
    monkeypatch.setattr(hierarchical, "LEAST_SAMPLE", 50)
    sizes = []
    original = hierarchical.grow_leaves
    monkeypatch.setattr(
        hierarchical, "grow_leaves", lambda units, *rest: sizes.append(units.shape[0]) or original(units, *rest)
    )
    X = np.random.default_rng(0).normal(size=(300, 4))
    hierarchical_anchors(X, 3, np.random.RandomState(0))
    hierarchical_anchors(X, 12, np.random.RandomState(0))
    assert sizes == [50, 120]
