"""Communities of neighbour graphs beside leidenalg and igraph: ``python -m benchmarks.communities``.

Prints one line per graph: modularity and seconds of each. ``--quick`` runs on tiny data, ``--only NAME`` one graph.
"""

import argparse
import random
import time
from dataclasses import dataclass

import igraph
import leidenalg
import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.clustering import measure
from kedge import datasets
from kedge.partition.communities import find_communities, modularity

# Name of each graph: the data set, and the most rows that are used; None means all.
GRAPHS = {
    "tr11": ("tr11", None),
    "tr41": ("tr41", None),
    "tr45": ("tr45", None),
    "orl": ("orl", None),
    "ba": ("ba", None),
    "tdt2": ("tdt2", None),
    "covertype 20k": ("covertype", 20_000),
    "mnist 10k": ("mnist", 10_000),
    "mnist 70k": ("mnist", None),
    "citeseer": ("citeseer", None),
}
N_NEIGHBORS, N_COMPONENTS, QUICK_ROWS = 10, 50, 150
SEEDS = range(3)
# A run of a millisecond cannot be timed on its own: it is repeated until this has passed.
LEAST_SECONDS = 0.1
METHODS = ("kedge", "leidenalg", "igraph 2", "igraph -1")
# Modularity may fall this share below leidenalg's.
ALLOWED = 0.001
NOTES = f"""
Graphs join each row with its {N_NEIGHBORS} nearest rows (cosine for texts, {N_COMPONENTS} principal components for
MNIST); an edge weighs 1 if each is near the other and 1/2 if only one is. The graph of Citeseer is its citations.
leidenalg: ModularityVertexPartition, two iterations, the default; igraph: community_leiden, two iterations, and until
nothing changes (-1). Means over {len(SEEDS)} seeds; seconds of the processor, as all of them use one thread, and
runs shorter than {LEAST_SECONDS} s are repeated for as long. Their graphs are built before the clock starts; kedge
begins with a SciPy matrix.
"""


@dataclass
class Outcome:
    """Mean modularity and seconds of one method."""

    modularity: float
    seconds: float


def load_rows(name, most):
    """Return rows of a data set, cut to the most by a fixed draw."""
    found = datasets.load(name)
    X = found.X
    if name == "covertype":
        X = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    if most is not None and X.shape[0] > most:
        X = X[np.sort(np.random.RandomState(0).permutation(X.shape[0])[:most])]
    if name == "mnist":
        X = PCA(min(N_COMPONENTS, *X.shape), random_state=0).fit_transform(X)
    return normalize(X) if sparse.issparse(X) else X


def load_graph(name, quick=False):
    """Return the graph of that name as a symmetric CSR array."""
    source, most = GRAPHS[name]
    if source == "citeseer":
        cites = sparse.csr_array(datasets.load(source).views["citation"], dtype=np.float64)
        cites = cites[:QUICK_ROWS, :QUICK_ROWS] if quick else cites
        near = cites.sign()
    else:
        rows = load_rows(source, QUICK_ROWS if quick else most)
        near = sparse.csr_array(kneighbors_graph(rows, min(N_NEIGHBORS, rows.shape[0] - 1), n_jobs=-1))
    graph = sparse.csr_array((near + near.T) / 2)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    return graph


def measured(graph, run):
    """Return the means of a method over the seeds."""
    scores, seconds = [], []
    for seed in SEEDS:
        n_runs, begin, passed = 0, time.process_time(), 0.0
        while n_runs == 0 or passed < LEAST_SECONDS:
            labels = run(seed)
            n_runs, passed = n_runs + 1, time.process_time() - begin
        seconds.append(passed / n_runs)
        scores.append(modularity(graph, np.asarray(labels, dtype=np.int64)))
    return Outcome(float(np.mean(scores)), float(np.mean(seconds)))


def compare(graph):
    """Return outcomes of kedge, leidenalg, and igraph with two iterations and with as many as change something."""
    edges = sparse.triu(graph, 1).tocoo()
    theirs = igraph.Graph(n=graph.shape[0], edges=np.column_stack([edges.row, edges.col]))
    weights = edges.data.tolist()

    def run_leidenalg(seed):
        kind = leidenalg.ModularityVertexPartition
        return leidenalg.find_partition(theirs, kind, weights=weights, seed=seed).membership

    def run_igraph(n_iterations, seed):
        random.seed(seed)  # where igraph takes its numbers from
        return theirs.community_leiden("modularity", weights=weights, n_iterations=n_iterations).membership

    return {
        "kedge": measured(graph, lambda seed: find_communities(graph, 1.0, seed)),
        "leidenalg": measured(graph, run_leidenalg),
        "igraph 2": measured(graph, lambda seed: run_igraph(2, seed)),
        "igraph -1": measured(graph, lambda seed: run_igraph(-1, seed)),
    }


def verdict(outcomes):
    """Return what falls short on one graph, an empty string if nothing does."""
    ours = outcomes["kedge"]
    short = []
    if ours.modularity < outcomes["leidenalg"].modularity * (1 - ALLOWED):
        short.append("modularity below leidenalg's")
    if ours.seconds > outcomes["igraph 2"].seconds:
        short.append("slower than igraph")
    return ", ".join(short)


def table_line(name, graph, outcomes):
    """Return one line of the table."""
    line = f"{name:<15}{graph.shape[0]:>7}{graph.nnz // 2:>9}  " + " " * 11
    line += "".join(f"{outcomes[one].modularity:>10.4f}" for one in METHODS) + " " * 10
    return line + "".join(f"{outcomes[one].seconds:>10.3f}" for one in METHODS)


def main():
    """Print one line per graph and a verdict."""
    parser = argparse.ArgumentParser(description="Communities beside leidenalg and igraph.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    parser.add_argument("--only", choices=list(GRAPHS), help="one graph instead of all")
    arguments = parser.parse_args()
    measure.start_run("Communities", arguments.quick)
    print(f"rivals    leidenalg {leidenalg.__version__}, igraph {igraph.__version__}\n{NOTES}", flush=True)
    heading = "".join(f"{name:>10}" for name in METHODS)
    print(f"{'graph':<15}{'nodes':>7}{'edges':>9}  modularity:{heading}  seconds:{heading}")
    n_graphs = n_short = 0
    for name in [arguments.only] if arguments.only else GRAPHS:
        try:
            graph = load_graph(name, arguments.quick)
        except OSError as error:  # not there, or not to be reached
            print(f"{name}: LEFT OUT, {error}", flush=True)
            continue
        outcomes = compare(graph)
        short = verdict(outcomes)
        n_graphs, n_short = n_graphs + 1, n_short + bool(short)
        print(table_line(name, graph, outcomes) + (f"  {short}" if short else ""), flush=True)
    print(
        f"\nverdict: on {n_graphs - n_short} of {n_graphs} graphs kedge has at least {100 * (1 - ALLOWED):g} % of "
        "leidenalg's modularity and is no slower than two iterations of igraph"
    )


if __name__ == "__main__":
    main()
