"""What the documentation shows is what was recorded, and no large difference from the paper goes without a word."""

import json
import re

import numpy as np
import pytest

import kedge
from benchmarks.paper import docs_tables
from benchmarks.paper.pages import write_overview, write_pages
from benchmarks.paper.plan import CHOOSING, WHOLE, all_units, experiments, reported_units, settings_of
from benchmarks.paper.protocols import make_estimator
from benchmarks.paper.results import read_records
from benchmarks.paper.tables import UNEXPLAINED
from kedge.baselines import available

PAGES = docs_tables.RESULTS.parent
TEXTS = sorted(PAGES.glob("*.md"))
RECORDS = read_records(docs_tables.RESULTS)


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    """Pretend that no data is here: what is recorded must be shown all the same."""
    monkeypatch.setattr("benchmarks.paper.plan.why_not_here", lambda data: "not here")


def test_tables_of_the_docs_are_cut_from_the_results():
    text = docs_tables.PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- generated: ") >= 7
    assert docs_tables.filled(text, RECORDS) == text


def test_a_changed_number_is_noticed():
    text = docs_tables.PAGE.read_text(encoding="utf-8")
    changed = re.sub(r"\*\*\d\d\.\d / ", "**99.9 / ", text, count=1)
    assert changed != text
    assert docs_tables.filled(changed, RECORDS) == text


@pytest.mark.parametrize("name", [name for name in experiments() if (PAGES / f"{name}.md").exists()])
def test_pages_are_those_of_the_results(name, tmp_path, monkeypatch):
    # Figures are drawn by matplotlib and differ in bytes between its versions; their numbers are in the tables.
    monkeypatch.setattr("benchmarks.paper.pages.draw", lambda experiment, lines, folder: _figures_of(name))
    write_pages([experiments()[name]], RECORDS, WHOLE, tmp_path)
    for suffix in ("md", "html"):
        assert (tmp_path / f"{name}.{suffix}").read_text() == (PAGES / f"{name}.{suffix}").read_text()


def _figures_of(name):
    known = experiments()[name]
    stems = [name] + [f"{name}-{data}{whose}" for data in known.data for whose in ("", "-kedge")]
    return [PAGES / f"{stem}.svg" for stem in stems if (PAGES / f"{stem}.svg").exists()]


def test_overview_is_that_of_the_results(tmp_path):
    write_overview(list(experiments().values()), RECORDS, WHOLE, tmp_path)
    for name in ("index.md", "index.html"):
        assert (tmp_path / name).read_text() == (PAGES / name).read_text()


def test_every_large_difference_has_its_sentence():
    assert [file.name for file in TEXTS if UNEXPLAINED in file.read_text(encoding="utf-8")] == []


def test_nothing_is_left_to_run_and_no_path_is_told():
    unwanted = re.compile(r"not run yet|/(home|root|tmp|work)/")
    assert [file.name for file in TEXTS if unwanted.search(file.read_text(encoding="utf-8"))] == []


def _scores(experiment, data, label):
    """Return the accuracies of every seed by setting, of one method on one data set."""
    column = next(column for column in experiment.columns if column.label == label)
    units = all_units(experiment, column, data, RECORDS, WHOLE)
    found = {}
    for unit in units:
        found.setdefault(unit.parameters, []).append(RECORDS[unit.key]["acc"])
    return found


def test_anchors_by_ffs_are_not_those_by_kmeans(subtests):
    known = experiments()
    for data in known["anchors"].data:
        for column in known["anchors"].columns:
            with subtests.test(data=data, label=column.label):
                by_kmeans, by_ffs = (_scores(known[name], data, column.label) for name in ("anchors", "anchors-ffs"))
                pairs = zip(by_kmeans.values(), by_ffs.values(), strict=True)
                assert all(first != second for first, second in pairs)


def test_alpha_matters_somewhere_in_every_panel(subtests):
    experiment = experiments()["sensitivity"]
    for data in experiment.data:
        for column in experiment.columns:
            with subtests.test(data=data, label=column.label):
                cells = _scores(experiment, data, column.label)
                assert len({tuple(scores) for scores in cells.values()}) > 3


def test_grid_of_caltech_is_that_of_the_release():
    column = next(one for one in experiments()["caltech101-7"].columns if one.method == "MSGL as published")
    assert column.grid == {
        "n_anchors": [100, 110, 120, 130],
        "alpha": [1.0, 10.0],
        "beta": [5e4, 1e5, 5e5],
        "gamma": [-1.0, -2.0, -3.0, -4.0, -5.0],
        "scale": ["none"],
    }


def test_rows_that_win_and_data_that_cannot_be_had_are_in_the_tables():
    for name in ("citeseer", "caltech101-7", "nus"):
        table = docs_tables.table_of(name, RECORDS)
        assert "| SpectralClustering on joined views |" in table
        assert "| SGL on joined views (kedge defaults) |" in table
    table = docs_tables.table_of("six-data-sets", RECORDS)
    assert "| SpectralClustering of scikit-learn |" in table
    assert "| rcv1-4 |" in table
    assert table.count("data cannot be had") == len(experiments()["six-data-sets"].columns)


def test_rows_of_a_table_are_different_fits(subtests):
    """Two methods whose parameters differ cannot have the same score for every seed: one would not be what it says."""
    for experiment in experiments().values():
        if experiment.kind not in CHOOSING:
            continue
        for data in experiment.data:
            seen = {}
            for column in experiment.columns:
                for cell, units in reported_units(experiment, column, data, RECORDS, WHOLE).items():
                    runs = [RECORDS.get(unit.key, {}) for unit in units[:5]]
                    scores = [run.get("acc") for run in runs]
                    if len(scores) < 5 or None in scores:
                        continue
                    # With nearly all rows in one cluster, all ways to predict agree.
                    if min(run["inverse_purity"] for run in runs) > 97:
                        continue
                    settings = json.loads(cell)
                    neighbors_of = settings.pop("neighbors_of", None)
                    estimator = make_estimator(column.method, 2, 0, settings)
                    fit = (column.method, neighbors_of, str(estimator))
                    with subtests.test(table=experiment.name, data=data, method=column.label):
                        assert seen.setdefault(tuple(scores), fit) == fit


def test_reconstructions_are_marked_wherever_they_stand():
    columns = [column for experiment in experiments().values() for column in experiment.columns]
    rebuilt = {method.name for method in available() if method.reconstruction}
    assert {column.method for column in columns} > rebuilt
    assert [one.label for one in columns if (one.method in rebuilt) != ("our reconstruction" in one.label)] == []


def test_settings_are_chosen_with_five_seeds_and_the_number_tried_is_told():
    for name, experiment in experiments().items():
        if experiment.kind in CHOOSING:
            assert experiment.n_choice_seeds >= 5, name
            for column in experiment.columns:
                # Fits of a minute and more have notes that say so.
                assert (column.n_choice_seeds or 5) >= 5 or "because" in column.note, column.label
    assert re.search(r"★\d+ \|", docs_tables.table_of("citeseer", RECORDS))
    assert "best of 120 by 5 seeds" in (PAGES / "caltech101-7.md").read_text(encoding="utf-8")
    assert "best of 48 by 5 seeds" in (PAGES / "six-data-sets.md").read_text(encoding="utf-8")


def test_the_first_paragraph_has_the_figures_of_the_tables():
    text = " ".join(docs_tables.PAGE.read_text(encoding="utf-8").split())
    gaps = {}
    for name in ("six-data-sets", "citeseer", "caltech101-7"):
        experiment = experiments()[name]
        column = next(one for one in experiment.columns if one.label.endswith("(published settings)"))
        for data in experiment.data:
            for units in reported_units(experiment, column, data, RECORDS, WHOLE).values():
                scores = [RECORDS[unit.key]["acc"] for unit in units if unit.key in RECORDS]
                if scores:
                    gaps[data] = np.array(scores)
    printed = {"ba": 48.51, "orl": 68.83, "tr11": 75.31, "tr41": 77.79, "tr45": 74.41}
    below = [round(figure - gaps[data].mean()) for data, figure in printed.items()]
    spreads = [round(gaps[data].std()) for data in printed]
    assert f"by {min(below)} to {max(below)} points, and on Citeseer by {round(54.5 - gaps['citeseer'].mean())}" in text
    assert f"over the seeds is {min(spreads)} to {max(spreads)} points" in text
    tr45, caltech = gaps["tr45"], gaps["caltech101-7-reextracted"]
    assert f"the best has {tr45.mean():.1f} over twenty draws of anchors, and {tr45.max():.1f} for the luckiest" in text
    assert f"{round(73.31 - caltech.mean())} points below, with a standard deviation of {round(caltech.std())}" in text


def test_a_method_with_few_settings_says_why():
    """A rival that was tuned less than ours has a note, which the tables print."""
    for experiment in experiments().values():
        for column in experiment.columns if experiment.kind == "table" else ():
            n_settings = min(len(settings_of(column, data, WHOLE)) for data in experiment.data)
            if n_settings < 6 and column.method not in ("SGL", "SGL on joined views", "MSGL", "JoinedKMeans"):
                assert column.note, (experiment.name, column.label)


def test_every_record_says_what_made_it():
    for record in RECORDS.values():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", record["when"]), record["key"]
        assert re.fullmatch(r"[0-9a-f]{10}", record["commit"]), record["key"]
        assert record["versions"]["kedge"] == kedge.__version__, record["key"]


@pytest.mark.parametrize("name", experiments())
def test_no_table_or_figure_mixes_versions(name):
    experiment = experiments()[name]
    pairs = [(data, column) for data in experiment.data for column in experiment.columns]
    found = {
        RECORDS[unit.key]["versions"]["kedge"]
        for data, column in pairs
        for unit in all_units(experiment, column, data, RECORDS, WHOLE)
        if unit.key in RECORDS
    }
    assert found == {kedge.__version__}
    table = docs_tables.table_of("overview", RECORDS)
    assert re.search(rf"/{name}\.md\).* {re.escape(found.pop())} \|$", table, re.M)
