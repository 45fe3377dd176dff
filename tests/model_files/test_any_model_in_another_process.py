"""Whatever the parameters, a process that loads a model predicts the same bits, with any number of threads."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from fuzzing import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from model_file_checks import anchor_graphs

import kedge
from kedge.datasets import make_multiview, make_union_of_subspaces

# Reads a folder and a number of threads per line, and prints the digest of what the model there says.
CHILD = """
import hashlib, sys
import numpy as np
import kedge
for line in sys.stdin:
    folder, n_jobs = line.rsplit(maxsplit=1)
    rows = list(np.load(folder + "/rows.npz").values())
    model = kedge.load(folder + "/model.kedge").set_params(n_jobs=int(n_jobs))
    rows = rows if isinstance(model, kedge.MSGL) else rows[0]
    results = model.predict(rows).tobytes(), model.transform(rows).tobytes()
    print(hashlib.sha256(b"".join(results)).hexdigest(), flush=True)
"""
X, _ = make_union_of_subspaces(150, n_subspaces=3, dim=2, ambient_dim=8, random_state=0)
VIEWS = make_multiview(90, random_state=0)[0]


@pytest.fixture(scope="module")
def child():
    threads = {f"{library}_NUM_THREADS": "2" for library in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, "-W", "error", "-c", CHILD]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | threads, **pipes) as process:
        yield process
        process.stdin.close()


@settings(max_examples=examples(20))
@given(anchor_graphs, st.sampled_from([[X], [X.astype(np.float32)], VIEWS]), st.integers(1, 4))
def test_any_model_predicts_the_same_bits_elsewhere(tmp_path_factory, child, options, rows, n_jobs):
    folder = tmp_path_factory.mktemp("model")
    given_rows = rows if len(rows) > 1 else rows[0]
    estimator = kedge.MSGL if len(rows) > 1 else kedge.SGL
    own = {"n_init": 1} if len(rows) > 1 else {}
    model = estimator(3, n_jobs=1, **(options | own)).fit(given_rows)
    kedge.save(model, folder / "model.kedge")
    np.savez(folder / "rows.npz", *rows)
    child.stdin.write(f"{folder} {n_jobs}\n")
    child.stdin.flush()
    results = model.predict(given_rows).tobytes(), model.transform(given_rows).tobytes()
    assert child.stdout.readline().strip() == hashlib.sha256(b"".join(results)).hexdigest()
