"""The extension is what it claims to be."""

import tomllib
from pathlib import Path

import kedge
from kedge.kernels.compiled import instruction_set, is_built_for_speed


def test_solver_is_compiled_for_speed_though_bindings_are_compiled_for_size():
    assert is_built_for_speed()


def test_instruction_set_is_known():
    assert instruction_set() in {"baseline", "avx2"}


def test_version_is_the_same_everywhere():
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert pyproject["project"]["version"] == kedge.__version__
