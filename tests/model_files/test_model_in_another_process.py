"""A model that another process loads, with other numbers of threads, does the same to the last bit."""

import hashlib
import os
import subprocess
import sys

import numpy as np

import kedge
from kedge.datasets import make_multiview, make_union_of_subspaces

PROGRAM = """
import hashlib, sys
import numpy as np
import kedge
folder = sys.argv[1]
rows = dict(np.load(folder + "/rows.npz"))
views = [rows["view0"], rows["view1"]]
for name, X in {"sgl": rows["X"], "graph": rows["X"], "slsr": rows["X"], "msgl": views, "lmvsc": views}.items():
    model = kedge.load(f"{folder}/{name}.kedge")
    kedge.save(model, f"{folder}/{name}-again.kedge")
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=3)
    results = [model.predict(X)] + ([model.transform(X)] if hasattr(model, "transform") else [])
    print(name, hashlib.sha256(b"".join(result.tobytes() for result in results)).hexdigest())
"""


def digest(model, X):
    results = [model.predict(X)] + ([model.transform(X)] if hasattr(model, "transform") else [])
    return hashlib.sha256(b"".join(result.tobytes() for result in results)).hexdigest()


def test_other_process_and_threads_give_the_same_bits(tmp_path):
    X, _ = make_union_of_subspaces(300, n_subspaces=3, dim=3, ambient_dim=30, random_state=0)
    views = make_multiview(120, random_state=0)[0][:2]
    np.savez(tmp_path / "rows.npz", X=X, view0=views[0], view1=views[1])
    models = {
        "sgl": (kedge.SGL(3, n_anchors=12, beta=0.1, scale="zscore", n_jobs=1, random_state=0), X),
        "graph": (kedge.SGL(3, n_anchors=12, predict_with="graph", n_jobs=1, random_state=0), X),
        "slsr": (kedge.baselines.SLSR(3, n_in_sample=60, random_state=0), X),
        "msgl": (kedge.MSGL(3, n_anchors=12, structure="exact", n_jobs=1, random_state=0), views),
        "lmvsc": (kedge.baselines.LMVSC(3, n_jobs=1, random_state=0), views),
    }
    for name, (model, rows) in models.items():
        kedge.save(model.fit(rows), tmp_path / f"{name}.kedge")
    threads = {f"{library}_NUM_THREADS": "2" for library in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found == {name: digest(model, rows) for name, (model, rows) in models.items()}
    for name in models:
        assert (tmp_path / f"{name}-again.kedge").read_bytes() == (tmp_path / f"{name}.kedge").read_bytes()
