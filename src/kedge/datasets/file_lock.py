"""A lock between processes that the system releases when its holder ends, however it ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        while True:
            try:
                # Tries for ten seconds, then raises.
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return
            except OSError:
                continue

else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock of that file, and hold it.

    The file stays behind, empty: removing it could free a second lock of the same name.
    """
    with path.open("a") as file:
        _acquire(file.fileno())
        # Closing the file releases the lock.
        yield
