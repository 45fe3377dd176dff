"""Libraries that only some kinds of files need."""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import Any


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
