"""From trials to a decision: which settings count how much, and which groups their clusterings agree on."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.estimators.anchor_sets import AnchorPlan
from kedge.estimators.automatic.settings import USUAL_SHARE, Choices, Setting
from kedge.estimators.automatic.trials import Ballot, Sample, cast_ballots
from kedge.model.agreement import company_in_own_group, shared_information
from kedge.model.cluster_numbers import number_by_first_rows
from kedge.model.consensus import agreed_groups
from kedge.model.local_moves import raise_modularity
from kedge.model.neighborhood import count_neighbors, modularity, near_share

# Draws of anchors that a setting is judged by, and clusterings of each; one where near rows have the last word.
DRAWS, JUDGED_STARTS = 2, 2
# By how much less modularity a setting counts e times less.
TEMPERATURE = 0.01
# Sets of anchors that vote, and clusterings of each; of half as many sets twice as many where near rows have the last
# word, which needs many clusterings to begin from, but not as different ones.
VOTING_SETS, VOTES = 48, 2
# How much the labels of a plain fit count beside all votes: it builds one graph of several sets of anchors, which errs
# in other places than the graphs of single sets.
PLAIN_SHARE = 0.15
# In small clusters, this much of how close two rows are is whether they are together with the same rows.
COMPANY_SHARE = 0.5
# Near rows have the last word if clusters hold at least this many times as many rows as count as near: in smaller
# clusters too many of the near rows are of others.
REFINED_ROWS_PER_NEIGHBOR = 10
# Then rows of every clustering go where their near rows are, and of what becomes of them so many agree: those with the
# most modularity. The single best one is a matter of luck, and many have local optima in common that are none of these.
REFINED_VOTES = 3
# They have to share at least this much information (NMI) with what the votes agree on. Where clusters are of very
# different sizes, the most modularity goes to clusterings that cut the large ones to pieces.
LEAST_ALIKE = 0.8


@dataclass(frozen=True)
class Verdict:
    """What was found out about one setting.

    Attributes
    ----------
    setting : Setting
        What was tried.
    modularity, spread : float
        Mean and standard deviation over draws and starts; NaN where every graph fell to pieces.
    share : float
        Of the sets that vote.
    """

    setting: Setting
    modularity: float
    spread: float
    share: float


@dataclass(frozen=True)
class Decision:
    """The settings by their verdicts, best first, the groups of the sample, and whether near rows had the last word."""

    verdicts: list[Verdict]
    groups: NDArray[np.int64]
    confidence: NDArray[np.float64]
    refined: bool


def decide(
    sample: Sample,
    plan: AnchorPlan,
    choices: Choices,
    n_clusters: int,
    plain: NDArray[np.int64],
    random_state: RandomState,
) -> Decision:
    """Try all settings, let the better ones and a plain fit vote, and return the groups on which the votes agree."""
    n_rows = len(plain)
    refined = n_rows >= REFINED_ROWS_PER_NEIGHBOR * count_neighbors(n_rows, n_clusters) * n_clusters
    settings = choices.settings()
    groups = [list(same) for _, same in groupby(settings, key=lambda one: (one.method, one.sizes))]
    n_starts, n_sets, n_votes = (1, VOTING_SETS // 2, 2 * VOTES) if refined else (JUDGED_STARTS, VOTING_SETS, VOTES)
    judged = cast_ballots(sample, plan, groups * DRAWS, n_clusters, n_starts, random_state)
    verdicts = _judge(settings, judged)
    seats = _allocate([one.share for one in verdicts], n_sets)
    voting = [[one.setting] for one, number in zip(verdicts, seats, strict=True) for _ in range(number)]
    cast = cast_ballots(sample, plan, voting, n_clusters, n_votes, random_state) or judged
    votes = [ballot.labels for ballot in cast]
    weights = np.append(np.full(len(votes), (1.0 - PLAIN_SHARE) / len(votes)), PLAIN_SHARE)
    if refined:
        agreed = agreed_groups([*votes, plain], n_clusters, weights)
        others = [*(ballot.labels for ballot in judged), plain]
        found, confidence = _follow_near_rows(sample.neighbors, agreed, votes, others)
    else:
        found = agreed_groups([*votes, plain], n_clusters, weights, COMPANY_SHARE)
        confidence = company_in_own_group(votes, found)
    return Decision(verdicts, number_by_first_rows(found), confidence, refined)


def _follow_near_rows(
    neighbors: sparse.csr_array,
    agreed: NDArray[np.int64],
    votes: Sequence[NDArray[np.int64]],
    others: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Move the rows of all clusterings to where their near rows are; return what the best agree on, and confidence.

    What the votes agreed on is moved as well; clusterings that tell another story than that are left out. The
    confidence of a row is the share of its company in the votes that has its label, times that of its near rows.
    """
    moved = [raise_modularity(neighbors, one) for one in (agreed, *votes, *others)]
    alike = [one for one in moved if shared_information(moved[0], one) >= LEAST_ALIKE]
    best = sorted(alike, key=lambda one: -modularity(neighbors, one))[:REFINED_VOTES]
    found = moved[0]
    if len(best) == REFINED_VOTES:
        found = raise_modularity(neighbors, agreed_groups(best, int(agreed.max()) + 1))
    return found, company_in_own_group(moved[1 : len(votes) + 1], found) * near_share(neighbors, found)


def _judge(settings: Sequence[Setting], ballots: Sequence[Ballot]) -> list[Verdict]:
    """Weigh settings by how well their clusterings keep near rows together; best first."""
    heard: dict[Setting, list[float]] = {setting: [] for setting in settings}
    for ballot in ballots:
        heard[ballot.setting].append(ballot.modularity)
    means = np.array([np.mean(values) if values else np.nan for values in heard.values()])
    usual = np.array([setting.is_usual() for setting in settings])
    prior = np.full(len(settings), 1.0 / len(settings))
    if usual.any() and not usual.all():
        prior = np.where(usual, USUAL_SHARE / usual.sum(), (1.0 - USUAL_SHARE) / (~usual).sum())
    best = np.nanmax(means) if np.isfinite(means).any() else 0.0
    weights = prior * np.exp(np.nan_to_num((means - best) / TEMPERATURE, nan=-np.inf))
    shares = weights / weights.sum() if weights.sum() > 0 else prior
    order = np.argsort(-shares, kind="stable")
    spreads = [float(np.std(values)) if values else np.nan for values in heard.values()]
    return [Verdict(settings[i], float(means[i]), spreads[i], float(shares[i])) for i in order]


def _allocate(shares: Sequence[float], n_seats: int) -> list[int]:
    """Give out seats by shares, the remainders to the largest fractions."""
    wanted = np.asarray(shares) * n_seats
    seats = np.floor(wanted + 1e-9).astype(int)
    for place in np.argsort(-(wanted - seats), kind="stable")[: n_seats - int(seats.sum())]:
        seats[place] += 1
    return [int(number) for number in seats]
