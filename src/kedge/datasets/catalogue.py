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

    name: str  # Name of the file, in a data folder and on the way to the cache.
    # Where the same bytes can be had, tried in order; none if it can only be put in place by hand.
    urls: tuple[str, ...] = ()
    sha256: str | None = None  # Checksum of the file, where it is firmly known.


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
    name : str
        Name for :func:`kedge.datasets.load`.
    title : str
        Name in words.
    status : str
        "exact" (the public data themselves), "re-extracted" (same objects, features computed anew), "stand-in" (other
        data of like shape), "synthesised" (made by rule), "partial" (some rows of the public data) or "not available
        here" (only a file that you put in place can be loaded).
    n_rows : int
        Number of rows.
    widths : tuple of int
        Number of features of each view.
    n_clusters : int
        Number of classes of the labels.
    licence, source, public_home : str
        Terms of use, who made the data, and the page or address where they live.
    description : str
        What rows, values and labels are, and how the set differs from the one of the paper, if it does.
    file_name : str
        Name of the kedge file (npz) of the set.
    view_names : tuple of str
        Names of the views; empty for a single view.
    most_stored : tuple of int
        For sparse views the largest number of stored values; empty for dense ones.
    digest : str or None
        SHA-256 of the content, see :func:`kedge.datasets.content.digest_content`.
    leading_digest : tuple of (int, str) or None
        Number of leading rows and their digest, where only these are known.
    class_sizes : tuple of int
        Number of rows of each class, where they are known and the digest is not.
    homes : tuple of Home
        Public files that it can be converted from.
    stand_in : str or None
        Name of the data set to use in its place.
    why_not : str
        Why it cannot be downloaded; empty if it can.
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
    def n_features(self) -> int | tuple[int, ...]:
        """Number of features, or the widths of the views."""
        return self.widths if self.view_names else self.widths[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """Name of each view's array in the kedge file."""
        return tuple(f"view{i}" for i in range(len(self.widths))) if self.view_names else ("X",)

    @property
    def is_downloadable(self) -> bool:
        """At least one home has all its addresses."""
        return any(home.is_downloadable for home in self.homes)

    def __repr__(self) -> str:
        """Return one line with what matters for choosing."""
        size = f"{self.n_rows} x {' + '.join(map(str, self.widths))}"
        return (
            f"<{self.name}: {self.title}; {self.status}; {size}, {self.n_clusters} clusters; "
            f"licence: {self.licence}; source: {self.source}; home: {self.public_home}>"
        )


def _read_sets() -> dict[str, Dataset]:
    declared = tomllib.loads(Path(__file__).with_name("sets.toml").read_text(encoding="utf-8"))
    return {name: _make_dataset(name, facts) for name, facts in declared.items()}


def _make_dataset(name: str, facts: dict[str, Any]) -> Dataset:
    homes = [
        Home(tuple(PublicFile(**_with_tuples(file)) for file in home["files"]), home["form"])
        for home in facts.pop("homes", [])
    ]
    return Dataset(name=name, homes=tuple(homes), **_with_tuples(facts))


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}


CATALOGUE = _read_sets()


def available() -> list[Dataset]:
    """List the data sets that :func:`kedge.datasets.load` knows.

    Returns
    -------
    datasets : list of Dataset
        Name, title, status, sizes, licence, source and public home of each. A name in the list says that kedge knows
        the set, not that its file is on this machine.

    Examples
    --------
    >>> from kedge.datasets import available
    >>> [dataset.name for dataset in available() if dataset.status == "stand-in"]
    ['tdt2', 'nus-standin']
    """
    return list(CATALOGUE.values())


def find_dataset(name: str) -> Dataset:
    """Return the data set of that name, in any mixture of cases."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    key = name.strip().lower()
    if key in CATALOGUE:
        return CATALOGUE[key]
    near = difflib.get_close_matches(key, CATALOGUE, n=3)
    nearest = f"; nearest: {', '.join(near)}" if near else ""
    raise ValueError(f"no data set is called {name!r}{nearest}; all names: {', '.join(CATALOGUE)}")
