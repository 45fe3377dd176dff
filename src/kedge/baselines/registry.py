"""All baselines in one place: what they are, how large they go, what their authors tuned."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

# The memory and the features for which the largest sizes are given.
USUAL_MEMORY, USUAL_FEATURES = 24e9, 100


@dataclass(frozen=True)
class Method:
    """A baseline.

    Attributes
    ----------
    estimator : type
        The class.
    kind : str
        "single" for one matrix, "multi" for several views.
    title : str
        What it does, in a line.
    cost : str
        How time grows with n rows, d features, k clusters, m anchors, p rows of a sample, r ranks or s picks.
    grid : mapping of parameters to lists
        The values that the authors tried, as far as they are known; "3k" is three times the number of clusters.
    grid_source : str
        Where the grid is from.
    reconstruction : bool
        Whether the authors' program was not available, so that parts are our reading of the paper.
    """

    estimator: type[Any]
    kind: str
    title: str
    cost: str
    grid: Mapping[str, Sequence[Any]]
    grid_source: str
    reconstruction: bool

    @property
    def name(self) -> str:
        """Name of the class in ``kedge.baselines``."""
        return self.estimator.__name__

    @property
    def reference(self) -> str:
        """Where it was published, from the docstring of the class."""
        _, _, rest = (inspect.getdoc(self.estimator) or "").partition("References\n----------\n")
        return " ".join(rest.partition("\n\nExamples\n")[0].split())

    @property
    def predicts(self) -> bool:
        """Whether it can label new rows."""
        return hasattr(self.estimator, "predict")

    @property
    def largest_n(self) -> int:
        """About how many rows it can take on 24 GB at 100 features and its default parameters, beside X itself."""
        return int(self.make(8).largest_n(USUAL_MEMORY, USUAL_FEATURES))

    def make(self, n_clusters: int, **parameters: Any) -> Any:
        """Return an estimator to fit.

        Parameters
        ----------
        n_clusters : int
            Number of clusters.
        **parameters
            Its other parameters.
        """
        return self.estimator(n_clusters, **parameters)


# Filled by the decorator of the classes, in this order: those of the paper first.
METHODS: dict[str, Method | None] = dict.fromkeys(
    [
        "ALRR",
        "KMM",
        "ESSC",
        "FNC",
        "SSCOMP",
        "SLSR",
        "SSC",
        "LRR",
        "LSR",
        "EnSC",
        "LSC",
        "SOBG",
        "KMeans",
        "SpectralClustering",
        "AMGL",
        "MLRSSC",
        "MSC_IAS",
        "LMVSC",
        "JoinedKMeans",
    ]
)


def available(kind: str | None = None) -> list[Method]:
    """Return the baselines.

    Parameters
    ----------
    kind : {"single", "multi"} or None, default=None
        Those for one matrix, those for several views, or all.

    Returns
    -------
    methods : list of Method
        With name, kind, parameters that were tuned, largest size, reference.

    Examples
    --------
    >>> from kedge import baselines
    >>> [method.name for method in baselines.available("multi")]
    ['AMGL', 'MLRSSC', 'MSC_IAS', 'LMVSC', 'JoinedKMeans']
    """
    if kind not in (None, "single", "multi"):
        raise ValueError(f"kind={kind!r} should be 'single', 'multi' or None")
    return [method for method in METHODS.values() if method is not None and kind in (None, method.kind)]


def find_method(name: str) -> Method:
    """Return the baseline of a name, in capitals or not.

    Parameters
    ----------
    name : str
        Such as "SSCOMP" or "kmeans".

    Examples
    --------
    >>> from kedge import baselines
    >>> baselines.find_method("lsc").make(10)
    LSC(n_clusters=10)
    """
    known = {method.name.lower(): method for method in available()}
    if name.lower() in known:
        return known[name.lower()]
    near = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {known[near[0]].name!r}? " if near else ""
    raise ValueError(f"no baseline {name!r}; {hint}there are {', '.join(method.name for method in known.values())}")
