"""What a user knows about pairs of rows: checks, groups of rows that stay together, and what pairs say about merges."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kedge.partition.colouring import Conflicts, SearchTooLongError, cannot_be_coloured, colour, least_colouring

Rows = NDArray[np.int64]

# A pair weighs as much as this many rows in the graph. With less, one pair in a hundred rows rarely changes which
# communities merge; from 10 on, a single pair whose row is in the wrong community may merge two classes. Settled with
# labels on tr11, tr41, tr45, wine, breast-cancer, moons, digits (by odd and even, too) and drawn blobs, where 4 to 10
# do much the same.
ROWS_PER_PAIR = 7.0
# Problems of one kind that are listed, and rows that are named as too many to keep apart.
_MOST_LISTED, _MOST_NAMED = 5, 12


@dataclass(frozen=True)
class Pairs:
    """Checked pairs. Rows joined by must-links are one group, and so is every other row that occurs."""

    must_link: Rows  # Shape (n_pairs, 2).
    cannot_link: Rows
    rows: Rows  # Every row that occurs, in ascending order.
    group_of: Rows  # The group of each of these rows.
    apart: Conflicts  # For each group, the groups that must be in other clusters.
    colouring: Rows  # Clusters for the groups that keep all of them apart; as few as were found.

    @property
    def least_clusters(self) -> int:
        """The number of clusters that is enough to keep apart what has to be."""
        return int(self.colouring.max(initial=0)) + 1


class Pull(NamedTuple):
    """What pairs add to the weights between groups of nodes, and the factor by which chance accounts for more."""

    weights: NDArray[np.float64]
    chance: float


@dataclass(frozen=True)
class PairEvidence:
    """What pairs say about groups of nodes of a graph.

    A must-link is one more edge of the graph: it adds to the weight between groups, and to the weight that chance would
    put between any two. Without the latter, many pairs would merge large groups whatever they say. A cannot-link takes
    the weight of an edge away.
    """

    members: sparse.csr_array  # How much each row of a pair belongs to each node: shape (n_paired_rows, n_nodes).
    must_link: Rows  # Places in ``members``.
    cannot_link: Rows
    weight: float  # Of a pair, as a share of all weight of the graph.

    def between(self, labels: NDArray[np.int64]) -> Pull:
        """Return what pairs add between groups of nodes, as shares of all weight of the graph."""
        count = int(labels.max()) + 1
        own = np.asarray(self.members @ np.eye(count)[labels]).argmax(axis=1)
        added = np.zeros((count, count))
        for places, sign in ((self.must_link, 1.0), (self.cannot_link, -1.0)):
            ends = own[places]
            np.add.at(added, (ends[:, 0], ends[:, 1]), sign * self.weight / 2)
        return Pull(added + added.T, 1.0 + self.weight * len(self.must_link))


def evidence_of(pairs: Pairs, members: sparse.csr_array, n_rows: int) -> PairEvidence:
    """Return what pairs say, given the nodes to which ``pairs.rows`` belong."""
    must, cannot = (np.searchsorted(pairs.rows, linked) for linked in (pairs.must_link, pairs.cannot_link))
    return PairEvidence(members, must, cannot, ROWS_PER_PAIR / n_rows)


def checked_pairs(must_link: Any, cannot_link: Any, n_rows: int, most_clusters: int | None) -> Pairs | None:
    """Return the pairs as groups and conflicts, or say everything that is wrong with them; None if there are none.

    ``most_clusters`` is the largest number of clusters that the fit may return; None for no limit.
    """
    problems: list[str] = []
    must = _row_numbers("must_link", must_link, n_rows, problems)
    cannot = _row_numbers("cannot_link", cannot_link, n_rows, problems)
    selves = np.flatnonzero(cannot[:, 0] == cannot[:, 1])
    problems += _listed(f"cannot_link[{i}] pairs row {cannot[i, 0]} with itself; leave it out" for i in selves)
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    rows, places = np.unique(np.concatenate([must, cannot]).ravel(), return_inverse=True)
    must_places, cannot_places = np.split(places.reshape(-1, 2), [len(must)])
    joined = sparse.coo_array((np.ones(len(must)), tuple(must_places.T)), shape=(len(rows), len(rows)))
    group_of = np.asarray(connected_components(joined, directed=False)[1] if len(rows) else [], dtype=np.int64)
    sides = group_of[cannot_places]
    wrong = np.flatnonzero(sides[:, 0] == sides[:, 1])
    problems += _listed(
        f"cannot_link has ({cannot[i, 0]}, {cannot[i, 1]}), but must_link joins them: "
        + " - ".join(map(str, _chain(must, *cannot[i].tolist())))
        for i in wrong
    )
    n_groups = int(group_of.max(initial=-1)) + 1
    apart: Conflicts = [set() for _ in range(n_groups)]
    for first, second in sides[sides[:, 0] != sides[:, 1]].tolist():
        apart[first].add(second)
        apart[second].add(first)
    if most_clusters is not None:
        n_left = n_rows - len(rows) + n_groups
        if n_left < most_clusters:
            problems.append(f"must_link joins the rows into {n_left} groups, fewer than n_clusters={most_clusters}")
        problems += _too_few_clusters(apart, most_clusters, rows, group_of, cannot)
    if problems:
        raise ValueError(
            problems[0] if len(problems) == 1 else "\n- ".join(["pairs of rows cannot be used:", *problems])
        )
    if not len(rows):
        return None
    found = None if most_clusters is None else colour(apart, most_clusters)
    return Pairs(must, cannot, rows, group_of, apart, least_colouring(apart) if found is None else found)


def _row_numbers(name: str, given: Any, n_rows: int, problems: list[str]) -> Rows:
    """Return pairs of row numbers without those that are wrong, which are added to the problems."""
    none = np.empty((0, 2), dtype=np.int64)
    if given is None:
        return none
    try:
        found = np.asarray(given)
    except ValueError:  # pairs of different lengths
        found = np.empty(len(given), dtype=object)
    if found.size == 0 and (found.ndim == 1 or found.shape[1:] == (2,)):
        return none
    if found.ndim != 2 or found.shape[1] != 2:
        problems.append(f"{name} must have shape (n_pairs, 2), two row numbers per pair; got {found.shape}")
        return none
    if found.dtype.kind not in "iu":
        whole = found.dtype.kind == "f" and np.isfinite(found).all() and (found == np.floor(found)).all()
        what = f"{found.dtype} numbers; convert them to int" if whole else f"{found.dtype}, such as {found[0].tolist()}"
        problems.append(f"{name} must hold whole numbers, the row numbers from 0 to {n_rows - 1}; got {what}")
        return none
    outside = (found < 0) | (found >= n_rows)
    problems += _listed(
        f"{name}[{i}] = ({found[i, 0]}, {found[i, 1]}) has a row number outside 0 to {n_rows - 1}"
        for i in np.flatnonzero(outside.any(axis=1))
    )
    return found[~outside.any(axis=1)].astype(np.int64)


def _listed(messages: Iterable[str]) -> list[str]:
    """Return the first messages and how many more there are."""
    all_of_them = list(messages)
    n_more = len(all_of_them) - _MOST_LISTED
    return all_of_them[:_MOST_LISTED] + ([f"and {n_more} more of this kind"] if n_more > 0 else [])


def _chain(must: Rows, start: int, end: int) -> list[int]:
    """Return the shortest chain of must-links between two rows that they join."""
    neighbours: dict[int, list[int]] = {}
    for first, second in must.tolist():
        neighbours.setdefault(first, []).append(second)
        neighbours.setdefault(second, []).append(first)
    came_from, waiting = {start: start}, deque([start])
    while end not in came_from:
        row = waiting.popleft()
        for other in neighbours[row]:
            if other not in came_from:
                came_from[other] = row
                waiting.append(other)
    chain = [end]
    while chain[-1] != start:
        chain.append(came_from[chain[-1]])
    return chain[::-1]


def _too_few_clusters(apart: Conflicts, n_clusters: int, rows: Rows, group_of: Rows, cannot: Rows) -> list[str]:
    """Say which rows the cannot-links keep apart in more than that many clusters."""
    try:
        groups = cannot_be_coloured(apart, n_clusters)
    except SearchTooLongError:
        return [
            f"cannot_link is so entangled that no way was found to keep its rows apart in {n_clusters} clusters; allow "
            "more clusters, or leave out some of its pairs"
        ]
    if groups is None:
        return []
    in_cannot = np.isin(rows, cannot)
    named = sorted(int(rows[(group_of == group) & in_cannot][0]) for group in groups)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return [
        f"cannot_link needs more than {n_clusters} clusters, the most that n_clusters or n_clusters_range allow: they "
        f"cannot keep apart rows {', '.join(map(str, named[:_MOST_NAMED]))}{more}; allow more clusters, or leave out "
        "some of these pairs"
    ]
