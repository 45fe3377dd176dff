"""What `kedge.plan` says beside what the fit takes: ``python -m benchmarks.scale.plan [--quick] [--only NAME ...]``."""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

import kedge
from benchmarks.clustering import data as single_view_data
from benchmarks.clustering import measure
from benchmarks.multi_view import data as multi_view_data
from benchmarks.scale import data

FACTOR = 2.0
QUICK_SHARE = 1_000
WARM_UP_ROWS = 300
MIB = 2**20
# Less disk than this cannot be told from what else is written meanwhile.
LEAST_DISK = 16 * MIB
NOTES = f"""
Every estimate and every fit runs in a process of its own, one after the other. kedge.plan and the fit get the same rows
and parameters; random_state is 0. The clock of a fit in Python starts when everything is imported; that of `kedge fit`
when the command is typed. Memory is the largest of the process, libraries and rows in memory included. Disk is by how
much the free space of the disk fell, looked at every twentieth of a second; below {LEAST_DISK // MIB} MiB it is not
judged. The files have just been written, so the system may have them in its cache. What is judged is whether estimate
and truth are within a factor of {FACTOR:g} of each other.

The constants of kedge.plan were settled on drawn rows, with up to a million of them; MNIST, CoverType, Pokerhand, the
NUS stand-in and twenty million rows had no part in it.
"""


class Case(NamedTuple):
    """A fit: which rows, where they are, and the parameters."""

    rows: str  # "drawn", or the name of a data set.
    where: str  # "memory", "file", or "command".
    n_clusters: int | str
    n_rows: int = 0
    n_features: int = 0
    n_views: int = 1
    parameters: dict = {}  # noqa: RUF012  (a tuple of constants)


CASES = {
    "10,000 x 50": Case("drawn", "memory", 10, 10_000, 50),
    "MNIST": Case("mnist", "memory", 10),
    "CoverType": Case("covertype", "memory", 7),
    "1,000,000 x 30": Case("drawn", "memory", 10, 1_000_000, 30),
    "20,000,000 x 30 .npy": Case("drawn", "file", 10, 20_000_000, 30),
    "Pokerhand, k auto": Case("poker", "memory", "auto"),
    "NUS stand-in, 5 views": Case("nus_standin", "memory", 31),
    "1,000,000 x 30, 2 views": Case("drawn", "memory", 10, 1_000_000, 30, n_views=2),
    "1,000,000 x 30 .npy, beta 0.2": Case("drawn", "file", 10, 1_000_000, 30, parameters={"beta": 0.2}),
    "2,000,000 x 30 .csv, kedge fit": Case("drawn", "command", 10, 2_000_000, 30),
}


def write_rows(case, folder, quick):
    """Write the views of a case; return their files, or nothing if the data set is not there."""
    if case.rows == "drawn":
        n_rows = case.n_rows // (QUICK_SHARE if case.n_rows > 100 * QUICK_SHARE else 20) if quick else case.n_rows
        path = folder / "view0.npy"
        data.write_file(path, n_rows, case.n_features)
        path.with_suffix(".labels.npy").unlink()
        if case.where == "command":
            return [write_text(path)]
        return [path] if case.n_views == 1 else cut_views(path, case.n_views)
    if case.rows in multi_view_data.FILES:
        found = multi_view_data.load(case.rows, quick)
        views = [] if found is None else list(found.views.values())
    else:
        found = single_view_data.load(case.rows, quick)
        views = [] if found is None else [found.X]
    paths = [folder / f"view{number}.npy" for number in range(len(views))]
    for path, view in zip(paths, views, strict=True):
        np.save(path, view)
    return paths


def cut_views(path, n_views):
    """Write groups of columns to files of their own."""
    parts = np.array_split(np.load(path), n_views, axis=1)
    paths = [path.with_name(f"part{number}.npy") for number in range(n_views)]
    for one, part in zip(paths, parts, strict=True):
        np.save(one, part)
    path.unlink()
    return paths


def write_text(path):
    """Write rows as CSV."""
    rows = np.load(path, mmap_mode="r")
    schema = pa.schema([(f"c{number}", pa.float32()) for number in range(rows.shape[1])])
    with pyarrow.csv.CSVWriter(path.with_suffix(".csv"), schema) as writer:
        for start in range(0, len(rows), data.ROWS_DRAWN):
            columns = [pa.array(column) for column in np.ascontiguousarray(rows[start : start + data.ROWS_DRAWN].T)]
            writer.write_table(pa.table(columns, schema=schema))
    path.unlink()
    return path.with_suffix(".csv")


class FallOfSpace(threading.Thread):
    """By how much the free space of a disk has fallen at most."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self._folder, self._over = folder, threading.Event()
        self._before = self._least = shutil.disk_usage(folder).free

    def run(self):
        """Look at the disk until it is over."""
        while not self._over.wait(0.05):
            self._least = min(self._least, shutil.disk_usage(self._folder).free)

    def stop(self):
        """Return the fall, in bytes."""
        self._over.set()
        self.join()
        return self._before - self._least


def act(case, action, paths):
    """Plan or fit in this process; return seconds, bytes of memory and of disk."""
    if case.where == "command":
        return act_by_command(case, action, paths)
    kedge.SGL(2, random_state=0).fit(np.random.default_rng(0).normal(size=(WARM_UP_ROWS, 4)))  # imports everything
    views = [str(path) if case.where == "file" else np.load(path) for path in paths]
    X = views[0] if len(views) == 1 else views
    parameters = {"random_state": 0, **case.parameters}
    if action == "plan":
        seconds, found = measure.timed(lambda: kedge.plan(X, case.n_clusters, **parameters))
        return {"probe": seconds, "seconds": found.seconds, "memory": found.memory_bytes, "disk": found.disk_bytes}
    model = (kedge.SGL if len(views) == 1 else kedge.MSGL)(case.n_clusters, **parameters)
    space = FallOfSpace(tempfile.gettempdir())
    space.start()
    seconds, model = measure.timed(model.fit, X)
    return {"seconds": seconds, "memory": measure.peak_bytes(), "disk": space.stop(), "rows": len(model.labels_)}


def act_by_command(case, action, paths):
    """Run the command as the only child of this process, so that the peak of children is its own."""
    command = [sys.executable, "-m", "kedge", action, *map(str, paths), "-k", str(case.n_clusters), "--json"]
    command += ["--out", str(paths[0].with_name("run"))] if action == "fit" else []
    space = FallOfSpace(tempfile.gettempdir())
    space.start()
    seconds, done = measure.timed(lambda: subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True))
    disk, printed = space.stop(), json.loads(done.stdout)
    if action == "plan":
        own = {"seconds": printed["seconds"], "memory": printed["memory_bytes"], "disk": printed["disk_bytes"]}
        return {"probe": seconds} | own
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * measure.PEAK_UNIT
    return {"seconds": seconds, "memory": peak, "disk": disk, "rows": printed["n_rows"]}


def in_fresh_process(name, action, folder, quick):
    """Run a step of a case in a process of its own, because the peak of a process never falls."""
    command = [sys.executable, "-m", "benchmarks.scale.plan", "--case", name, "--step", action, "--folder", str(folder)]
    command += ["--quick"] if quick else []
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def is_close(estimate, truth):
    """Return whether two figures are within the factor of each other."""
    return truth <= FACTOR * estimate and estimate <= FACTOR * truth


def print_case(name, planned, fitted):
    """Print a line each for time, memory and disk, and return the verdicts."""
    print(f"{name}: {fitted['rows']:,} rows; the probe took {planned['probe']:.1f} s", flush=True)
    verdicts = []
    for what, unit, form in (("seconds", 1, "{:,.2f} s"), ("memory", MIB, "{:,.0f} MiB"), ("disk", MIB, "{:,.0f} MiB")):
        estimate, truth = planned[what], fitted[what]
        ratio = f"{estimate / truth:.2f}" if truth > 0 else "-"
        if what == "disk" and max(estimate, truth) < LEAST_DISK:
            judged = "too little to judge"
        else:
            verdicts.append(is_close(estimate, truth))
            judged = "within a factor of 2" if verdicts[-1] else "MORE THAN A FACTOR OF 2"
        figures = [form.format(figure / unit) for figure in (estimate, truth)]
        print(f"  {what:<8} estimate {figures[0]:>14}  truth {figures[1]:>14}  ratio {ratio:>5}  {judged}", flush=True)
    return verdicts


def main():
    """Print estimate, truth and ratio of every fit, or run one step of a case."""
    parser = argparse.ArgumentParser(description="What kedge.plan says beside what the fit takes.")
    parser.add_argument("--quick", action="store_true", help="tiny data, to see that it runs")
    parser.add_argument("--only", nargs="+", choices=CASES, help="run these fits only")
    parser.add_argument("--folder", type=Path, help="where files are written; default: the temporary folder")
    parser.add_argument("--case", choices=CASES, help="run a step of this case and print its figures as JSON")
    parser.add_argument("--step", choices=["write", "plan", "fit"], help="with --case: which step")
    arguments = parser.parse_args()
    if arguments.case:
        case = CASES[arguments.case]
        if arguments.step == "write":
            print(json.dumps([path.name for path in write_rows(case, arguments.folder, arguments.quick)]))
        else:
            print(json.dumps(act(case, arguments.step, sorted(arguments.folder.glob("*.[nc][ps][yv]")))))
        return
    measure.start_run("What kedge.plan says beside what the fit takes", arguments.quick)
    print(NOTES.strip() + "\n", flush=True)
    verdicts = []
    for name in arguments.only or CASES:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            if not in_fresh_process(name, "write", folder, arguments.quick):
                print(f"{name}: LEFT OUT, no file of it in $KEDGE_DATA or ../shared/data", flush=True)
                continue
            verdicts += print_case(
                name, *(in_fresh_process(name, step, folder, arguments.quick) for step in ("plan", "fit"))
            )
    print(f"\n{sum(verdicts)} of {len(verdicts)} figures within a factor of {FACTOR:g}")


if __name__ == "__main__":
    main()
