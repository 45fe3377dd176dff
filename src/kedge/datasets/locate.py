"""Where files of data sets are looked for."""

import os
import sys
from pathlib import Path

from kedge.datasets.entry import Dataset, Home


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


def find_archive(dataset: Dataset, folder: Path) -> Path | None:
    """Return the kedge file of the data set in that folder, if it is there."""
    path = folder / dataset.file_name
    return path if path.is_file() else None


def find_public_files(dataset: Dataset, folder: Path) -> tuple[Home, list[Path]] | None:
    """Return the first home all of whose files were put in that folder."""
    for home in dataset.homes:
        paths = [folder / file.name for file in home.files]
        if all(path.is_file() for path in paths):
            return home, paths
    return None
