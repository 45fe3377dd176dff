"""A data set from its public home into the cache."""

import errno
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kedge.datasets.archive import read_archive, write_archive
from kedge.datasets.content import Content
from kedge.datasets.convert import convert_files
from kedge.datasets.download import fetch_file
from kedge.datasets.entry import Dataset, Home
from kedge.datasets.locate import find_archive

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


def obtain(dataset: Dataset, cache: Path, progress: bool | None = None) -> Content:
    """Download, convert and check a data set, and keep its kedge file in the cache.

    Processes that want the same set at once wait for the first of them and read what it stored.
    """
    downloads = cache / "downloads" / dataset.name
    by_hand = f"the kedge file {dataset.file_name} or the public files may be put by hand in {cache}"
    if dataset.stand_in:
        by_hand += f"; {dataset.stand_in!r} is there in its place, with other data"
    failures: list[Exception] = []
    try:
        downloads.mkdir(parents=True, exist_ok=True)
        with hold_lock(downloads.with_name(f"{dataset.name}.lock")):
            stored = find_archive(dataset, cache)
            if stored is not None:
                return read_archive(stored, dataset)
            for home in dataset.homes:
                if home.is_downloadable:
                    try:
                        return _store(dataset, home, cache, downloads, progress)
                    except (ConnectionError, FileNotFoundError, ValueError) as error:
                        failures.append(error)
    except OSError as error:
        full = "disk full" if error.errno == errno.ENOSPC else (error.strerror or str(error))
        text = f"data set {dataset.name!r} cannot be stored in {cache}: {full}"
        raise OSError(error.errno, f"{text}; set KEDGE_DATA or XDG_CACHE_HOME to another place") from error
    reasons = "; ".join(map(str, failures))
    raise type(failures[-1])(f"data set {dataset.name!r} could not be downloaded: {reasons}; {by_hand}")


def _store(dataset: Dataset, home: Home, cache: Path, downloads: Path, progress: bool | None) -> Content:
    downloads.mkdir(exist_ok=True)
    paths = [fetch_file(file, downloads, progress) for file in home.files]
    try:
        content = convert_files(paths, home.form, dataset)
    except ValueError:
        # Kept, they would fail again at every call.
        shutil.rmtree(downloads)
        raise
    write_archive(cache / dataset.file_name, content, dataset)
    shutil.rmtree(downloads)
    return content


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock of that file, and hold it.

    The system releases it when its holder ends, however it ends. The file stays behind, empty: removing it could free a
    second lock of the same name.
    """
    with path.open("a") as file:
        _acquire(file.fileno())
        # Closing the file releases the lock.
        yield
