"""Where load looks, in which order, and what it says when nothing is there."""

import dataclasses
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import io

from kedge.datasets import load, why_not_here
from kedge.datasets.catalogue import CATALOGUE
from kedge.datasets.loading import cache_folder, data_folders


@pytest.fixture
def marked_set(small_set, monkeypatch):
    """Return the small set without a digest, so that copies may differ in their first value."""
    dataset = dataclasses.replace(small_set, digest=None)
    monkeypatch.setitem(CATALOGUE, "small", dataset)
    return dataset


def put(folder, dataset, rows, mark):
    X, y = rows
    X = X.astype(np.float32)
    X[0, 0] = mark
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / dataset.file_name, X=X, y=y)


def test_folders_come_in_their_order_and_before_the_cache(
    marked_set, small_rows, no_data, monkeypatch, tmp_path, server
):
    folders = [tmp_path / "absent", tmp_path / "first", tmp_path / "second"]
    monkeypatch.setenv("KEDGE_DATA", os.pathsep.join(["", *map(str, folders)]))
    for place, mark in ((no_data, 3), (folders[2], 2), (folders[1], 1)):
        put(place, marked_set, small_rows, mark)
        assert load("small").X[0, 0] == mark
    assert server.requests == []


def test_an_absent_set_is_downloaded_once_and_then_read_from_the_cache(
    small_set, small_rows, no_data, monkeypatch, server
):
    pytest.importorskip("pooch")
    monkeypatch.setitem(CATALOGUE, "small", small_set)
    first, second = load("small"), load("small", download=False)
    assert len(server.requests) == 1
    np.testing.assert_array_equal(first.X, small_rows[0])
    np.testing.assert_array_equal(second.X, first.X)
    np.testing.assert_array_equal(second.y, small_rows[1] - 1)
    assert second.X.dtype == first.X.dtype == np.float32


def test_public_files_put_in_place_by_hand_are_read(small_set, small_file, small_rows, no_data, monkeypatch, server):
    monkeypatch.setitem(CATALOGUE, "small", small_set)
    no_data.mkdir()
    (no_data / "small.data").write_bytes(small_file)
    np.testing.assert_array_equal(load("small").X, small_rows[0])
    assert server.requests == []


def test_download_switched_off_asks_no_server(small_set, no_data, monkeypatch, server):
    monkeypatch.setitem(CATALOGUE, "small", small_set)
    with pytest.raises(FileNotFoundError, match="download=True would fetch it"):
        load("small", download=False)
    assert server.requests == []


@pytest.mark.parametrize(
    ("name", "stand_in", "home"),
    [
        ("nus", "nus-standin", "comp.nus.edu.sg"),
        ("caltech101-7", "caltech101-7-reextracted", "caltech.edu"),
        ("rcv1-4", "tdt2", "dengcai"),
    ],
)
def test_absence_is_explained_in_one_line(name, stand_in, home, no_data, monkeypatch, tmp_path):
    monkeypatch.setenv("KEDGE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError) as caught:
        load(name)
    text = str(caught.value)
    for part in (f"{name!r}", "cannot be downloaded", home, f"{stand_in!r}", "no such folder", "put", str(no_data)):
        assert part in text
    assert CATALOGUE[name].file_name in text
    assert "\n" not in text
    assert why_not_here(name) == text


def test_why_not_here_is_none_for_a_set_that_is_here(marked_set, small_rows, no_data):
    assert "is not available" in why_not_here("small")
    put(no_data, marked_set, small_rows, 1)
    assert why_not_here("SMALL") is None


def test_a_file_of_a_set_without_digest_is_loaded_as_unverified(no_data):
    rng = np.random.default_rng(0)
    dataset = CATALOGUE["caltech101-7"]
    cells = np.empty((1, 6), dtype=object)
    for i, width in enumerate(dataset.widths):
        cells[0, i] = rng.random((1474, width))
    no_data.mkdir()
    io.savemat(no_data / "Caltech101-7.mat", {"X": cells, "Y": np.arange(1474)[:, None] % 7 + 1})
    data = load("caltech101-7")
    assert data.status == "unverified"
    np.testing.assert_array_equal(data.views["hog"], cells[0, 3])


def test_a_damaged_file_is_an_error_and_not_passed_over(marked_set, small_rows, no_data, monkeypatch, tmp_path):
    put(no_data, marked_set, small_rows, 1)
    (tmp_path / "Small.npz").write_bytes(b"PK damaged")
    monkeypatch.setenv("KEDGE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"Small\.npz cannot be read"):
        load("small")


@pytest.mark.needs("linux")
def test_the_cache_is_where_pooch_would_have_it(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/kedge") == pooch.os_cache("kedge")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "kedge" == pooch.os_cache("kedge")


def test_folders_of_the_user_are_expanded(monkeypatch):
    monkeypatch.setenv("KEDGE_DATA", os.pathsep.join(["~/data", " ", ""]))
    assert data_folders() == [Path.home() / "data"]


def test_without_pooch_the_error_names_the_extra(small_set, no_data, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "small", small_set)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"needs pooch, which is not here: pip install 'kedge\[data\]'"):
        load("small")
