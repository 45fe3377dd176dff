"""What a fit will take: the parts of an estimate, how it grows with the rows, and its errors."""

import json

import numpy as np
import pytest
from scipy import sparse

import kedge
from kedge import MSGL, SGL, probe
from kedge.anchors import sets
from kedge.planning import _rows_for_anchors, may_take_long, plan_fit

PARTS = ["checking and scaling", "anchors", "passes over the rows", "communities", "labels and embedding"]
N_ROWS = 4_500


@pytest.fixture(autouse=True)
def short_probe(monkeypatch):
    """Fit one sample only: how long it takes is of no interest here."""
    monkeypatch.setattr("kedge.planning.PROBE_SECONDS", 0.0)


def rows(n_rows=N_ROWS, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_features)) + 8 * rng.integers(0, 3, n_rows)[:, None]


FINE = {"n_anchors": 400, "n_init": 2}


def test_an_estimate_has_all_parts_and_they_add_up():
    found = kedge.plan(rows(), 3, **FINE)
    assert list(found.parts) == PARTS
    assert min(found.parts.values()) >= 0
    assert found.seconds == pytest.approx(sum(found.parts.values()))
    assert found.memory_bytes == sum(found.memory_parts.values())
    assert (found.n_rows, found.n_passes, found.disk_bytes, found.notes) == (N_ROWS, 1, 0, ())
    assert json.loads(json.dumps(found.as_dict()))["parts"] == found.parts


def test_the_time_to_take_a_sample_is_not_counted(monkeypatch):
    now, take = [0.0], probe.RowsInMemory.sample

    def tick():
        now[0] += 0.001
        return now[0]

    def take_slowly(*arguments):
        now[0] += 1_000.0
        return take(*arguments)

    monkeypatch.setattr(probe, "perf_counter", tick)
    monkeypatch.setattr(probe.RowsInMemory, "sample", take_slowly)
    assert kedge.plan(rows(), 3, **FINE).seconds < 10


def test_an_estimate_reads_well():
    lines = str(kedge.plan(rows(), 3, **FINE)).splitlines()
    assert lines[0].startswith("about ")
    assert lines[0].endswith("of memory, no disk for 4,500 rows, 800 anchors, 1 pass")
    assert [part for part in PARTS if not any(part in line for line in lines)] == []


@pytest.mark.parametrize(
    "parameters",
    [{}, FINE, {"n_anchors": 50}, {"beta": 0.1, "n_anchors": 30}, {"signed": True, "n_anchors": 30}],
    ids=str,
)
def test_the_anchors_are_those_of_the_fit(parameters):
    X = rows(n_features=12)
    assert kedge.plan(X, 3, **parameters).n_anchors == len(SGL(3, random_state=0, **parameters).fit(X).anchors_)


def test_the_anchors_of_many_rows_are_not_those_of_the_sample(monkeypatch):
    X = rows(20_000)
    monkeypatch.setattr("kedge.probe.MOST_REBUILT_ROWS", 4_000)
    expected = sets.count_anchors(20_000, 6, "auto", "auto").sizes
    assert kedge.plan(X, 3).n_anchors == sum(expected)


def test_few_rows_are_planned_with_one_anchor_set_for_all():
    X = rows(200, 20)
    assert kedge.plan(X, 3).n_anchors == len(SGL(3, random_state=0).fit(X).anchors_)


def test_views_are_planned_with_the_fit_of_several():
    X = rows()
    views = {"left": X[:, :2], "right": X[:, 2:]}
    model = MSGL(3, random_state=0, **FINE).fit(views)
    for given in (views, list(views.values())):
        assert kedge.plan(given, 3, **FINE).n_anchors == len(model.anchors_[0])
    assert kedge.plan(X, 3, views=[2, 4], **FINE).n_anchors == len(model.anchors_[0])


def test_rows_that_lack_views_are_planned():
    X = rows()
    observed = np.ones((N_ROWS, 2), dtype=bool)
    observed[: N_ROWS // 3, 1] = False
    found = kedge.plan([X[:, :3], X[:, 3:]], 3, observed=observed, **FINE)
    assert found.n_anchors == 800


def test_sparse_rows_are_planned():
    X = sparse.random(N_ROWS, 300, 0.05, format="csr", random_state=0)
    assert kedge.plan(X, 3, **FINE).n_rows == N_ROWS


def test_the_results_of_a_fit_have_room():
    X = rows(9_000)
    model = SGL(3, random_state=0, **FINE).fit(X)
    graph = model.graph_
    kept = graph.data.nbytes + graph.indices.nbytes + graph.indptr.nbytes
    kept += model.labels_.nbytes + model.embedding_.nbytes + model.confidence_.nbytes
    assert kedge.plan(X, 3, **FINE).memory_parts["results"] >= kept


def test_memory_of_results_grows_in_proportion_to_the_rows():
    short, long = (kedge.plan(rows(count), 3, **FINE).memory_parts["results"] for count in (6_000, 12_000))
    assert long == pytest.approx(2 * short, rel=0.02)


def file_of(folder, n_rows):
    path = folder / f"rows-{n_rows}.npy"
    np.save(path, rows(n_rows).astype(np.float32))
    return path


def test_the_disk_holds_the_weights_of_all_rows_on_disk(tmp_path):
    short, long = (kedge.plan(file_of(tmp_path, count), 3, **FINE).disk_bytes for count in (6_000, 12_000))
    assert long == pytest.approx(2 * short, rel=0.001)
    model = SGL(3, random_state=0, **FINE).fit(tmp_path / "rows-6000.npy")
    assert written_bytes(model.graph_) == pytest.approx(short, rel=0.01)


def written_bytes(graph):
    """Return the size of the file with the weights of the last pass."""
    file = graph._store._last
    last = file.places[-1]
    return last.offset + 8 * (last.n_rows + 1) + (4 + file.dtype.itemsize) * last.n_weights


def test_passes_over_rows_on_disk_leave_room_for_two_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("kedge.planning.PROBE_SECONDS", 60.0)
    path = file_of(tmp_path, 6_000)
    parameters = {"n_anchors": 30, "beta": 0.2}
    model = SGL(3, random_state=0, **parameters).fit(path)
    assert kedge.plan(path, 3, **parameters).disk_bytes == pytest.approx(2 * written_bytes(model.graph_), rel=0.1)


def test_passes_that_did_not_settle_are_named():
    found = kedge.plan(rows(), 3, n_anchors=30, beta=0.2)
    assert found.n_passes == 1
    assert found.notes == ("The passes did not settle during the probe; there may be more of them than 1.",)


def test_reading_rows_on_disk_is_a_part(tmp_path):
    found = kedge.plan(file_of(tmp_path, 6_000), 3, **FINE)
    assert found.parts["reading rows"] > 0
    assert found.n_anchors == 800


def test_views_on_disk_and_in_memory_go_together(tmp_path):
    path = file_of(tmp_path, 6_000)
    found = kedge.plan([path, rows(6_000)], 3, **FINE)
    assert (found.n_rows, found.n_anchors) == (6_000, 800)


def test_rows_of_a_slow_disk_take_longer(tmp_path, monkeypatch):
    from kedge.readers.excerpts import Excerpt, read_excerpt

    path = file_of(tmp_path, 6_000)
    quick = kedge.plan(path, 3, **FINE)

    def read_slowly(views, least):
        found = read_excerpt(views, least)
        return Excerpt(found.numbers, found.views, [1.0], [10.0])

    monkeypatch.setattr("kedge.probe.read_excerpt", read_slowly)
    slow = kedge.plan(path, 3, **FINE)
    # One pass over all rows, and several samples that are as dense as the file.
    assert slow.parts["reading rows"] > 6_000 > quick.parts["reading rows"]


@pytest.mark.parametrize(
    ("X", "parameters"),
    [
        (np.ones((10, 2)), {"n_clusters": 11}),
        (np.ones((10, 2)), {"n_clusters": 0}),
        (np.ones((10, 2)), {"n_clusters": 2, "n_anchors": 20}),
        (np.ones((10, 2)), {"n_clusters": 2, "scale": "loud"}),
        (np.ones((10, 2)), {"n_clusters": 2, "unknown": 1}),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), {"n_clusters": 1}),
        ([np.ones((10, 2)), np.ones((9, 2))], {"n_clusters": 2}),
        ("nowhere.npy", {"n_clusters": 2}),
    ],
    ids=repr,
)
def test_errors_are_those_of_the_fit(X, parameters):
    estimator = MSGL if isinstance(X, list) else SGL
    with pytest.raises((ValueError, TypeError, OSError)) as of_fit:
        estimator(**parameters).fit(X)
    with pytest.raises(type(of_fit.value)) as of_plan:
        kedge.plan(X, **parameters)
    assert str(of_plan.value) == str(of_fit.value)


def test_views_on_disk_of_different_lengths_are_refused(tmp_path):
    paths = [file_of(tmp_path, count) for count in (5_000, 6_000)]
    with pytest.raises(ValueError, match="views differ in their number of rows"):
        kedge.plan(paths, 3)


def test_one_view_has_no_missing_views():
    with pytest.raises(ValueError, match="observed says which views"):
        kedge.plan(rows(), 3, observed=np.ones((N_ROWS, 1), dtype=bool))


def test_dask_arrays_are_refused():
    array = pytest.importorskip("dask.array").from_array(rows(100), chunks=(50, 6))
    with pytest.raises(ValueError, match="Dask array"):
        kedge.plan(array, 3)


def test_too_little_memory_and_disk_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("kedge.planning.machine_memory", lambda: 1 << 20)
    monkeypatch.setattr("kedge.planning.shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1}))
    found = kedge.plan(file_of(tmp_path, 5_000), 3, **FINE, scratch_folder=tmp_path)
    assert len(found.notes) == 2
    assert "memory" in found.notes[0]
    assert str(tmp_path) in found.notes[1]
    assert str(found).endswith(found.notes[1])


def test_the_estimator_stays_as_it_is():
    calls = []
    model = SGL(3, callback=calls.append, random_state=np.random.RandomState(0), **FINE)
    before = model.random_state.get_state()[1].copy()
    plan_fit(model, rows())
    assert not hasattr(model, "labels_")
    assert calls == []
    assert np.array_equal(model.random_state.get_state()[1], before)


def test_a_checkpoint_is_not_begun(tmp_path):
    found = kedge.plan(rows(), 3, checkpoint=tmp_path / "run", random_state=0, **FINE)
    assert not (tmp_path / "run").exists()
    assert found.disk_bytes > 0


def test_anchors_are_found_from_as_many_rows_as_the_estimate_says(monkeypatch):
    sizes = []
    original = sets.sample_rows

    def count(n_rows, size, random_state):
        sizes.append(size)
        return original(n_rows, size, random_state)

    monkeypatch.setattr(sets, "sample_rows", count)
    X = rows()
    for parameters in (FINE, {"n_anchors": 30}):
        sizes.clear()
        model = SGL(3, random_state=0, **parameters)
        views = model._read(X, reset=True)
        source, _, plan = model._prepare(views, views)
        sets.choose_anchor_sets(source, plan.anchors, np.ones(1), np.random.RandomState(0))
        assert set(sizes) == {_rows_for_anchors(plan.anchors)}


def test_only_long_fits_are_worth_a_probe():
    assert not may_take_long(SGL(), 1_000_000, 30)
    assert may_take_long(SGL(), 20_000_000, 30)
    assert may_take_long(SGL(beta=0.2), 1_000_000, 30)
    assert not may_take_long(SGL(n_anchors=20), 20_000_000, 30)
