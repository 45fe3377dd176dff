"""``make demo``: three views in three kinds of files, clustered by the command line, and a report."""

import json

import kedge


def test_the_demo_ends_with_the_place_of_its_report(demo):
    folder, printed = demo
    assert printed.splitlines()[-1].split() == ["report", str(folder / "run" / "report.html")]
    assert (folder / "run" / "report.html").stat().st_size > 100_000


def test_the_demo_clusters_three_views_and_keeps_the_digits_for_scores(demo):
    folder, _ = demo
    run = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert [view["kind"] for view in run["data"]] == ["csv", "npz", "npy"]
    model = kedge.load(folder / "run" / "model.kedge")
    assert list(model.view_names_) == ["fourier", "pixels", "strokes"]
    assert model.view_widths_ == [16, 64, 24]
    # Guessing is right for a tenth of the digits.
    assert run["labels_given"]["scores"]["accuracy"] > 0.85
