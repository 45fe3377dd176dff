"""Which label-free criterion picks good settings: ``python -m benchmarks.automatic.criteria [--quick]``."""

import argparse
import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from benchmarks.automatic import data
from benchmarks.clustering import measure
from kedge.engines.library_threads import one_thread_per_library
from kedge.estimators.anchor_sets import AnchorPlan
from kedge.estimators.automatic.settings import ALPHAS, FEW, LOCALITIES, MANY, METHODS, Choices
from kedge.estimators.automatic.trials import Sample, cast_ballots, farthest_orders, filled_share, neighbors_of_sample
from kedge.kernels.selection import default_threads
from kedge.metrics import nmi
from kedge.model.neighborhood import edge_shares
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
Leave one out: the criterion with the least mean regret on all other sets, and its regret on the set left out.
"""


def conductance(shares):
    """Mean over clusters of the share of edges that stay inside."""
    ends = shares.sum(axis=1)
    return float(np.mean(np.diag(shares)[ends > 0] / ends[ends > 0]))


def criteria_of(sample, points, votes, others):
    """Return what each criterion says of a setting, given its clusterings and a few of all settings."""
    shares = [edge_shares(sample.neighbors, vote) for vote in votes]
    ends = [share.sum(axis=1) for share in shares]
    pairs = [(a, b) for i, a in enumerate(votes) for b in votes[:i]]
    return {
        "modularity": np.mean([np.trace(s) - e @ e for s, e in zip(shares, ends, strict=True)]),
        "edges inside clusters": np.mean([np.trace(share) for share in shares]),
        "mean share inside a cluster": np.mean([conductance(share) for share in shares]),
        "silhouette of the rows": np.mean([silhouette_score(points, vote) for vote in votes]),
        "Calinski-Harabasz of the rows": np.mean([calinski_harabasz_score(points, vote) for vote in votes]),
        "stability over anchors": np.mean([nmi(a, b) for a, b in pairs]),
        "agreement with other settings": np.mean([nmi(a, b) for a in votes[:2] for b in others]),
    }


def study(name, quick):
    """Return NMI and criteria of every setting of one data set; None where it is not at hand."""
    rows = data.load(name, quick)
    if rows is None:
        return None
    kept = np.sort(np.random.RandomState(0).permutation(len(rows.y))[:MOST_ROWS])
    X, y, k = rows.matrix[kept], rows.y[kept], rows.n_clusters
    with one_thread_per_library(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = ArraySource([X.astype(np.float64)], [ViewScaling("none")])
        plan = AnchorPlan(sizes=(), method="kmeans", n_threads=default_threads())
        choices, random_state, ones = (
            CHOICES.without_slow(k, filled_share(source)),
            np.random.RandomState(0),
            np.ones(1),
        )
        farthest = []
        if "ffs" in choices.methods:
            size = max(one.largest(len(y), k) for one in choices.settings())
            farthest = farthest_orders(source, plan, ones, size, DRAWS, random_state)
        sample = Sample(source, (1.0,), ones, neighbors_of_sample(source, [1.0], k), farthest)
        groups = [[one] for one in choices.settings()] * DRAWS
        heard = {}
        for ballot in cast_ballots(sample, plan, groups, k, STARTS, random_state):
            heard.setdefault(ballot.setting, []).append(ballot.labels)
        votes = [labels for labels in heard.values() if all(len(np.unique(one)) > 1 for one in labels)]
        others = [labels[0] for labels in votes[::3]]
        points = X.toarray() if hasattr(X, "toarray") else X
        said = [criteria_of(sample, points, labels, others) for labels in votes]
    return np.array([100 * np.mean([nmi(y, one) for one in labels]) for labels in votes]), said


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
