"""The registry lists every method with what one needs to choose it."""

import json
from pathlib import Path

import pytest

from benchmarks.paper.plan import expand_grid
from kedge import baselines
from kedge.baselines.base import MultiViewBaseline
from kedge.kernels.selection import default_threads

METHODS = baselines.available()


def test_every_class_is_registered_once():
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert set(names) == set(baselines.__all__) - {"Method", "available", "find_method"}


def test_kind_reference_and_grid_are_those_of_the_class(subtests):
    for method in METHODS:
        with subtests.test(method.name):
            assert method.estimator.__name__ == method.name
            assert (method.kind == "multi") == issubclass(method.estimator, MultiViewBaseline)
            assert "References" in method.estimator.__doc__
            assert any(year in method.reference for year in map(str, range(1980, 2024)))
            assert (
                "our reconstruction" in " ".join(method.estimator.__doc__.split()).lower() or not method.reconstruction
            )
            assert "n" in method.cost
            for cell in expand_grid(method.grid, 4):
                # Parameters of the grid exist and are accepted by name.
                assert set(json.loads(cell)) <= set(method.make(3).get_params())


def test_sizes_are_told(subtests):
    for method in METHODS:
        with subtests.test(method.name):
            assert method.largest_n > 1_000
            assert method.make(8).memory_needed(method.largest_n, 100) <= 24e9


def test_methods_are_found_by_any_spelling_and_unknown_ones_are_named():
    assert baselines.find_method("sscomp").estimator is baselines.SSCOMP
    assert [method.kind for method in baselines.available("single")] == ["single"] * len(baselines.available("single"))
    with pytest.raises(ValueError, match="no baseline 'ssc-omp'; did you mean 'SSCOMP'"):
        baselines.find_method("ssc-omp")
    with pytest.raises(ValueError, match="kind='both'"):
        baselines.available("both")


def test_the_page_on_baselines_says_what_the_registry_says(subtests):
    for method in METHODS:
        with subtests.test(method.name):
            page = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
            row = next(line for line in page.splitlines() if line.startswith(f"| `{method.name}` |"))
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            assert cells[2].startswith(method.title)
            assert cells[3] == method.cost
            # The page has the figures of two threads, whose buffers count too.
            near = 1.02 if default_threads() == 2 else 2.5
            assert 1 / near < int(cells[4].replace(",", "")) / method.largest_n < near
            assert (cells[5] == "predict") == method.predicts
