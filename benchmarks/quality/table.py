"""Print what is recorded, set by set, and what it says: ``python -m benchmarks.quality.table``."""

import argparse
from pathlib import Path

from benchmarks.clustering.measure import print_table
from benchmarks.quality import records, summary, verdicts

NOTES = """
ACC and NMI (divided by the larger entropy) in percent, clusters found, wall and CPU seconds: means over the seeds with
their sample standard deviation. "told k" says whether the method was told the number of classes. Nothing else was taken
from the labels. The machine may have had other work, which affects wall seconds more than CPU seconds.

kedge gets every set as it comes. Rivals get what a careful user would give them: the term counts of TDT2 as tf-idf with
rows of unit length (and once as they are, for k-means), several views side by side at unit energy, CoverType with
standardised columns, and every other set as it is. The seconds do not include this preparation.
k-means: best of 10 starts. UMAP: 15 neighbours, 10 dimensions, min_dist 0, cosine for sparse rows, one thread
(n_jobs=1). Its seconds count for each method that needs it; for Leiden, only those of the graph. HDBSCAN:
min_cluster_size 15; the rows it calls noise count as one cluster. Leiden: RBConfigurationVertexPartition with the
weights of UMAP's graph at resolution 1. "At k" searches the resolution for k clusters in at most 25 cuts, and keeps the
nearest. A graph in more than k pieces has no cut into k.
SpectralClustering: graph of 10 neighbours, up to 12,000 rows. LSC: 1,000 landmarks, at most a third of the rows.
Last version: 0.1.0, ten seeds, as recorded then. It was told k in both modes. Its MNIST has 20,000 rows, not 70,000.
"""


def print_sets(found):
    """Print one table per set."""
    header = ["method", "told k", "ACC", "NMI", "found", "seconds", "CPU seconds", "seeds"]
    for name, by_method in found.items():
        sizes = [(of.n_rows, of.n_classes) for method, of in by_method.items() if method not in summary.LAST_VERSION]
        n_rows, n_classes = (sizes or [(of.n_rows, of.n_classes) for of in by_method.values()])[0]
        print(f"{name}: {n_rows:,} rows, {n_classes} classes")
        lines = []
        for method, of in by_method.items():
            cells = [of.words("acc"), of.words("nmi"), of.words("found"), of.words("seconds"), of.words("cpu_seconds")]
            title = f"{method} ({of.note})" if of.note else method
            lines.append([title, "yes" if summary.TOLD[method] else "no", *cells, str(len(of.acc))])
        print_table(header, lines)
        print()


def print_all(path, with_last_version=True):
    """Print notes, tables, means, the best rivals and verdicts."""
    found = summary.summarise(path, with_last_version)
    print(NOTES.strip() + "\n")
    print_sets(found)
    for part in (verdicts.print_means, verdicts.print_best_rivals, verdicts.print_verdicts):
        part(found)


def main():
    """Print the tables of a file of runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.table", description=__doc__)
    parser.add_argument("--records", type=Path, default=records.RECORDS, help="file of runs, one per line")
    print_all(parser.parse_args().records)


if __name__ == "__main__":
    main()
