"""LMVSC: one graph between rows and anchors per view, all side by side, embedded by their singular vectors."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches

from kedge.anchors.kmeans import ROWS_PER_ANCHOR
from kedge.anchors.select import choose_anchors
from kedge.baselines.affinity import reciprocal, with_fixed_signs
from kedge.baselines.base import Array, Labels, LabelsNewRows, MultiViewBaseline, baseline, parameter
from kedge.baselines.graphs import sample_size
from kedge.clusterer import checked_anchor_array
from kedge.core.block_step import gram_of
from kedge.core.labels import cluster_points, nearest_center, number_by_first_rows
from kedge.core.rows import View, build_row_problem, mean_squared_norm
from kedge.kernels import solve_rows
from kedge.parameters import COUNT, POSITIVE, one_of, threads_for
from kedge.user_warnings import warn_convergence

ANCHORS_PER_CLUSTER, MOST_ANCHORS = 3, 200
# Rows whose problems are set up at a time.
_BLOCK_ROWS = 8192
# Rows of the graphs that enter their Gram matrix at a time.
_GRAM_ROWS = 2048
# Squared singular values below this share of the largest are rounding noise; their vectors are left out.
_NOISE = 1e-10


@baseline(
    "an anchor graph per view, side by side",
    cost="n m d",
    grid={"n_anchors": ["1k", 50, 100], "alpha": [0.01, 1.0, 100.0]},
    grid_source="the authors' programs",
)
class LMVSC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LabelsNewRows, MultiViewBaseline):
    """Large-scale multi-view subspace clustering: one anchor graph per view, and the singular vectors of all of them.

    Every view gets its own anchors, and every row is rebuilt from them with nonnegative weights that sum to one. The
    weights of all views stand side by side in one matrix, whose leading left singular vectors are clustered. For n
    rows, d features in all and m anchors in each of V views it takes O(n m d + n m^2 V^2 + m^3 V^3) time. Memory grows
    with n (d + 2 m V), so 24 GB hold about ten million rows of 100 features at 30 anchors.

    Parameters
    ----------
    n_anchors : int or "auto", default="auto"
        Anchors per view; "auto" takes three per cluster, at most 200. Never more than there are rows. The authors try
        n_clusters, 50 and 100.
    anchors : "kmeans" or list of arrays, default="kmeans"
        Centres of k-means in every view; or the anchors, one array of shape (any, n_features of the view) per view, in
        the units of X.
    alpha : float, default=0.1
        Ridge on the weights: larger values spread a row over more anchors. The authors try 0.01, 1 and 100.
    penalty_scale : {"absolute", "relative"}, default="absolute"
        Units of ``alpha``: none, as published, which makes it comparable between data only where views are scaled to
        unit energy, as all values of ``scale`` but "none" do; or the mean squared anchor norm of the view.
    degree_normalize : bool, default=False
        Divide every anchor by the square root of the weight that rows put on it, as in the paper; the authors' release
        does not.
    n_init : int, default=10
        Starts of the last k-means.
    n_jobs : int or None, default=None
        Threads of the row problems; None or -1 means every processor. Does not change the result.

    Attributes
    ----------
    graphs_ : list of CSR arrays of shape (n_samples, n_anchors of the view)
        Weights of the rows on the anchors of each view; nonnegative, rows sum to one.
    anchors_ : list of ndarrays of shape (n_anchors of the view, n_features of the view)
        The anchors of each view, scaled as the view is.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors of the graphs side by side over the square root of the number of views; fewer columns
        where fewer singular values differ from zero.
    singular_values_ : ndarray of shape (n_clusters,)
        Descending; as many as ``embedding_`` has columns.
    row_map_ : ndarray of shape (anchors of all views, n_clusters)
        What the graphs side by side are multiplied with to give ``embedding_``.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
        Centres of the clusters in the embedding.
    ridges_ : ndarray of shape (n_views,)
        The ridge of each view, in absolute units.

    References
    ----------
    Kang, Zhou, Zhao, Shao, Han and Xu, "Large-scale multi-view subspace clustering in linear time", AAAI 2020.

    Examples
    --------
    >>> from kedge import baselines, datasets
    >>> views, y = datasets.make_multiview(90, n_clusters=3, random_state=0)
    >>> model = baselines.LMVSC(3, random_state=0).fit(views)
    >>> bool((model.predict(views) == model.labels_).all())
    True
    """

    n_anchors: int | str = parameter(COUNT, one_of("auto"), default="auto")
    anchors: Any = parameter(one_of("kmeans"), list, tuple, default="kmeans")
    alpha: float = parameter(POSITIVE, default=0.1)
    penalty_scale: str = parameter(one_of("absolute", "relative"), default="absolute")
    degree_normalize: bool = parameter("boolean", default=False)
    n_init: int = parameter(COUNT, default=10)
    n_jobs: int | None = parameter(int, None, default=None)

    anchors_: list[Array] = field(init=False)
    ridges_: Array = field(init=False)
    row_map_: Array = field(init=False)
    cluster_centers_: Array = field(init=False)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        # Scaled views, and either the choice of anchors or sparse graphs and the embedding.
        n_anchors, n_views = self._wanted_anchors(n_samples), self._count_views()
        widest = max(getattr(self, "view_widths_", (n_features,)))
        anchors = 8 * 3 * sample_size(n_samples, n_anchors, ROWS_PER_ANCHOR) * widest
        # At most so much, since zero weights are not stored; the graph of one view is there twice for a moment.
        graphs = 16 * n_samples * n_anchors * (n_views + 1)
        blocks = 8 * n_anchors * n_views * (4 * _GRAM_ROWS + n_anchors * n_views)
        embedding = 8 * 3 * n_samples * self.n_clusters
        return 8 * n_samples * n_features + max(anchors, graphs + embedding + blocks)

    def _wanted_anchors(self, n_samples: int) -> int:
        auto = min(ANCHORS_PER_CLUSTER * self.n_clusters, MOST_ANCHORS)
        return min(auto if isinstance(self.n_anchors, str) else int(self.n_anchors), n_samples)

    def _cluster(self, views: list[View], random_state: np.random.RandomState) -> dict[str, Any]:
        if isinstance(self.anchors, str):
            n_anchors = self._wanted_anchors(views[0].shape[0])
            anchors = [choose_anchors(view, n_anchors, self.anchors, random_state) for view in views]
        else:
            anchors = self._given_anchors()
        units = [mean_squared_norm([own], [1.0]) if self.penalty_scale == "relative" else 1.0 for own in anchors]
        ridges = self.alpha * np.array(units)
        graphs = self._graphs(views, anchors, ridges)
        singular_values, row_map = _singular_map(graphs, self.n_clusters, self.degree_normalize)
        if len(singular_values) < self.n_clusters:
            warn_convergence(
                f"the graphs have only {len(singular_values)} singular values above rounding for {self.n_clusters} "
                "clusters: rows differ too little in their weights; take a smaller alpha or more anchors"
            )
        embedding = _embed(graphs, row_map)
        found, centers = cluster_points(embedding, self.n_clusters, random_state, self.n_init)
        labels = number_by_first_rows(found)
        first = np.unique(labels, return_index=True)[1]
        self._n_features_out = row_map.shape[1]
        return {
            "labels_": labels,
            "graphs_": graphs,
            "anchors_": anchors,
            "embedding_": embedding,
            "singular_values_": singular_values,
            "row_map_": row_map,
            # Centre j is that of the rows numbered j.
            "cluster_centers_": np.ascontiguousarray(centers[found[first]]),
            "ridges_": ridges,
        }

    def _given_anchors(self) -> list[Array]:
        if len(self.anchors) != len(self.view_names_):
            raise ValueError(
                f"anchors has {len(self.anchors)} arrays for {len(self.view_names_)} views; give one per view"
            )
        checked = []
        for number, (name, width) in enumerate(zip(self.view_names_, self.view_widths_, strict=True)):
            own = checked_anchor_array(self.anchors[number], f"anchors[{number}]").astype(np.float64)
            if own.shape[1] != width:
                raise ValueError(
                    f"anchors[{number}] has {own.shape[1]} features, but {name!r} has {width}; give anchors in the "
                    "units and columns of X"
                )
            checked.append(own)
        return [np.asarray(own) for own in self._scaled(checked)]

    def _graphs(self, views: Sequence[View], anchors: Sequence[Array], ridges: Array) -> list[sparse.csr_array]:
        n_threads = threads_for(self.n_jobs)
        return [_view_graph(*parts, n_threads) for parts in zip(views, anchors, ridges, strict=True)]

    def transform(self, X: Any) -> Array:
        """Embed new rows as in the fit.

        Parameters
        ----------
        X : as in fit
            New rows with the same views.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_clusters)
            In the space of ``embedding_``.
        """
        return self._embed_new(self._read_new_rows(X))

    def _embed_new(self, views: list[View]) -> Array:
        return _embed(self._graphs(views, self.anchors_, self.ridges_), self.row_map_)

    def _label(self, views: list[View]) -> Labels:
        return nearest_center(self._embed_new(views), self.cluster_centers_)


def _view_graph(view: View, anchors: Array, ridge: float, n_threads: int) -> sparse.csr_array:
    """Return the weights of all rows on the anchors of one view."""
    problem = build_row_problem([anchors], weights=[1.0], ridge=ridge)
    hessian, parts = problem.hessian(), []
    for rows in gen_batches(view.shape[0], _BLOCK_ROWS):
        linear = problem.view_terms([view[rows]], None)[0]
        parts.append(solve_rows(hessian, linear, n_threads=n_threads, sparse_output=True).coefficients)
    return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))


def _embed(graphs: Sequence[sparse.csr_array], row_map: Array) -> Array:
    ends = np.cumsum([graph.shape[1] for graph in graphs])[:-1]
    parts = zip(graphs, np.split(row_map, ends), strict=True)
    return np.asarray(sum(graph @ part for graph, part in parts))


def _singular_map(graphs: Sequence[sparse.csr_array], n_vectors: int, degree_normalize: bool) -> tuple[Array, Array]:
    """Decompose B = [Z_1, ..., Z_V] diag(c) / sqrt(V); c is one, or the column sums to the power -1/2.

    Returns the largest singular values above rounding, and the map from [Z_1, ..., Z_V] to the left singular vectors.
    """
    sums = np.concatenate([np.asarray(graph.sum(axis=0)).ravel() for graph in graphs])
    scale = np.full(len(sums), 1.0 / np.sqrt(len(graphs)))
    if degree_normalize:
        scale *= reciprocal(np.sqrt(sums))
    gram = np.zeros((len(sums), len(sums)))
    for rows in gen_batches(graphs[0].shape[0], _GRAM_ROWS):
        gram += gram_of(sparse.hstack([graph[rows] for graph in graphs], format="csr"))
    limits = [max(len(gram) - n_vectors, 0), len(gram) - 1]
    squares, vectors = linalg.eigh(scale[:, None] * gram * scale, subset_by_index=limits)
    squares, vectors = squares[::-1], vectors[:, ::-1]
    kept = squares > _NOISE * squares[0]
    squares, vectors = squares[kept], vectors[:, kept]
    return np.sqrt(squares), scale[:, None] * with_fixed_signs(vectors) * (1.0 / np.sqrt(squares))
