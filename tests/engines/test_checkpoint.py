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
from kedge.engines import checkpoint, local
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

    def counted(self, *arguments):
        done.append(1)
        return run(self, *arguments)

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


@pytest.fixture
def every_third_block(monkeypatch):
    """Record a pass after every third of its eight blocks."""
    monkeypatch.setattr(local, "rows_per_block", lambda *_: 32)
    monkeypatch.setattr(checkpoint, "BLOCKS_BETWEEN_RECORDS", 3)
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN_RECORDS", 0.0)


def fit_until_block(monkeypatch, number, error, rows, folder, options=OPTIONS):
    """Fit until a block, counted from one, of which only half of the columns are written before the error."""
    write, parts = BlockFile._write, []

    def torn(self, content):
        parts.append(content)
        if len(parts) == 3 * (number - 1) + 2:
            write(self, content[: len(content) // 2])
            raise error
        write(self, content)

    with monkeypatch.context() as patch:
        patch.setattr(BlockFile, "_write", torn)
        with pytest.raises(type(error)) as caught:
            SGL(10, checkpoint=folder, **options).fit(rows)
    return str(caught.value)


def count_blocks(monkeypatch):
    """Return a list that grows by one with every block that is written."""
    append, done = BlockFile.append, []

    def counted(self, coefficients):
        done.append(1)
        append(self, coefficients)

    monkeypatch.setattr(BlockFile, "append", counted)
    return done


@pytest.mark.usefixtures("every_third_block")
@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("beta", [0.0, 1.0])
@pytest.mark.parametrize("torn", [2, 5, 8])
def test_a_fit_goes_on_in_the_middle_of_its_first_pass(tmp_path, monkeypatch, on_disk, beta, torn):
    options = OPTIONS | {"beta": beta, "max_iter": 3}
    np.save(tmp_path / "rows.npy", X)
    rows, folder = tmp_path / "rows.npy" if on_disk else X, tmp_path / "checkpoint"
    whole = SGL(10, **options).fit(X)
    fit_until_block(monkeypatch, torn, PowerCutError(), rows, folder, options)
    done = count_blocks(monkeypatch)
    model = SGL(10, checkpoint=folder, **options).fit(rows)
    recorded = (torn - 1) // 3 * 3
    assert len(done) == 8 * whole.n_iter_ - recorded
    assert_same(model, whole)
    np.testing.assert_array_equal(model.confidence_, whole.confidence_)
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("every_third_block")
def test_a_fit_goes_on_in_the_middle_of_a_later_pass(tmp_path, monkeypatch):
    whole = SGL(10, **OPTIONS).fit(X)
    for torn in (2 * 8 + 5, 8 - 3 + 2):  # the third pass, then the fourth
        fit_until_block(monkeypatch, torn, PowerCutError(), X, tmp_path)
    done = count_blocks(monkeypatch)
    assert_same(SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X), whole)
    assert len(done) == 8 * (whole.n_iter_ - 3)


@pytest.mark.usefixtures("every_third_block")
def test_a_record_of_a_finished_pass_is_not_used(tmp_path, monkeypatch):
    unlink = type(tmp_path).unlink

    def cut_before_unlink(self, **options):
        if self.name == "begun-pass.npz":
            raise PowerCutError
        unlink(self, **options)

    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "unlink", cut_before_unlink)
        with pytest.raises(PowerCutError):
            SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)
    assert (tmp_path / "begun-pass.npz").exists()
    whole, done = SGL(10, **OPTIONS).fit(X), count_blocks(monkeypatch)
    assert_same(SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X), whole)
    assert len(done) == 8 * (whole.n_iter_ - 1)


@pytest.mark.usefixtures("every_third_block")
def test_a_full_disk_keeps_recorded_blocks(tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    assert "is full" in fit_until_block(monkeypatch, 8, full, X, tmp_path)
    done = count_blocks(monkeypatch)
    model = SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)
    assert len(done) == 8 * model.n_iter_ - 6
    assert_same(model, SGL(10, **OPTIONS).fit(X))


@pytest.mark.usefixtures("every_third_block")
def test_coefficients_that_are_gone_are_not_gone_on_from(tmp_path, monkeypatch):
    fit_until_block(monkeypatch, 8, PowerCutError(), X, tmp_path)
    (tmp_path / "coefficients-1.bin").write_bytes(b"")
    with pytest.raises(ValueError, match=r"coefficients-1.bin is shorter than it was; delete the checkpoint folder"):
        SGL(10, checkpoint=tmp_path, **OPTIONS).fit(X)


KILLED_WHILE_WRITING = """
import os, signal, sys
from kedge import SGL
from kedge.engines import checkpoint, local
from kedge.engines.stores import BlockFile
local.rows_per_block = lambda *_: 32
checkpoint.BLOCKS_BETWEEN_RECORDS, checkpoint.SECONDS_BETWEEN_RECORDS = 1, 0.0
write, parts = BlockFile._write, []
def torn(self, content):
    parts.append(content)
    if len(parts) == 3 * 5 + 2:
        write(self, content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, content)
BlockFile._write = torn
SGL(10, random_state=0, checkpoint=sys.argv[2]).fit(sys.argv[1])
"""


def test_a_process_killed_while_it_writes_a_block_loses_that_block_alone(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", X)
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(tmp_path / "rows.npy"), str(tmp_path / "checkpoint")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    monkeypatch.setattr(local, "rows_per_block", lambda *_: 32)
    done = count_blocks(monkeypatch)
    model = SGL(10, random_state=0, checkpoint=tmp_path / "checkpoint").fit(tmp_path / "rows.npy")
    assert len(done) == 8 - 5
    assert_same(model, SGL(10, random_state=0).fit(X))


KILLED = """
import sys, warnings
import numpy as np
from kedge import SGL
from kedge.engines import local
from kedge.engines.local import BlockEngine
warnings.simplefilter("ignore")
local.rows_per_block = lambda *_: 32  # many blocks, so that the kill comes in the middle of a pass
rows, folder = sys.argv[1:]
run, passes = BlockEngine.run_pass, []
BlockEngine.run_pass = lambda *arguments: (passes.append(1), run(*arguments))[1]
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
    unfinished(tmp_path)
    monkeypatch.setattr(local, "rows_per_block", lambda *_: 64)
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
