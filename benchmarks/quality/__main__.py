"""Run what is missing and print everything: ``python -m benchmarks.quality [--quick] [--set orl] [--method LSC]``.

A run that was stopped continues where it stopped. ``--again`` repeats recorded runs.
"""

import argparse
import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks import provenance
from benchmarks.clustering import measure
from benchmarks.quality import data, records, table
from benchmarks.quality.methods import METHODS
from benchmarks.quality.neighbour_graphs import fit_umap
from kedge.metrics import clustering_accuracy, nmi

SEEDS = 5


@dataclass(frozen=True)
class Task:
    """One method on one set from one seed."""

    set: str
    seed: int
    method: str


def run(task, rows, fitted):
    """Run a method and return the line that is kept of it."""
    method = METHODS[task.method]
    for name in method.packages:  # not on the clock
        import_module(name)
    before = getattr(fitted, f"{method.umap}_times") if method.umap else (0.0, 0.0)
    begun = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = np.asarray(method.run(rows, task.seed, fitted))
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return {
        "set": task.set,
        "method": task.method,
        "seed": task.seed,
        "n_rows": rows.n_rows,
        "n_classes": rows.n_classes,
        "acc": round(100 * clustering_accuracy(rows.y, labels), 3),
        "nmi": round(100 * nmi(rows.y, labels, average="max"), 3),
        "n_found": len(np.unique(labels)),
        "noise": round(float(np.mean(labels < 0)), 4),
        "seconds": round(before[0] + wall, 3),
        "cpu_seconds": round(before[1] + cpu, 3),
        "umap_seconds": round(before[0], 3),
        "umap_n_jobs": 1 if method.umap else None,
        "threads": threads(),
        "kedge": provenance.versions()["kedge"],
        "commit": provenance.commit(),
        "when": provenance.now(),
        "versions": records.versions(),
    }


@cache
def threads():
    """Return how many threads NumPy, SciPy and scikit-learn may use; first asked before numba brings a pool its own."""
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def estimate(tasks, known):
    """Say how long these tasks take by what the same took before; those never run before are counted."""
    seconds, unknown = 0.0, 0
    for task in tasks:
        before = known.get(task.set, {}).get(task.method, {}).values()
        if before:
            seconds += np.mean([record["seconds"] for record in before])
        else:
            unknown += 1
    return f"{len(tasks)} runs to go, about {seconds / 60:.0f} min" + (f" and {unknown} unknown" if unknown else "")


def is_recorded(task, known):
    """Return whether a line of this task is there."""
    return task.seed in known.get(task.set, {}).get(task.method, {})


def open_tasks(arguments, known):
    """Return what is asked for and not recorded, in order of sets, seeds, methods."""
    return [
        Task(name, seed, method)
        for name in arguments.set
        for seed in arguments.seeds
        for method in arguments.method
        if arguments.again or not is_recorded(Task(name, seed, method), known)
    ]


def run_all(arguments, tasks):
    """Run the tasks; the rows of a set and the UMAP of a seed are made once. Return how many failed."""
    rows, fitted, at, n_failed = None, None, None, 0
    said = set()
    for number, task in enumerate(tasks):
        if not arguments.again and is_recorded(task, records.read(arguments.records)):  # by another run meanwhile
            continue
        if rows is None or rows.name != task.set:
            rows = data.load(task.set, arguments.quick) if task.set not in said else None
            said.add(task.set)
        if rows is None:
            continue
        method = METHODS[task.method]
        reason = method.why_not(rows)
        if reason:
            if (task.set, task.method) not in said:
                print(f"{task.set}: {task.method}: left out, {reason}", flush=True)
            said.add((task.set, task.method))
            continue
        try:
            if method.umap and at != (task.set, task.seed):
                fitted, at = fit_umap(rows.matrix, task.seed), (task.set, task.seed)
            record = run(task, rows, fitted)
        except Exception as error:  # one method that fails is no reason to lose the others
            n_failed += 1
            print(f"{task.set}: {task.method}, seed {task.seed}: FAILED, {type(error).__name__}: {error}", flush=True)
            continue
        records.append(arguments.records, record)
        scores = f"ACC {record['acc']:.1f}, NMI {record['nmi']:.1f}, {record['n_found']} clusters"
        known = records.read(arguments.records)
        left = [later for later in tasks[number + 1 :] if (later.set, later.method) not in said]
        ahead = estimate([later for later in left if arguments.again or not is_recorded(later, known)], known)
        print(f"{task.set}: {task.method}, seed {task.seed}: {scores}, {record['seconds']:.1f} s; {ahead}", flush=True)
    return n_failed


def parse(words=None):
    """Return the arguments, with lists of sets, methods and seeds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 rows and one seed, to see that it runs")
    parser.add_argument("--held-out", action="store_true", help="the sets on which no constant of kedge was settled")
    known = [*data.SETS, *data.HELD_OUT]
    parser.add_argument("--set", action="append", choices=known, help="may be repeated; default: all")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="may be repeated; default: all")
    parser.add_argument("--rivals", action="store_true", help="all methods but kedge's own")
    parser.add_argument("--seeds", type=int, default=None, help="how many, from zero (default 5)")
    parser.add_argument("--again", action="store_true", help="run also what is recorded; the new lines count")
    parser.add_argument("--records", type=Path, default=None, help="file of runs, one per line")
    arguments = parser.parse_args(words)
    default = data.HELD_OUT if arguments.held_out else data.QUICK_SETS if arguments.quick else data.SETS
    arguments.set = arguments.set or list(default)
    arguments.method = arguments.method or [
        name for name, method in METHODS.items() if not (arguments.rivals and method.is_ours)
    ]
    arguments.seeds = range(arguments.seeds or (1 if arguments.quick else SEEDS))
    return arguments


def main():
    """Run and print."""
    arguments = parse()
    measure.start_run("Quality beside rivals", arguments.quick)
    print("libraries " + ", ".join(f"{name} {number}" for name, number in records.versions().items()))
    print(f"UMAP runs with n_jobs=1, as it must with a seed; what else uses threads has {threads()}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.records is None:
            usual = records.HELD_OUT if arguments.held_out else records.RECORDS
            arguments.records = Path(folder) / "quick.jsonl" if arguments.quick else usual
        tasks = open_tasks(arguments, records.read(arguments.records))
        print(estimate(tasks, records.read(arguments.records)) + "\n", flush=True)
        n_failed = run_all(arguments, tasks)
        print()
        table.print_all(arguments.records, with_last_version=not (arguments.quick or arguments.held_out))
    if n_failed:
        raise SystemExit(f"{n_failed} runs failed")


if __name__ == "__main__":
    main()
