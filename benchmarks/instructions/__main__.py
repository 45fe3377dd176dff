"""Print the table: ``python -m benchmarks.instructions [--quick]``."""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.clustering.measure import start_run
from benchmarks.instructions import build
from benchmarks.instructions.problems import full_problems, quick_problems

RECORDED = Path(__file__).parent / "results" / "instructions.txt"
NOTES = """
Instructions that callgrind counts in one call of a routine, on one thread; drawing and products are not counted.
The driver is compiled like the library, by {compiler}; {valgrind}.
Counts repeat exactly on a busy machine, too. Another compiler or C library gives others, and how long the processor
waits for memory is not in them.
row solver: CSR output and sums, as in a fit. warm: after a change of one part in a thousand, from the old solutions.
more weights: about 14 per row. most anchors: three quarters of them. These, and 14 of 25, take the start for large
supports.
nearest_centers, first round: nothing is known. later round: labels of before, and the centres have moved a little.
each row has: weights of its solution, columns that are wanted, distances that the lower bounds leave; means.
over recorded: over the count in benchmarks/instructions/results, where the same row is there.
"""
HEADINGS = ("routine", "rows", "m", "dtype", "each row has", "instructions, M", "per row", "over recorded")
WIDTHS = (30, 5, 5, 7, 15, 15, 9, 13)


def require_valgrind():
    """Say what is missing, in one line, before anything is compiled."""
    if shutil.which("valgrind") is None:
        raise SystemExit(
            "benchmarks.instructions: nothing counted, as valgrind is missing; install the package valgrind"
        )


def count(program, problem):
    """Return the instruction set, what each row has on average, and the instructions."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=counted*"]
    done = subprocess.run(
        [*command, str(program), *problem.arguments()],
        # Else the loader would look up functions when they are first called, and be counted.
        env=os.environ | {"LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or collected is None or collected[1] == "0":
        raise SystemExit(f"nothing was counted for {' '.join(problem.arguments())}:\n{done.stderr}")
    loops, per_row = done.stdout.split()
    return loops, float(per_row), int(collected[1])


def print_line(cells):
    """Print a line of the table; columns are two spaces apart."""
    first, *others = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    print("  ".join([first, *others]), flush=True)


def recorded_millions():
    """Return the recorded counts by routine, rows, m and dtype."""
    lines = RECORDED.read_text().splitlines() if RECORDED.exists() else []
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines]
    return {tuple(row[:4]): float(row[5]) for row in cells if len(row) == len(HEADINGS) and row[0] != HEADINGS[0]}


def main():
    """Parse the arguments, compile the driver and print the table."""
    parser = argparse.ArgumentParser(description="Instructions of compiled routines on fixed problems.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    quick = parser.parse_args().quick
    require_valgrind()
    start_run("Instructions of compiled routines", quick)
    print(NOTES.format(compiler=build.first_line(build.compiler()), valgrind=build.first_line("valgrind")))
    recorded = recorded_millions()
    with tempfile.TemporaryDirectory() as folder:
        program = build.build_driver(Path(folder))
        print_line(HEADINGS)
        for problem in quick_problems() if quick else full_problems():
            loops, per_row, instructions = count(program, problem)
            before = recorded.get(problem.key)
            print_line(
                (
                    *problem.key,
                    f"{per_row:.1f} {problem.counted}",
                    f"{instructions / 1e6:.3f}",
                    f"{instructions / problem.n_rows:,.0f}",
                    "-" if before is None else f"{instructions / 1e6 / before:.3f}",
                )
            )
    print(f"\nThe driver ran the {loops} loops.")


if __name__ == "__main__":
    main()
