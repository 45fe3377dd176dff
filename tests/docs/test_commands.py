"""Commands that the pages name exist, with the options they name."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from kedge.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands_of(page):
    """Return every command in the blocks and in the lines of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    inline = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [line for line in lines if line] + [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", inline)]


def named(page, program):
    return [command for command in commands_of(page) if re.match(rf"{program} (?!=)", command)]


def options_of(command):
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_of_make_are_in_the_makefile(page):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    for command in named(page, "make"):
        assert command.split()[1] in targets, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_kedge_and_their_options_are_in_its_help(page):
    known = get_command(app).commands
    for command in named(page, "kedge"):
        name, *words = command.split()[1:]
        if name.startswith("-"):
            assert name in options_of(get_command(app)), command
            continue
        assert name in known, command
        options = options_of(known[name])
        for word in words:
            if word.startswith("-"):
                assert word.partition("=")[0] in options | {"--help"}, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_are_to_be_run_exist(page):
    for command in named(page, "python"):
        option, module = command.split()[1:3]
        assert option == "-m", command
        assert importlib.util.find_spec(module) is not None, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_that_are_to_be_installed_exist(page):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in re.findall(r"(?:kedge|'\.)\[(\w+)\]", page.read_text(encoding="utf-8")):
        assert name in extras, name


def test_the_readme_names_commands():
    assert {"make demo", "make test"} <= set(commands_of(ROOT / "README.md"))
    assert named(ROOT / "README.md", "kedge")
