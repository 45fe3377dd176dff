"""Fixtures and marks shared by all tests."""

import os
import shutil
import sys
from pathlib import Path

import fuzzing  # noqa: F401  (sets how Hypothesis draws, once)
import numpy as np
import pytest
from scipy import sparse

from kedge.kernels import available_kernels

TESTS = Path(__file__).parent
# Folders whose tests are all part of ``make check`` only.
CHECK_FOLDERS = [TESTS / "benchmarks"]
GOLDEN = TESTS / "golden"
DATA_FOLDERS = [Path(p) for p in os.environ.get("KEDGE_DATA", "").split(os.pathsep) if p] + [
    Path(__file__).parents[2] / "shared" / "data"
]
PUBLISHED = [folder.parent / "golden" for folder in DATA_FOLDERS]


def find_published(name: str) -> Path:
    """Return the file of that name with outputs of the authors' releases."""
    return next(folder / name for folder in PUBLISHED if (folder / name).exists())


def load_sparse(path: Path) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the rows and labels of a sparse data set."""
    with np.load(path) as file:
        parts = (file["X_data"], file["X_indices"].astype(np.int32), file["X_indptr"].astype(np.int32))
        return sparse.csr_array(parts, shape=tuple(file["X_shape"])), file["y"]


def find_data(name: str) -> Path:
    """Return the first file of that name in the data folders."""
    return next(folder / name for folder in DATA_FOLDERS if (folder / name).exists())


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks: what a test needs, and whether it is too long for ``make test``."""
    config.addinivalue_line("markers", "check: takes long, even 'minutes'; make check runs it, make test does not")
    config.addinivalue_line(
        "markers", "needs(what): skipped without 'data', 'published' (outputs of releases), 'browser' or 'linux'"
    )


def needs_array_api(item: pytest.Item) -> bool:
    """Return whether a check of scikit-learn runs only when SciPy was imported with SCIPY_ARRAY_API=1."""
    return "check_array_api" in item.name


def turn_of(item: pytest.Item) -> int:
    """Return when a test begins: the longest first, so that no worker waits for it at the end."""
    mark = item.get_closest_marker("check")
    return 2 if mark is None else 0 if "minutes" in mark.args else 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the long tests and start with them, and skip what the machine lacks, by name."""
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        # tests/common/test_array_api.py runs these in a process of their own.
        config.hook.pytest_deselected(items=list(filter(needs_array_api, items)))
        items[:] = [item for item in items if not needs_array_api(item)]
    for item in items:
        if any(folder in item.path.parents for folder in CHECK_FOLDERS):
            item.add_marker("check")
    items.sort(key=turn_of)
    present = {
        "data": any(folder.is_dir() for folder in DATA_FOLDERS),
        "published": any(folder.is_dir() for folder in PUBLISHED),
        "browser": all(shutil.which(program) for program in ("chromium", "chromedriver")),
        "linux": sys.platform.startswith("linux"),
    }
    for item in items:
        for mark in item.iter_markers("needs"):
            missing = [what for what in mark.args if not present[what]]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(missing)}"))


@pytest.fixture(params=list(available_kernels()))
def kernel(request: pytest.FixtureRequest) -> str:
    """Every row solver of this installation."""
    return str(request.param)
