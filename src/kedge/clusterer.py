"""What SGL and MSGL share: a fit of views, the identity of a checkpoint, the summary in notebooks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from hashlib import blake2b
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state, estimator_html_repr

from kedge.anchors.sets import AnchorPlan, check_counts, checked_given_anchors, count_anchors
from kedge.core.rows import View
from kedge.core.scaling import ViewScaling
from kedge.core.view_weights import ViewWeighting
from kedge.engines.checkpoint import Checkpoint
from kedge.engines.local import graph_in_memory
from kedge.fit import FitPlan, fit_rows
from kedge.fitted import FittedAnchorGraph
from kedge.inputs import FLOATS, Views
from kedge.kernels.selection import one_thread_per_library
from kedge.parameters import checked_count_range, number_or_default, threads_for
from kedge.partition.pairs import Pairs, checked_pairs
from kedge.progress import show_progress
from kedge.readers.arrays import ArraySource, learn_array_scaling, learn_projection, settle_views

# Parameters that do not change the result.
_WITHOUT_EFFECT = ("n_jobs", "verbose", "callback", "scratch_folder", "checkpoint")
_ROWS_HASHED = 8192


def fit_identity(estimator: Any, views: Views, pairs: Pairs | None = None) -> dict[str, str]:
    """Return every parameter of an estimator and a digest of all rows and pairs, as text, to recognise a fit."""
    parameters = estimator.get_params(deep=False)
    seed = parameters["random_state"]
    if not isinstance(seed, int | np.integer):
        raise ValueError(
            f"checkpoint needs random_state to be an integer, got {seed!r}: a fit that continues must draw the same "
            "numbers as the first one"
        )
    identity = {"kedge": version("kedge"), "estimator": type(estimator).__name__}
    for name, value in parameters.items():
        if name not in _WITHOUT_EFFECT:
            identity[name] = _in_words(value)
    for name, array in zip(views.names, views.arrays, strict=True):
        shape = f"{array.shape[0]} x {array.shape[1]} {array.dtype}"
        identity[f"rows of {name}"] = f"{shape}, digest {_digest_of_rows(array)}"
    if views.observed is not None:
        identity["observed"] = _digest_of_rows(views.observed)
    if pairs is not None:
        identity["must_link"], identity["cannot_link"] = _in_words(pairs.must_link), _in_words(pairs.cannot_link)
    return identity


def _in_words(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {value.shape}, digest {_digest_of_rows(value)}"
    if isinstance(value, list | tuple) and any(isinstance(part, np.ndarray) for part in value):
        return "; ".join(_in_words(part) for part in value)
    return repr(value)


def _digest_of_rows(array: View) -> str:
    """Return a digest of all rows, which changes if any entry does."""
    digest = blake2b(digest_size=16)
    for start in range(0, array.shape[0], _ROWS_HASHED):
        block = array[start : min(start + _ROWS_HASHED, array.shape[0])]
        parts = (block.indptr, block.indices, block.data) if sparse.issparse(block) else (block,)
        for part in parts:
            digest.update(np.ascontiguousarray(part).data.cast("B"))
    return digest.hexdigest()


# Clusters that are listed with their sizes.
MOST_LISTED = 12
# Labels with less confidence are worth a look.
_DOUBTFUL = 0.5
_STYLE = (
    "font:13px/1.5 system-ui,sans-serif;margin:.5em 0 0;border-left:3px solid #0072B2;padding:.2em 0 .2em .8em;"
    "max-width:60em"
)


def html_with_summary(estimator: Any) -> str:
    """Return scikit-learn's HTML view of an estimator and, after a fit, a short summary."""
    return str(estimator_html_repr(estimator)) + summary_html(estimator)


def summary_html(estimator: Any) -> str:
    """Return clusters, sizes, confidence and view weights in HTML; nothing unless labels are in memory."""
    labels = getattr(estimator, "labels_", None)
    if not isinstance(labels, np.ndarray):
        return ""
    sizes = np.bincount(labels, minlength=int(getattr(estimator, "n_clusters_", 0)))
    listed = ", ".join(f"{size:,}" for size in sizes[:MOST_LISTED])
    if len(sizes) > MOST_LISTED:
        listed += f" and {len(sizes) - MOST_LISTED} more from {sizes[MOST_LISTED:].min():,} to {sizes.max():,}"
    lines = [f"<strong>{len(labels):,} rows in {len(sizes)} clusters</strong> of {listed} rows"]
    confidence = getattr(estimator, "confidence_", None)
    if isinstance(confidence, np.ndarray):
        share = 100 * float((confidence < _DOUBTFUL).mean())
        lines.append(f"confidence {confidence.mean():.2f} on average; {share:.1f} % of the rows are below {_DOUBTFUL}")
    weights = getattr(estimator, "view_weights_", None)
    if weights is not None:
        views = zip(estimator.view_names_, weights, strict=True)
        lines.append("view weights: " + ", ".join(f"{escape(str(name)[:60])} {weight:.3f}" for name, weight in views))
    return f'<div class="kedge-summary" style="{_STYLE}">{"<br>".join(lines)}</div>'


@dataclass(eq=False, repr=False)
class AnchorGraphClusterer(
    FittedAnchorGraph, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of the estimators with the parameters that both have; they are documented on the estimators."""

    n_clusters: int | str = "auto"
    _: KW_ONLY
    n_clusters_range: Any = None
    n_anchors: int | str = "auto"
    anchors: Any = "kmeans"
    alpha: float | str = 0.1
    beta: float | str = 0.0
    locality: float | str = "auto"
    scale: Any = "auto"
    penalty_scale: str = "relative"
    penalty: str = "centroid"
    partition: str = "communities"
    structure: str = "soft"
    signed: bool = False
    n_neighbors: int = 1
    predict_with: str = "graph"
    max_iter: int = 100
    tol: float = 1e-4
    n_init: int | str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Any = None
    scratch_folder: str | Path | None = None
    checkpoint: str | Path | None = None

    # What scikit-learn shows in notebooks.
    _html_repr = html_with_summary

    def __getstate__(self) -> dict[str, Any]:
        """Store the graph as plain arrays: secure file formats do not trust SciPy's sparse arrays."""
        state: dict[str, Any] = super().__getstate__()
        if "graph_" in state:
            graph = state["graph_"]
            if not sparse.issparse(graph):  # on disk, or on the workers of a cluster
                graph = graph_in_memory(graph)
                state = state | {name: np.asarray(state[name]) for name in ("embedding_", "labels_", "confidence_")}
            state = state | {"graph_": [graph.data, graph.indices, graph.indptr, list(graph.shape)]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the graph as a sparse array."""
        if "graph_" in state:
            *parts, shape = state["graph_"]
            state = state | {"graph_": sparse.csr_array(tuple(parts), shape=tuple(shape))}
        super().__setstate__(state)

    # Where the estimators differ.

    def _weighting(self, prior: NDArray[np.float64], gamma: float) -> ViewWeighting:
        raise NotImplementedError

    def _given_prior(self, views: Views) -> NDArray[np.float64] | None:
        """Return how much each view counts before the fit; None if this is learnt."""
        return np.ones(len(views.names))

    def _given_anchors(self, views: Views) -> list[Any]:
        raise NotImplementedError

    def _scales(self, views: Views) -> list[str]:
        raise NotImplementedError

    def _alignment(self) -> str:
        return "joint"

    # Fit.

    def _fit_views(self, views: Views, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Cluster checked views; pairs are checked here."""
        random_state = check_random_state(self.random_state)
        n_clusters = self._check_counts(views.n_rows)
        count_range = checked_count_range(self.n_clusters_range, views.n_rows)
        most_clusters = n_clusters or (count_range[1] if count_range else None)
        pairs = checked_pairs(must_link, cannot_link, views.n_rows, most_clusters)
        # The last digits of long sums depend on the number of threads, and the choice of anchors amplifies them.
        with one_thread_per_library():
            settle_views(views.arrays)
            source, scalings, plan = self._prepare(views, views)
            plan = replace(plan, pairs=pairs)
            with show_progress(self.verbose) as progress, self._checkpoint_for(views, pairs) as checkpoint:
                found = fit_rows(source, replace(plan, checkpoint=checkpoint), random_state, progress)
        self._keep(found, scalings)
        return self

    def _check_counts(self, n_rows: int) -> int | None:
        """Check the numbers of clusters and anchors against the rows; return the first, None if the data decides."""
        n_clusters = None if isinstance(self.n_clusters, str) else int(self.n_clusters)
        check_counts(n_rows, n_clusters, self.n_anchors)
        return n_clusters

    def _prepare(self, views: Views, whole: Views) -> tuple[ArraySource, list[ViewScaling], FitPlan]:
        """Return the scaled rows, their scalings and the plan of a fit of ``whole``, of which ``views`` has all rows.

        ``kedge.plan`` has only some of them.
        """
        n_clusters = None if isinstance(self.n_clusters, str) else int(self.n_clusters)
        scalings = learn_projection(self._source(views, self._learn_scalings(views)), bool(self.signed), whole.n_rows)
        return self._source(views, scalings), scalings, self._plan(whole, scalings, n_clusters)

    def _learn_scalings(self, views: Views) -> list[ViewScaling]:
        # Mirrored anchors are lines, so the length of a row does not matter.
        kinds = ["l2" if self.signed and kind == "auto" else kind for kind in self._scales(views)]
        masks = [None] * len(views.names) if views.observed is None else views.observed.T
        return [
            learn_array_scaling(kind, array, name, mask, unit_energy=len(views.names) > 1)
            for kind, array, name, mask in zip(kinds, views.arrays, views.names, masks, strict=True)
        ]

    def _scaled_anchors(self, views: Views, scalings: list[ViewScaling], n_clusters: int | None) -> list[Any]:
        """Check the anchors that the user gave, and scale them like the rows."""
        given = checked_given_anchors(self._given_anchors(views), n_clusters, views.names, views.widths)
        dtype = np.result_type(*(array.dtype for array in views.arrays))
        return [scaling.apply(one.astype(dtype)) for scaling, one in zip(scalings, given, strict=True)]

    @contextmanager
    def _checkpoint_for(self, views: Views, pairs: Pairs | None) -> Iterator[Checkpoint | None]:
        """Yield the checkpoint of this fit; it is removed when the fit finishes and kept if it does not."""
        if self.checkpoint is None:
            yield None
            return
        checkpoint = Checkpoint(self.checkpoint, fit_identity(self, views, pairs))
        try:
            yield checkpoint
            checkpoint.remove()
        finally:
            checkpoint.close()

    def _plan(self, views: Views, scalings: list[ViewScaling], n_clusters: int | None) -> FitPlan:
        """Resolve the parameters against the data, without changing them."""
        return FitPlan(
            n_clusters=n_clusters,
            count_range=checked_count_range(self.n_clusters_range, views.n_rows),
            partition=self.partition,
            anchors=self._anchor_plan(views, scalings, n_clusters),
            alpha=number_or_default("alpha", self.alpha),
            beta=number_or_default("beta", self.beta),
            relative_penalties=self.penalty_scale == "relative",
            penalty=self.penalty,
            locality=number_or_default("locality", self.locality),
            exact=self.structure == "exact",
            weighting=self._weighting,
            gamma=number_or_default("gamma", getattr(self, "gamma", "auto")),
            view_prior=self._given_prior(views),
            max_iter=self.max_iter,
            tol=float(self.tol),
            n_threads=threads_for(self.n_jobs),
            callback=self.callback,
            scratch_folder=self.scratch_folder,
        )

    def _anchor_plan(self, views: Views, scalings: list[ViewScaling], n_clusters: int | None) -> AnchorPlan:
        given: list[Any] | None = None
        n_near: int | None = None
        coarse: tuple[int, ...] = ()
        if isinstance(self.anchors, str):
            penalised = any(not isinstance(value, str) and value > 0 for value in (self.beta, self.locality))
            only_rebuilt = bool(self.signed) or penalised
            n_features = sum(scaling.width_of(width) for scaling, width in zip(scalings, views.widths, strict=True))
            asked = (self.n_anchors, self.n_init, only_rebuilt, n_clusters)
            n_complete = views.n_rows if views.observed is None else int(views.observed.all(axis=1).sum())
            is_sparse = any(scaling.center is None for scaling in scalings)
            count = count_anchors(views.n_rows, n_features, *asked, n_complete, is_sparse)
            sizes, n_near, coarse = count.sizes, count.n_near, count.coarse
        else:
            given = self._scaled_anchors(views, scalings, n_clusters)
            sizes = (len(given[0]),)
        return AnchorPlan(
            sizes=sizes,
            n_near=n_near,
            coarse=coarse,
            method=self.anchors if given is None else "given",
            alignment=self._alignment(),
            asked_for=None if isinstance(self.n_anchors, str) else int(self.n_anchors),
            given=given,
            signed=bool(self.signed),
            n_threads=threads_for(self.n_jobs),
        )

    def _keep(self, found: dict[str, Any], scalings: list[ViewScaling]) -> None:
        """Set the fitted attributes, all at once and after everything that can fail."""
        found = found | {name: self._per_view(found[name]) for name in ("graph_anchors_", "embedding_anchors_")}
        of_views = ("view_prior_", "view_weights_history_")
        self.__dict__.update({name: value for name, value in found.items() if name not in of_views})
        self.scalings_ = [vars(scaling) | {} for scaling in scalings]
        self._n_features_out = self.anchor_embedding_.shape[1]


def checked_anchor_array(anchors: Any, name: str) -> NDArray[Any]:
    """Return given anchors as a float array."""
    return np.asarray(check_array(anchors, dtype=FLOATS, input_name=name))
