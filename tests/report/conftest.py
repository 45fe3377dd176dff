"""Fitted models for the tests of the report, and the demo."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kedge import SGL

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Run ``make demo`` on what is installed; return its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    # The environment of the tests is taken as it is, not built again.
    command = ["make", "--silent", "--old-file=.venv/.installed", "demo"]
    command += [f"DEMO={folder}", f"BIN={Path(sys.executable).parent}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


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
    return SGL(24, n_anchors=96, random_state=0).fit(many_rows)
