"""From trials to a decision: which settings count how much, and which groups their clusterings agree on."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from kedge.estimators.anchor_sets import AnchorPlan
from kedge.estimators.automatic.settings import USUAL_SHARE, Choices, Setting
from kedge.estimators.automatic.trials import Ballot, Sample, cast_ballots
from kedge.model.agreement import company_in_own_group
from kedge.model.cluster_numbers import number_by_first_rows
from kedge.model.consensus import agreed_groups

# Draws of anchors that a setting is judged by, and clusterings of each.
DRAWS, JUDGED_STARTS = 2, 2
# By how much less modularity a setting counts e times less.
TEMPERATURE = 0.01
# Sets of anchors that vote, and their clusterings: into as many clusters as asked for, and into twice as many, which
# cut across clusters that are hard to tell apart.
VOTING_SETS, FULL_VOTES, FINE_VOTES = 48, 2, 2
FINER = 2


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
    """The settings by their verdicts, best first, and the groups of the sample."""

    verdicts: list[Verdict]
    groups: NDArray[np.int64]
    confidence: NDArray[np.float64]


def decide(sample: Sample, plan: AnchorPlan, choices: Choices, n_clusters: int, random_state: RandomState) -> Decision:
    """Try all settings, let the better ones vote, and return the groups on which the votes agree."""
    settings = choices.settings()
    groups = [list(same) for _, same in groupby(settings, key=lambda one: (one.method, one.sizes))]
    counts = [n_clusters] * JUDGED_STARTS
    judged = cast_ballots(sample, plan, groups * DRAWS, n_clusters, counts, random_state)
    verdicts = _judge(settings, judged)
    finer = min(FINER * n_clusters, sample.source.n_rows // 2)
    votes = [n_clusters] * FULL_VOTES + [max(finer, n_clusters)] * FINE_VOTES
    seats = _allocate([one.share for one in verdicts], VOTING_SETS)
    voting = [[one.setting] for one, number in zip(verdicts, seats, strict=True) for _ in range(number)]
    cast = cast_ballots(sample, plan, voting, n_clusters, votes, random_state) or judged
    labels = [ballot.labels for ballot in cast]
    found = number_by_first_rows(agreed_groups(labels, n_clusters))
    return Decision(verdicts, found, company_in_own_group(labels, found))


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
