"""Pages show the paper's value, ours and the difference, and what used labels."""

import pytest
from small_experiment import CUT, EXPERIMENT

from benchmarks.paper.pages import write_pages
from benchmarks.paper.plan import Cut, experiments, pending_units, read_experiment


def filled(experiment, cut):
    records = {}
    while left := pending_units(experiment, records, cut):
        for unit in left:
            score = 40.0 + unit.seed + len(unit.parameters) % 7
            record = dict.fromkeys(("acc", "nmi", "purity", "inverse_purity", "ari"), score)
            record |= {"seconds": 1e-3 * (unit.n_rows or 100) ** 1.5, "objective": [3.0, 2.0, 1.9]}
            made_by = {"versions": {"kedge": "0"}, "commit": "0123456789", "when": "2026-11-18 12:00"}
            records[unit.key] = record | {"machine": "a machine", "side_by_side": 2} | made_by
    return records


def test_tables_show_published_value_ours_difference_and_choice(tmp_path):
    write_pages([EXPERIMENT], filled(EXPERIMENT, CUT), CUT, tmp_path)
    text = (tmp_path / "small.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| k-means ★"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    ours = float(cells[2].split(" ±")[0])
    # The number itself says that labels chose its setting.
    assert cells[2].endswith("★2")
    assert cells[1] == "20"
    assert cells[3] == f"{ours - 20:+.1f}"
    assert "best of 2 by 2 seeds; 3 seeds" in cells[-1]
    assert "A CUT of the experiment" in text
    assert "a machine; 2 units side by side; kedge 0; commit 0123456789; 2026-11-18." in text
    page = (tmp_path / "small.html").read_text()
    assert "<table>" in page
    assert "k-means ★" in page
    assert '<td class="paper">20</td>' in page
    fixed = next(line for line in text.splitlines() if line.startswith("| fixed"))
    assert fixed.count("★") == 1  # of the best run, which labels picked
    assert fixed.split("|")[5].strip().endswith("★")
    assert "2 seeds; one setting |" in fixed


@pytest.mark.parametrize("name", ["anchors", "sensitivity", "convergence", "complexity", "time"])
def test_figures_are_drawn(name, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.paper.plan.why_not_here", lambda data: None)
    experiment = experiments()[name]
    cut = Cut(n_seeds=2)
    files = write_pages([experiment], filled(experiment, cut), cut, tmp_path)
    pictures = [file for file in files if file.suffix in (".png", ".svg")]
    assert pictures
    assert all(file.stat().st_size > 5_000 for file in pictures)
    if name == "complexity":
        assert "n^1.50" in (tmp_path / "complexity.md").read_text()


def test_data_that_is_not_here_is_said_without_paths_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.paper.plan.why_not_here", lambda data: "not in /home/me/data")
    experiment = read_experiment(
        "gone", 'kind = "table"\ntitle = "t"\ndata = ["mnist"]\n[[methods]]\nlabel = "a"\nmethod = "KMeans"'
    )
    write_pages([experiment], {}, Cut(), tmp_path)
    text = (tmp_path / "gone.md").read_text()
    assert "data not at hand; python -m benchmarks.paper --list says why" in text
    assert "/home/me" not in text
