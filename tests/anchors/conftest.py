"""Data for the tests of anchor selection."""

import numpy as np
import pytest


@pytest.fixture
def union_of_subspaces():
    """Return a function that makes unit rows on independent random subspaces, given ambient size, dims and counts."""

    def make(ambient, dims, counts, seed=0):
        rng = np.random.default_rng(seed)
        rows = [
            rng.normal(size=(count, dim)) @ np.linalg.qr(rng.normal(size=(ambient, dim)))[0].T
            for dim, count in zip(dims, counts, strict=True)
        ]
        owner = np.repeat(np.arange(len(dims)), counts)
        stacked = np.vstack(rows)
        return stacked / np.linalg.norm(stacked, axis=1, keepdims=True), owner

    return make
