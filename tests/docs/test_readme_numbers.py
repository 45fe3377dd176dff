"""Every number in the prose of the README is one that the package or a recorded output gives."""

import re
import tomllib
from pathlib import Path

import numpy as np

from benchmarks.quality.page import readme_table

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


def test_the_traffic_on_dask_is_half_a_megabyte():
    traffic = (ROOT / "benchmarks/scale/results/dask_traffic.txt").read_text()
    moved = [float(line.split()[4]) for line in traffic.splitlines() if re.match(r"[\d,]+ +16 ", line)]
    assert round(2 * np.mean(moved)) == 1
    page = " ".join((ROOT / "docs/how_large.md").read_text(encoding="utf-8").split())
    assert "a pass moves about half a megabyte" in page


def test_the_table_is_what_the_recorded_runs_give():
    assert readme_table() in README


def test_the_picture_is_there_and_small():
    assert (ROOT / "docs/digits_map.png").stat().st_size < 150_000
    assert "](docs/digits_map.png)" in README


def test_every_extra_is_listed():
    listed = re.search(r"Extras: (.*?)\. ", " ".join(README.split()))[1]
    assert set(re.findall(r"`(\w+)`", listed)) == set(PROJECT["optional-dependencies"])
