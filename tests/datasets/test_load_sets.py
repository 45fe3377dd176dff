"""Every set of the data folder, against sizes written down by hand."""

import numpy as np
import pytest
from conftest import find_data
from scipy import sparse

from kedge.datasets import load
from kedge.datasets.catalogue import find_dataset

SINGLE = {
    "ba": ((1404, 320), 36, "exact", np.float32, False),
    "orl": ((400, 1024), 40, "exact", np.float32, False),
    "tr11": ((414, 6429), 9, "exact", np.float64, True),
    "tr41": ((878, 7454), 10, "exact", np.float64, True),
    "tr45": ((690, 8261), 10, "exact", np.float64, True),
    "mnist": ((70000, 784), 10, "exact", np.float32, False),
    "covertype": ((581012, 54), 7, "exact", np.float32, False),
    "pokerhand-synthesised": ((1000000, 10), 10, "synthesised", np.float32, False),
    "pokerhand-partial": ((43498, 10), 10, "partial", np.float32, False),
    "tdt2": ((9394, 36771), 30, "stand-in", np.float32, True),
}
MULTI = {
    "caltech101-7-reextracted": (
        {"gabor": 48, "wavelet_moments": 40, "centrist": 254, "hog": 1984, "gist": 512, "lbp": 928},
        (1474, 7, "re-extracted", False),
    ),
    "citeseer": ({"content": 3703, "citation": 3312}, (3312, 6, "exact", True)),
    "nus-standin": (
        {
            "colour_histogram": 64,
            "colour_moments": 225,
            "colour_correlogram": 144,
            "edge_direction": 73,
            "wavelet_texture": 128,
        },
        (30000, 31, "stand-in", False),
    ),
}

pytestmark = pytest.mark.needs("data")


@pytest.fixture(autouse=True)
def data_folder(monkeypatch):
    monkeypatch.setenv("KEDGE_DATA", str(find_data("BA.npz").parent))


def check_rows(rows, shape, is_sparse):
    assert rows.shape == shape
    assert isinstance(rows, sparse.csr_array if is_sparse else np.ndarray)
    if is_sparse:
        assert rows.indices.dtype == rows.indptr.dtype == np.int32
        assert rows.has_canonical_format
    else:
        assert rows.flags.c_contiguous


def check_facts(data, name, n_clusters, status):
    assert (data.name, data.n_clusters, data.status) == (name, n_clusters, status)
    assert data.y.dtype.kind == "i"
    np.testing.assert_array_equal(np.unique(data.y), np.arange(n_clusters))
    assert data.description
    assert data.source
    assert data.licence


def test_single_view_set_has_the_written_sizes(subtests):
    for name in SINGLE:
        with subtests.test(name=name):
            shape, n_clusters, status, dtype, is_sparse = SINGLE[name]
            data = load(name, download=False)
            check_rows(data.X, shape, is_sparse)
            assert data.X.dtype == dtype
            assert len(data.y) == shape[0]
            check_facts(data, name, n_clusters, status)
            assert find_dataset(name).digest is not None


def test_multi_view_set_has_the_written_sizes(subtests):
    for name in MULTI:
        with subtests.test(name=name):
            widths, (n_rows, n_clusters, status, is_sparse) = MULTI[name]
            data = load(name, download=False)
            assert list(data.views) == list(widths)
            for view, width in widths.items():
                check_rows(data.views[view], (n_rows, width), is_sparse)
                assert data.views[view].dtype == np.float32
            check_facts(data, name, n_clusters, status)
            assert find_dataset(name).digest is not None


def test_values_are_those_of_the_file():
    with np.load(find_data("ORL.npz")) as file:
        np.testing.assert_array_equal(load("ORL").X, file["X"])
    with np.load(find_data("TR11.npz")) as file:
        data = load("tr11")
        np.testing.assert_array_equal(data.X.data, file["X_data"])
        np.testing.assert_array_equal(data.y, file["y"].astype(int) - 1)


def test_no_substitute_is_loaded_under_the_name_of_the_paper(subtests, monkeypatch, tmp_path):
    for name in ("rcv1-4", "nus", "caltech101-7", "pokerhand"):
        with subtests.test(name=name):
            monkeypatch.setattr("kedge.datasets.loading.cache_folder", lambda: tmp_path)
            with pytest.raises(FileNotFoundError, match=f"data set '{name}' .* is not available"):
                load(name, download=False)


def test_a_substitute_renamed_to_the_name_of_the_paper_is_refused(subtests, monkeypatch, tmp_path):
    for name, substitute in (("pokerhand", "Pokerhand_synth.npz"), ("mnist", "ORL.npz")):
        with subtests.test(name=name, substitute=substitute):
            (tmp_path / find_dataset(name).file_name).symlink_to(find_data(substitute))
            monkeypatch.setenv("KEDGE_DATA", str(tmp_path))
            with pytest.raises(ValueError, match=f"{find_dataset(name).file_name}.*(does not hold {name}|has shape)"):
                load(name)
