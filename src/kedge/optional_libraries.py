"""Libraries that only some tasks need, and the versions of what is installed."""

import importlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

CORE_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def load_library(module: str, extra: str, purpose: str) -> Any:
    """Return a module; if it is missing, the error says what needs it and which extra of kedge brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {library}, which is not here: pip install 'kedge[{extra}]'") from error


def installed_version(library: str) -> str:
    """Return the version of a library, or "not installed"."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def installed_versions(*libraries: str) -> dict[str, str]:
    """Return the versions of Python and of those libraries that are installed."""
    found = {"python": platform.python_version()} | {name: installed_version(name) for name in libraries}
    return {name: number for name, number in found.items() if number != "not installed"}
