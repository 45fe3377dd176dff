"""Data sets by name: where kedge looks for their files, and how it loads them."""

import os
import sys
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from kedge.datasets.catalogue import Dataset, FileForm, find_dataset
from kedge.datasets.content import convert_files, read_archive
from kedge.datasets.download import obtain


def load(name: str, *, download: bool = True, progress: bool | None = None) -> Any:
    """Load a data set by its name.

    kedge looks in the folders of ``$KEDGE_DATA`` (separated like those of ``$PATH``) and in the per-user cache, then
    downloads the set from its public home into that cache. In a folder, the kedge file (npz) comes first, then the
    public files under their own names. Sizes, classes and, where it is known, a digest of all values have to agree
    with the catalogue. Stand-ins have names of their own: ``load("nus")`` gives NUS-WIDE-Object or an error,
    ``load("nus-standin")`` the stand-in.

    Parameters
    ----------
    name : str
        One of the names of :func:`kedge.datasets.available`, in upper or lower case.
    download : bool, default=True
        Download what is not on this machine, which needs ``pip install 'kedge[data]'``.
    progress : bool or None, default=None
        Show a progress bar; None shows it on terminals only.

    Returns
    -------
    data : Bunch
        With ``X`` of shape (n_rows, n_features), or ``views``, a dict from the name of each view to such an array;
        ``y``, integer labels from 0; ``name``, ``description``, ``source``, ``licence``, ``status``, ``n_clusters``.
        Values are as published, not scaled: whole numbers as float32, others in their stored precision. Arrays are
        C-ordered or ``scipy.sparse.csr_array``. The status "unverified" marks a file that you put in place for a set
        of which only sizes and classes are known.

    Raises
    ------
    ValueError
        No set has that name, or a file is damaged or holds other data than its name says.
    FileNotFoundError
        The set is not on this machine, and ``download`` is False or it cannot be downloaded.
    ConnectionError
        The public home could not be reached or broke off; the next call continues.

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
    views = {"views": dict(zip(dataset.view_names, content.views, strict=True))} if dataset.view_names else {}
    facts = {name: getattr(dataset, name) for name in ("name", "description", "source", "licence", "n_clusters")}
    status = "unverified" if dataset.status == "not available here" else dataset.status
    return Bunch(**(views or {"X": content.views[0]}), y=content.labels, status=status, **facts)


def why_not_here(name: str) -> str | None:
    """Say why :func:`load` cannot load a data set without a download; None if its file is on this machine."""
    dataset = find_dataset(name)
    return None if _find_files(dataset) else _explain_absence(dataset)


def data_folders() -> list[Path]:
    """Return the folders named in $KEDGE_DATA."""
    named = os.environ.get("KEDGE_DATA", "").split(os.pathsep)
    return [Path(folder).expanduser() for folder in named if folder.strip()]


def cache_folder() -> Path:
    """Return this user's folder for files that can be downloaded again; it may not exist yet."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "kedge" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kedge"
    named = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(named) if named else Path.home() / ".cache") / "kedge"


def _find_files(dataset: Dataset) -> tuple[FileForm | None, list[Path]] | None:
    """Return the files of a data set on this machine and their form, which is None for a kedge file."""
    for folder in (*data_folders(), cache_folder()):
        archive = folder / dataset.file_name
        if archive.is_file():
            return None, [archive]
        for home in dataset.homes:
            paths = [folder / file.name for file in home.files]
            if all(path.is_file() for path in paths):
                return home.form, paths
    return None


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
