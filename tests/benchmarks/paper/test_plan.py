"""The declared experiments are readable and ask for things that exist."""

import inspect
import json

import pytest

from benchmarks.paper.plan import GENERATED, WHOLE, experiments, read_experiment, settings_of
from benchmarks.paper.protocols import AS_PUBLISHED, JOINED, OURS
from kedge.baselines import find_method
from kedge.datasets import available

EXPERIMENTS = experiments()
PAIRS = [(e, c) for e in EXPERIMENTS.values() for c in e.columns]


def test_every_table_and_figure_of_the_paper_is_there():
    assert set(EXPERIMENTS) == {
        "six-data-sets",
        "out-of-sample",
        "caltech101-7",
        "citeseer",
        "nus",
        "anchors",
        "anchors-ffs",
        "sensitivity",
        "convergence",
        "complexity",
        "time",
    }


def test_methods_data_and_parameters_exist(subtests):
    for experiment, column in PAIRS:
        with subtests.test(f"{experiment.name}-{column.label}"):
            method = column.method.removesuffix(JOINED)
            estimator = (OURS | AS_PUBLISHED).get(method) or find_method(method).estimator
            allowed = set(inspect.signature(estimator).parameters) | {"neighbors_of"}
            known = {entry.name for entry in available()} | {GENERATED}
            for data in experiment.data:
                assert data in known
                for cell in settings_of(column, data, WHOLE):
                    assert set(json.loads(cell)) <= allowed
            assert set(column.skip) | set(column.per_data) <= set(experiment.data)
            assert column.published is None or any(column.published in row for row in experiment.published.values())


def test_published_numbers_obey_their_bounds():
    for experiment in EXPERIMENTS.values():
        for data, methods in experiment.published.items():
            if data == "stated":
                continue
            for name, row in methods.items():
                assert {"acc", "nmi", "purity", "seconds"} <= set(row), (experiment.name, data, name)
                assert all(0 <= row[measure] <= 100 for measure in ("acc", "nmi", "purity"))
                assert row["seconds"] > 0


def test_the_best_published_accuracy_is_that_of_the_papers_method():
    table = EXPERIMENTS["six-data-sets"].published
    assert len(table) == 6
    for row in table.values():
        assert set(row) == {"ALRR", "KMM", "ESSC", "FNC", "SSCOMP", "SGL"}
        assert max(row, key=lambda name: row[name]["acc"]) == "SGL"


def test_mistakes_in_a_declaration_are_named():
    with pytest.raises(ValueError, match=r"mine.toml: kind='graph'"):
        read_experiment("mine", 'kind = "graph"\ndata = []\nmethods = []')
    twice = 'kind = "table"\ntitle = "t"\ndata = []\n' + '[[methods]]\nlabel = "a"\nmethod = "KMeans"\n' * 2
    with pytest.raises(ValueError, match="two methods have the same label"):
        read_experiment("mine", twice)
