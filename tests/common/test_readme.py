"""Programs of the README and the pages run, and their numbers are what the benchmarks printed."""

import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from fit_in_process import fit_here
from scipy import sparse

from kedge import MSGL, SGL, baselines

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW_SOLVER = (ROOT / "docs/row_solver.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NUMBERS = {18: "eighteen", 19: "nineteen", 20: "twenty"}


def programs_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def small_views(rng):
    """Return views of the widths that the page on several views names, and the same as MuData."""
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    words, links = (sparse.random_array((90, width), density=0.02, rng=rng, format="csr") for width in (3703, 3312))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = mudata.MuData({"words": anndata.AnnData(words), "links": anndata.AnnData(links)})
    X = sparse.hstack([words, links], format="csr")
    return {"X": X, "words": words, "links": links, "mudata": both, "new_words": words[:5]}


def names_for(page, rng):
    """Return the names that a page takes for granted, with small data behind them."""
    X = rng.normal(size=(120, 6)) + np.repeat(np.eye(6) * 9, 20, axis=0)
    X1, X2 = X[:, :3], X[:, 3:]
    names = {
        "X": X,
        "X1": X1,
        "X2": X2,
        "new1": X1[:5],
        "new2": X2[:5],
        "X_new": X[:5],
        "np": np,
        "MSGL": MSGL,
        "SGL": SGL,
    }
    names["model"] = SGL(6, structure="exact", random_state=0).fit(X)
    # A page asks for fifty clusters of the rows of this file.
    np.save("rows.npy", np.repeat(30 * rng.normal(size=(50, 6)), 5, axis=0) + rng.normal(size=(250, 6)))
    if page in ("README.md", "how_large.md"):
        names["dask_array"] = pytest.importorskip("dask.array").from_array(X, chunks=(40, 6))
        names |= {"X": names["dask_array"], "X_new": names["dask_array"]} if page == "how_large.md" else {}
    return names | small_views(rng) if page == "several_views.md" else names


@pytest.mark.parametrize(
    "page",
    [PAGES[0], *(pytest.param(page, marks=pytest.mark.check) for page in PAGES[1:] if programs_of(page))],
    ids=lambda page: page.name,
)
def test_programs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit_here(monkeypatch)
    if page.name == "how_large.md":
        # Threads of this process do instead of processes of their own.
        distributed = pytest.importorskip("dask.distributed")
        threads = partial(distributed.Client, processes=False, n_workers=1, dashboard_address=None)
        monkeypatch.setattr("dask.distributed.Client", threads)
    names = names_for(page.name, np.random.default_rng(0))
    try:
        for program in programs_of(page):
            exec(program, names)
    finally:
        if "client" in names:
            names["client"].close()


def test_the_readme_programs_give_what_they_say():
    one_view, several_views, row_problem = {}, {}, {}
    programs = programs_of(ROOT / "README.md")
    exec(programs[0], one_view)
    assert len(one_view["model"].labels_) == 1797
    assert len(one_view["labels"]) == len(one_view["confidence"]) == 5
    exec(programs[1], several_views)
    assert len(several_views["model"].view_weights_) == 3
    exec(programs_of(ROOT / "docs/row_solver.md")[0], row_problem)
    assert row_problem["Z"].shape == (1, 2)


def test_sentences_on_the_row_solver_quote_the_benchmarks():
    text = " ".join(ROW_SOLVER.split())
    output = (ROOT / "benchmarks/row_solver/results/two_processors_avx2.txt").read_text()
    rows = [line.split() for line in output.splitlines() if re.match(r" +\d+ +(sparse|dense)", line)]
    # Words of a line: m, regime, support, cold, threads, warm, warm over cold, ..., residual, gap.
    threads = [float(row[4].rstrip("x")) for row in rows]
    assert f"residual is {max(float(row[-2]) for row in rows):.0e}" in text
    assert f"two threads are {min(threads)} to {max(threads)} times as fast as one" in text
    few, many = ([float(row[6].rstrip("x")) for row in rows if row[1] == kind] for kind in ("sparse", "dense"))
    assert f"few weights are solved {min(few):.1f} to {max(few):.1f} times as fast" in text
    assert f"rows with many {min(many):.1f} to {max(many):.1f} times" in text
    assert f"{re.search(r'n = ([0-9,]+), 2 threads', output)[1]} rows on two cores" in text
    ratios = [float(row[place].rstrip("x").replace(",", "")) for row in rows for place in (12, 15)]
    assert min(ratios) > 100
    assert "more than a hundred times as fast as quadprog and ProxQP" in " ".join(README.split())


def test_the_readme_counts_the_baselines():
    assert f"has {NUMBERS[len(baselines.available())]} other methods" in " ".join(README.split())


def test_every_row_of_the_table_was_printed_by_the_benchmark():
    output = (ROOT / "benchmarks/row_solver/results/two_processors_avx2.txt").read_text()
    printed = [line.split() for line in output.splitlines()]
    table = [line.strip("| \n").split(" | ") for line in ROW_SOLVER.splitlines() if re.match(r"\| \d", line)]
    assert len(table) == 8
    for anchors, support, rate, over_quadprog, over_proxqp in table:
        expected = [anchors, support, rate, f"{over_quadprog}x", f"{over_proxqp}x"]
        # Words of a line: m, regime, support, cold, ..., quadprog, its rows, ratio, ProxQP, its rows, ratio.
        assert expected in [[row[0], row[2], row[3], row[12], row[15]] for row in printed if len(row) > 15]


def test_table_of_exact_graphs_was_printed_by_the_benchmark():
    page = (ROOT / "docs/exact_structure.md").read_text(encoding="utf-8")
    output = (ROOT / "benchmarks/clustering/results/exact.txt").read_text()
    printed = [line.split() for line in output.splitlines()]
    table = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines() if "|" in line]
    rows = [row for row in table if row[1].isdigit()]
    assert len(rows) == 7
    for name, k, soft, exact, components, alternate, penalty in rows:
        # Words of a line: data, k, soft, exact, components, share of kept labels, ridge factor, alternate, penalty.
        expected = [name.lower(), k, soft, exact, components, alternate or "nan", penalty or "nan"]
        assert expected in [[*row[:5], *row[7:]] for row in printed if len(row) == 9]


def test_figures_of_how_large_were_printed_by_the_benchmarks():
    page = (ROOT / "docs/how_large.md").read_text(encoding="utf-8")
    names = (
        "clustering/results/scaling",
        "clustering/results/scaling_defaults",
        "scale/results/out_of_core",
    )
    output = "\n".join((ROOT / f"benchmarks/{name}.txt").read_text(encoding="utf-8") for name in names)
    printed = [line.split() for line in output.splitlines()]
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    in_memory = [row for row in rows if len(row) == 4 and row[0].replace(",", "").isdigit()]
    on_disk = [row for row in rows if len(row) == 5 and row[1].isdigit()]
    assert len(in_memory) == 8
    assert len(on_disk) == 2
    for n_rows, seconds, peak, size in in_memory:
        assert [n_rows, seconds, peak, size] in [[row[0], row[1], row[4], row[5]] for row in printed if len(row) > 6]
    for row in on_disk:
        # Words of a line: beta, passes, fit, predict, memory of the fit, peak.
        assert row in [[*words[:4], words[5]] for words in printed if len(words) > 6]


def test_sentences_of_how_large_quote_the_benchmarks():
    page = " ".join((ROOT / "docs/how_large.md").read_text(encoding="utf-8").split())
    files = {
        name: (ROOT / f"benchmarks/scale/results/{name}.txt").read_text() for name in ("out_of_core", "dask_traffic")
    }
    ratios = re.findall(r"(\d\.\d\d)  >= 0.6", files["out_of_core"])
    assert f"{ratios[0]} and {ratios[1]} times its rows per second" in page
    printed = (ROOT / "benchmarks/scale/results/command_line.txt").read_text()
    files_and_peaks = re.findall(r"^(?:csv|parquet) +(\S+) .* (\S+) +<= 1: met", printed, re.M)
    for size, peak in files_and_peaks:
        assert re.search(rf"file of {size} GB (takes )?{peak} GiB", page), size
    assert len(files_and_peaks) == 2
    growth = re.search(r"(\d+) times the rows, (\S+) times the bytes", files["dask_traffic"])
    assert f"{growth[2]} times the bytes for {growth[1]} times the rows" in page
