"""Which label-free criterion picks good settings: ``python -m benchmarks.automatic.criteria [--quick]``."""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from benchmarks.automatic import data
from benchmarks.clustering import measure
from kedge.engines.library_threads import one_thread_per_library
from kedge.estimators.anchor_sets import AnchorPlan
from kedge.estimators.automatic.settings import ALPHAS, FEW, LOCALITIES, MANY, METHODS, Choices
from kedge.estimators.automatic.trials import (
    Sample,
    draw_anchors,
    embed,
    farthest_orders,
    filled_share,
    join_to_anchors,
    neighbors_of_sample,
)
from kedge.kernels.selection import default_threads
from kedge.metrics import nmi
from kedge.model.block_step import solve_patterns
from kedge.model.clustering_points import cluster_points
from kedge.model.neighborhood import edge_shares
from kedge.model.row_problem import build_row_problem, mean_squared_norm
from kedge.model.view_scaling import ViewScaling
from kedge.sources.arrays import ArraySource

SETS = ("tr11", "tr41", "tr45", "orl", "ba", "citeseer", "digits", "mnist")
MOST_ROWS, DRAWS, STARTS = 1_500, 2, 2
# All that is compared, alpha of one as well, which the automatic mode leaves out.
CHOICES = Choices((*ALPHAS, 1.0), LOCALITIES, (FEW, MANY), METHODS)
NOTES = """
Every setting (kind and number of anchors, alpha, locality) clusters at most 1,500 rows several times. By criterion: its
rank correlation with NMI over the settings, the mean NMI of the setting that it likes best, and of its best eight.
"regret" is how far, in points of NMI, the best eight are below the best setting that labels could pick.
"held-out reconstruction" chooses anchors among one half of the rows and rebuilds the other half.
Leave one out: the criterion with the least mean regret on all other sets, and its regret on the set left out.
"""


@dataclass
class Tried:
    """All that was seen of one setting: by draw of anchors, and the clusterings of all draws."""

    votes: list
    embedded: list
    rebuilt: list


def conductance(shares):
    """Mean over clusters of the share of edges that stay inside."""
    ends = shares.sum(axis=1)
    return float(np.mean(np.diag(shares)[ends > 0] / ends[ends > 0]))


def eigengap(singular_values, n_clusters):
    """Return how far the first direction that k clusters do not need falls below the last that they do."""
    return float(singular_values[n_clusters - 1] - singular_values[n_clusters])


def rebuilt_share(held_out, anchors, setting):
    """Return which share of the energy of rows that no anchor was chosen from their weights on the anchors rebuild."""
    ridge = setting.alpha * mean_squared_norm(anchors, (1.0,))
    problem = build_row_problem(anchors, weights=(1.0,), ridge=ridge, locality=setting.locality, signed=False)
    coefficients, _ = solve_patterns(problem, problem.weighted(problem.view_terms([held_out], None)), None)
    left = held_out - coefficients @ anchors[0]
    return 1.0 - float(np.square(left).sum() / np.square(held_out).sum())


def in_embedding(score, tried):
    """Return the mean of a score of the clusterings, in the embedding that each was found in."""
    starts = len(tried.votes) // len(tried.embedded)
    points = [one.points for one in tried.embedded for _ in range(starts)]
    return np.mean([score(*both) for both in zip(points, tried.votes, strict=True)])


def criteria_of(sample, points, n_clusters, tried, others):
    """Return what each criterion says of a setting, given a few clusterings of all settings."""
    votes = tried.votes
    shares = [edge_shares(sample.neighbors, vote) for vote in votes]
    ends = [share.sum(axis=1) for share in shares]
    pairs = [(a, b) for i, a in enumerate(votes) for b in votes[:i]]
    return {
        "modularity": np.mean([np.trace(s) - e @ e for s, e in zip(shares, ends, strict=True)]),
        "edges inside clusters": np.mean([np.trace(share) for share in shares]),
        "mean share inside a cluster": np.mean([conductance(share) for share in shares]),
        "silhouette of the rows": np.mean([silhouette_score(points, vote) for vote in votes]),
        "Calinski-Harabasz of the rows": np.mean([calinski_harabasz_score(points, vote) for vote in votes]),
        "silhouette of the embedding": in_embedding(silhouette_score, tried),
        "Calinski-Harabasz of the embedding": in_embedding(calinski_harabasz_score, tried),
        "eigengap of the graph": np.mean([eigengap(one.singular_values, n_clusters) for one in tried.embedded]),
        "held-out reconstruction": np.mean(tried.rebuilt),
        "stability over anchors": np.mean([nmi(a, b) for a, b in pairs]),
        "agreement with other settings": np.mean([nmi(a, b) for a in votes[:2] for b in others]),
    }


def try_setting(sample, plan, halves, setting, n_clusters, seed):
    """Cluster the sample by one setting on several draws of anchors; None where its graphs fall to pieces."""
    tried, random_state = Tried([], [], []), np.random.RandomState(seed)
    for _ in range(DRAWS):
        size = setting.count_anchors(random_state.uniform(), sample.source.n_rows, n_clusters)
        anchors = draw_anchors(sample, plan, setting.method, size, random_state)
        anchored = join_to_anchors(sample, anchors, setting.locality, plan.signed)
        found = embed(sample, anchored, setting.alpha, n_clusters)
        if found is None:
            continue
        votes = [cluster_points(found.points, n_clusters, random_state, n_starts=1)[0] for _ in range(STARTS)]
        if any(len(np.unique(vote)) < 2 for vote in votes):
            continue
        tried.votes += votes
        tried.embedded.append(found)
        of_half = draw_anchors(halves[0], plan, setting.method, size, random_state)
        tried.rebuilt.append(rebuilt_share(halves[1], of_half, setting))
    return tried if tried.votes else None


def sample_of(points, n_clusters, plan, random_state):
    """Return rows as the automatic mode tries settings on, and all settings that are tried."""
    source = ArraySource([points], [ViewScaling("none")])
    choices = CHOICES.without_slow(n_clusters, filled_share(source))
    farthest = []
    if "ffs" in choices.methods:
        size = min(max(one.largest(len(points), n_clusters) for one in choices.settings()), len(points))
        farthest = farthest_orders(source, plan, np.ones(1), size, DRAWS, random_state)
    neighbors = neighbors_of_sample(source, [1.0], n_clusters)
    return Sample(source, (1.0,), np.ones(1), neighbors, farthest), choices.settings()


def study(name, quick):
    """Return NMI and criteria of every setting of one data set; None where it is not at hand."""
    rows = data.load(name, quick)
    if rows is None:
        return None
    random_state = np.random.RandomState(0)
    kept = np.sort(random_state.permutation(len(rows.y))[:MOST_ROWS])
    X, y, k = rows.matrix[kept], rows.y[kept], rows.n_clusters
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    with one_thread_per_library(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = AnchorPlan(sizes=(), method="kmeans", n_threads=default_threads())
        sample, settings = sample_of(points, k, plan, random_state)
        order = random_state.permutation(len(y))
        seen, unseen = np.sort(order[: len(y) // 2]), np.sort(order[len(y) // 2 :])
        halves = sample_of(points[seen], k, plan, random_state)[0], points[unseen]
        seeds = random_state.randint(np.iinfo(np.int32).max, size=len(settings))
        everything = [
            try_setting(sample, plan, halves, setting, k, seed) for setting, seed in zip(settings, seeds, strict=True)
        ]
        everything = [tried for tried in everything if tried is not None]
        others = [tried.votes[0] for tried in everything[::3]]
        said = [criteria_of(sample, points, k, tried, others) for tried in everything]
    return np.array([100 * np.mean([nmi(y, vote) for vote in tried.votes]) for tried in everything]), said


def report_set(name, scores, said):
    """Print a set's table; return the regret of every criterion."""
    print(
        f"{name}: {len(scores)} settings, NMI from {scores.min():.1f} to {scores.max():.1f}, mean {scores.mean():.1f}"
    )
    table, regret = [], {}
    for criterion in said[0]:
        values = np.array([one[criterion] for one in said])
        order = np.argsort(-values, kind="stable")
        regret[criterion] = scores.max() - scores[order[:8]].mean()
        correlation = spearmanr(values, scores)[0]
        cells = [f"{correlation:+.2f}", f"{scores[order[0]]:.1f}", f"{scores[order[:8]].mean():.1f}"]
        table.append([criterion, *cells, f"{regret[criterion]:.1f}"])
    measure.print_table(["criterion", "correlation", "its best", "its best eight", "regret"], table)
    print(flush=True)
    return regret


def report_left_out(regrets):
    """Choose the criterion without each set in turn, and print what it does there."""
    criteria = list(next(iter(regrets.values())))
    table, chosen_regrets = [], []
    for name in regrets:
        means = {c: np.mean([regret[c] for other, regret in regrets.items() if other != name]) for c in criteria}
        chosen = min(means, key=means.get)
        best = min(regrets[name], key=regrets[name].get)
        chosen_regrets.append(regrets[name][chosen])
        table.append([name, chosen, f"{regrets[name][chosen]:.1f}", best, f"{regrets[name][best]:.1f}"])
    measure.print_table(["left out", "criterion chosen by the others", "regret", "best here", "regret of it"], table)
    print(f"mean regret of criteria chosen without the set: {np.mean(chosen_regrets):.1f} points of NMI\n")
    table = [[c, f"{np.mean([regret[c] for regret in regrets.values()]):.1f}"] for c in criteria]
    measure.print_table(["criterion", "mean regret over all sets"], table)


def main():
    """Print one table per data set, then leave one out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--sets", default=",".join(SETS), help="names, separated by commas")
    arguments = parser.parse_args()
    measure.start_run("Criteria that need no labels", arguments.quick)
    print(NOTES.strip() + "\n", flush=True)
    regrets = {}
    for name in arguments.sets.split(","):
        found = study(name, arguments.quick)
        if found is not None:
            regrets[name] = report_set(name, *found)
    if len(regrets) > 2:
        report_left_out(regrets)


if __name__ == "__main__":
    main()
