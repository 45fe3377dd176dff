"""A fit that died goes on where it was and ends as if nothing had happened."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kedge import MSGL, SGL
from kedge.engines.local import BlockEngine
from kedge.engines.stores import BlockFile

X = load_digits(return_X_y=True)[0][:240]
OPTIONS = {"beta": 1.0, "tol": 0.0, "max_iter": 9, "random_state": 0}


pytestmark = pytest.mark.filterwarnings("ignore:the fit did not settle")


class PowerCutError(Exception):
    """Ends a fit from a callback."""


def cut_after(iteration):
    def callback(report):
        if report.iteration == iteration:
            raise PowerCutError

    return callback


def count_passes(monkeypatch):
    """Return a list that grows by one with every pass that is run."""
    run, done = BlockEngine.run_pass, []

    def counted(self, solve):
        done.append(1)
        return run(self, solve)

    monkeypatch.setattr(BlockEngine, "run_pass", counted)
    return done


def assert_same(model, whole):
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_array_equal(model.objective_, whole.objective_)
    np.testing.assert_array_equal(model.graph_[:].toarray(), whole.graph_.toarray())


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("structure", ["soft", "exact"])
def test_a_fit_goes_on_after_its_last_finished_pass(tmp_path, monkeypatch, on_disk, structure):
    np.save(tmp_path / "rows.npy", X)
    rows, folder = tmp_path / "rows.npy" if on_disk else X, tmp_path / "checkpoint"
    whole = SGL(10, structure=structure, **OPTIONS).fit(X)
    with pytest.raises(PowerCutError):
        SGL(10, structure=structure, checkpoint=folder, callback=cut_after(4), **OPTIONS).fit(rows)
    done = count_passes(monkeypatch)
    model = SGL(10, structure=structure, checkpoint=folder, n_jobs=1, **OPTIONS).fit(rows)
    assert len(done) == whole.n_iter_ - 4
    assert_same(model, whole)
    assert list(folder.iterdir()) == []


def test_several_views_go_on(tmp_path):
    views = [X[:, :30].copy(), X[:, 30:]]
    views[0][:20] = np.nan
    whole = MSGL(10, **OPTIONS).fit(views)
    with pytest.raises(PowerCutError):
        MSGL(10, checkpoint=tmp_path / "c", callback=cut_after(3), **OPTIONS).fit(views)
    model = MSGL(10, checkpoint=tmp_path / "c", **OPTIONS).fit(views)
    assert_same(model, whole)
    np.testing.assert_array_equal(model.view_weights_history_, whole.view_weights_history_)


KILLED = """
import sys, warnings
import numpy as np
from kedge import SGL
from kedge.engines import local
from kedge.engines.local import BlockEngine
warnings.simplefilter("ignore")
local.MOST_ROWS = 32  # many blocks, so that the kill comes in the middle of a pass
rows, folder = sys.argv[1:]
run, passes = BlockEngine.run_pass, []
BlockEngine.run_pass = lambda self, solve: (passes.append(1), run(self, solve))[1]
def report(r):
    print("iteration", r.iteration, flush=True)
model = SGL(10, beta=1.0, tol=0.0, max_iter=9, random_state=0, checkpoint=folder, scratch_folder=folder + "-scratch",
            callback=report, n_jobs=1).fit(rows)
np.save(folder + "-labels.npy", model.labels_)
print("ran", len(passes), "of", model.n_iter_)
"""


def test_a_killed_process_leaves_a_checkpoint_and_no_scratch(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    folder, scratch = tmp_path / "checkpoint", tmp_path / "checkpoint-scratch"
    scratch.mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "rows.npy"), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while "iteration 3" not in process.stdout.readline():
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    finished = len(list(folder.glob("pass-*.npz")))
    assert finished >= 2
    assert list(scratch.iterdir()) == []
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    n_run, n_all = (int(word) for word in again.stdout.splitlines()[-1].split()[1::2])
    assert n_run == n_all - finished  # the pass that was cut off is all that runs twice
    assert list(folder.iterdir()) == []
    (tmp_path / "other-scratch").mkdir()
    expected = subprocess.run([*command[:-1], str(tmp_path / "other")], capture_output=True, text=True, check=True)
    assert expected.stdout.splitlines()[-1] == f"ran {n_all} of {n_all}"
    np.testing.assert_array_equal(np.load(tmp_path / "checkpoint-labels.npy"), np.load(tmp_path / "other-labels.npy"))


def unfinished(folder, rows=X, **changed):
    with pytest.raises(PowerCutError):
        SGL(10, checkpoint=folder, callback=cut_after(2), **(OPTIONS | changed)).fit(rows)


def test_other_parameters_are_refused_by_name(tmp_path):
    unfinished(tmp_path)
    with pytest.raises(ValueError, match=r"belongs to another fit: beta was 1.0, is 2.0; max_iter was 9, is 7"):
        SGL(10, checkpoint=tmp_path, **(OPTIONS | {"beta": 2.0, "max_iter": 7})).fit(X)
    with pytest.raises(ValueError, match=r"estimator was SGL, is MSGL"):
        MSGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)


@pytest.mark.parametrize("change", ["one entry", "order"])
def test_one_other_entry_or_order_is_other_data(tmp_path, change):
    unfinished(tmp_path)
    rows = X.copy()
    if change == "order":
        rows[[17, 231]] = rows[[231, 17]]
    else:
        rows[231, 7] += 1e-9
    with pytest.raises(ValueError, match=r"belongs to another fit: rows of X was 240 x 64 float64, digest"):
        SGL(10, checkpoint=tmp_path, **OPTIONS).fit(rows)


def test_a_broken_checkpoint_names_the_file(tmp_path):
    unfinished(tmp_path)
    content = (tmp_path / "pass-00002.npz").read_bytes()
    (tmp_path / "pass-00002.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"pass-00002.npz cannot be read .*; delete the checkpoint folder"):
        SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)
    (tmp_path / "kedge-checkpoint.json").write_text("[]")
    with pytest.raises(ValueError, match=r"kedge-checkpoint.json cannot be read"):
        SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ValueError, match=r"holds 'thesis.tex' and is no checkpoint of kedge"):
        SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_two_fits_do_not_share_a_folder(tmp_path):
    def meanwhile(report):
        with pytest.raises(ValueError, match="is in use by another fit"):
            SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)
        return True

    SGL(10, checkpoint=tmp_path, callback=meanwhile, **OPTIONS).fit(X)


def test_a_seed_is_needed(tmp_path):
    with pytest.raises(ValueError, match="checkpoint needs random_state to be an integer, got None"):
        SGL(10, checkpoint=tmp_path / "c").fit(X)


def test_other_blocks_are_told_apart(tmp_path, monkeypatch):
    from kedge.engines import local as block_rows

    unfinished(tmp_path)
    monkeypatch.setattr(block_rows, "MOST_ROWS", 64)
    with pytest.raises(ValueError, match="was made with other blocks of rows; set scikit-learn's working_memory"):
        SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)


def test_a_full_disk_keeps_finished_passes(tmp_path, monkeypatch):
    unfinished(tmp_path)
    with monkeypatch.context() as patch:
        write = BlockFile._write

        def full_after_a_while(self, content):
            write(self, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(BlockFile, "_write", full_after_a_while)
        with pytest.raises(OSError, match=r"is full.*Finished passes are kept: fit again to go on"):
            SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)
    assert (tmp_path / "coefficients-1.bin").stat().st_size == 0  # the third pass, which was cut off
    assert_same(SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X), SGL(10, **OPTIONS).fit(X))


def test_an_interrupt_says_how_to_go_on(tmp_path):
    def interrupt(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"after 1 finished iterations .* same checkpoint to go on"):
        SGL(10, checkpoint=tmp_path, callback=interrupt, **OPTIONS).fit(X)
