"""Every number in the prose of the README is one that the package or a recorded output gives."""

import re
import tomllib
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.quality import data, records, summary
from benchmarks.quality.page import readme_table
from kedge.cli.commands import BAD_INPUT

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORDS = {8: "eight", 13: "thirteen"}


def seconds_of_ten_million_rows():
    printed = (ROOT / "benchmarks/clustering/results/scaling_defaults.txt").read_text()
    return float(re.search(r"^10,000,000 +([0-9.]+)", printed, flags=re.M)[1])


def prose():
    text = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    return " ".join(line for line in text.splitlines() if not line.startswith("|"))


def test_no_number_is_left_that_nothing_checks():
    text = " ".join(prose().split())
    known = [
        r"BSD 3-clause",
        rf"Python {PROJECT['requires-python'].removeprefix('>=')} or newer",
        rf"exit code {BAD_INPUT}\b",
        # The text of the picture.
        rf"Map of {len(load_digits().target):,} handwritten digits in ten clusters",
        rf"ten million rows of thirty features in {seconds_of_ten_million_rows():.0f} seconds",
        rf"C\+\+{re.search(r'cxx_std_([0-9]+)', (ROOT / 'CMakeLists.txt').read_text())[1]}\b",
    ]
    for pattern in known:
        text, found = re.subn(pattern, "", text)
        assert found, pattern
    left = re.sub(r"\]\([^)]*\)", "", text)
    # Digits inside names, as in float32, do not count.
    assert re.findall(r".{0,30}\b\d.{0,20}", left) == []


def test_numbers_in_words():
    text = " ".join(prose().split())
    assert f"on {WORDS[len(data.SETS)]} data sets" in text
    assert f"the best of all {WORDS[len(summary.RIVALS)]} rivals" in text
    runs = records.read(records.RECORDS)
    assert {len(seeds) for by_method in runs.values() for seeds in by_method.values()} == {5}
    assert "mean of five seeds" in text


def test_the_traffic_on_dask_is_a_quarter_of_a_megabyte():
    traffic = (ROOT / "benchmarks/scale/results/dask_traffic.txt").read_text()
    moved = [float(line.split()[4]) for line in traffic.splitlines() if re.match(r"[\d,]+ +16 ", line)]
    assert round(4 * np.mean(moved)) == 1
    page = " ".join((ROOT / "docs/how_large.md").read_text(encoding="utf-8").split())
    assert "a pass moves about a quarter of a megabyte" in page


def test_the_table_is_what_the_recorded_runs_give():
    assert readme_table() in README


def test_the_picture_is_there_and_small():
    assert (ROOT / "docs/digits_map.png").stat().st_size < 150_000
    assert "](docs/digits_map.png)" in README


def test_every_extra_is_listed():
    listed = re.search(r"Extras: (.*?)\. ", " ".join(README.split()))[1]
    assert set(re.findall(r"`(\w+)`", listed)) == set(PROJECT["optional-dependencies"])
