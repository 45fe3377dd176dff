"""Files that are replaced in one step, never half-written, and locks of files."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

# The end of the name of a file that is being written.
PARTIAL = ".kedge-partial"


def try_lock(file: IO[Any]) -> bool | None:
    """Lock an open file until it is closed or the process ends; False if another has the lock, None without locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def replace_whole(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that replaces ``path``, or what a link there points to; an error leaves nothing behind."""
    target = Path(os.path.realpath(path))
    # Opened by name and not by ``tempfile``, so that others may read the file where the user's settings let them.
    partial = target.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)  # noqa: PTH105
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # A write to a full disk does not say which file it was.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()
