"""``kedge reproduce``: the paper's tables and figures beside ours."""

import sys
from pathlib import Path

from kedge.kernels.selection import default_threads
from kedge.memory import machine_memory
from kedge.progress import show_progress
from kedge.reproduce.campaign import Resources, run_campaign
from kedge.reproduce.pages import write_overview, write_pages
from kedge.reproduce.plan import Experiment, experiments
from kedge.reproduce.results_file import ResultsFile
from kedge.reproduce.stages import QUICK, WHOLE, Cut, available_data, pending_units


def choose_experiments(names: list[str]) -> list[Experiment]:
    """Return the experiments of these names, or all; an unknown name is an error that lists them."""
    known = experiments()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no experiment {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


def list_experiments() -> None:
    """Print what can be reproduced, and what data is missing for it."""
    for experiment in experiments().values():
        print(f"{experiment.name:<20} {experiment.title}")
        for data, reason in available_data(experiment).items():
            if reason is not None:
                print(f"{'':<20}   {data}: {reason}")


def write_only(names: list[str], folder: Path, *, quick: bool) -> int:
    """Write the pages of what is recorded, run nothing, and return the exit code."""
    results = ResultsFile(folder / "results.jsonl")
    try:
        files = _write_all(choose_experiments(names), results, QUICK if quick else WHOLE, folder)
    finally:
        results.close()
    print(f"{len(results)} units recorded in {results.path}; {len(files)} pages and figures in {folder}")
    return 0


def _write_all(chosen: list[Experiment], results: ResultsFile, cut: Cut, folder: Path) -> list[Path]:
    """Write the pages of these experiments, and the page that links those of all."""
    pages = write_pages(chosen, results, cut, folder)
    return pages + write_overview(list(experiments().values()), results, cut, folder)


def reproduce(names: list[str], folder: Path, *, quick: bool, n_workers: int | None, memory: float | None) -> int:
    """Run what is missing, write the pages, and return the exit code."""
    chosen = choose_experiments(names)
    cut = QUICK if quick else WHOLE
    allowed = int(memory * 2**30) if memory else int(0.8 * machine_memory())
    resources = Resources(n_workers or default_threads(), allowed)
    results = ResultsFile(folder / "results.jsonl")
    try:
        with show_progress(1) as progress:
            count = run_campaign(chosen, results, resources, cut, progress)
    except KeyboardInterrupt:
        left = sum(len(pending_units(experiment, results, cut)) for experiment in chosen)
        print(
            f"stopped; {len(results)} units are recorded, at least {left} are left: run again to go on", file=sys.stderr
        )
        return 130
    finally:
        files = _write_all(chosen, results, cut, folder)
        results.close()
    print(f"{count} units run, {len(results)} recorded in {results.path}; {len(files)} pages and figures in {folder}")
    return 0
