"""``kedge.consensus``: one clustering from many."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.utils import check_random_state, check_scalar

from kedge.core.labels import number_by_first_rows
from kedge.core.rows import sample_rows
from kedge.metrics import as_numbers
from kedge.user_warnings import warn_user

Labels = NDArray[np.int64]

# Rows that are compared pair by pair; the table of pairs grows with their square.
MOST_VOTERS = 2_000


def consensus(
    labels: Sequence[ArrayLike], n_clusters: int, *, random_state: Any = None, return_confidence: bool = False
) -> Labels | tuple[Labels, NDArray[np.float64]]:
    """Return the clustering on which several clusterings of the same rows agree best.

    The more clusterings put two rows together, the closer the rows are; average linkage joins the closest ones. The
    clusterings may come from any method and have any number of clusters, numbered in any way. Time and memory are
    linear in the rows: about 2,000 of them are compared pair by pair, and every other row joins the group whose members
    it is together with most often.

    Parameters
    ----------
    labels : sequence of array-likes of shape (n_samples,)
        Clusterings; integers, strings or anything that can be compared for equality.
    n_clusters : int
        Number of clusters of the result.
    random_state : int, RandomState or None, default=None
        Draws the rows that are compared pair by pair where there are more than 2,000.
    return_confidence : bool, default=False
        Whether to return the confidence as well.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Clusters, numbered from zero as they first occur.
    confidence : ndarray of shape (n_samples,)
        How sure each label is, from 0 to 1: the share of the rows in a row's cluster, averaged over the clusterings,
        that are in its cluster here. Only with ``return_confidence``.

    Warns
    -----
    UserWarning
        If the clusterings tell fewer than ``n_clusters`` groups of rows apart. The result then has that many clusters.

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
    voters = _voters(votes, int(n_clusters), check_random_state(random_state))
    groups = agreed_groups([vote[voters] for vote in votes], int(n_clusters))
    found = nearest_groups(votes, voters, groups)
    found[voters] = groups
    found = number_by_first_rows(found)
    n_found = int(found.max()) + 1
    if n_found < n_clusters:
        warn_user(
            f"the clusterings tell only {n_found} groups of rows apart, so n_clusters={n_clusters} became {n_found}; "
            "ask for fewer clusters, or give clusterings with more of them"
        )
    return (found, company_in_own_group(votes, found)) if return_confidence else found


def _checked_votes(labels: Sequence[ArrayLike]) -> list[Labels]:
    """Return the clusterings as integers from zero; errors name the place in the list."""
    if len(labels) == 0:
        raise ValueError("labels is empty; give at least one clustering")
    votes = [as_numbers(given, f"labels[{place}]") for place, given in enumerate(labels)]
    for place, vote in enumerate(votes):
        if len(vote) != len(votes[0]):
            raise ValueError(
                f"labels[{place}] has {len(vote)} rows and labels[0] has {len(votes[0])}; all must be of the same rows"
            )
    return votes


def _voters(votes: Sequence[Labels], n_groups: int, random_state: RandomState) -> NDArray[np.intp]:
    """Draw the rows that are compared; where too few of them differ, add rows that do."""
    voters = sample_rows(len(votes[0]), MOST_VOTERS, random_state)
    if len(voters) == len(votes[0]) or len(_first_of_each([vote[voters] for vote in votes])) >= n_groups:
        return voters
    return np.union1d(voters, _first_of_each(votes)[:n_groups])


def _first_of_each(votes: Sequence[Labels]) -> NDArray[np.intp]:
    """Return the first of the rows that all clusterings put together, for all such groups of rows, in order."""
    return np.sort(np.unique(np.column_stack(votes), axis=0, return_index=True)[1])


def agreed_groups(votes: Sequence[Labels], n_groups: int) -> Labels:
    """Join rows by average linkage until that many groups are left; rows that no clustering separates stay together."""
    n_rows = len(votes[0])
    n_groups = min(n_groups, len(_first_of_each(votes)))
    if n_groups == n_rows:
        return np.arange(n_rows)
    starts = np.cumsum([0, *(int(vote.max()) + 1 for vote in votes)])
    columns = np.stack([vote + start for vote, start in zip(votes, starts[:-1], strict=True)], axis=1).ravel()
    pointers = np.arange(0, len(columns) + 1, len(votes))
    ballots = sparse.csr_array((np.ones(len(columns), np.float32), columns, pointers), shape=(n_rows, starts[-1]))
    apart = 1.0 - (ballots @ ballots.T).toarray() / np.float32(len(votes))
    tree = linkage(squareform(apart, checks=False), method="average")
    # Cut after a number of merges. A cut at a height would take all merges of equal height, or none of them.
    tree[:, 2] = np.arange(len(tree))
    return np.asarray(fcluster(tree, n_groups, criterion="maxclust") - 1, dtype=np.int64)


def nearest_groups(votes: Sequence[Labels], voters: NDArray[np.intp], groups: Labels) -> Labels:
    """Return the group whose members each row is together with in most clusterings; ties go to the first."""
    sizes = np.bincount(groups)
    together = np.zeros((len(votes[0]), len(sizes)))
    for vote in votes:
        shared = _intersection_sizes(vote[voters], groups, int(vote.max()) + 1, len(sizes))
        together += (shared / sizes)[vote]
    return np.asarray(together.argmax(axis=1), dtype=np.int64)


def company_in_own_group(votes: Sequence[Labels], labels: Labels) -> NDArray[np.float64]:
    """Return the share of a row's cluster that is in the row's group, averaged over the clusterings."""
    share = np.zeros(len(labels))
    for vote in votes:
        shared = _intersection_sizes(vote, labels, int(vote.max()) + 1, int(labels.max()) + 1)
        share += (shared / np.maximum(shared.sum(axis=1, keepdims=True), 1))[vote, labels]
    return share / len(votes)


def _intersection_sizes(vote: Labels, groups: Labels, n_clusters: int, n_groups: int) -> NDArray[np.float64]:
    """Return how many rows each cluster shares with each group, shape (n_clusters, n_groups)."""
    counts = np.bincount(vote * n_groups + groups, minlength=n_clusters * n_groups)
    return counts.reshape(n_clusters, n_groups).astype(np.float64)
