"""One row, two rows, equal rows, repeated rows: nothing breaks, and what is there is found."""

import numpy as np
import pytest

from kedge import MSGL, SGL

KINDS = pytest.mark.parametrize("options", [{}, {"structure": "exact"}, {"partition": "spectral"}], ids=str)


@KINDS
@pytest.mark.parametrize("n_clusters", [1, "auto"])
def test_one_row(options, n_clusters):
    model = SGL(n_clusters, random_state=0, **options).fit(np.ones((1, 3)))
    assert model.labels_.tolist() == [0]
    assert model.predict(np.zeros((2, 3))).tolist() == [0, 0]
    assert model.labels_at(1).tolist() == [0]


@KINDS
def test_two_rows_in_two_clusters(options):
    assert SGL(2, random_state=0, **options).fit(np.eye(2)).labels_.tolist() == [0, 1]


@KINDS
@pytest.mark.parametrize("shape", [(60, 3), (60, 30), (6000, 12)], ids=str)
def test_equal_rows_are_one_cluster(options, shape):
    assert set(SGL(random_state=0, **options).fit(np.ones(shape)).labels_) == {0}


@KINDS
@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_many_copies_of_three_rows_are_three_clusters(options, n_clusters):
    rows = np.repeat(np.eye(3, 12), 2000, axis=0)
    model = SGL(n_clusters, random_state=0, **options).fit(rows)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 2000))


@pytest.mark.parametrize("options", [{}, pytest.param({"structure": "exact"}, marks=pytest.mark.check)], ids=str)
def test_one_cluster_of_many_rows(options):
    rows = np.random.default_rng(0).normal(size=(6000, 12))
    assert set(SGL(1, random_state=0, **options).fit(rows).labels_) == {0}


def test_no_row_of_many_has_every_view():
    rng = np.random.default_rng(0)
    centers = np.repeat(9.0 * np.eye(4, 12), 1500, axis=0)
    lacking = np.arange(6000) % 3
    views = [np.where((lacking == v)[:, None], np.nan, centers + rng.normal(size=(6000, 12))) for v in range(3)]
    found = MSGL(4, random_state=0).fit(views).labels_
    assert (found == np.repeat(np.arange(4), 1500)).mean() > 0.99
