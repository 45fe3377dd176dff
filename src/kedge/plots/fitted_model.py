"""Numbers of a fitted model that figures and reports show."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from kedge.core.rows import sample_rows
from kedge.metrics import clustering_accuracy, contingency_table, nmi, purity

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
# How many rows of the graph or the embedding are read at a time, and how many numbers of the data.
ROWS_PER_BLOCK, NUMBERS_PER_BLOCK = 65_536, 4_000_000
# Lines and columns of the graph that a screen can show.
MOST_LINES, MOST_COLUMNS = 300, 150
NOT_A_GRAPH = "only models on anchor graphs (SGL, MSGL) have it"
# Labels with less confidence than this are worth a look.
DOUBTFUL = 0.5
# Features named per cluster, and of single rows.
TOP_OF_CLUSTER, TOP_OF_ROW = 6, 3


def needed(model: Any, name: str, remedy: str) -> Any:
    """Return a fitted attribute, or raise an error that says what to do if the model lacks it."""
    check_is_fitted(model)
    value = getattr(model, name, None)
    if value is None:
        raise ValueError(f"this {type(model).__name__} has no {name}: {remedy}")
    return value


def labels_of(model: Any) -> Labels:
    """Return the clusters of all rows."""
    return np.asarray(needed(model, "labels_", "give a fitted clusterer"), dtype=np.int64)


def count_clusters(model: Any) -> int:
    """Return the number of clusters: what the model says, or the largest label plus one."""
    return max(int(getattr(model, "n_clusters_", 0)), int(labels_of(model).max()) + 1)


def membership(labels: Labels, n_clusters: int) -> sparse.csr_array:
    """Return the matrix of shape (n_clusters, n_rows) with a one where a row belongs to a cluster."""
    ones = np.ones(len(labels))
    return sparse.csr_array((ones, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))


def sampled_by_cluster(labels: Labels, n_clusters: int, most: int) -> NDArray[np.intp]:
    """Return a fixed, sorted sample of about ``most`` rows that holds a few of every cluster."""
    if len(labels) <= most:
        return np.arange(len(labels))
    chosen = sample_rows(len(labels), most, np.random.RandomState(0))
    fewest = max(1, min(5, most // n_clusters))
    counts = np.bincount(labels[chosen], minlength=n_clusters)
    extra = [np.flatnonzero(labels == cluster)[:fewest] for cluster in np.flatnonzero(counts < fewest)]
    return np.unique(np.concatenate([chosen, *extra]))


def cluster_sizes_of(model: Any) -> Labels:
    """Return how many rows each cluster holds."""
    return np.bincount(labels_of(model), minlength=count_clusters(model)).astype(np.int64)


def confidence_histogram(model: Any) -> tuple[Labels, Array, float]:
    """Return counts and edges of the histogram of the confidence, and the share of rows below 0.5."""
    remedy = "SGL and MSGL have it, except as_published"
    values = np.asarray(needed(model, "confidence_", remedy), dtype=np.float64)
    counts, edges = np.histogram(values, bins=20, range=(0.0, 1.0))
    return counts.astype(np.int64), edges, float((values < DOUBTFUL).mean())


def objective_of(model: Any) -> Array:
    """Return the objective at the end of every iteration."""
    values = needed(model, "objective_", "only models fitted in iterations have it")
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def view_weights_of(model: Any) -> tuple[list[str], Array]:
    """Return the names of the views and their weights, one line per iteration."""
    history = needed(model, "view_weights_history_", "only MSGL weighs views")
    return [str(name) for name in model.view_names_], np.asarray(history, dtype=np.float64)


def count_choice(model: Any) -> dict[str, Any]:
    """Return how the number of clusters was found, as ``auto_report_`` of the model says."""
    remedy = "fit with n_clusters='auto'"
    report: dict[str, Any] | None = needed(model, "auto_report_", remedy).get("n_clusters")
    if report is None:
        raise ValueError(f"the number of clusters of this {type(model).__name__} was given: {remedy}")
    return report


class Agreement(NamedTuple):
    """The clusters compared with known classes."""

    scores: dict[str, float]  # Accuracy, NMI and purity.
    classes: list[str]  # Names of the classes, in the order of the table.
    clusters: Labels  # Shape (n_columns,). Clusters of the columns.
    table: Labels  # Shape (n_classes, n_columns). Rows of each class in each cluster that holds rows.


def compare_with_classes(model: Any, true_labels: ArrayLike) -> Agreement:
    """Return scores, and how many rows of each class are in each cluster."""
    labels, given = labels_of(model), np.asarray(true_labels)
    if given.shape != labels.shape:
        raise ValueError(f"true_labels has shape {given.shape}, but the model has {len(labels)} rows: give one per row")
    # The measures refuse a missing label and name its row.
    measures = {"accuracy": clustering_accuracy, "NMI": nmi, "purity": purity}
    scores = {name: float(measure(given, labels)) for name, measure in measures.items()}
    # Labels of mixed types cannot be sorted, but their texts can.
    truth = given.astype(str) if given.dtype.kind == "O" else given
    table = contingency_table(truth, labels).toarray()
    return Agreement(scores, [str(name) for name in np.unique(truth)], np.unique(labels), table)


class FeatureContrasts(NamedTuple):
    """How far the mean of each cluster is from the mean of the other rows, in one view."""

    # Shape (n_clusters, n_features). Mean of the cluster less mean of the rest, in standard deviations of all rows; 0
    # where a feature is constant.
    differences: Array
    # Shape (n_features,). Of all rows that have the view.
    mean: Array
    deviation: Array

    def top_of_cluster(self, cluster: int, count: int = TOP_OF_CLUSTER) -> NDArray[np.intp]:
        """Return the features that differ most; features that do not differ at all are left out."""
        sizes = np.abs(self.differences[cluster])
        order = np.argsort(-sizes, kind="stable")[:count]
        return np.asarray(order[sizes[order] > 0])


def contrast_features(view: Any, labels: Labels, n_clusters: int) -> FeatureContrasts:
    """Compare the means of clusters in one pass over a dense or CSR view; rows of NaN are skipped."""
    n_rows, n_features = view.shape
    sums, counts = np.zeros((n_clusters, n_features)), np.zeros(n_clusters)
    shift, squares = _point_among_rows(view), np.zeros(n_features)
    for rows in gen_batches(n_rows, _block_length(view)):
        block, own = view[rows], labels[rows]
        if not sparse.issparse(block):
            block = np.asarray(block, dtype=np.float64)
            present = ~np.isnan(block).any(axis=1)
            # Shifted, because squares of numbers far from zero would leave no digits for the deviation.
            block, own = block[present] - shift, own[present]
            squares += np.einsum("ij,ij->j", block, block)
        else:
            squares += np.asarray(block.multiply(block).sum(axis=0), dtype=np.float64).ravel()
        summed = membership(own, n_clusters) @ block
        sums += summed.toarray() if sparse.issparse(summed) else summed
        counts += np.bincount(own, minlength=n_clusters)
    total, n_present = sums.sum(axis=0), max(counts.sum(), 1.0)
    mean = total / n_present
    variance = squares / n_present - mean**2
    # The variance of a constant feature is rounding error only.
    deviation = np.sqrt(np.where(variance > 1e-12 * (squares / n_present), variance, 0.0))
    others = n_present - counts
    apart = sums / np.maximum(counts, 1)[:, None] - (total - sums) / np.maximum(others, 1)[:, None]
    apart[(counts == 0) | (others == 0)] = 0.0
    differences = np.divide(apart, deviation, out=np.zeros_like(apart), where=deviation > 0)
    return FeatureContrasts(differences, mean + shift, deviation)


def top_features_of_rows(
    view: Any, rows: NDArray[np.intp], contrasts: FeatureContrasts, count: int = TOP_OF_ROW
) -> tuple[NDArray[np.intp], Array]:
    """Return the features in which rows are farthest from the mean, and how far in standard deviations (0 for NaN)."""
    count = min(count, view.shape[1])
    places, sizes = np.zeros((len(rows), count), dtype=np.intp), np.zeros((len(rows), count))
    for part in gen_batches(len(rows), _block_length(view)):
        block = view[rows[part]]
        dense = block.toarray() if sparse.issparse(block) else np.asarray(block, dtype=np.float64)
        apart = np.nan_to_num(dense - contrasts.mean)
        scores = np.divide(apart, contrasts.deviation, out=np.zeros_like(apart), where=contrasts.deviation > 0)
        places[part] = np.argsort(-np.abs(scores), axis=1, kind="stable")[:, :count]
        sizes[part] = np.take_along_axis(scores, places[part], axis=1)
    return places, sizes


def _block_length(view: Any) -> int:
    return int(max(1, NUMBERS_PER_BLOCK // max(view.shape[1], 1)))


def _point_among_rows(view: Any) -> Array:
    """Return the mean of the first rows; zeros for a sparse view, which must stay sparse."""
    first = np.zeros((0, view.shape[1])) if sparse.issparse(view) else np.asarray(view[:1000], dtype=np.float64)
    first = first[~np.isnan(first).any(axis=1)]
    return np.asarray(first.mean(axis=0)) if len(first) else np.zeros(view.shape[1])


class GraphBlocks(NamedTuple):
    """Weights of some rows on the anchors, sorted by cluster, and the weight between all clusters."""

    rows: NDArray[np.intp]  # Shape (n_shown,). Which rows are shown.
    row_labels: Labels  # Shape (n_shown,). Their clusters.
    column_labels: Labels  # Shape (n_columns,). Clusters of the columns.
    weights: Array  # Shape (n_shown, n_columns). The weight of each row on the anchors of each column.
    anchors_per_column: int  # The largest number of anchors that share a column.
    n_anchors: int
    # Shape (n_clusters, n_clusters). The share of its weight that each cluster of rows puts on each cluster of anchors.
    shares: Array

    def share_inside(self) -> float:
        """Return the share of weight that stays inside clusters, as a mean over clusters with rows."""
        holding = self.shares.sum(axis=1) > 0
        return float(np.diag(self.shares)[holding].mean())


def sort_graph(model: Any, most_lines: int = MOST_LINES, most_columns: int = MOST_COLUMNS) -> GraphBlocks:
    """Sort the graph of a model, with a sample of its rows, into blocks."""
    graph = needed(model, "graph_", NOT_A_GRAPH)
    anchor_labels = np.asarray(needed(model, "anchor_labels_", "only SGL and MSGL label their anchors"), dtype=np.int64)
    labels, n_clusters = labels_of(model), count_clusters(model)
    rows = sampled_by_cluster(labels, n_clusters, most_lines)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    columns, column_labels, most = _group_anchors(anchor_labels, n_clusters, most_columns)
    to_clusters, sums = membership(anchor_labels, n_clusters).T, np.zeros((n_clusters, n_clusters))
    for part in gen_batches(len(labels), ROWS_PER_BLOCK):
        sums += (membership(labels[part], n_clusters) @ _graph_rows(graph, part) @ to_clusters).toarray()
    totals = sums.sum(axis=1, keepdims=True)
    return GraphBlocks(
        rows=rows,
        row_labels=labels[rows],
        column_labels=column_labels,
        weights=(_graph_rows(graph, rows) @ columns).toarray(),
        anchors_per_column=most,
        n_anchors=len(anchor_labels),
        shares=np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0),
    )


def _graph_rows(graph: Any, rows: Any) -> sparse.csr_array:
    """Return rows of a graph that is in memory, on disk, or on Dask workers."""
    part = graph[rows]
    return sparse.csr_array(part.compute() if hasattr(part, "compute") else part)


def _group_anchors(anchor_labels: Labels, n_clusters: int, most: int) -> tuple[sparse.csr_array, Labels, int]:
    """Return a matrix from anchors to columns, the clusters of the columns, and the most anchors in one column."""
    counts = np.bincount(anchor_labels, minlength=n_clusters)
    per_column = 1
    while np.ceil(counts / per_column).sum() > most and per_column < counts.max():
        per_column += 1
    columns_of = np.ceil(counts / per_column).astype(np.intp)
    order = np.argsort(anchor_labels, kind="stable")
    own = anchor_labels[order]
    place_in_cluster = np.arange(len(order)) - (np.cumsum(counts) - counts)[own]
    column = (np.cumsum(columns_of) - columns_of)[own] + place_in_cluster // per_column
    shape = (len(order), int(columns_of.sum()))
    grouping = sparse.csr_array((np.ones(len(order)), (order, column)), shape=shape)
    return grouping, np.repeat(np.arange(n_clusters), columns_of), per_column
