"""Tables of what ``quality`` and ``grid`` recorded, and what they say: ``python -m benchmarks.automatic.verdicts``."""

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.automatic import data
from benchmarks.automatic.quality import RECORDS
from benchmarks.clustering import measure
from kedge.reproduce.plan import experiments
from kedge.reproduce.results_file import RecordedResults
from kedge.reproduce.stages import WHOLE
from kedge.reproduce.summary import summarise

RECORDED = Path(__file__).parents[1] / "results" / "paper" / "results.jsonl"
NOTES = """
ACC and NMI (by the larger entropy) in percent, mean over the seeds and standard deviation. No label was used by any row
but "label-tuned", the best cell of a grid chosen by the labels (that of `kedge reproduce`, or where it has none that of
benchmarks.automatic.grid), and "paper", likewise. Nothing differs between data sets in the automatic row.
"""
STEADY = ("tr11", "tr41", "tr45", "orl", "ba")
NEIGHBOR_GRAPHS = ("LSC", "adaptive neighbours")


def tuned_scores():
    """Return ACC and NMI of our best label-tuned cell by data set, from the recorded reproduction."""
    records, found = RecordedResults(RECORDED), {}
    for name in ("six-data-sets", "citeseer"):
        for line in summarise(experiments()[name], records, WHOLE):
            if line.label.endswith("(kedge, grid by labels)") and line.means:
                found[line.data] = (line.means["acc"].value, line.means["nmi"].value)
    return found


def read_records(path):
    """Return the records by set; of several the methods of the last."""
    found = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        known = found.setdefault(record["set"], {"methods": {}})
        methods = known["methods"] | record["methods"]
        known.update(record)
        known["methods"] = methods
    for name, scores in tuned_scores().items():
        if name in found:
            found[name]["methods"]["label-tuned"] = {"acc": [scores[0]], "nmi": [scores[1]]}
    for name, scores in data.PAPER.items():
        if name in found:
            found[name]["methods"]["paper"] = {"acc": [scores[0]], "nmi": [scores[1]]}
    return {name: found[name] for name in data.SETS if name in found and "automatic" in found[name]["methods"]}


def mean_of(record, method, score):
    """Return the mean of a score over the seeds; NaN where the method did not run."""
    methods = record["methods"]
    return float(np.mean(methods[method][score])) if method in methods else float("nan")


def print_tables(records):
    """Print one table per set."""
    for name, record in records.items():
        print(f"{name}: {record['n_rows']} rows, {record['n_clusters']} classes")
        table = []
        for method, scores in record["methods"].items():
            cells = [f"{np.mean(scores[s]):.1f} ± {np.std(scores[s]):.1f}" for s in ("acc", "nmi")]
            table.append([method, *cells, str(len(scores["acc"]))])
        measure.print_table(["method", "ACC", "NMI", "seeds"], table)
        print()


def print_gap(records):
    """Print how much of the way from the defaults to the labels' choice is gone without labels."""
    table, gained, within, open_to_labels = [], [], [], []
    for name, record in records.items():
        plain, own, tuned = (mean_of(record, m, "acc") for m in ("defaults", "automatic", "label-tuned"))
        table.append([name, f"{plain:.1f}", f"{own:.1f}", f"{tuned:.1f}", f"{own - plain:+.1f}"])
        if tuned > plain:
            gained.append(own - plain)
            within.append(min(own, tuned) - plain)
            open_to_labels.append(tuned - plain)
    measure.print_table(["ACC", "defaults", "automatic", "label-tuned", "automatic - defaults"], table)
    if gained:
        gap = np.mean(open_to_labels)
        for words, points in (("gained", np.mean(gained)), ("without what is beyond labels' choice", np.mean(within))):
            share = f"{points:.1f} of {gap:.1f} points on average, {points / gap:.0%}"
            print(f"where labels choose better than the defaults, {words}: {share}")
    worst = min(table, key=lambda row: float(row[-1]))
    print(f"worst beside the defaults: {worst[0]}, {worst[-1]} points\n")


def print_spreads(records):
    """Print the standard deviations over seeds."""
    spreads = {name: np.std(records[name]["methods"]["automatic"]["acc"]) for name in STEADY if name in records}
    print("standard deviation of ACC: " + ", ".join(f"{name} {value:.1f}" for name, value in spreads.items()) + "\n")


def print_paper(records):
    """Print the automatic mode beside the paper's numbers, which labels chose."""
    known = [name for name in records if name in data.PAPER]
    table = [
        [name, f"{mean_of(records[name], 'automatic', 'acc'):.1f}", f"{data.PAPER[name][0]:.1f}"] for name in known
    ]
    measure.print_table(["ACC", "automatic", "paper"], table)
    print()


def print_neighbor_graphs(records):
    """Print NMI beside the two neighbour graphs, and the means over all sets."""
    methods = ("automatic", *NEIGHBOR_GRAPHS)
    values = {name: [mean_of(record, method, "nmi") for method in methods] for name, record in records.items()}
    table = [[name, *(f"{value:.1f}" for value in found)] for name, found in values.items()]
    table.append(["mean", *(f"{value:.1f}" for value in np.nanmean(list(values.values()), axis=0))])
    measure.print_table(["NMI", *methods], table)
    print()


def page_table(records):
    """Return the lines of the table in the docs."""
    columns = ("automatic", "defaults", "label-tuned", "paper", "LSC", "adaptive neighbours")
    lines = ["| ACC / NMI | rows | " + " | ".join(columns) + " |", "| --- | ---: |" + " ---: |" * len(columns)]
    for name, record in records.items():
        cells = []
        for method in columns:
            acc, nmi = (mean_of(record, method, score) for score in ("acc", "nmi"))
            spread = f" ± {np.std(record['methods'][method]['acc']):.1f}" if method == "automatic" else ""
            cells.append("" if np.isnan(acc) else f"{acc:.1f}{spread} / {nmi:.1f}")
        lines.append(f"| {name} | {record['n_rows']:,} | " + " | ".join(cells) + " |")
    return lines


def print_stability(records):
    """Print how often rows of little confidence are wrong."""
    table = []
    for name, record in records.items():
        found = record["stability"]
        if found["wrong_low"] is None:
            table.append([name, "0.0 %", "-", f"{found['wrong_others']:.1%}", "-"])
            continue
        ratio = found["wrong_low"] / max(found["wrong_others"], 1e-9)
        cells = [f"{found[key]:.1%}" for key in ("low", "wrong_low", "wrong_others")]
        table.append([name, *cells, f"{ratio:.2f}"])
    measure.print_table(["confidence below 0.5", "rows", "wrong", "others wrong", "ratio"], table)


def main():
    """Print tables and verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, default=RECORDS, help="file of records")
    parser.add_argument("--table", action="store_true", help="print the table of the docs alone")
    arguments = parser.parse_args()
    records = read_records(arguments.records)
    if arguments.table:
        print("\n".join(page_table(records)))
        return
    print(NOTES.strip() + "\n")
    print_tables(records)
    for part in (print_gap, print_spreads, print_paper, print_neighbor_graphs, print_stability):
        part(records)


if __name__ == "__main__":
    main()
