"""The folder of a run: there whole or not at all."""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kedge.cli.run_record import RUN_FILE

_SUFFIX = ".kedge-partial"
_LOCK = ".lock"
# Waits until the other end of its input is closed, as the system does when a process is killed; then puts an earlier
# run back that was being replaced, and removes what was not finished.
_CLEAN_UP = 'cat > /dev/null; [ -e "$2" ] || [ ! -e "$3" ] || mv "$3" "$2"; rm -rf "$1" "$3"'


def check_place(out: Path, *, overwrite: bool) -> None:
    """Refuse a place where the folder cannot be put, before any work is done."""
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {out.parent}; make it first")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise ValueError(f"--out: nothing can be written to {out.parent}; choose another folder")
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise ValueError(f"--out: {out} is no folder; choose another name")
    if not overwrite and any(out.iterdir()):
        raise ValueError(f"--out: {out} exists; choose another folder, or replace it with --overwrite")
    # Nothing but what a run left is ever removed.
    if any(out.iterdir()) and not (out / RUN_FILE).is_file():
        raise ValueError(f"--out: {out} holds other things than a run of kedge, so it is not replaced")


@contextmanager
def new_folder(out: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield an empty folder beside ``out`` that takes its place at the end; after an error nothing of it is left."""
    check_place(out, overwrite=overwrite)
    _remove_stale(out)
    partial = out.with_name(f".{out.name}.{secrets.token_hex(6)}{_SUFFIX}")
    with watched(partial, out, _replaced(partial)):
        partial.mkdir()
        try:
            with (partial / _LOCK).open("w") as lock:
                _try_lock(lock.fileno())
                yield partial
                check_place(out, overwrite=overwrite)
                (partial / _LOCK).unlink()
                _put_in_place(partial, out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def watched(partial: Path, out: Path, old: Path) -> Iterator[None]:
    """Have another process clear up after this one if it is killed; where there is no shell, the next run does."""
    shell = shutil.which("sh")
    if shell is None or sys.platform == "win32":
        yield
        return
    command = [shell, "-c", _CLEAN_UP, "kedge-clean-up", *(str(path.absolute()) for path in (partial, out, old))]
    # In a session of its own, so that what ends this process by the group or the terminal does not end it as well.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    ):
        yield


def _replaced(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}-old")


def _put_in_place(partial: Path, out: Path) -> None:
    if not out.exists():
        partial.rename(out)
        return
    old = _replaced(partial)
    out.rename(old)
    try:
        partial.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _remove_stale(out: Path) -> None:
    """Remove what runs left that were killed: their locks are free."""
    for partial in out.parent.glob(f".{out.name}.*{_SUFFIX}"):
        lock = partial / _LOCK
        if not lock.is_file():
            continue
        with contextlib.suppress(OSError), lock.open("r+") as file:
            if _try_lock(file.fileno()):
                shutil.rmtree(partial, ignore_errors=True)


if sys.platform == "win32":

    def _try_lock(descriptor: int) -> bool:
        """Without such locks nothing is known to be stale."""
        return False

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        """Take the lock, which the system frees when the process ends, however it ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
