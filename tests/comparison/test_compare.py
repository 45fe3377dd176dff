"""Several methods on the same rows: what is run, what is refused, and what is said of it."""

import subprocess
import sys

import numpy as np
import pytest
from fit_in_process import fit_here
from scipy import sparse
from sklearn.datasets import make_blobs

from kedge import MSGL, SGL
from kedge.baselines import KMeans
from kedge.comparison import compare
from kedge.datasets import make_multiview
from kedge.metrics import ari, nmi


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, centers=3, n_features=4, cluster_std=2.5, random_state=0)


@pytest.fixture(scope="module")
def views():
    return make_multiview(120, n_clusters=3, n_views=2, random_state=0)


@pytest.fixture
def here(monkeypatch):
    fit_here(monkeypatch)


def test_labels_are_those_of_the_estimators_themselves(blobs):
    X, y = blobs
    found = compare(X, 3, "sgl:alpha=0.1,n_anchors=20,kmeans", y=y, random_state=0)
    assert (found.rows[0].labels == SGL(3, alpha=0.1, n_anchors=20, random_state=0).fit(X).labels_).all()
    assert (found.rows[1].labels == KMeans(3, random_state=0).fit(X).labels_).all()
    for row in found.rows:
        assert row.status == "ran"
        assert row.scores["nmi"] == nmi(y, row.labels)
        assert row.scores["ari"] == ari(y, row.labels)
        assert row.seconds > 0


@pytest.mark.usefixtures("here")
def test_a_method_that_fails_does_not_stop_the_others(blobs):
    X, y = blobs
    found = compare(X, 3, "lrr:noise_weight=-1,kmeans", y=y, random_state=0)
    failed, ran = found.rows
    assert (failed.status, failed.labels, failed.seconds, failed.scores) == ("failed", None, None, {})
    assert "noise_weight" in failed.reason
    assert ran.status == "ran"
    assert f"failed: {failed.reason}" in found.to_text()


@pytest.mark.usefixtures("here")
def test_what_does_not_fit_in_memory_is_refused_with_the_reason(blobs):
    X, _ = blobs
    found = compare(X, 3, "agglomerative,lsr,kmeans", random_state=0, memory_limit=100_000)
    ward, lsr, kmeans = found.rows
    assert [row.status for row in (ward, lsr)] == ["refused", "refused"]
    for row in (ward, lsr):
        assert "memory_limit allows" in row.reason
        assert "rows" in row.reason
    assert kmeans.status != "refused"


@pytest.mark.needs("linux")
def test_a_method_that_takes_more_memory_than_it_may_is_ended():
    rows = np.random.default_rng(0).normal(size=(60_000, 20))
    found = compare(rows, 4, "sgl:n_anchors=400,alpha=100,max_iter=50,beta=1", random_state=0, memory_limit=2e6)
    assert found.rows[0].status == "failed"
    assert "took more than 0.0 GiB of memory beyond X" in found.rows[0].reason


@pytest.mark.usefixtures("here")
def test_single_view_methods_get_views_of_equal_energy_side_by_side(views):
    parts, y = views
    # Units of a view, here one of mere noise, do not matter once it has unit energy.
    parts = [np.random.default_rng(0).normal(size=parts[0].shape), parts[1]]
    stretched = [1000.0 * parts[0], parts[1]]
    found = compare(dict(zip("ab", stretched, strict=True)), 3, "msgl,kmeans,lmvsc", y=y, random_state=0)
    plain = compare(dict(zip("ab", parts, strict=True)), 3, "kmeans", random_state=0)
    assert (found.rows[1].labels == plain.rows[0].labels).all()
    assert found.rows[1].scores["nmi"] > 0.5
    assert found.rows[1].notes == ("views side by side at unit energy",)
    assert "views side by side at unit energy" in found.to_markdown()
    assert found.rows[0].notes == found.rows[2].notes == ()
    ours = MSGL(3, random_state=0).fit(dict(zip("ab", stretched, strict=True)))
    assert (found.rows[0].labels == ours.labels_).all()


@pytest.mark.usefixtures("here")
def test_rows_that_lack_views_are_for_methods_that_take_them(views):
    parts, _ = views
    gaps = [parts[0].copy(), parts[1]]
    gaps[0][:10] = np.nan
    observed = np.ones((120, 2), dtype=bool)
    observed[20:30, 1] = False
    found = compare(gaps, 3, "msgl,kmeans,lmvsc", random_state=0, observed=observed)
    assert [row.status for row in found.rows] == ["ran", "refused", "refused"]
    assert "lack views" in found.rows[1].reason
    assert (found.rows[0].labels == MSGL(3, random_state=0).fit(gaps, observed=observed).labels_).all()


@pytest.mark.usefixtures("here")
def test_sparse_rows_stay_sparse_and_dense_only_methods_say_so():
    rows = sparse.random_array((60, 30), density=0.2, rng=0, format="csr")
    found = compare(rows, 3, "kmeans,agglomerative", random_state=0)
    assert [row.status for row in found.rows] == ["ran", "refused"]
    assert "dense" in found.rows[1].reason


@pytest.mark.usefixtures("here")
def test_methods_that_need_a_number_of_clusters_get_the_one_that_was_found():
    X, _ = make_blobs(90, centers=[[0, 0], [20, 0], [0, 20]], cluster_std=0.5, random_state=0)
    found = compare(X, "auto", "kmeans,sgl", random_state=0)
    assert [row.n_clusters for row in found.rows] == [3, 3]
    assert found.rows[0].notes == ("number of clusters as found by sgl",)
    (alone,) = compare(X, "auto", "kmeans", random_state=0).rows
    assert alone.status == "refused"
    assert "number of clusters" in alone.reason


@pytest.mark.usefixtures("here")
def test_warnings_of_a_fit_are_notes_of_its_row():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    (row,) = compare(X, 3, "kmeans", random_state=0).rows
    assert any("distinct clusters" in note for note in row.notes)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"methods": "sgl:alfa=1"}, "sgl has no setting 'alfa'; it has alpha"),
        ({"n_clusters": 0}, "n_clusters=0 should be 'auto' or an integer from 1 to the 150 rows"),
        ({"n_clusters": 151}, "n_clusters=151"),
        ({"n_clusters": 2.5}, "n_clusters=2.5"),
        ({"y": [0, 1]}, "y has 2 labels and X has 150 rows"),
        ({"X": [[1.0, np.nan], [2.0, 3.0]], "n_clusters": 1}, "NaN"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(blobs, change, complaint):
    arguments = {"X": blobs[0], "n_clusters": 3, "methods": "kmeans"} | change
    with pytest.raises(ValueError, match=complaint):
        compare(**arguments)


def test_rows_on_disk_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(5))
    with pytest.raises(TypeError, match="not in memory"):
        compare(str(tmp_path / "rows.npy"), 2, "kmeans")


def test_a_program_without_a_guard_can_compare(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "print('started')\nimport numpy as np\nfrom kedge.comparison import compare\n"
        "print(compare(np.random.default_rng(0).normal(size=(30, 2)), 2, 'kmeans').rows[0].status)\n"
    )
    (tmp_path / "random.py").write_text("raise RuntimeError('a file of the user is no library')\n")
    done = subprocess.run(
        [sys.executable, "-P", program.name], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["started", "ran"]
