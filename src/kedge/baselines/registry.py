"""All baselines in one place: what they are, how large they go, what their authors tuned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import Any

# The memory for which sizes are told.
USUAL_MEMORY = 24e9
USUAL_FEATURES = 100


@dataclass(frozen=True)
class Method:
    """A baseline.

    Attributes
    ----------
    name : str
        Also the name of its class in ``kedge.baselines``.
    kind : str
        "single" for one matrix, "multi" for several views.
    title : str
        What it does, in a line.
    cost : str
        How time grows with n rows, d features, k clusters, m anchors, p rows of a sample, r ranks or s picks.
    reference : str
        Where it was published.
    grid : mapping of parameters to lists
        The values that the authors tried, as far as they are known; "3k" is three times the number of clusters.
    grid_source : str
        Where the grid is from.
    reconstruction : bool
        Whether no program of the authors was to be had, so that parts are our reading of the paper.
    """

    name: str
    kind: str
    title: str
    cost: str
    reference: str
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    grid_source: str = "nothing to tune"
    reconstruction: bool = False

    @property
    def estimator(self) -> type[Any]:
        """The class."""
        found: type[Any] = getattr(import_module("kedge.baselines"), self.name)
        return found

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


_METHODS = (
    Method(
        "ALRR",
        "single",
        "low-rank representation through a small square matrix",
        "n d r per step",
        "Fan, Tian, Zhao and Chow, Accelerated low-rank representation for subspace clustering and semi-supervised "
        "classification on large-scale data, Neural Networks 2018",
        {"noise_weight": [0.001, 0.01, 0.1, 1.0, 10.0]},
        "ours; the authors' is unknown",
        reconstruction=True,
    ),
    Method(
        "KMM",
        "single",
        "several prototypes per cluster, joined by a graph with exactly k components",
        "n m d per round",
        "Nie, Wang and Li, K-Multiple-Means: a multiple-means clustering method with specified k clusters, KDD 2019",
    ),
    Method(
        "ESSC",
        "single",
        "sparse subspace clustering by proximal gradients",
        "n^2 d per step",
        "Pourkamali-Anaraki, Folberth and Becker, Efficient solvers for sparse subspace clustering, Signal Processing "
        "2020",
        {"fidelity": [20.0, 800.0]},
        "values in the authors' programs",
    ),
    Method(
        "FNC",
        "single",
        "normalised cut of an anchor graph without eigenvectors",
        "n m d",
        "Chen, Hong, Nie, He, Yang and Huang, Spectral clustering of large-scale data by directly solving normalized "
        "cut, KDD 2018",
        {"n_anchors": ["2k", "5k", "10k"]},
        "ours; the authors' is unknown",
        reconstruction=True,
    ),
    Method(
        "SSCOMP",
        "single",
        "sparse subspace clustering by orthogonal matching pursuit",
        "n^2 d s",
        "You, Robinson and Vidal, Scalable sparse subspace clustering by orthogonal matching pursuit, CVPR 2016",
        {"n_nonzero": [3, 5, 10], "threshold": [1e-6, 1e-3]},
        "around the values of the authors' programs (5 and 10; 1e-5 and 1e-6)",
    ),
    Method(
        "SLSR",
        "single",
        "least squares regression on some rows, all others classified by it",
        "p^3 + n p d",
        "Peng, Tang, Zhang, Yi and Xiao, A unified framework for representation-based subspace clustering of "
        "out-of-sample and large-scale data, IEEE TNNLS 2016",
        {"ridge": [1e-4, 1e-3, 1e-2, *(round(0.1 * i, 1) for i in range(1, 11))]},
        "the authors' programs",
    ),
    Method(
        "SSC",
        "single",
        "sparse subspace clustering by the alternating direction method",
        "n^2 d per step",
        "Elhamifar and Vidal, Sparse subspace clustering: algorithm, theory, and applications, IEEE TPAMI 2013",
        {"fidelity": [20.0, 800.0]},
        "values in the authors' programs",
    ),
    Method(
        "LRR",
        "single",
        "low-rank representation of the rows by each other",
        "n^2 d per step",
        "Liu, Lin, Yan, Sun, Yu and Ma, Robust recovery of subspace structures by low-rank representation, IEEE TPAMI "
        "2013",
        {"noise_weight": [round(0.1 + 0.2 * i, 1) for i in range(20)]},
        "programs of this family of methods",
    ),
    Method(
        "LSR",
        "single",
        "ridge regression of the rows on each other",
        "n^2 d",
        "Lu, Min, Zhao, Zhu, Huang and Yan, Robust and efficient subspace segmentation via least squares regression, "
        "ECCV 2012",
        {"ridge": [0.001, 0.004, 0.01, 0.1, 1.0], "own_row": [False, True]},
        "around the values of the authors' programs (0.004 and 0.001)",
    ),
    Method(
        "EnSC",
        "single",
        "elastic-net representation of the rows by an active set of others",
        "n^2 d per round",
        "You, Li, Robinson and Vidal, Oracle based active set algorithm for scalable elastic net subspace clustering, "
        "CVPR 2016",
        {"fidelity": [50.0, 200.0], "l1_share": [0.9, 1.0]},
        "values in the authors' programs",
    ),
    Method(
        "LSC",
        "single",
        "spectral clustering of a Gaussian graph between rows and landmarks",
        "n m d + m^3",
        "Chen and Cai, Large scale spectral clustering with landmark-based representation, AAAI 2011",
    ),
    Method(
        "SOBG",
        "single",
        "a graph between rows and anchors, changed as little as possible until it has k components",
        "n m d + m^3 per update",
        "Nie, Wang, Deng and Huang, Learning a structured optimal bipartite graph for co-clustering, NIPS 2017",
    ),
    Method(
        "KMeans",
        "single",
        "k-means of scikit-learn",
        "n k d per round",
        "Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 1982",
    ),
    Method(
        "SpectralClustering",
        "single",
        "spectral clustering of scikit-learn",
        "n^2 d",
        "Ng, Jordan and Weiss, On spectral clustering: analysis and an algorithm, NIPS 2001",
    ),
    Method(
        "AMGL",
        "multi",
        "one embedding of the neighbour graphs of all views, weighted by themselves",
        "n^2 d",
        "Nie, Li and Li, Parameter-free auto-weighted multiple graph learning, IJCAI 2016",
    ),
    Method(
        "MLRSSC",
        "multi",
        "low-rank and sparse representations of all views, drawn together",
        "n^3 per step",
        "Brbic and Kopriva, Multi-view low-rank sparse subspace clustering, Pattern Recognition 2018",
        {"low_rank": [0.1, 0.3, 0.5, 0.7, 0.9], "agreement": [0.3, 0.5, 0.7, 0.9], "penalty": [10.0, 1e2, 1e3, 1e4]},
        "values in the authors' programs; the sparse weight is one less the low-rank one",
    ),
    Method(
        "MSC_IAS",
        "multi",
        "a common space that rebuilds all views, and the neighbour graph that depends most on it",
        "n^2 r per pass",
        "Wang, Lei, Guo, Zhang, Shi and Li, Multi-view subspace clustering with intactness-aware similarity, Pattern "
        "Recognition 2019",
        {"n_neighbors": [5, 10, 15, 20], "n_latent": ["1k", "2k", 50, 100], "dependence": [0.01, 0.1, 0.5]},
        "ours; the authors' is unknown",
        reconstruction=True,
    ),
    Method(
        "LMVSC",
        "multi",
        "an anchor graph per view, side by side",
        "n m d",
        "Kang, Zhou, Zhao, Shao, Han and Xu, Large-scale multi-view subspace clustering in linear time, AAAI 2020",
        {"n_anchors": ["1k", 50, 100], "alpha": [0.01, 1.0, 100.0]},
        "the authors' programs",
    ),
    Method(
        "JoinedKMeans",
        "multi",
        "k-means of the scaled views side by side",
        "n k d per round",
        "Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 1982",
    ),
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
    return [method for method in _METHODS if kind in (None, method.kind)]


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
    known = {method.name.lower(): method for method in _METHODS}
    if name.lower() in known:
        return known[name.lower()]
    near = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {known[near[0]].name!r}? " if near else ""
    raise ValueError(f"no baseline {name!r}; {hint}there are {', '.join(method.name for method in _METHODS)}")
