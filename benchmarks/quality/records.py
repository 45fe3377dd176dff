"""Runs as lines of a file: written as they end, read by set and method."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
RECORDS, LAST_VERSION = RESULTS / "quality.jsonl", RESULTS / "last_version.jsonl"
HELD_OUT = RESULTS / "held_out.jsonl"
LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "umap-learn",
    "pynndescent",
    "numba",
    "hdbscan",
    "leidenalg",
    "igraph",
)


def versions():
    """Return the versions of the libraries that are installed."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def append(path, record):
    """Add one line."""
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def read(path):
    """Return the runs by set, method and seed; of several of the same the last."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        record = json.loads(line)
        found.setdefault(record["set"], {}).setdefault(record["method"], {})[record["seed"]] = record
    return found


def read_last_version(path=LAST_VERSION):
    """Return what the last version reached, by set and method."""
    found = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        found.setdefault(record["set"], {})[record["method"]] = record
    return found
