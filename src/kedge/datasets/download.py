"""Downloads from the public homes of data sets into the cache."""

import contextlib
import errno
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kedge.datasets.catalogue import Dataset, Home, PublicFile
from kedge.datasets.content import Content, convert_files, one_line
from kedge.optional_libraries import load_library

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        while True:
            # Tries for ten seconds, then raises.
            with contextlib.suppress(OSError):
                return msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


# No public file of the catalogue comes near; a server that sends more is not sending what was asked for.
MOST_BYTES = 256 << 20
CHUNK_BYTES = 1 << 16
# Seconds to connect, and seconds without a byte.
TIMEOUT = (10, 60)
# What another home or address may do better.
FAILURES = (ConnectionError, FileNotFoundError, ValueError)


def obtain(dataset: Dataset, cache: Path, progress: bool | None = None) -> Content:
    """Download the public files of a data set into the cache and return their checked content."""
    failures: list[Exception] = []
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Processes that want the same set at once wait for the first of them and read what it stored.
        # Closing the file releases the lock, and so does the end of the process. The file stays: removing it could free
        # a second lock of the same name.
        with (cache / f"{dataset.name}.lock").open("a") as lock:
            _acquire(lock.fileno())
            for home in dataset.homes:
                if home.is_downloadable:
                    try:
                        return _fetch_home(dataset, home, cache, progress)
                    except FAILURES as error:
                        failures.append(error)
    except OSError as error:
        full = "disk full" if error.errno == errno.ENOSPC else (error.strerror or str(error))
        text = f"data set {dataset.name!r} cannot be stored in {cache}: {full}"
        raise OSError(error.errno, f"{text}; set KEDGE_DATA or XDG_CACHE_HOME to another place") from error
    reasons = "; ".join(map(str, failures))
    by_hand = f"you can put the kedge file {dataset.file_name} or the public files by hand in {cache}"
    other = f"; or load {dataset.stand_in!r}, which is not the same data" if dataset.stand_in else ""
    raise type(failures[-1])(f"data set {dataset.name!r} could not be downloaded: {reasons}; {by_hand}{other}")


def _fetch_home(dataset: Dataset, home: Home, cache: Path, progress: bool | None) -> Content:
    paths = [fetch_file(file, cache, progress) for file in home.files]
    try:
        return convert_files(paths, home.form, dataset)
    except ValueError:
        # Files that stay would fail again at every call.
        for path in paths:
            path.unlink()
        raise


def fetch_file(file: PublicFile, folder: Path, progress: bool | None = None) -> Path:
    """Download a file into a folder, from the first address that gives it; continue ``<name>.part`` if it is there."""
    pooch = load_library("pooch", "data", "downloading data")
    pooch.get_logger().setLevel("WARNING")
    part = folder / f"{file.name}.part"

    def download(url: str, output_file: str, _: Any) -> None:
        _transfer(url, part, progress)
        part.replace(output_file)

    failures: list[Exception] = []
    for url in file.urls:
        try:
            return Path(pooch.retrieve(url, file.sha256, fname=file.name, path=folder, downloader=download))
        except FAILURES as error:
            failures.append(error)
    raise type(failures[-1])("; ".join(map(str, failures)))


def _transfer(url: str, part: Path, progress: bool | None) -> None:
    """Bring the partial file to its full length. Pooch itself would start again from the first byte."""
    requests = load_library("requests", "data", "downloading data")
    n_have = part.stat().st_size if part.exists() else 0
    # Bytes as stored at the server: a transport encoding would shift the place to continue from.
    headers = {"Accept-Encoding": "identity", "User-Agent": "kedge"}
    if n_have:
        headers["Range"] = f"bytes={n_have}-"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if _is_unfinished(response, url, part, n_have):
                _receive(response, url, part, n_have if response.status_code == 206 else 0, progress)
    except requests.RequestException as error:
        n_now = part.stat().st_size if part.exists() else 0
        state = f"broke off after {n_now} bytes, which the next call continues" if n_now else "could not be reached"
        raise ConnectionError(f"{url} {state} ({_root_cause(error)})") from error


def _is_unfinished(response: Any, url: str, part: Path, n_have: int) -> bool:
    """Whether bytes are to come: the whole file, or the continuation of the partial one. Refuse other answers."""
    status, place = response.status_code, response.headers.get("Content-Range", "")
    if status in (404, 410):
        raise FileNotFoundError(f"{url} is not there any more ({status} {response.reason})")
    if status not in (200, 206, 416):
        raise ConnectionError(f"{url} refused ({status} {response.reason})")
    is_complete = status == 416 and place == f"bytes */{n_have}"
    if not is_complete and status != 200 and not place.startswith(f"bytes {n_have}-"):
        part.unlink()
        raise ConnectionError(f"{url} does not continue {part.name} at byte {n_have}; it is deleted, so call again")
    return not is_complete


def _receive(response: Any, url: str, part: Path, n_written: int, progress: bool | None) -> None:
    """Write what the server sends into the partial file, behind the first ``n_written`` bytes."""
    length = response.headers.get("Content-Length", "")
    total = n_written + int(length) if length.isdigit() else None
    with show_progress(part.stem, total, n_written, progress) as advance, part.open("ab" if n_written else "wb") as out:
        for chunk in response.iter_content(CHUNK_BYTES):
            n_written += len(chunk)
            if n_written > MOST_BYTES:
                part.unlink()
                raise ValueError(f"{url} sends more than {MOST_BYTES} bytes")
            out.write(chunk)
            advance(len(chunk))


def _root_cause(error: BaseException) -> str:
    """Say in a few words what happened at the bottom of a chain of errors."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)


@contextlib.contextmanager
def show_progress(title: str, total: int | None, done: int, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar by a number of bytes; None shows the bar on terminals with rich."""
    if wanted is None:
        wanted = sys.stderr.isatty() and find_spec("rich") is not None
    if not wanted:
        yield lambda count: None
        return
    bars = load_library("rich.progress", "cli", "progress=True")
    console = load_library("rich.console", "cli", "progress=True").Console(stderr=True)
    columns = ("{task.description}", bars.BarColumn(), bars.DownloadColumn(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda count: bar.update(task, advance=count)
