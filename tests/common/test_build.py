"""The extension is what it claims to be."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
from kedge._native import is_built_for_speed

import kedge


def test_solver_is_compiled_for_speed_though_bindings_are_compiled_for_size():
    assert is_built_for_speed()


def test_version_is_the_same_everywhere():
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert pyproject["project"]["version"] == kedge.__version__


def test_baseline_loops_give_the_same_rows_to_rounding():
    program = (
        "import sys, numpy as np; from kedge.kernels import solve_rows\n"
        "from kedge._native import instruction_set\n"
        "rng = np.random.default_rng(0); A = rng.normal(size=(37, 9)); F = -2 * rng.normal(size=(101, 9)) @ A.T\n"
        "rows = [solve_rows(2 * A @ A.T + r * np.eye(37), F).coefficients for r in (0.1, 100.0)]\n"
        "print(instruction_set(), file=sys.stderr); sys.stdout.buffer.write(np.stack(rows).tobytes())"
    )

    def solve(**environment):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, **environment})
        return done.stderr.decode().strip(), np.frombuffer(done.stdout)

    name, rows = solve(KEDGE_INSTRUCTION_SET="baseline")
    assert name == "baseline"
    np.testing.assert_allclose(rows, solve()[1], rtol=0, atol=1e-13)
