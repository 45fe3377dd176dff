"""Every number in the prose of the README is one that the package or a recorded output gives."""

import re
import tomllib
from pathlib import Path

import numpy as np

import kedge
from kedge.cli.commands import BAD_INPUT

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROW_SOLVER = (ROOT / "benchmarks/row_solver/results/two_processors_avx2.txt").read_text()
# tests/common/test_readme.py holds these against the outputs that they are taken from.
QUOTED = [
    r"residual is 5e-16",
    r"two threads are [\d.]+ to [\d.]+ times as fast",
    r"few weights are solved [\d.]+ to [\d.]+ times as fast",
    r"rows with many [\d.]+ to [\d.]+ times",
    r"A file of \d+ GB is fitted within [\d.]+ GB",
]


def prose():
    text = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    return " ".join(line for line in text.splitlines() if not line.startswith("|"))


def test_no_number_is_left_that_nothing_checks():
    text = " ".join(prose().split())
    known = [
        r"min 1/2 z'Hz",
        r"BSD 3-clause",
        rf"Python {PROJECT['requires-python'].removeprefix('>=')} or newer",
        rf"exit code {BAD_INPUT}\b",
        rf"Version {re.escape(kedge.__version__)} has",
        rf"{re.search(r'n = ([0-9,]+), 2 threads', ROW_SOLVER)[1]} rows on two cores",
        rf"C\+\+{re.search(r'cxx_std_([0-9]+)', (ROOT / 'CMakeLists.txt').read_text())[1]}\b",
    ]
    for pattern in [*known, *QUOTED]:
        text, found = re.subn(pattern, "", text)
        assert found, pattern
    left = re.sub(r"\]\([^)]*\)", "", text)
    # Digits within names, as in float32, are none.
    assert re.findall(r".{0,30}\b\d.{0,20}", left) == []


def test_numbers_in_words():
    text = " ".join(prose().split())
    traffic = (ROOT / "benchmarks/scale/results/dask_traffic.txt").read_text()
    moved = [float(line.split()[4]) for line in traffic.splitlines() if re.match(r"[\d,]+ +16 ", line)]
    assert round(2 * np.mean(moved)) == 1
    assert "a pass on a Dask cluster moves half a megabyte" in text


def test_every_extra_is_listed():
    listed = re.search(r"Extras: (.*?)\. ", " ".join(README.split()))[1]
    assert set(re.findall(r"`(\w+)`", listed)) == set(PROJECT["optional-dependencies"])
