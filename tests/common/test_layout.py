"""The shape of the package: one-way imports, short files, documented names, a light import."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kedge

PACKAGE = Path(kedge.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
# Each room may import from the rooms to its right only; files at the top level are the room "method".
ORDER = ["cli", "report", "plots", "comparison", "model_files", "model_values", "baselines"]
ORDER += ["method", "engines", "readers", "anchors", "partition"]
ORDER += ["core", "kernels", "metrics", "datasets"]
CORE_ROOMS = {"anchors", "partition", "core", "kernels", "metrics", "datasets"}
METHOD = {path.stem for path in PACKAGE.glob("*.py")} - {
    "__init__",
    "__main__",
    "memory",
    "optional_libraries",
    "progress",
    "user_warnings",
    "whole_file",
    *ORDER,
}
CORE_LIBRARIES = {"numpy", "scipy", "sklearn", "threadpoolctl"}


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def room_of(path):
    """Return the room of a file; None for those that any room may import."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "method" if parts[0] in METHOD else parts[0] if parts[0] in ORDER else None


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p)], ids=str)
def test_imports_point_one_way(path):
    room = room_of(path)
    for module in imported_modules(path):
        parts = module.split(".")
        assert module != "kedge", f"{path.name} imports the whole package"
        if parts[0] == "kedge" and len(parts) > 1 and parts[1] in {*ORDER, *METHOD}:
            other = "method" if parts[1] in METHOD else parts[1]
            assert ORDER.index(other) >= ORDER.index(room), f"{path.name} imports {module}"
        elif room in CORE_ROOMS and parts[0] not in sys.stdlib_module_names and parts[0] != "kedge":
            assert parts[0] in CORE_LIBRARIES, f"{path.name} imports {module}"


def function_length(node):
    """Lines of a function after its docstring."""
    has_docstring = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    return node.end_lineno - node.body[int(has_docstring)].lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_files_and_functions_are_short(path):
    text = path.read_text()
    assert len(text.splitlines()) < 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert function_length(node) < 50, f"{path.name}: {node.name}"


def test_every_public_name_is_documented():
    for name in kedge.__all__:
        thing = getattr(kedge, name)
        if callable(thing):
            assert thing.__doc__, name
            if isinstance(thing, type):
                methods = [m for m in vars(thing) if not m.startswith("_") and callable(getattr(thing, m))]
                assert all(getattr(thing, m).__doc__ for m in methods)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kedge.nothing  # noqa: B018
    assert "SGL" in dir(kedge)


def test_rooms_are_reached_from_the_package_alone():
    program = "import kedge; print(kedge.metrics.nmi([0, 1], [1, 0]), kedge.kernels.choose_kernel().name)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "compiled"]


def test_import_of_the_package_loads_nothing_heavy():
    program = "import sys, kedge; print([m for m in ('numpy', 'scipy', 'sklearn', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", sorted((PACKAGE.parents[1] / "native").glob("*.[chi]*")), ids=lambda p: p.name)
def test_native_files_are_short(path):
    assert len(path.read_text().splitlines()) < 400


def test_the_map_of_the_house_leads_to_files_that_are_there():
    root = PACKAGE.parents[1]
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    links = re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", text)
    assert len(links) > 25
    for shown, target in links:
        assert (root / target).is_file(), target
        assert shown.rstrip("/") in target, f"{shown} leads to {target}"
    for name in re.findall(r"^- \*\*|`([a-z_]+)/`", text):
        assert not name or any((folder / name).is_dir() for folder in (root, PACKAGE, root / "docs")), name
