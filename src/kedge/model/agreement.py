"""What several clusterings of the same rows agree on, in time linear in the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.stats import entropy

from kedge.model.anchor_selection.row_access import sample_rows
from kedge.model.cluster_numbers import number_by_first_rows
from kedge.model.consensus import MOST_VOTERS, agreed_groups

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
