"""``kedge doctor`` and the bare installation."""

import subprocess
import sys

import pytest

import kedge
from kedge.cli import doctor

WITHOUT_TYPER = "import sys; sys.modules['typer'] = None; from kedge.cli.entry import main; main()"


def run(*arguments, program=None):
    command = [sys.executable, "-c", program] if program else [sys.executable, "-m", "kedge"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("program", [None, WITHOUT_TYPER], ids=["with extra", "without extra"])
def test_doctor_reports_everything(program):
    done = run("doctor", program=program)
    assert done.returncode == 0, done.stderr
    for word in ("numpy", "scipy", "scikit-learn", "python", "threads", "blas", " loops, built for speed"):
        assert word in done.stdout
    assert f"kedge              {kedge.__version__}" in done.stdout
    assert done.stdout.count("rows per second") >= 2


def test_doctor_fails_when_the_solver_is_missing(monkeypatch, capsys):
    from kedge.kernels import available_kernels, selection

    monkeypatch.setattr(selection, "_problem", "no such file")
    available_kernels.cache_clear()
    monkeypatch.setattr(doctor, "SELF_TEST_SECONDS", 0.01)
    try:
        assert doctor.print_report() == 1
    finally:
        available_kernels.cache_clear()
    assert "MISSING" in capsys.readouterr().out


def test_other_commands_name_the_extra_in_one_line():
    done = run("fit", "data.csv", program=WITHOUT_TYPER)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") == 0
    assert "pip install 'kedge[cli]'" in done.stderr


def test_help_and_completion_load_no_numbers():
    program = "import sys; from kedge.cli.commands import app; app(standalone_mode=False); "
    program += "print('numpy' in sys.modules)"
    assert run("--help", program=program).stdout.splitlines()[-1] == "False"


def test_version_and_help():
    assert run("--version").stdout.strip() == f"kedge {kedge.__version__}"
    assert "doctor" in run("--help").stdout
    assert run("nonsense").returncode == 2
