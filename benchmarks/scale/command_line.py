"""Large text and Parquet files on the command line: ``python -m benchmarks.scale.command_line [--quick]``."""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.clustering import measure
from benchmarks.scale import data

N_FEATURES = 100
# Bytes that a number takes in a file, a little less than it does.
BYTES_OF_NUMBER = {".csv": 10, ".parquet": 5.8}
ROWS_OF_GROUP = 20_000
GIGABYTES, MEMORY = 1.0, 1.0
GB, GIB = 1e9, 2**30
NOTES = f"""
Rows of {N_FEATURES} features, ten clusters, and a column of known classes. Each file is fitted by
`kedge fit --memory {MEMORY:g}` in a process of its own; its memory is the largest resident memory of that process,
libraries and all. Reading is the conversion of the text into a scratch file, which Parquet does without.
"""


def write_table(path, n_rows):
    """Write rows in blocks, as text or as Parquet."""
    schema = pa.schema([(f"c{number}", pa.float32()) for number in range(N_FEATURES)] + [("y", pa.int64())])
    if path.suffix == ".csv":
        writer = pyarrow.csv.CSVWriter(path, schema, write_options=pyarrow.csv.WriteOptions(quoting_style="none"))
    else:
        writer = pyarrow.parquet.ParquetWriter(path, schema)
    with writer:
        for block, labels in data.draw_rows(n_rows, N_FEATURES, seed=0):
            columns = [pa.array(block[:, number]) for number in range(N_FEATURES)]
            table = pa.table([*columns, pa.array(labels)], schema=schema)
            if path.suffix == ".csv":
                writer.write_table(table)
            else:
                writer.write_table(table, row_group_size=ROWS_OF_GROUP)


def fit_and_print_peak(path):
    """Run the command as the only child of this process, so that the peak of children is its own."""
    command = [sys.executable, "-m", "kedge", "fit", str(path), "-k", str(data.N_CLUSTERS), "--label-column", "y"]
    command += ["--memory", str(MEMORY), "--out", f"{path}.run", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * measure.PEAK_UNIT
    print(json.dumps({"record": json.loads(done.stdout), "peak": peak}))


def measured_line(path):
    """Return the cells of one file."""
    # A process between, because the peak of all children of this one never falls.
    command = [sys.executable, "-m", "benchmarks.scale.command_line", "--file", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    record, peak = found["record"], found["peak"] / GIB
    sizes = [f"{path.stat().st_size / GB:.2f}", f"{record['n_rows']:,}"]
    seconds = [f"{record['seconds'][name]:.1f}" for name in ("read", "fit", "write")]
    accuracy = f"{record['labels_given']['scores']['accuracy']:.3f}"
    return [path.suffix[1:], *sizes, *seconds, f"{peak:.2f}", measure.verdict(peak, MEMORY), accuracy]


def main():
    """Print a line for each kind of file, or run the command on one file for that."""
    parser = argparse.ArgumentParser(description="Large files on the command line.")
    parser.add_argument("--quick", action="store_true", help="tiny files, to see that it runs")
    parser.add_argument("--folder", type=Path, help="where the files are written; default: the temporary folder")
    parser.add_argument("--file", type=Path, help="fit this file only and print the figures as JSON")
    arguments = parser.parse_args()
    if arguments.file:
        fit_and_print_peak(arguments.file)
        return
    measure.start_run("Large files on the command line", arguments.quick)
    print(NOTES.strip() + "\n", flush=True)
    size = GB * (0.002 if arguments.quick else GIGABYTES)
    lines = []
    for suffix, n_bytes in BYTES_OF_NUMBER.items():
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / f"rows{suffix}"
            write_table(path, int(size / (n_bytes * N_FEATURES)))
            lines.append(measured_line(path))
    header = ["file", "GB", "rows", "read s", "fit s", "write s", "peak GiB", "limit", "ACC"]
    measure.print_table(header, lines)


if __name__ == "__main__":
    main()
