"""``kedge.consensus``: one clustering from many."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import entropy
from sklearn.utils import check_random_state, check_scalar

from kedge.core.labels import number_by_first_rows
from kedge.core.rows import sample_rows
from kedge.metrics import as_numbers

# Rows that vote; the table of pairs grows with their square.
MOST_VOTERS = 2_000


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


Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """Groups on which clusterings agree.

    Attributes
    ----------
    labels : array of shape (n_rows,)
        The group of every row, numbered as they first occur.
    confidence : array of shape (n_rows,)
        How much of the company that a row keeps in the clusterings is in its own group, from 0 to 1.
    """

    labels: Labels
    confidence: NDArray[np.float64]


def agree(votes: Sequence[Labels], n_groups: int, random_state: RandomState) -> Agreement:
    """Join rows that most clusterings put together.

    A sample of rows is joined by average linkage on the share of clusterings that put two rows together; every other
    row goes to the group with whose members it is together most often, which asks for the sizes of intersections only.
    """
    n_rows = len(votes[0])
    voters = sample_rows(n_rows, MOST_VOTERS, random_state)
    groups = agreed_groups([vote[voters] for vote in votes], n_groups)
    labels = nearest_groups(votes, voters, groups)
    labels[voters] = groups
    labels = number_by_first_rows(labels)
    return Agreement(labels, company_in_own_group(votes, labels))


def nearest_groups(votes: Sequence[Labels], voters: NDArray[np.intp], groups: Labels) -> Labels:
    """Return the group with whose members each row is together in most clusterings; the first of several."""
    sizes = np.bincount(groups)
    together = np.zeros((len(votes[0]), len(sizes)))
    for vote in votes:
        shared = intersection_sizes(vote[voters], groups, int(vote.max()) + 1, len(sizes))
        together += (shared / sizes)[vote]
    return np.asarray(together.argmax(axis=1), dtype=np.int64)


def company_in_own_group(votes: Sequence[Labels], labels: Labels) -> NDArray[np.float64]:
    """Return, averaged over the clusterings, which share of a row's cluster is in the row's group."""
    share = np.zeros(len(labels))
    for vote in votes:
        shared = intersection_sizes(vote, labels, int(vote.max()) + 1, int(labels.max()) + 1)
        share += (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1))[vote, labels]
    return share / len(votes)


def intersection_sizes(vote: Labels, groups: Labels, n_clusters: int, n_groups: int) -> NDArray[np.float64]:
    """Return how many rows each cluster shares with each group, shape (n_clusters, n_groups)."""
    counts = np.bincount(vote * n_groups + groups, minlength=n_clusters * n_groups)
    return counts.reshape(n_clusters, n_groups).astype(np.float64)


def shared_information(labels: Labels, other: Labels) -> float:
    """Return the mutual information of two clusterings by the larger entropy; 1 if both are one cluster.

    :func:`kedge.metrics.nmi` for labels that need no checks, for many comparisons.
    """
    joint = intersection_sizes(labels, other, int(labels.max()) + 1, int(other.max()) + 1) / len(labels)
    first, second = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    larger = max(first, second)
    return float((first + second - entropy(joint.ravel())) / larger) if larger > 0 else 1.0


def consensus(
    labels: Sequence[ArrayLike], n_clusters: int, *, random_state: Any = None, return_confidence: bool = False
) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the clustering on which several clusterings of the same rows agree best.

    Two rows are the closer the more clusterings put them together. They may come from any method and have any
    number of clusters; how their clusters are numbered does not matter. Time and memory are linear in the rows: at most
    2,000 of them are compared pair by pair, the others join the group with whose members they are together most often.

    Parameters
    ----------
    labels : sequence of array-likes of shape (n_samples,)
        Clusterings; integers, strings or anything that can be compared for equality.
    n_clusters : int
        Number of clusters of the result; fewer if the clusterings tell fewer groups apart.
    random_state : int, RandomState or None, default=None
        Draws the rows that are compared pair by pair where there are more than 2,000.
    return_confidence : bool, default=False
        Whether to return the confidence as well.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Clusters, numbered from zero as they first occur.
    confidence : ndarray of shape (n_samples,)
        Which share of a row's company in the clusterings is in its own cluster, from 0 to 1; only with
        ``return_confidence``.

    Examples
    --------
    >>> import kedge
    >>> kedge.consensus([[0, 0, 1, 1], ["b", "b", "a", "a"], [0, 1, 2, 2]], n_clusters=2)
    array([0, 0, 1, 1])
    """
    votes = _checked_votes(labels)
    check_scalar(n_clusters, "n_clusters", Integral, min_val=1)
    if n_clusters > len(votes[0]):
        raise ValueError(f"n_clusters={n_clusters} is more than the {len(votes[0])} rows; ask for fewer clusters")
    found = agree(votes, int(n_clusters), check_random_state(random_state))
    return (found.labels, found.confidence) if return_confidence else found.labels


def _checked_votes(labels: Sequence[ArrayLike]) -> list[NDArray[np.int64]]:
    """Return the clusterings as integers from zero; what is wrong with one is said with its place in the list."""
    if len(labels) == 0:
        raise ValueError("labels is empty; give at least one clustering")
    votes = [as_numbers(given, f"labels[{place}]") for place, given in enumerate(labels)]
    for place, vote in enumerate(votes):
        if len(vote) != len(votes[0]):
            raise ValueError(
                f"labels[{place}] has {len(vote)} rows and labels[0] has {len(votes[0])}; all must be of the same rows"
            )
    return votes
