"""Fitted models for the tests of the report."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kedge import SGL


@pytest.fixture(scope="session")
def digits():
    """Return some digits and their classes."""
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.fixture(scope="session")
def digits_model(digits):
    return SGL(10, random_state=0).fit(digits[0])


@pytest.fixture(scope="session")
def many_rows():
    """Return more rows than a map shows, in more clusters than a palette has."""
    rng = np.random.default_rng(0)
    centers = 20 * rng.normal(size=(24, 6))
    labels = rng.integers(24, size=30_000)
    return (centers[labels] + rng.normal(size=(30_000, 6))).astype(np.float32)


@pytest.fixture(scope="session")
def many_rows_model(many_rows):
    return SGL(24, n_anchors=48, random_state=0).fit(many_rows)
