"""The README's program runs and its table is what the benchmark printed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_programs_run():
    programs = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    one_view, several_views = {}, {}
    exec(programs[0], one_view)
    assert len(one_view["model"].labels_) == 1797
    assert one_view["Z"].shape == (1, 2)
    exec(programs[1], several_views)
    assert len(several_views["model"].view_weights_) == 3


def test_every_row_of_the_table_was_printed_by_the_benchmark():
    output = (ROOT / "benchmarks/row_solver/results/two_processors_avx2.txt").read_text()
    printed = [line.split() for line in output.splitlines()]
    table = [line.strip("| \n").split(" | ") for line in README.splitlines() if re.match(r"\| \d", line)]
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


def test_table_of_several_views_was_printed_by_the_benchmark():
    page = (ROOT / "docs/several_views.md").read_text(encoding="utf-8")
    output = (ROOT / "benchmarks/multi_view/results/quality.txt").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=Citeseer|Caltech|NUS)", output)[1:]
    rows = [line.strip("|\n").split("|") for line in page.splitlines() if "±" in line and line.startswith("|")]
    assert len(rows) == len(blocks) == 3
    for (_, ours, kmeans, best, per_view), block in zip(rows, blocks, strict=True):
        # Words of a line: the method, ACC, its deviation, NMI, its deviation.
        printed = {line.split("  ")[0]: re.findall(r"[\d.]+ ± [\d.]+", line) for line in block.splitlines()}
        found = {method: scores[0] for method, scores in printed.items() if scores}
        assert ours.strip() == found["MSGL, defaults"]
        assert per_view.strip() == found["MSGL, anchors per view"]
        assert kmeans.strip() == next(value for name, value in found.items() if name.startswith("KMeans, joined"))
        singles = [value for name, value in found.items() if name.startswith("SGL, ") and name != "SGL, joined"]
        assert best.strip() == max(singles, key=lambda value: float(value.split()[0]))


def test_figures_of_how_large_were_printed_by_the_benchmarks():
    page = (ROOT / "docs/how_large.md").read_text(encoding="utf-8")
    names = ("clustering/results/scaling", "scale/results/out_of_core", "scale/results/billion")
    output = "\n".join((ROOT / f"benchmarks/{name}.txt").read_text(encoding="utf-8") for name in names)
    printed = [line.split() for line in output.splitlines()]
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    in_memory = [row for row in rows if len(row) == 4 and row[0].replace(",", "").isdigit()]
    on_disk = [row for row in rows if len(row) == 5 and row[1].isdigit()]
    assert len(in_memory) == 4
    assert len(on_disk) == 2
    for n_rows, seconds, peak, size in in_memory:
        assert [n_rows, seconds, peak, size] in [[row[0], row[1], row[4], row[5]] for row in printed if len(row) > 6]
    for row in on_disk:
        # Words of a line: beta, passes, fit, predict, memory of the fit, peak.
        assert row in [[*words[:4], words[5]] for words in printed if len(words) > 6]
    billion = [row for row in rows if len(row) == 2 and row[0] not in ("what", "---")]
    assert len(billion) == 10
    for what, size in billion:
        assert [*what.split(), *size.split()] in printed


def test_sentences_of_how_large_quote_the_benchmarks():
    page = " ".join((ROOT / "docs/how_large.md").read_text(encoding="utf-8").split())
    files = {
        name: (ROOT / f"benchmarks/scale/results/{name}.txt").read_text() for name in ("out_of_core", "dask_traffic")
    }
    ratios = re.findall(r"(\d\.\d\d)  >= 0.6", files["out_of_core"])
    assert f"{ratios[0]} and {ratios[1]} times its rows per second" in page
    growth = re.search(r"(\d+) times the rows, (\S+) times the bytes", files["dask_traffic"])
    assert f"{growth[2]} times the bytes for {growth[1]} times the rows" in page
    scores = re.findall(
        r"^(?:sample|all rows) +(\S+) ±", (ROOT / "benchmarks/scale/results/sampling.txt").read_text(), re.M
    )
    for sample, all_rows in (scores[:2], scores[2:]):
        assert f"{sample} %" in page
        assert f"{all_rows} %" in page
