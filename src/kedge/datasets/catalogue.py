"""All data sets by name."""

import difflib

from kedge.datasets.entry import Dataset
from kedge.datasets.multi_view_sets import MULTI_VIEW_SETS
from kedge.datasets.single_view_sets import SINGLE_VIEW_SETS

CATALOGUE: dict[str, Dataset] = {dataset.name: dataset for dataset in (*SINGLE_VIEW_SETS, *MULTI_VIEW_SETS)}


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
