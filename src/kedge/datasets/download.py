"""Downloads: a data set from its public home into the cache, and each of its files whole and checked."""

import contextlib
import errno
import importlib
import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kedge.datasets.archive import read_archive, write_archive
from kedge.datasets.catalogue import Dataset, Home, PublicFile
from kedge.datasets.content import Content
from kedge.datasets.convert import convert_files
from kedge.optional_libraries import load_library

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


# No public file of the catalogue comes near; a server that sends more is not sending what was asked for.
MOST_BYTES = 256 << 20
CHUNK_BYTES = 1 << 16
# Seconds to connect, and seconds without a byte.
TIMEOUT = (10, 60)


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
            if (cache / dataset.file_name).is_file():
                return read_archive(cache / dataset.file_name, dataset)
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


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock of that file, and hold it.

    The system releases it when its holder ends, however it ends. The file stays behind, empty: removing it could free a
    second lock of the same name.
    """
    with path.open("a") as file:
        _acquire(file.fileno())
        # Closing the file releases the lock.
        yield


def fetch_file(file: PublicFile, folder: Path, progress: bool | None = None) -> Path:
    """Download a file into a folder, from the first of its addresses that gives it.

    Until it is complete and its checksum agrees, the file is called ``<name>.part``; the next call continues that.

    Raises
    ------
    ConnectionError
        No address could be reached, or the connection broke.
    FileNotFoundError
        The file is not where it used to be.
    ValueError
        The file has another checksum than the catalogue; it is deleted.
    OSError
        It cannot be stored, for instance because the disk is full.
    """
    failures: list[Exception] = []
    for url in file.urls:
        try:
            return _retrieve(url, file, folder, progress)
        except (ConnectionError, FileNotFoundError, ValueError) as error:
            failures.append(error)
    raise type(failures[-1])("; ".join(map(str, failures)))


def _retrieve(url: str, file: PublicFile, folder: Path, progress: bool | None) -> Path:
    pooch = _library("pooch")
    part = folder / f"{file.name}.part"

    def download(url: str, output_file: str, _: Any) -> None:
        _transfer(url, part, progress)
        found = pooch.file_hash(str(part))
        if file.sha256 not in (None, found):
            part.unlink()
            raise ValueError(f"{url}: wrong checksum (SHA-256), expected {file.sha256}, got {found}; file deleted")
        part.replace(output_file)

    known_hash = None if file.sha256 is None else f"sha256:{file.sha256}"
    with _quiet(pooch.get_logger()):
        return Path(pooch.retrieve(url, known_hash, fname=file.name, path=folder, downloader=download))


def _transfer(url: str, part: Path, progress: bool | None) -> None:
    """Bring the partial file to its full length."""
    requests = _library("requests")
    broken = (requests.RequestException, _library("urllib3").exceptions.HTTPError)
    n_have = part.stat().st_size if part.exists() else 0
    # Bytes as stored at the server: a transport encoding would shift the place to continue from.
    headers = {"Accept-Encoding": "identity", "User-Agent": "kedge"}
    if n_have:
        headers["Range"] = f"bytes={n_have}-"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            _receive(response, url, part, n_have, progress)
    except broken as error:
        n_now = part.stat().st_size if part.exists() else 0
        state = f"broke off after {n_now} bytes, which the next call continues" if n_now else "could not be reached"
        raise ConnectionError(f"{url} {state} ({_root_cause(error)})") from error


def _receive(response: Any, url: str, part: Path, n_have: int, progress: bool | None) -> None:
    """Write what the server sends, in continuation of the partial file if it agrees to that."""
    place = response.headers.get("Content-Range", "")
    if response.status_code == 416:
        # Nothing lies behind the end: the file is complete, or not a beginning of this one.
        if place == f"bytes */{n_have}":
            return
        part.unlink()
        raise ConnectionError(f"{url} does not continue {part.name}, which is deleted: call again to start anew")
    if response.status_code in (404, 410):
        raise FileNotFoundError(f"{url} is not there any more ({response.status_code} {response.reason})")
    if response.status_code not in (200, 206):
        raise ConnectionError(f"{url} refused ({response.status_code} {response.reason})")
    continues = response.status_code == 206
    if continues and not place.startswith(f"bytes {n_have}-"):
        part.unlink()
        wrong = f"sent {place or 'bytes of no given place'} when asked for byte {n_have} and on"
        raise ConnectionError(f"{url} {wrong}; {part.name} is deleted: call again to start anew")
    n_written = n_have if continues else 0
    length = response.headers.get("Content-Length", "")
    total = n_written + int(length) if length.isdigit() else None
    with show_progress(part.stem, total, n_written, progress) as advance, part.open("ab" if continues else "wb") as out:
        for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
            n_written += len(chunk)
            if n_written > MOST_BYTES:
                part.unlink()
                raise ValueError(f"{url} sends more than {MOST_BYTES} bytes")
            _write(out, chunk)
            advance(len(chunk))


def _write(file: Any, chunk: bytes) -> None:
    try:
        file.write(chunk)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(errno.ENOSPC, "disk full while downloading", file.name) from error
        raise


def _root_cause(error: BaseException) -> str:
    """Say what happened at the bottom of a chain of errors, in a few words."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


@contextlib.contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep the remarks of pooch, not its warnings, from the screen."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _library(module: str) -> Any:
    return load_library(module, "data", "downloading data")


@contextlib.contextmanager
def show_progress(title: str, total: int | None, done: int, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many bytes have come, of which ``done`` are there already.

    ``wanted`` is None where the bar is shown if standard error is a terminal and rich is installed.
    """
    rich_progress = _load_bar() if wanted or (wanted is None and sys.stderr.isatty()) else None
    if rich_progress is None and wanted:
        raise ImportError("a progress bar needs rich, which is not here: pip install 'kedge[cli]', or progress=False")
    if rich_progress is None:
        yield lambda count: None
        return
    console = importlib.import_module("rich.console").Console(stderr=True)
    columns = ("{task.description}", rich_progress.BarColumn(), rich_progress.DownloadColumn())
    with rich_progress.Progress(*columns, rich_progress.TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.update(task, advance=count)


def _load_bar() -> Any:
    try:
        return importlib.import_module("rich.progress")
    except ImportError:
        return None
