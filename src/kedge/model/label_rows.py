"""From the embedding to labels."""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans


def unit_rows(embedding: NDArray[Any]) -> NDArray[Any]:
    """Scale rows to length one; a zero row stays zero."""
    lengths = np.linalg.norm(embedding, axis=1, keepdims=True)
    return np.asarray(np.divide(embedding, lengths, out=np.zeros_like(embedding), where=lengths > 0))


def label_embedding(embedding: NDArray[Any], n_clusters: int, random_state: RandomState) -> NDArray[np.int64]:
    """Cluster the directions of the embedded rows by k-means; labels are consecutive from zero."""
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    labels = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(unit_rows(embedding))
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def label_anchors(graph: sparse.csr_array, labels: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Give each anchor the cluster whose rows lean on it most."""
    membership = sparse.csr_array(
        (np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=(len(labels), n_clusters)
    )
    return np.asarray((graph.T @ membership).toarray().argmax(axis=1), dtype=np.int64)
