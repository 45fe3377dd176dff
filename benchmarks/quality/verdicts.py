"""What the summaries say: means over sets, the best rival of each set, and targets met or missed."""

import numpy as np

from benchmarks.clustering.measure import print_table, verdict
from benchmarks.quality import summary

# Set, score and the least that is asked for.
TARGETS = (
    ("mnist", "nmi", 88.0),
    ("mnist", "acc", 94.0),
    ("digits", "nmi", 90.0),
    ("orl", "nmi", 94.0),
    ("orl", "acc", 86.0),
    ("tdt2", "nmi", 79.0),
    ("caltech101-7-reextracted", "nmi", 54.5),
    ("tr41", "acc", 75.0),
)
MEAN_NMI, LARGEST_SPREAD, BELOW_LAST_VERSION, BELOW_RIVALS = 59.0, 1.5, 1.0, 2.0


def print_means(found):
    """Print the mean NMI of each method over the sets it ran on, and kedge's over the same sets."""
    lines = []
    for method in summary.ORDER:
        ran = [name for name in found if method in found[name]]
        if ran:
            means = [_mean(found, ran, one) for one in (method, *summary.OURS)]
            told = "yes" if summary.TOLD[method] else "no"
            lines.append([method, told, str(len(ran)), *(_cell(value) for value in means)])
    print_table(
        ["NMI, mean over sets", "told k", "sets", "mean", *(f"{ours}, same sets" for ours in summary.OURS)], lines
    )
    print()


def _mean(found, names, method):
    if any(method not in found[name] for name in names):
        return float("nan")
    return float(np.mean([found[name][method].mean("nmi") for name in names]))


def _cell(value, form=".1f"):
    return "-" if np.isnan(value) else format(value, form)


def print_best_rivals(found):
    """Print the best rival of each set by the labels, and how far kedge is from it."""
    lines = []
    for name, by_method in found.items():
        rival = summary.best_rival(by_method)
        if rival is None:
            continue
        best = by_method[rival].mean("nmi")
        ours = [by_method[method].mean("nmi") - best if method in by_method else np.nan for method in summary.OURS]
        lines.append([name, rival, f"{best:.1f}", *(_cell(value, "+.1f") for value in ours)])
    print_table(["NMI", "best rival", "its NMI", *(f"{ours}, from it" for ours in summary.OURS)], lines)
    print()


def print_verdicts(found):
    """Print every target with what each of kedge's rows reached; rows that have not run are named."""
    for ours in summary.OURS:
        ran = {name: by_method for name, by_method in found.items() if ours in by_method}
        print(f"{ours}: {len(ran)} of {len(found)} sets have run")
        if ran:
            _print_targets(ran, ours)
            _print_over_all(ran, ours)
        print()


def _print_targets(ran, ours):
    for name, score, least in TARGETS:
        if name in ran:
            value = ran[name][ours].mean(score)
            print(f"  {name} {score.upper()} {value:.1f} {verdict(value, least, at_most=False)}")


def _print_over_all(ran, ours):
    """Print the targets that are about all sets, each by its worst set."""
    mean = _mean(ran, list(ran), ours)
    print(f"  mean NMI over {len(ran)} sets {mean:.1f} {verdict(mean, MEAN_NMI, at_most=False)}")
    spreads = {name: ran[name][ours].spread("nmi") for name in ran}
    _print_worst("largest standard deviation of NMI", spreads, LARGEST_SPREAD)
    below_last, below_rival = {}, {}
    for name, by_method in ran.items():
        own, last = by_method[ours].mean("nmi"), [m for m in summary.LAST_VERSION if m in by_method]
        if last:
            below_last[name] = max(by_method[m].mean("nmi") for m in last) - own
        rival = summary.best_rival(by_method)
        if rival is not None:
            below_rival[name] = by_method[rival].mean("nmi") - own
    _print_worst("NMI below the better of the last version's two, at most", below_last, BELOW_LAST_VERSION)
    _print_worst("NMI below the best rival, at most", below_rival, BELOW_RIVALS)


def _print_worst(words, values, most):
    values = {name: value for name, value in values.items() if not np.isnan(value)}
    if not values:
        return
    worst = max(values, key=values.get)
    print(f"  {words} {values[worst]:.1f} ({worst}) {verdict(values[worst], most)}")
    missed = [f"{name} {value:.1f}" for name, value in values.items() if value > most and name != worst]
    if missed:
        print(f"    also missed: {', '.join(missed)}")
