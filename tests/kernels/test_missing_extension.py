"""Without the extension the twin takes over, with one warning."""

import subprocess
import sys

PROGRAM = """
import sys, warnings
sys.modules["kedge._native"] = None
import numpy as np
import kedge
from kedge.kernels import choose_kernel
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        print(kedge.simplex_qp(np.eye(2), np.zeros((1, 2))))
print(choose_kernel().name, [w.category.__name__ for w in caught])
print(len(kedge.SGL(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 3))).labels_))
"""


def test_twin_is_used_with_one_runtime_warning():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[[0.5 0.5]]"] * 3 + ["reference ['RuntimeWarning']", "40"]
