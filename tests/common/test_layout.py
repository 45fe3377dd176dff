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
NATIVE = PACKAGE.parents[1] / "native"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
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


def wrong_imports(path):
    room = room_of(path)
    for module in imported_modules(path):
        parts = module.split(".")
        if parts[0] == "kedge" and len(parts) > 1 and parts[1] in {*ORDER, *METHOD}:
            other = "method" if parts[1] in METHOD else parts[1]
            wrong = ORDER.index(other) < ORDER.index(room)
        else:
            outside = parts[0] not in {"kedge", *CORE_LIBRARIES, *sys.stdlib_module_names}
            wrong = module == "kedge" or (room in CORE_ROOMS and outside)
        if wrong:
            yield f"{path.relative_to(PACKAGE)} imports {module}"


def test_imports_point_one_way():
    assert [wrong for path in MODULES if room_of(path) for wrong in wrong_imports(path)] == []


def function_length(node):
    """Lines of a function after its docstring."""
    has_docstring = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    return node.end_lineno - node.body[int(has_docstring)].lineno + 1


def test_files_are_short():
    files = [*MODULES, *NATIVE.glob("*.[chi]*")]
    assert [path.name for path in files if len(path.read_text().splitlines()) >= 400] == []


def test_functions_are_short():
    functions = [(path, node) for path in MODULES for node in ast.walk(ast.parse(path.read_text()))]
    long = [
        f"{path.name}: {node.name}"
        for path, node in functions
        if isinstance(node, FUNCTION) and function_length(node) >= 50
    ]
    assert long == []


def test_every_public_name_is_documented():
    things = {name: getattr(kedge, name) for name in kedge.__all__ if callable(getattr(kedge, name))}
    for name, thing in list(things.items()):
        if isinstance(thing, type):
            things |= {f"{name}.{m}": getattr(thing, m) for m in vars(thing) if not m.startswith("_")}
    assert [name for name, thing in things.items() if callable(thing) and not thing.__doc__] == []


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


def test_the_map_of_the_house_leads_to_files_that_are_there():
    root = PACKAGE.parents[1]
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    links = re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", text)
    assert links
    assert [target for _, target in links if not (root / target).is_file()] == []
    assert [shown for shown, target in links if shown.rstrip("/") not in target] == []
    folders = [root, PACKAGE, root / "docs"]
    named = re.findall(r"`([a-z_]+)/`", text)
    assert [name for name in named if not any((folder / name).is_dir() for folder in folders)] == []
