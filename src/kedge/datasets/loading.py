"""Load a data set of the paper, or an honest other, by name."""

from typing import Any

from sklearn.utils import Bunch

from kedge.datasets.archive import read_archive
from kedge.datasets.catalogue import find_dataset
from kedge.datasets.content import Content
from kedge.datasets.convert import convert_files
from kedge.datasets.entry import Dataset
from kedge.datasets.locate import cache_folder, data_folders, find_archive, find_public_files
from kedge.datasets.obtain import obtain


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
    content = _read_here(dataset)
    if content is None:
        if not download or not dataset.is_downloadable:
            raise FileNotFoundError(_explain_absence(dataset))
        content = obtain(dataset, cache_folder(), progress)
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
    folders = (*data_folders(), cache_folder())
    is_here = any(find_archive(dataset, folder) or find_public_files(dataset, folder) for folder in folders)
    return None if is_here else _explain_absence(dataset)


def _read_here(dataset: Dataset) -> Content | None:
    for folder in (*data_folders(), cache_folder()):
        archive = find_archive(dataset, folder)
        if archive is not None:
            return read_archive(archive, dataset)
        found = find_public_files(dataset, folder)
        if found is not None:
            home, paths = found
            return convert_files(paths, home.form, dataset)
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
