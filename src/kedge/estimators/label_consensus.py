"""``kedge.consensus``: one clustering from many."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, check_scalar

from kedge.metrics.contingency import as_numbers
from kedge.model.agreement import agree


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
