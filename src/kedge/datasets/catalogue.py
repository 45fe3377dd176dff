"""All data sets by name, as ``sets.toml`` declares them."""

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Status = Literal["exact", "re-extracted", "stand-in", "synthesised", "partial", "not available here", "unverified"]
FileForm = Literal["matlab", "alphadigits", "idx", "table", "leading rows"]


@dataclass(frozen=True)
class PublicFile:
    """One file of a data set as its publisher offers it."""

    name: str
    # Where to get the same bytes, tried in order; empty if users have to put the file in place themselves.
    urls: tuple[str, ...] = ()
    # Checksum of the file, if it is known for certain.
    sha256: str | None = None


@dataclass(frozen=True)
class Home:
    """Public files that together hold a data set, and the form they are written in."""

    files: tuple[PublicFile, ...]
    form: FileForm

    @property
    def is_downloadable(self) -> bool:
        """Every file has an address."""
        return all(file.urls for file in self.files)


@dataclass(frozen=True, repr=False)
class Dataset:
    """One data set of the catalogue.

    Attributes
    ----------
    name, title : str
        Name for :func:`kedge.datasets.load`, and in words.
    status : str
        "exact" (the public data), "re-extracted" (same objects, features computed again), "stand-in" (other data of
        similar shape), "synthesised" (made by rule), "partial" (some rows of the public data) or "not available here"
        (load works only with a file that you put in place).
    n_rows, n_clusters : int
        Number of rows, and of classes of the labels.
    widths : tuple of int
        Number of features of each view.
    licence, source, public_home : str
        Terms of use, who made the data, and where they live.
    description : str
        What rows, values and labels are, and how the set differs from the one of the paper, if it does.
    file_name, homes : str, tuple of Home
        Name of the kedge file (npz) of the set, and the public files that it can be converted from.
    view_names, most_stored : tuple of str, tuple of int
        Names of the views, empty for a single view; for sparse views the largest numbers of stored values.
    digest, leading_digest, class_sizes : str, tuple of (int, str), tuple of int
        What is known of the content: its SHA-256, or a number of leading rows and theirs, or the rows of each class.
    stand_in, why_not : str or None, str
        Name of the data set to use in its place, and why it cannot be downloaded; empty if it can.
    """

    name: str
    title: str
    status: Status
    n_rows: int
    widths: tuple[int, ...]
    n_clusters: int
    licence: str
    source: str
    public_home: str
    description: str
    file_name: str
    view_names: tuple[str, ...] = ()
    most_stored: tuple[int, ...] = ()
    digest: str | None = None
    leading_digest: tuple[int, str] | None = None
    class_sizes: tuple[int, ...] = ()
    homes: tuple[Home, ...] = ()
    stand_in: str | None = None
    why_not: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """Name of each view's array in the kedge file."""
        return tuple(f"view{i}" for i in range(len(self.widths))) if self.view_names else ("X",)

    @property
    def is_downloadable(self) -> bool:
        """At least one home has all its addresses."""
        return any(home.is_downloadable for home in self.homes)

    def __repr__(self) -> str:
        """Return one line with the facts that help to choose a set."""
        size = f"{self.n_rows} x {' + '.join(map(str, self.widths))}"
        return (
            f"<{self.name}: {self.title}; {self.status}; {size}, {self.n_clusters} clusters; "
            f"licence: {self.licence}; source: {self.source}; home: {self.public_home}>"
        )


def _make_dataset(name: str, facts: dict[str, Any]) -> Dataset:
    homes = []
    for home in facts.pop("homes", []):
        homes.append(Home(tuple(PublicFile(**_with_tuples(file)) for file in home["files"]), home["form"]))
    return Dataset(name=name, homes=tuple(homes), **_with_tuples(facts))


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}


_DECLARED = tomllib.loads(Path(__file__).with_name("sets.toml").read_text(encoding="utf-8"))
CATALOGUE = {name: _make_dataset(name, facts) for name, facts in _DECLARED.items()}


def available() -> list[Dataset]:
    """List the data sets that :func:`kedge.datasets.load` knows.

    Returns
    -------
    datasets : list of Dataset
        Name, title, status, sizes, licence, source and public home of each. The list does not say whether the file of
        a set is on this machine.

    Examples
    --------
    >>> from kedge.datasets import available
    >>> [dataset.name for dataset in available() if dataset.status == "stand-in"]
    ['tdt2', 'nus-standin']
    """
    return list(CATALOGUE.values())


def find_dataset(name: str) -> Dataset:
    """Return the data set of that name, in upper or lower case."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    key = name.strip().lower()
    if key in CATALOGUE:
        return CATALOGUE[key]
    near = difflib.get_close_matches(key, CATALOGUE, n=3)
    nearest = f"; nearest: {', '.join(near)}" if near else ""
    raise ValueError(f"no data set is called {name!r}{nearest}; all names: {', '.join(CATALOGUE)}")
