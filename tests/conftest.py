"""Fixtures and marks shared by all tests."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy import sparse

from kedge.kernels import available_kernels

settings.register_profile("kedge", deadline=None, print_blob=True)
settings.load_profile("kedge")

GOLDEN = Path(__file__).parent / "golden"
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
    """Register the one mark for what may be absent on a user's machine."""
    config.addinivalue_line(
        "markers", "needs(what): skipped without 'data', 'published' (outputs of releases), 'browser' or 'linux'"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the machine lacks, by name."""
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
