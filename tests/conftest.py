"""Fixtures and marks shared by all tests."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from kedge.kernels import available_kernels

settings.register_profile("kedge", deadline=None, print_blob=True)
settings.load_profile("kedge")

GOLDEN = Path(__file__).parent / "golden"
DATA_FOLDERS = [Path(p) for p in os.environ.get("KEDGE_DATA", "").split(os.pathsep) if p] + [
    Path(__file__).parents[2] / "shared" / "data"
]


def find_data(name: str) -> Path:
    """Return the first file of that name in the data folders."""
    return next(folder / name for folder in DATA_FOLDERS if (folder / name).exists())


def pytest_configure(config: pytest.Config) -> None:
    """Register the one mark for what may be absent on a user's machine."""
    config.addinivalue_line("markers", "needs(what): skipped without 'data' (a folder of data sets) or 'linux'")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the machine lacks, by name."""
    present = {
        "data": any(folder.is_dir() for folder in DATA_FOLDERS),
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
