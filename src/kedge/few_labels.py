"""Classes from a few labels: what the labelled rows say about all others, through the anchors that rows share.

Each community counts as one more anchor of its rows. Two rows are then close if they share anchors, and a little closer
if they share a community. Few sparse rows count as anchors of the rows around them, too, see
:mod:`kedge.nearest_rows`. Every class gets a score on each anchor; the score of a row is the weighted sum of those of
its anchors. The scores fit the labels by least squares and may differ little between anchors that share rows:

    minimise over A   sum over labelled rows of |z_i A - y_i|^2  +  ridge * trace(A' (D - reach * Z'Z) A)

Z holds the weights of the rows on anchors and communities, D its column sums, and y_i is a one at the class of row i.
D - Z'Z is the Laplacian of the graph between anchors. Zhou et al., "Learning with local and global consistency" (2004),
have this penalty on a graph between rows; Liu, He and Chang, "Large graph construction for scalable semi-supervised
learning" (2010), have a similar one on anchors.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils import gen_batches

from kedge.anchors.sets import MOST_REBUILT_ROWS
from kedge.core.block_step import RowBlock
from kedge.engines.local import GraphRows, graph_in_memory

Array = NDArray[np.float64]

# The constants were settled with the labels of MNIST, digits, TR45 and Citeseer, where wide ranges do as well:
# the share of a row's weight that its community gets (0.2 to 0.4),
COMMUNITY_SHARE = 0.3
# how far labels reach, one being everywhere (0.9 to 0.97),
REACH = 0.95
# and how little a single label counts against those around it (0.3 to 1).
RIDGE = 0.5
# Classes are taken to be of equal size; so many labels per class count as much as this assumption.
LABELS_FOR_SIZES = 5.0
# Scores are sums over neighbours, so they are less decided than labels turn out to be. Their third power is about
# right where classes are distinct; labels that are held out, a fifth at a time, tell the power that fits the data.
# That the usual power counts as much as one label was settled with MNIST, digits, TR45 and blobs.
SHARPNESS, HELD_OUT_PARTS = 3.0, 5
# A given label is contradicted if the other labels leave it less than this probability.
CONTRADICTED = 0.03
# A cluster is a new class if it holds less than this share of the labels that it would hold if they were spread evenly.
UNLABELLED_SHARE = 0.25
# Rows among which the most telling ones are chosen.
MOST_CANDIDATES = 1_000
_TOLERANCE = 1e-6


def own_communities(coefficients: sparse.csr_array, shares: Array) -> NDArray[np.intp]:
    """Return the community of each row: the one with most of its weight."""
    return np.asarray(np.asarray(coefficients @ shares).argmax(axis=1), dtype=np.intp)


def with_communities(coefficients: sparse.csr_array, shares: Array) -> sparse.csr_array:
    """Add a column per community to the weights of rows; every row gives part of its weight to its own community.

    ``shares`` says how each anchor is spread over the communities.
    """
    own = own_communities(coefficients, shares)
    n_rows, width = len(own), shares.shape[1]
    member = sparse.csr_array((np.full(n_rows, COMMUNITY_SHARE), own, np.arange(n_rows + 1)), shape=(n_rows, width))
    parts = [coefficients.astype(np.float64) * (1.0 - COMMUNITY_SHARE), member]
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


@dataclass(frozen=True)
class AnchorSums:
    """Sums over rows: ``Z'Z`` and the column sums of the weights on anchors and communities."""

    gram: sparse.csr_array
    column_sums: Array

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        return type(self)(self.gram + other.gram, self.column_sums + other.column_sums)


def sum_anchors(shares: Array, block: RowBlock) -> AnchorSums:
    """Return the sums over the rows of a block."""
    rows = with_communities(block.coefficients, shares)
    return AnchorSums(sparse.csr_array(rows.T @ rows), np.asarray(rows.sum(axis=0)))


@dataclass(frozen=True)
class LabelSystem:
    """The normal equations of the scores: ``labelled' labelled + ridge (D - reach Z'Z)``."""

    # Z'Z as a product of factors: the Gram matrix, or Z' and Z where rows are few and share most anchors.
    gram: tuple[Any, ...]
    column_sums: Array
    labelled: sparse.csr_array  # The labelled rows of Z.

    @property
    def degrees(self) -> Array:
        """The column sums; one where no row has weight, whose score stays zero."""
        return np.where(self.column_sums > 0, self.column_sums, 1.0)

    def product(self, scores: Array) -> Array:
        """Return ``Z'Z`` times scores."""
        for factor in reversed(self.gram):
            scores = factor @ scores
        return np.asarray(scores)

    def solve(self, targets: Array) -> Array:
        """Return the scores on anchors and communities, from the targets of the labelled rows, a column per class."""
        scale = 1.0 / np.sqrt(self.degrees)

        def apply(vector: Array) -> Array:
            scores = scale * vector
            fit = self.labelled.T @ (self.labelled @ scores)
            return np.asarray(scale * (fit + RIDGE * (self.degrees * scores - REACH * self.product(scores))))

        system = LinearOperator((len(scale), len(scale)), matvec=apply, dtype=np.float64)
        sums = np.asarray(self.labelled.T @ targets) * scale[:, None]
        # The condition number is bounded by REACH and the number of labels, so this always converges.
        found = [cg(system, column, rtol=_TOLERANCE)[0] for column in sums.T]
        return np.column_stack(found) * scale[:, None]

    def factor(self) -> Any:
        """Return the Cholesky factor of the system, as :func:`scipy.linalg.cho_solve` takes it."""
        gram = self.gram[0]
        for factor in self.gram[1:]:
            gram = gram @ factor
        dense = -RIDGE * REACH * (gram.toarray() if sparse.issparse(gram) else np.asarray(gram))
        dense[np.diag_indices_from(dense)] += RIDGE * self.degrees
        dense += (self.labelled.T @ self.labelled).toarray()
        return cho_factor(dense, overwrite_a=True, check_finite=False)


def size_factors(scores: Array, column_sums: Array, prior: Array | None, n_labels: int) -> Array:
    """Return the factor of each class that brings its sum over all rows towards its expected size.

    With a given prior the sums become proportional to it. Otherwise classes are taken as equal, the less so the more
    labels there are.
    """
    n_classes = scores.shape[1]
    sums = column_sums @ scores
    shares = np.maximum(sums / (sums.sum() or 1.0), 1e-9)
    if prior is not None:
        return np.asarray(prior / shares)
    trust = LABELS_FOR_SIZES / (LABELS_FOR_SIZES + n_labels / n_classes)
    return np.asarray((1.0 / (n_classes * shares)) ** trust)


def probabilities(scores: NDArray[Any], sharpness: float, prior: Array | None = None) -> NDArray[Any]:
    """Return the probabilities of the classes from the scores of rows; rows that no label reaches get the prior."""
    largest = scores.max(axis=1, keepdims=True)
    reached = largest > 0
    sharp = (np.maximum(scores, 0.0) / np.where(reached, largest, 1.0)) ** sharpness
    unknown = np.full(scores.shape[1], 1.0 / scores.shape[1]) if prior is None else prior
    found = np.where(reached, sharp / np.where(reached, sharp.sum(axis=1, keepdims=True), 1.0), unknown)
    return np.asarray(found, dtype=scores.dtype)


def fit_sharpness(
    system: LabelSystem, targets: Array, classes_of_rows: NDArray[np.int64], prior: Array | None
) -> float:
    """Return the power of scores under which labels that are held out are foretold best.

    The score is Brier's, the squared distance of the probabilities from the label. The usual power counts as much as
    one label does, so it decides where labels are few. The first ``len(classes_of_rows)`` labelled rows are those of
    single rows; every class keeps at least one.
    """
    n_rows = len(classes_of_rows)
    order = np.argsort(classes_of_rows, kind="stable")
    sizes = np.bincount(classes_of_rows)
    rank = np.empty(n_rows, dtype=np.intp)
    rank[order] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = np.where(sizes[classes_of_rows] > 1, rank % HELD_OUT_PARTS, -1)
    foretold = np.zeros((n_rows, targets.shape[1]))
    for number in range(HELD_OUT_PARTS):
        held_out = np.flatnonzero(part == number)
        kept = np.setdiff1d(np.arange(len(targets)), held_out)
        if len(held_out):
            scores = replace(system, labelled=system.labelled[kept]).solve(targets[kept])
            factors = size_factors(scores, system.column_sums, prior, n_rows - len(held_out))
            foretold[held_out] = system.labelled[held_out] @ (scores * factors)
    some = part >= 0
    given = targets[:n_rows][some]

    def loss(logarithm: float) -> float:
        chances = probabilities(foretold[some], SHARPNESS * np.exp(logarithm), prior)
        return float(np.square(chances - given).sum()) + logarithm**2

    return SHARPNESS * float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))


def row_scores(shares: Array, scores: Array, block: RowBlock) -> NDArray[Any]:
    """Return the scores of the rows of a block, in the dtype of their weights."""
    coefficients: Any = block.coefficients
    return np.asarray(with_communities(coefficients, shares) @ scores, dtype=coefficients.dtype)


def scores_of_others(system: LabelSystem, targets: Array, scores: Array) -> Array:
    """Return, for every labelled row, the scores that it would get from the labels of all other rows.

    For least squares this is ``(prediction - h target) / (1 - h)`` with the leverage h of the row.
    """
    leverage = np.minimum(_leverages(system), 1.0 - 1e-9)[:, None]
    return np.asarray((system.labelled @ scores - leverage * targets) / (1.0 - leverage))


def _leverages(system: LabelSystem) -> Array:
    """Return how much the score of every labelled row owes to its own label."""
    factor, rows = system.factor(), system.labelled
    n_rows, width = rows.shape
    # One column of the inverse per anchor is all that any number of labels needs.
    inverse = cho_solve(factor, np.eye(width), overwrite_b=True, check_finite=False) if n_rows > width else None
    leverages = np.empty(n_rows)
    for batch in gen_batches(n_rows, MOST_CANDIDATES):
        some = rows[batch]
        if inverse is None:
            spread = cho_solve(factor, some.T.toarray(), overwrite_b=True, check_finite=False).T
        else:
            spread = some @ inverse
        leverages[batch] = np.asarray(some.multiply(spread).sum(axis=1)).ravel()
    return leverages


def rows_of(graph: Any, rows: NDArray[np.intp]) -> sparse.csr_array:
    """Return rows of a graph, wherever it is."""
    found = graph[rows]
    return found if sparse.issparse(found) else graph_in_memory(found)


def evidence(
    graph: Any,
    shares: Array,
    rows: NDArray[np.int64],
    classes_of_rows: NDArray[np.int64],
    classes_of_communities: NDArray[np.int64],
) -> tuple[sparse.csr_array, Array]:
    """Return what is labelled - rows, then communities as a whole - as rows of Z, and their targets.

    The communities of a new class count as many labels together as another class has on average.
    """
    named = np.flatnonzero(classes_of_communities >= 0)
    new = classes_of_communities[named]
    labels_per_class = len(rows) / len(np.unique(classes_of_rows))
    roots = np.sqrt(labels_per_class / np.bincount(new)[new])
    whole_parts = (roots, len(shares) + named, np.arange(len(named) + 1))
    whole = sparse.csr_array(whole_parts, shape=(len(named), len(shares) + shares.shape[1]))
    labelled = sparse.vstack([with_communities(rows_of(graph, rows), shares), whole], format="csr")
    numbers = np.concatenate([classes_of_rows, new])
    weights = np.concatenate([np.ones(len(rows)), roots])
    return sparse.csr_array(labelled), weights[:, None] * np.eye(int(numbers.max()) + 1)[numbers]


def unlabelled_clusters(
    graph: Any, shares: Array, cluster_of: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the number of the cluster without labels that each community is part of; -1 if its cluster has labels.

    ``cluster_of`` has the cluster of each community, and ``rows`` are those with a label.
    """
    n_clusters = int(cluster_of.max()) + 1

    def count(coefficients: sparse.csr_array) -> NDArray[np.int64]:
        return np.bincount(cluster_of[own_communities(coefficients, shares)], minlength=n_clusters)

    sizes = sum(count(block.coefficients) for block in GraphRows(graph).blocks())
    expected = len(rows) * sizes / graph.shape[0]
    lacking = (count(rows_of(graph, rows)) < UNLABELLED_SHARE * expected) & (sizes > 0)
    numbers = np.where(lacking, np.cumsum(lacking) - 1, -1)
    return np.asarray(numbers[cluster_of], dtype=np.int64)


def rows_worth_a_label(graph: Any, shares: Array, labelled: NDArray[np.intp], n_rows: int) -> NDArray[np.intp]:
    """Return the rows that stand for most rows without a label, one after the other.

    Two rows are as close as the scores there are correlated. The next row is the one that brings the rows nearest to
    a row with a label or named before, on average. Such rows lie in the middle of many others, and far from labels.
    """
    # Evenly spaced rows, so that no seed is needed.
    spaced = np.linspace(0, graph.shape[0] - 1, MOST_CANDIDATES + len(labelled) + n_rows).astype(np.intp)
    rows = np.setdiff1d(spaced, labelled)
    candidates = with_communities(rows_of(graph, rows), shares)
    known = with_communities(rows_of(graph, labelled), shares)
    factor = label_system(graph, known[:0], shares).factor()
    spread = cho_solve(factor, candidates.T.toarray(), overwrite_b=True, check_finite=False)
    close = np.asarray(candidates @ spread)
    lengths = np.sqrt(close.diagonal())
    close /= lengths * lengths[:, None]
    nearest = np.zeros(len(rows))
    if len(labelled):
        own = cho_solve(factor, known.T.toarray(), overwrite_b=True, check_finite=False)
        own_lengths = np.sqrt(np.einsum("ij,ij->j", known.T.toarray(), own))
        nearest = (np.asarray(candidates @ own) / (lengths[:, None] * own_lengths)).max(axis=1)
    chosen: list[int] = []
    for _ in range(min(n_rows, len(rows))):
        gains = np.maximum(close, nearest).sum(axis=1)
        gains[chosen] = -np.inf
        best = int(gains.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, close[best])
    return rows[chosen]


def label_system(graph: Any, labelled: sparse.csr_array, shares: Array) -> LabelSystem:
    """Set up the system of a graph of rows; ``labelled`` has the labelled rows with their communities."""
    if graph.shape[0] <= MOST_REBUILT_ROWS:
        # Every row has many anchors then, and nearly all pairs of anchors share rows.
        rows = with_communities(graph_in_memory(graph), shares)
        return LabelSystem((sparse.csr_array(rows.T), rows), np.asarray(rows.sum(axis=0)), labelled)
    sums = GraphRows(graph).sum_blocks(partial(sum_anchors, shares))
    return LabelSystem((sums.gram,), sums.column_sums, labelled)
