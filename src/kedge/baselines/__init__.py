"""The methods that kedge is compared with, as scikit-learn clusterers in one list."""

from difflib import get_close_matches

from kedge.baselines.alrr import ALRR
from kedge.baselines.amgl import AMGL
from kedge.baselines.base import METHODS, Method
from kedge.baselines.ensc import EnSC
from kedge.baselines.essc import ESSC
from kedge.baselines.fnc import FNC
from kedge.baselines.kmm import KMM
from kedge.baselines.lmvsc import LMVSC
from kedge.baselines.lrr import LRR
from kedge.baselines.lsc import LSC
from kedge.baselines.lsr import LSR
from kedge.baselines.mlrssc import MLRSSC
from kedge.baselines.msc_ias import MSC_IAS
from kedge.baselines.sklearn_methods import JoinedKMeans, KMeans, SpectralClustering
from kedge.baselines.slsr import SLSR
from kedge.baselines.sobg import SOBG
from kedge.baselines.ssc import SSC
from kedge.baselines.sscomp import SSCOMP

# ``available`` lists them in this order: the methods of the paper first.
__all__ = [  # noqa: RUF022
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
    "Method",
    "available",
    "find_method",
]


def available(kind: str | None = None) -> list[Method]:
    """Return the baselines.

    Parameters
    ----------
    kind : {"single", "multi"} or None, default=None
        Those for one matrix, those for several views, or all.

    Returns
    -------
    methods : list of Method
        One entry per baseline.

    Examples
    --------
    >>> from kedge import baselines
    >>> [method.name for method in baselines.available("multi")]
    ['AMGL', 'MLRSSC', 'MSC_IAS', 'LMVSC', 'JoinedKMeans']
    """
    if kind not in (None, "single", "multi"):
        raise ValueError(f"kind={kind!r} should be 'single', 'multi' or None")
    methods = [METHODS[name] for name in __all__ if name in METHODS]
    return [method for method in methods if kind in (None, method.kind)]


def find_method(name: str) -> Method:
    """Return a baseline by its name, in upper or lower case.

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
