"""A small fitted model and its file."""

import pytest
from sklearn.datasets import make_blobs

import kedge


@pytest.fixture(scope="session")
def rows():
    return make_blobs(30, centers=3, n_features=4, random_state=0)[0]


@pytest.fixture(scope="session")
def model(rows):
    return kedge.SGL(3, n_anchors=6, beta=0.1, scale="minmax", random_state=0, n_jobs=1).fit(rows)


@pytest.fixture
def path(model, tmp_path):
    kedge.save(model, tmp_path / "model.kedge")
    return tmp_path / "model.kedge"
