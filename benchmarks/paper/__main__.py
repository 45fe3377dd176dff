"""The paper's tables and figures beside ours: ``python -m benchmarks.paper [NAME ...] [options]``.

Every unit of work is recorded in ``results.jsonl`` when it finishes, so a run that was stopped continues where it was.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from benchmarks.paper.campaign import Resources, run_campaign
from benchmarks.paper.pages import write_overview, write_pages
from benchmarks.paper.plan import QUICK, WHOLE, Cut, Experiment, available_data, experiments, pending_units
from benchmarks.paper.results import ResultsFile
from kedge.kernels.selection import default_threads
from kedge.memory import machine_memory
from kedge.progress import show_progress


def main(arguments: Sequence[str] | None = None, program: str = "python -m benchmarks.paper") -> int:
    """Run what is asked for and return the exit code: 2 for wrong arguments or files, 130 after an interruption."""
    given = parse(arguments, program)
    try:
        if given.list:
            list_experiments()
            return 0
        chosen, cut = choose_experiments(given.names), QUICK if given.quick else WHOLE
        results = ResultsFile(given.out / "results.jsonl")
        try:
            return write_only(chosen, results, cut) if given.pages_only else reproduce(chosen, results, cut, given)
        finally:
            results.close()
    except (ValueError, OSError, RuntimeError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and stop."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parse(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    """Return the options."""
    about = "Run the paper's tables and figures again and set them beside ours; a run that was stopped goes on."
    parser = Parser(program, description=about, allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME", help="tables and figures; all if none is named")
    parser.add_argument("--out", type=Path, default=Path("reproduction"), help="folder for results and pages")
    parser.add_argument("--quick", action="store_true", help="a cut of everything, to see that it runs")
    parser.add_argument("--list", action="store_true", help="show what there is and stop")
    parser.add_argument("--pages-only", action="store_true", help="write pages of what is recorded; run nothing")
    parser.add_argument("--jobs", type=int, help="units side by side; default: processors")
    parser.add_argument("--memory", type=float, help="GiB for all together; default: 80 %% of all")
    given = parser.parse_intermixed_args(arguments)
    if given.jobs is not None and given.jobs < 1:
        parser.error(f"--jobs {given.jobs} should be at least 1")
    if given.memory is not None and given.memory < 0.5:
        parser.error(f"--memory {given.memory:g} should be at least 0.5")
    return given


def list_experiments() -> None:
    """Print what can be reproduced, and what data is missing for it."""
    for experiment in experiments().values():
        print(f"{experiment.name:<20} {experiment.title}")
        for data, reason in available_data(experiment).items():
            if reason is not None:
                print(f"{'':<20}   {data}: {reason}")


def choose_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of these names, or all; an unknown name is an error that lists them."""
    known = experiments()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no experiment {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(known.values())


def write_only(chosen: list[Experiment], results: ResultsFile, cut: Cut) -> int:
    """Write the pages of what is recorded and run nothing."""
    told = write_all(chosen, results, cut)
    print(f"{len(results.records)} units recorded in {results.path}; {told}")
    return 0


def reproduce(chosen: list[Experiment], results: ResultsFile, cut: Cut, given: argparse.Namespace) -> int:
    """Run what is missing and write the pages, after an interruption too."""
    memory = int(given.memory * 2**30) if given.memory else int(0.8 * machine_memory())
    try:
        with show_progress(1) as progress:
            count = run_campaign(chosen, results, Resources(given.jobs or default_threads(), memory), cut, progress)
    except KeyboardInterrupt:
        left = sum(len(pending_units(experiment, results.records, cut)) for experiment in chosen)
        recorded = f"{len(results.records)} units are recorded, at least {left} are left"
        print(f"stopped; {recorded}: run again to go on", file=sys.stderr)
        return 130
    finally:
        told = write_all(chosen, results, cut)
    print(f"{count} units run, {len(results.records)} recorded in {results.path}; {told}")
    return 0


def write_all(chosen: list[Experiment], results: ResultsFile, cut: Cut) -> str:
    """Write the pages of these experiments and the page that links those of all; say how many files there are."""
    folder = results.path.parent
    files = write_pages(chosen, results.records, cut, folder)
    files += write_overview(list(experiments().values()), results.records, cut, folder)
    return f"{len(files)} pages and figures in {folder}"


if __name__ == "__main__":
    sys.exit(main())
