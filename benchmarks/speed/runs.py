"""The runs: each in a process of its own, one at a time, and a line of a file, so that a stopped program goes on."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from benchmarks import provenance
from benchmarks.quality import records
from benchmarks.speed.rivals import METHODS
from kedge.metrics import clustering_accuracy, nmi

# A method whose first fit took longer gets no other.
ONE_ROUND_FROM = 30.0
# After so many rounds, a method whose fits took longer than this in all gets no more.
LEAST_ROUNDS, ENOUGH = 3, 15.0


class FitFailed(Exception):
    """A fit ended with an error."""


def stamp():
    """Return what made a run; it is equal in all lines of one table."""
    return {"kedge": provenance.versions()["kedge"], "commit": provenance.commit()}


def read(path, limit):
    """Return the runs of this code and this limit by set, method and seed, and how many lines were of others."""
    # Without a commit, or with changes since, nobody knows whether the code was the same.
    is_settled = re.fullmatch("[0-9a-f]+", provenance.commit())
    same = stamp() | {"limit": limit}
    known, n_others = {}, 0
    for name, by_method in records.read(path).items():
        for method, by_seed in by_method.items():
            for seed, run in by_seed.items():
                if is_settled and all(run[key] == same[key] for key in same):
                    known.setdefault(name, {}).setdefault(method, {})[seed] = run
                else:
                    n_others += 1
    return known, n_others


@dataclass
class Measurement:
    """How one data set is measured: rows are in ``folder``, finished runs go to ``path`` and into ``known``."""

    name: str
    rows: object
    folder: object
    path: object
    limit: float
    known: dict

    def run_rounds(self, methods, n_rounds):
        """Run every method once per round; return the errors of those that failed."""
        np.save(self.folder / "X.npy", np.ascontiguousarray(self.rows.X, dtype=np.float32))
        failed = {}
        for seed in range(n_rounds):
            for method in methods:
                if method in failed or self._is_done(method, seed):
                    continue
                try:
                    outcome = self._outcome(method, seed)
                except FitFailed as error:
                    failed[method] = error
                else:
                    self._keep(method, seed, outcome)
        return failed

    def _is_done(self, method, seed):
        by_seed = self.known.get(method, {})
        return seed in by_seed or (0 in by_seed and _took_long(by_seed[0])) or _took_enough(by_seed)

    def _outcome(self, method, seed):
        """Return the figures of one run; the seconds are None if it was over the limit."""
        first = self.known.get(METHODS[method].slower_than, {}).get(0)
        if first and first["seconds"] is None:
            return {"seconds": None}
        module = "benchmarks.speed.child"
        command = [sys.executable, "-m", module, self.folder, method, self.rows.n_clusters, seed, self.limit]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode == -signal.SIGALRM:
            return {"seconds": None}
        if done.returncode:
            raise FitFailed((done.stderr.splitlines() or [f"the process ended with {done.returncode}"])[-1])
        labels = np.load(self.folder / "labels.npy").astype(np.int64)
        scores = {"acc": clustering_accuracy(self.rows.y, labels), "nmi": nmi(self.rows.y, labels)}
        return json.loads(done.stdout.splitlines()[-1]) | scores | {"n_found": len(np.unique(labels))}

    def _keep(self, method, seed, outcome):
        run = {"set": self.name, "method": method, "seed": seed, "limit": self.limit}
        run |= outcome | stamp() | {"when": provenance.now()}
        records.append(self.path, run)
        self.known.setdefault(method, {})[seed] = run
        took = f"> {self.limit:g}" if run["seconds"] is None else f"{run['seconds']:.2f}"
        print(f"{self.name}: {method}, seed {seed}: {took} s", file=sys.stderr, flush=True)


def _took_enough(by_seed):
    seconds = [np.inf if run["seconds"] is None else run["seconds"] for run in by_seed.values()]
    return len(seconds) >= LEAST_ROUNDS and sum(seconds) > ENOUGH


def _took_long(run):
    return run["seconds"] is None or run["seconds"] > ONE_ROUND_FROM
