"""One clustering from many: rows that most of them put together belong together."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from kedge.model.clustering_points import cluster_points

# Clusterings of the joint graph, and of the graphs of the single sets together: the first know more, the second differ
# more. benchmarks/clustering/defaults.py prints what the consensus brings.
JOINT_VOTES, SET_VOTES = 50, 50
# Rows that vote; the table of pairs grows with their square.
MOST_VOTERS = 2_000


def consensus_of_starts(
    joint: NDArray[Any], per_set: Sequence[NDArray[Any]], n_clusters: int, random_state: RandomState
) -> NDArray[np.int64]:
    """Cluster the same rows often by k-means and return the groups on which the clusterings agree best.

    k-means on an embedding has many solutions of nearly the same value; which of them is the best is a matter of the
    anchors drawn. What most solutions share is not.

    Parameters
    ----------
    joint : array of shape (n_rows, n_directions)
        The rows in the embedding of the joint graph.
    per_set : sequence of arrays of shape (n_rows, n_directions)
        The same rows in the embeddings of the graphs of single anchor sets.
    n_clusters : int
        Number of groups.
    random_state : RandomState
        Seeds every start.
    """
    votes = [cluster_points(points, n_clusters, random_state, n_starts=1)[0] for points in _ballots(joint, per_set)]
    return agreed_groups(votes, n_clusters)


def agreed_groups(
    votes: Sequence[NDArray[np.int64]],
    n_groups: int,
    weights: NDArray[np.float64] | None = None,
    company_share: float = 0.0,
) -> NDArray[np.int64]:
    """Join rows by average linkage, two rows being the closer the more clusterings put them together.

    Clusterings count alike, or as their weights say. With a ``company_share``, this much of how close two rows are is
    how alike their company is, that is, how much they are together with the same rows: the cosine between their rows of
    the table of pairs. That is steadier where clusterings are few, and takes O(n^3) time.
    """
    n_rows = len(votes[0])
    if n_rows <= n_groups:
        return np.arange(n_rows)
    starts = np.cumsum([0, *(int(vote.max()) + 1 for vote in votes)])
    columns = np.stack([vote + start for vote, start in zip(votes, starts[:-1], strict=True)], axis=1).ravel()
    pointers = np.arange(0, len(columns) + 1, len(votes))
    heavy = np.ones(len(votes)) if weights is None else weights * (len(votes) / weights.sum())
    roots = np.tile(np.sqrt(heavy).astype(np.float32), n_rows)
    ballots = sparse.csr_array((roots, columns, pointers), shape=(n_rows, starts[-1]))
    together = (ballots @ ballots.T).toarray()
    together /= np.float32(len(votes))
    if company_share > 0:
        together = (1.0 - np.float32(company_share)) * together + np.float32(company_share) * _alike_company(together)
    # Weights add up to one only but for rounding, and distances below zero are none.
    apart = np.maximum(1.0 - together, np.float32(0))
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart, checks=False), method="average")
    return np.asarray(fcluster(tree, n_groups, criterion="maxclust") - 1, dtype=np.int64)


def _alike_company(together: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosines between the rows of a symmetric table; none is zero, as every row is together with itself."""
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, dtype=np.float32)


def _ballots(joint: NDArray[Any], per_set: Sequence[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    for _ in range(JOINT_VOTES):
        yield joint
    for number in range(SET_VOTES if per_set else 0):
        yield per_set[number % len(per_set)]
