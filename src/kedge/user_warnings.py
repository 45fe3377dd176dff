"""Warnings that point at the user's line, however deep in kedge they arise."""

import sys
import warnings

# Code that may stand between the user's line and kedge.
_PASSED_THROUGH = {"kedge", "sklearn", "contextlib", "concurrent", "threading", "functools", "importlib"}


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside kedge and the libraries that call it."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_THROUGH:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_convergence(message: str) -> None:
    """Warn that a fit stopped before it converged, or is worse than it could be."""
    # Imported here, so that kedge itself is quick to import.
    from sklearn.exceptions import ConvergenceWarning

    warn_user(message, ConvergenceWarning)
