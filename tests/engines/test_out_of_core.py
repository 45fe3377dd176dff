"""Rows on disk: results read when asked for, scratch space that goes away, errors that name the place."""

import errno
import gc
import os
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits

from kedge import MSGL, SGL
from kedge.engines import local as block_rows
from kedge.engines.local import StoredGraph
from kedge.engines.stores import BlockFile, ScratchStore

X = load_digits(return_X_y=True)[0][:300]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Return the path of a file whose rows are solved in several blocks."""
    monkeypatch.setattr(block_rows, "rows_per_block", lambda *_: 64)
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy"


def test_graph_and_embedding_are_read_when_asked_for(stored):
    whole, model = SGL(10, random_state=0).fit(X), SGL(10, random_state=0).fit(stored)
    assert isinstance(model.graph_, StoredGraph)
    assert model.graph_.shape == whole.graph_.shape
    assert len(model.graph_) == len(model.embedding_) == 300
    for rows in (slice(50, 150), slice(290, None), np.array([299, 3, 130, 3]), np.arange(300) % 7 == 0):
        np.testing.assert_array_equal(model.graph_[rows].toarray(), whole.graph_[rows].toarray())
        np.testing.assert_allclose(model.embedding_[rows], whole.embedding_[rows], atol=1e-12)
    np.testing.assert_array_equal(model.graph_[7].toarray(), whole.graph_[[7]].toarray())
    assert model.graph_[slice(5, 5)].shape == (0, whole.graph_.shape[1])
    np.testing.assert_array_equal(np.asarray(model.embedding_), whole.embedding_)
    parts = [block for _, block in model.graph_.blocks()]
    np.testing.assert_array_equal(sparse.vstack(parts).toarray(), whole.graph_.toarray())
    assert "300 rows" in repr(model.graph_)
    np.testing.assert_array_equal(model.graph_[[-1]].toarray(), whole.graph_[[299]].toarray())
    for wrong in ([300], [-301], np.ones(3, dtype=bool)):
        with pytest.raises(IndexError, match="300"):
            model.graph_[wrong]


def test_new_rows_on_disk_are_predicted_as_in_memory(stored):
    for way in ("anchors", "graph"):
        model = SGL(10, predict_with=way, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(stored), model.predict(X))
        np.testing.assert_array_equal(model.transform(str(stored)), model.transform(X))


def test_a_pickled_model_has_its_graph_in_memory(stored):
    model = SGL(10, random_state=0).fit(stored)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.graph_.toarray(), model.graph_.to_csr().toarray())
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_scratch_files_have_no_name_and_go_with_the_model(stored, tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    gc.collect()  # Files that earlier tests left open must not go in between.
    before = _open_files()
    model = SGL(10, beta=0.5, scratch_folder=folder, random_state=0).fit(stored)
    assert list(folder.iterdir()) == []
    assert _open_files() > before
    del model
    gc.collect()
    assert _open_files() == before


def _open_files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208


def test_a_full_disk_is_said_and_leaves_nothing(stored, tmp_path, monkeypatch):
    folder = tmp_path / "scratch"
    folder.mkdir()

    def full(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(BlockFile, "_write", full)
    model = SGL(10, scratch_folder=folder, random_state=0)
    with pytest.raises(OSError, match=r"scratch_folder='.*scratch' is full.*choose a folder on another disk") as caught:
        model.fit(stored)
    assert caught.value.errno == errno.ENOSPC
    assert not hasattr(model, "labels_")
    assert list(folder.iterdir()) == []


def test_a_scratch_folder_that_is_not_there_is_said(stored, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent' is not a folder; make it"):
        SGL(10, scratch_folder=tmp_path / "absent", random_state=0).fit(stored)


@pytest.mark.parametrize(("entry", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_an_entry_that_is_not_finite_is_named_with_its_file(tmp_path, entry, what):
    rows = X.copy()
    rows[217, 13] = entry
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(ValueError, match=rf"rows.npy, row 217, column 13.*: {what}"):
        SGL(10, random_state=0).fit(tmp_path / "rows.npy")
    np.save(tmp_path / "rest.npy", X)
    with pytest.raises(ValueError, match=rf"rows.npy, row 217, column 13.*: {what}"):
        MSGL(10, random_state=0).fit([tmp_path / "rest.npy", tmp_path / "rows.npy"])


def test_nan_in_a_parquet_file_is_named_with_its_row_group(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X.copy(), columns=[f"pixel {number}" for number in range(64)])
    frame.loc[250, "pixel 9"] = np.nan
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    with pytest.raises(ValueError, match=r"rows.parquet, row 250 \(row group 2\), column 'pixel 9'.*: NaN"):
        SGL(10, random_state=0).fit(tmp_path / "rows.parquet")


def test_columns_of_a_file_are_compared_by_name(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X[:, :20], columns=[f"c{number}" for number in range(20)])
    frame.to_parquet(tmp_path / "rows.parquet")
    model = SGL(10, random_state=0).fit(tmp_path / "rows.parquet")
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(model.predict(frame), model.predict(tmp_path / "rows.parquet"))
    frame[frame.columns[::-1]].to_parquet(tmp_path / "turned.parquet")
    with pytest.raises(ValueError, match=r"turned.parquet: column 0 is 'c19', but was 'c0' in fit"):
        model.predict(tmp_path / "turned.parquet")
    frame.iloc[:, :7].to_parquet(tmp_path / "narrow.parquet")
    with pytest.raises(ValueError, match=r"narrow.parquet has 7 features, but SGL is expecting 20"):
        model.predict(tmp_path / "narrow.parquet")


def test_a_memory_map_beyond_the_working_memory_stays_on_disk(stored):
    mapped = np.load(stored, mmap_mode="r")
    assert sparse.issparse(SGL(10, random_state=0).fit(mapped).graph_)
    with config_context(working_memory=0.1):
        model = SGL(10, random_state=0).fit(mapped)
    assert isinstance(model.graph_, StoredGraph)
    np.testing.assert_array_equal(model.labels_, SGL(10, random_state=0).fit(X).labels_)


def test_blocks_of_wide_rows_keep_to_the_working_memory():
    with config_context(working_memory=8):
        assert block_rows.rows_per_block(50, bytes_per_row=4 * 1024) == 256
        assert block_rows.rows_per_block(50, bytes_per_row=4 * 2**20) == 1


def test_column_groups_of_one_file_are_views(stored):
    whole = MSGL(10, views=[30, 34], random_state=0).fit(X)
    model = MSGL(10, views=[30, 34], random_state=0).fit(stored)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_array_equal(model.predict(stored), whole.predict(X))


def test_the_published_recipe_wants_rows_in_memory(stored):
    with pytest.raises(ValueError, match="load X into memory"):
        SGL.as_published(10, 20, 1.0, 1.0).fit(stored)


def test_sparse_rows_on_disk(tmp_path):
    from kedge.readers.sparse_files import save_csr

    rows = sparse.csr_array(np.where(X > 8, X, 0))
    save_csr(tmp_path / "rows", rows)
    whole, model = SGL(10, random_state=0).fit(rows), SGL(10, random_state=0).fit(tmp_path / "rows")
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_array_equal(model.graph_.to_csr().toarray(), whole.graph_.toarray())


def test_every_pass_has_its_file_and_frees_the_older(tmp_path):
    store = ScratchStore(tmp_path, np.float64)
    assert store.read(0) is None
    for scale in (1.0, 2.0, 3.0):
        store.begin_pass()
        store.write(sparse.csr_array(scale * np.eye(3)))
        store.write(sparse.csr_array((0, 3)))
        if scale > 1:
            np.testing.assert_array_equal(store.read(0).toarray(), (scale - 1) * np.eye(3))
        store.end_pass()
        np.testing.assert_array_equal(store.read(0).toarray(), scale * np.eye(3))
        assert store.read(1).shape == (0, 3)
        sizes = [os.fstat(file.handle.fileno()).st_size for file in store._files if not file.handle.closed]
        assert len(sizes) == sum(size > 0 for size in sizes) == 1
