"""The command line, run in the process of the test."""

import pytest
from typer.testing import CliRunner

from kedge.cli.commands import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner().invoke(app, [str(one) for one in arguments])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout, done.stderr

    return call


@pytest.fixture
def refused():
    """Check that a command ended with one line on stderr that holds these words, and with nothing else."""

    def check(result, *words):
        code, out, err = result
        assert (code, out) == (2, ""), result
        assert len(err.splitlines()) == 1, err
        assert [str(word) for word in words if str(word) not in err] == [], err

    return check
