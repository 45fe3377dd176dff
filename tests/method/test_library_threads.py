"""The threads that BLAS and OpenMP would take do not change a fit."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import numpy as np
from scipy import sparse
from kedge import MSGL, SGL

views = [sparse.random_array((300, 300), density=0.1, format="csr", rng=seed) for seed in (0, 1)]
several = MSGL(4, random_state=0).fit(views)
dense = SGL(4, scale="zscore", random_state=0).fit(views[0].toarray())
parts = (several.graph_.data, several.labels_, dense.graph_.data, dense.labels_)
print(several.scalings_[0]["size"].hex(), *(hashlib.sha256(part.tobytes()).hexdigest() for part in parts))
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor has one thread")
def test_the_same_bits_whatever_the_environment_says():
    printed = set()
    for threads in ("1", "4"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", PROGRAM]
        printed.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(printed) == 1
