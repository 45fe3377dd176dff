"""Commands that the pages name exist, with the options they name."""

import importlib.util
import re
import tomllib
from pathlib import Path

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


def named(program):
    """Return every command of a program, with the page that names it."""
    found = [(page.name, command) for page in PAGES for command in commands_of(page)]
    return [(page, command) for page, command in found if re.match(rf"{program} (?!=)", command)]


def options_of(command):
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def test_targets_of_make_are_in_the_makefile():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    assert [found for found in named("make") if found[1].split()[1] not in targets] == []


def is_known(command):
    """Return whether kedge has a command with its options."""
    name, *words = command.split()[1:]
    if name.startswith("-"):
        return name in options_of(get_command(app))
    commands = get_command(app).commands
    if name not in commands:
        return False
    options = options_of(commands[name]) | {"--help"}
    return all(word.partition("=")[0] in options for word in words if word.startswith("-"))


def test_commands_of_kedge_and_their_options_are_in_its_help():
    assert named("kedge")
    assert [found for found in named("kedge") if not is_known(found[1])] == []


def test_modules_that_are_to_be_run_exist():
    words = [(page, command.split()[1:3]) for page, command in named("python")]
    assert [(page, *two) for page, two in words if two[0] != "-m" or importlib.util.find_spec(two[1]) is None] == []


def test_extras_that_are_to_be_installed_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    named = {(page, name) for page, text in texts.items() for name in re.findall(r"(?:kedge|'\.)\[(\w+)\]", text)}
    assert {(page, name) for page, name in named if name not in extras} == set()
