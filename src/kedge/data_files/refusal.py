"""The one error of files that cannot be read, and the one place where errors of libraries become it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MOST_CHARACTERS = 300


class DataFileError(ValueError):
    """A data file is missing, damaged, hostile, too large, or not what was asked for; the text names the file."""


@contextmanager
def one_kind_of_error(path: Path) -> Iterator[None]:
    """Turn whatever the libraries raise while they read a file into DataFileError.

    Hostile bytes make them raise nearly anything, so all errors are caught; only a missing extra is passed on, whose
    text says what to install.
    """
    try:
        yield
    except (DataFileError, ImportError):
        raise
    except FileNotFoundError as error:
        raise DataFileError(f"there is no file {path}") from error
    except PermissionError as error:
        raise DataFileError(f"{path} may not be read by this user; change its permissions") from error
    except MemoryError as error:
        raise DataFileError(
            f"{path} asks for more memory than there is; it is damaged, or too large for this machine"
        ) from error
    except Exception as error:
        reason = one_line(str(error)) or type(error).__name__
        if str(path) in reason:
            raise DataFileError(reason) from error
        raise DataFileError(f"{path} cannot be read: {reason}; is it damaged, or of another kind?") from error


def one_line(text: str) -> str:
    """Return text without line breaks and control characters, cut where it is long."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _MOST_CHARACTERS else f"{words[: _MOST_CHARACTERS - 3]}..."


def shown(name: str) -> str:
    """Return a name from a file in quotes, cut where it is long."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")
