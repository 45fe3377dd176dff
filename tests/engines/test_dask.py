"""Dask arrays: the same result on worker processes, also when one is killed; errors that say what to do."""

import os
import pickle
import signal
import tempfile
import threading
import time

import dask
import dask.array
import numpy as np
import pytest
from distributed import Client, LocalCluster, futures_of, wait
from scipy import sparse
from sklearn.datasets import load_digits

from kedge import MSGL, SGL
from kedge.engines import local as block_rows
from kedge.readers import dask_arrays
from kedge.readers.dask_arrays import DaskReader

X = load_digits(return_X_y=True)[0][:400]


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(rows, size=100):
    return dask.array.from_array(rows, chunks=(size, -1))


def assert_same(model, whole):
    np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
    np.testing.assert_allclose(model.graph_.compute().toarray(), whole.graph_.toarray(), atol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"beta": 0.5}, marks=pytest.mark.check),
        pytest.param({"structure": "exact", "scale": "zscore"}, marks=pytest.mark.check),
    ],
)
def test_worker_processes_give_the_result_of_one_machine(client, options):
    whole, model = (SGL(10, random_state=0, **options).fit(rows) for rows in (X, cut(X)))
    assert_same(model, whole)
    assert isinstance(model.labels_, dask.array.Array)
    assert model.labels_.chunks == ((100,) * 4,)
    np.testing.assert_array_equal(model.predict(cut(X, 70)).compute(), whole.predict(X))
    np.testing.assert_allclose(model.transform(cut(X, 70)).compute(), whole.transform(X), atol=1e-10)


def test_several_views_with_gaps(client):
    views = [X[:, :30].copy(), X[:, 30:]]
    views[0][5:25] = np.nan
    whole = MSGL(10, random_state=0).fit(views)
    model = MSGL(10, random_state=0).fit([cut(views[0]), cut(views[1], 150)])
    assert_same(model, whole)
    np.testing.assert_allclose(model.view_weights_, whole.view_weights_, rtol=1e-10)
    np.testing.assert_array_equal(model.predict([None, cut(X[:, 30:])]).compute(), whole.predict([None, X[:, 30:]]))


def read_logged(folder, size=100):
    """Return rows that workers read from a file, with a new file in the folder for every chunk that is read."""
    np.save(folder / "rows.npy", X)
    (folder / "log").mkdir()
    starts = dask.array.from_array(np.arange(len(X)), chunks=size)
    meta = np.empty((0, 0))
    width = X.shape[1]
    return starts.map_blocks(
        _read, str(folder), new_axis=1, chunks=(starts.chunks[0], (width,)), dtype=X.dtype, meta=meta
    )


def _read(numbers, folder):
    handle, _ = tempfile.mkstemp(dir=f"{folder}/log", prefix=f"{numbers[0]}-")
    os.close(handle)
    return np.load(f"{folder}/rows.npy", mmap_mode="r")[numbers]


def n_read(folder):
    return len(list((folder / "log").iterdir()))


def assert_same_bits(model, other):
    for name in ("labels_", "confidence_", "embedding_"):
        np.testing.assert_array_equal(getattr(model, name).compute(), getattr(other, name).compute())
    np.testing.assert_array_equal(model.objective_, other.objective_)
    np.testing.assert_array_equal(model.graph_.compute().toarray(), other.graph_.compute().toarray())


@pytest.mark.parametrize("options", [{}, {"beta": 0.5, "scale": "zscore"}])
def test_rows_that_do_not_fit_are_read_in_every_pass_with_the_same_result(client, tmp_path, monkeypatch, options):
    kept, again = tmp_path / "kept", tmp_path / "again"
    kept.mkdir()
    again.mkdir()
    settled = SGL(10, random_state=0, **options).fit(read_logged(kept))
    assert n_read(kept) == 4
    monkeypatch.setattr(dask_arrays, "SHARE_FOR_ROWS", 0.0)
    model = SGL(10, random_state=0, **options).fit(read_logged(again))
    assert n_read(again) >= 4 * (1 + model.n_iter_)  # the sample that anchors are chosen from, and every pass
    assert_same_bits(model, settled)


def test_rows_that_the_user_keeps_are_not_read_again(client, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_arrays, "SHARE_FOR_ROWS", 0.0)
    rows = read_logged(tmp_path).persist()
    SGL(10, beta=0.5, random_state=0).fit(rows)
    assert n_read(tmp_path) == 4


@pytest.mark.parametrize(("limits", "fits"), [([10**6, 10**6], True), ([10**5, 10**5], False), ([10**5, 0], True)])
def test_rows_settle_if_they_take_less_than_a_share_of_the_memory(client, monkeypatch, limits, fits):
    monkeypatch.setattr(dask_arrays, "_memory_limits", lambda: limits)
    for rows in (cut(X), cut(X).map_blocks(sparse.csr_array)):
        reader = DaskReader(rows)
        dask_arrays.settle_rows([reader])
        assert bool(futures_of(reader.array)) == fits
    assert 0.3 * 2e5 < X.nbytes < 0.3 * 2e6


def test_several_views_that_do_not_fit(client, monkeypatch):
    views = [cut(X[:, :30]), cut(X[:, 30:], 150)]
    settled = MSGL(10, beta=0.5, random_state=0).fit(views)
    monkeypatch.setattr(dask_arrays, "SHARE_FOR_ROWS", 0.0)
    assert_same_bits(MSGL(10, beta=0.5, random_state=0).fit(views), settled)


def test_tasks_of_a_chunk_run_at_its_home(client):
    rows = dask.array.from_array(np.arange(40.0).reshape(20, 2), chunks=(5, 2), name="rows")
    moved = rows - rows.mean(axis=0)
    placed, homes = dask_arrays.place_chunks({moved.name: moved})
    workers = list(client.nthreads())
    assert homes == [workers[0]] * 2 + [workers[1]] * 2
    own, shared = placed[moved.name].dask.layers.values()
    for number, home in enumerate(homes):
        for key in (("rows", number, 0), (moved.name, number, 0)):  # every chunk needs all rows, but only for the mean
            assert own.annotations["workers"](key) == [home]
            assert key in own
    assert own.annotations["allow_other_workers"]
    assert len(own) == 8
    assert shared.annotations is None
    assert len(shared) >= 5
    np.testing.assert_array_equal(placed[moved.name].compute(), moved.compute())


def test_homes_are_where_the_rows_are(client):
    workers = list(client.nthreads())
    with dask.annotate(workers=[workers[1]]):
        rows = cut(X).persist(optimize_graph=False)
    wait(rows)
    _, homes = dask_arrays.place_chunks({rows.name: rows})
    assert homes == [workers[1]] * 4


def test_rows_by_number_are_picked_where_their_chunks_are(client, monkeypatch):
    computed = []

    def compute(*lazy):
        computed[:] = lazy
        return dask.compute(*lazy, optimize_graph=False)

    for rows in (cut(X), cut(X).map_blocks(sparse.csr_array)):
        reader = DaskReader(rows)
        dask_arrays.settle_rows([reader])
        with monkeypatch.context() as patched:
            patched.setattr(dask_arrays, "_compute", compute)
            for asked in (slice(90, 210), np.array([], dtype=np.intp), np.array([3, 150, 151, 399])):
                block = reader.read(asked)
                np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, X[asked])
        # The last rows asked for lie in the first, second and fourth chunk.
        workers = [part.dask.layers[part.key].annotations["workers"] for part in computed]
        assert workers == [[reader.homes[number]] for number in (0, 1, 3)]


def test_coefficients_and_sums_are_taken_apart_at_home(client, monkeypatch):
    persisted, persist = [], dask.persist

    def note(*lazy, **options):
        persisted.append(lazy)
        return persist(*lazy, **options)

    monkeypatch.setattr(dask, "persist", note)
    rows = cut(X).persist()
    SGL(10, n_anchors=50, n_init=1, random_state=0).fit(rows)
    *coefficients, total = max(persisted, key=len)
    homes = DaskReader(rows)
    dask_arrays.settle_rows([homes])
    assert [part.dask.layers[part.key].annotations["workers"] for part in coefficients] == [[h] for h in homes.homes]
    at_home = [layer.annotations for name, layer in total.dask.layers.items() if str(name).startswith("getitem")]
    assert len(at_home) == len(coefficients)
    assert None not in at_home


@pytest.mark.check
def test_a_worker_killed_in_the_middle_of_a_pass_changes_nothing(client):
    options = {"beta": 0.5, "tol": 0.0, "max_iter": 6, "random_state": 0}
    killed = []

    def kill_soon(report):
        if report.iteration == 3:
            pid = next(iter(client.run(os.getpid).values()))
            killed.append(pid)
            threading.Thread(target=_kill_while_it_works, args=(pid,)).start()

    with pytest.warns(match="did not settle"):
        whole = SGL(10, **options).fit(X)
    with pytest.warns(match="did not settle"):
        model = SGL(10, callback=kill_soon, **options).fit(cut(X, 30))
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    assert_same(model, whole)


def _kill_while_it_works(pid):
    time.sleep(0.05)  # into the next pass
    os.kill(pid, signal.SIGKILL)


def test_chunks_of_several_blocks(here, monkeypatch):
    monkeypatch.setattr(block_rows, "rows_per_block", lambda *_: 32)
    options = {"n_anchors": 30, "beta": 0.5, "random_state": 0}
    assert_same(SGL(10, **options).fit(cut(X, 100)), SGL(10, **options).fit(X))


def test_prediction_is_lazy(here):
    model = SGL(10, random_state=0).fit(X)
    read = []

    def load(block):
        read.append(len(block))
        return block

    rows = cut(X, 300).map_blocks(load, dtype=X.dtype, meta=np.empty((0, 0)))
    labels = model.predict(rows)
    assert read == []
    np.testing.assert_array_equal(labels[:10].compute(), model.predict(X[:10]))
    assert read == [300]


def test_sparse_chunks(here):
    rows = np.where(X > 8, X, 0)
    lazy = cut(rows).map_blocks(sparse.csr_array)
    assert_same(SGL(10, random_state=0).fit(lazy), SGL(10, random_state=0).fit(sparse.csr_array(rows)))


def test_a_pickled_model_brings_its_results_along(here):
    model = SGL(10, random_state=0).fit(cut(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.labels_, model.labels_.compute())
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_features_in_several_chunks_are_refused(here):
    rows = dask.array.from_array(X, chunks=(100, 32))
    with pytest.raises(ValueError, match=r"cut along its features, into 2 chunks.*X.rechunk\(\{1: -1\}\)"):
        SGL(10).fit(rows)


def test_unknown_chunk_sizes_are_refused(here):
    rows = cut(X)
    with pytest.raises(ValueError, match=r"chunks of unknown size.*compute_chunk_sizes"):
        SGL(10).fit(rows[rows[:, 0] >= 0])


def test_nan_is_named_with_its_row(here):
    rows = X.copy()
    rows[333, 5] = np.nan
    with pytest.raises(ValueError, match=r"Dask array, row 333, column 5: NaN"):
        SGL(10, random_state=0).fit(cut(rows))


@pytest.mark.parametrize("rows", [np.zeros((0, 3)), np.zeros((5, 3, 2)), np.full((9, 2), "a")])
def test_arrays_that_are_no_rows_are_refused(here, rows):
    with pytest.raises(ValueError, match="Dask array"):
        SGL(2).fit(dask.array.from_array(rows))


def test_views_in_memory_and_on_dask_do_not_mix(here):
    with pytest.raises(ValueError, match="'view 1' is not a Dask array, but other views are"):
        MSGL(10, random_state=0).fit([cut(X[:, :30]), X[:, 30:]])


def test_a_checkpoint_is_for_one_machine(here, tmp_path):
    with pytest.raises(ValueError, match="checkpoint is for rows on one machine"):
        SGL(10, checkpoint=tmp_path, random_state=0).fit(cut(X))
