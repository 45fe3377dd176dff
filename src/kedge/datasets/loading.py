"""Where data sets are looked for, and how they are loaded by name."""

import os
import sys
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from kedge.datasets.archive import read_archive
from kedge.datasets.catalogue import Dataset, FileForm, find_dataset
from kedge.datasets.content import Content
from kedge.datasets.convert import convert_files
from kedge.datasets.download import obtain


def load(name: str, *, download: bool = True, progress: bool | None = None) -> Any:
    """Load a data set by its name.

    Looked for in the folders of ``$KEDGE_DATA`` (separated like those of ``$PATH``), then in the per-user cache, then
    downloaded from its public home into that cache. In a folder, the kedge file (npz) comes first, then the public
    files under their own names. What is loaded is compared with the catalogue: sizes, classes and, wherever it is
    known, a digest of all values.

    A stand-in is never loaded under the name of the set it stands for: ``load("nus")`` gives NUS-WIDE-Object or an
    error, ``load("nus-standin")`` the stand-in.

    Parameters
    ----------
    name : str
        One of the names of :func:`kedge.datasets.available`, in any mixture of cases.
    download : bool, default=True
        Download what is not on this machine, which needs ``pip install 'kedge[data]'``.
    progress : bool or None, default=None
        Show a progress bar; None shows it on terminals only.

    Returns
    -------
    data : Bunch
        With ``X`` of shape (n_rows, n_features), or ``views``, a dict from the name of each view to such an array;
        ``y``, integer labels from 0; ``name``, ``description``, ``source``, ``licence``, ``status``, ``n_clusters``.
        Values are as published, not scaled: whole numbers (pixels, counts) come as float32, which holds them exactly,
        other values in the precision they are stored in (float64 for tf-idf). Dense arrays are C-ordered; sparse ones
        are ``scipy.sparse.csr_array`` with int32 indices.

    Raises
    ------
    ValueError
        No set has that name, or a file is damaged or holds other data than its name says.
    FileNotFoundError
        The set is not on this machine and is not to be, or cannot be, downloaded.
    ConnectionError
        The public home could not be reached or broke off; the next call continues.

    Notes
    -----
    The status "unverified" marks a file that you put in place for a set whose values the catalogue does not know: only
    its sizes and classes were compared.

    Examples
    --------
    >>> from kedge.datasets import load
    >>> data = load("tr45")  # doctest: +SKIP
    >>> data.X.shape, data.n_clusters, data.status  # doctest: +SKIP
    ((690, 8261), 10, 'exact')
    """
    dataset = find_dataset(name)
    found = _find_files(dataset)
    if found is not None:
        form, paths = found
        content = read_archive(paths[0], dataset) if form is None else convert_files(paths, form, dataset)
    elif download and dataset.is_downloadable:
        content = obtain(dataset, cache_folder(), progress)
    else:
        raise FileNotFoundError(_explain_absence(dataset))
    return _as_bunch(dataset, content)


def why_not_here(name: str) -> str | None:
    """Say why a data set cannot be loaded from this machine alone; None if its file is here.

    Nothing is read or downloaded.

    Parameters
    ----------
    name : str
        As for :func:`load`.
    """
    dataset = find_dataset(name)
    return None if _find_files(dataset) else _explain_absence(dataset)


def data_folders() -> list[Path]:
    """Folders named in $KEDGE_DATA, separated like those of $PATH."""
    named = os.environ.get("KEDGE_DATA", "").split(os.pathsep)
    return [Path(folder).expanduser() for folder in named if folder.strip()]


def cache_folder() -> Path:
    """Return the folder of this user for files that can be had again; it need not exist."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "kedge" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kedge"
    named = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(named) if named else Path.home() / ".cache") / "kedge"


def _find_files(dataset: Dataset) -> tuple[FileForm | None, list[Path]] | None:
    """Return the files of a data set on this machine, and the form of public files; None as form for a kedge file."""
    for folder in (*data_folders(), cache_folder()):
        archive = folder / dataset.file_name
        if archive.is_file():
            return None, [archive]
        for home in dataset.homes:
            paths = [folder / file.name for file in home.files]
            if all(path.is_file() for path in paths):
                return home.form, paths
    return None


def _as_bunch(dataset: Dataset, content: Content) -> Any:
    if dataset.view_names:
        rows: dict[str, Any] = {"views": dict(zip(dataset.view_names, content.views, strict=True))}
    else:
        rows = {"X": content.views[0]}
    return Bunch(
        **rows,
        y=content.labels,
        name=dataset.name,
        description=dataset.description,
        source=dataset.source,
        licence=dataset.licence,
        status="unverified" if dataset.status == "not available here" else dataset.status,
        n_clusters=dataset.n_clusters,
    )


def _explain_absence(dataset: Dataset) -> str:
    folders = ", ".join(f"{folder}" if folder.is_dir() else f"{folder} (no such folder)" for folder in data_folders())
    wanted = [dataset.file_name, *(" + ".join(file.name for file in home.files) for home in dataset.homes)]
    files = " or ".join(wanted)
    why = f"it cannot be downloaded: {dataset.why_not}" if dataset.why_not else "download=True would fetch it"
    other = f"; or load {dataset.stand_in!r}, which is not the same data" if dataset.stand_in else ""
    return (
        f"data set {dataset.name!r} ({dataset.title}) is not available: no {files} in $KEDGE_DATA "
        f"({folders or 'not set'}) or the cache {cache_folder()}; {why}; its public home is {dataset.public_home}; "
        f"to use it, put {files} in one of these folders{other}"
    )
