"""Files that are read in parts: the labels of the array, within a memory limit, nothing left in the scratch folder."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from kedge import SGL, load

N_ROWS, N_FEATURES = 50_000, 100
# Bytes that the fit may take beyond a fit of next to nothing; with all rows in memory it takes 100 and 90 MB.
LIMITS = {".csv": 82e6, ".parquet": 72e6}

# Prints the memory of a tiny fit, then fits the file and prints the peak.
PROGRAM = """
import resource, sys
from kedge.cli.commands import app

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def fit(*arguments):
    try:
        app(["fit", *arguments, "--json"])
    except SystemExit as stop:
        assert stop.code == 0, stop.code

fit("tiny" + sys.argv[1][sys.argv[1].rindex("."):], "-k", "4", "--out", "tiny-run", "--label-column", "y")
before = peak()
fit(sys.argv[1], "-k", "4", "--out", "run", "--memory", "0.1", "--label-column", "y")
print(peak() - before)
"""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, N_ROWS)
    rows = np.round(rng.normal(size=(N_ROWS, N_FEATURES)) + 4.0 * rng.normal(size=(4, N_FEATURES))[labels], 6)
    return rows, pa.table({f"c{i}": rows[:, i] for i in range(N_FEATURES)} | {"y": labels})


@pytest.mark.check
@pytest.mark.needs("linux")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_in_parts_gives_the_labels_of_the_array_in_little_memory(suffix, table, tmp_path):
    rows, columns = table
    for name, part in (("large", columns), ("tiny", columns.slice(0, 200))):
        if suffix == ".csv":
            pyarrow.csv.write_csv(part, tmp_path / f"{name}.csv")
        else:
            pyarrow.parquet.write_table(part, tmp_path / f"{name}.parquet", row_group_size=2_000)
    assert suffix != ".csv" or (tmp_path / "large.csv").stat().st_size > 40e6
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-c", PROGRAM, f"large{suffix}"]
    environment = os.environ | {"TMPDIR": str(scratch)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    *_, record, used = done.stdout.splitlines()
    assert float(used) < LIMITS[suffix]
    assert json.loads(record)["labels_given"]["scores"]["accuracy"] > 0.99
    expected = SGL(4, random_state=0).fit(rows)
    np.testing.assert_array_equal(load(tmp_path / "run" / "model.kedge").labels_, expected.labels_)
    assert not list(scratch.iterdir())
