"""Compile the driver together with the library's sources, as CMakeLists.txt compiles them."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What CMake adds to the options of CMakeLists.txt for a release.
CMAKE_FLAGS = ["-O3", "-DNDEBUG", "-std=gnu++20", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
DRIVER = ROOT / "benchmarks/instructions/driver.cpp"


def compiler():
    """Return the compiler's name: that of CXX, as for CMake."""
    return os.environ.get("CXX") or "c++"


def first_line(program):
    """Return the first line that a program prints about its version."""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def library_options():
    """Return the options of all sources, and those of single sources, by path."""
    text = (ROOT / "CMakeLists.txt").read_text()
    common = re.search(r"target_compile_options\(kedge_solver PRIVATE (-[^)]*)\)", text)[1].split()
    single = {}
    for names, options in re.findall(
        r"set_source_files_properties\(([^)]*?)\s+PROPERTIES COMPILE_OPTIONS ([^)]*)\)", text
    ):
        single |= {name: options.split() for name in names.split()}
    return common, single


def build_driver(folder):
    """Compile the driver and all sources but the bindings into a folder, one after the other; return the program."""
    common, single = library_options()
    names = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "native").glob("*.cpp"))
    names = [name for name in names if name != "native/bindings.cpp"]
    objects = []
    for name in [*names, str(DRIVER.relative_to(ROOT))]:
        objects.append(str(folder / f"{Path(name).stem}.o"))
        flags = [*CMAKE_FLAGS, *common, *single.get(name, []), "-Inative", "-Itests/native"]
        subprocess.run([compiler(), *flags, "-c", name, "-o", objects[-1]], cwd=ROOT, check=True)
    program = folder / "driver"
    subprocess.run([compiler(), "-pthread", *objects, "-o", str(program)], check=True)
    return program
