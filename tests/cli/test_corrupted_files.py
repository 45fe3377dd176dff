"""Hundreds of damaged and hostile files, under a memory limit: one line on stderr each, never a traceback."""

import io
import json
import pickle
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
from data_file_writers import WRITERS

# Kinds whose text may be cut where a number or a line ends, which nobody can see; a letter in a number all can.
TEXT = {"csv", "tsv"}
CUTS = (0.02, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95, 0.999)
FLIPS = 4
SIGNATURE_BITS = (0, 3, 7)

# Runs the command on each file; writes a line per file at once, so that a crash shows where it happened.
CHILD = """
import contextlib, io, json, resource, sys
from pathlib import Path
from kedge.cli.commands import app
import kedge.cli.fit, h5py, pyarrow.parquet, pyarrow.csv, scipy.io

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**31, used + 2**31))
folder = Path(sys.argv[1])
for path in map(Path, sys.stdin.read().splitlines()):
    out, err, out_folder = io.StringIO(), io.StringIO(), folder / "out"
    print(json.dumps({"begin": path.name}), flush=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app(["fit", str(path), "-k", "2", "--anchors", "4", "--out", str(out_folder), "--memory", "0.25", "--json"])
        except SystemExit as stop:
            code = stop.code
        except BaseException as error:
            code = repr(error)
    result = {"name": path.name, "code": code, "stderr": err.getvalue(), "out": out_folder.exists()}
    print(json.dumps(result), flush=True)
    left = [other.name for other in folder.iterdir() if other.name.endswith("kedge-partial")]
    assert not left, left
    if out_folder.exists():
        import shutil
        shutil.rmtree(out_folder)
"""


def run_all(paths, folder):
    folder.mkdir()
    command = [sys.executable, "-c", CHILD, str(folder)]
    text = "\n".join(map(str, paths))
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=600, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    return {line["name"]: line for line in lines if "name" in line}


def check(result, name, allowed):
    assert result["code"] in allowed, (name, result)
    assert "Traceback" not in result["stderr"]
    assert result["out"] == (result["code"] == 0)
    if result["code"] == 2:
        lines = result["stderr"].splitlines()
        assert len(lines) == 1, result
        assert lines[0].startswith("kedge fit: "), result
        assert name.rpartition(".")[0] in lines[0] or "n_samples" in lines[0], result


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """Bytes of a good file of every kind."""
    folder = tmp_path_factory.mktemp("whole")
    rows = np.random.default_rng(0).normal(size=(40, 4))
    rows[20:] += 8.0
    files = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries that write files warn of their own plans
        for kind, (suffix, write) in WRITERS.items():
            path = folder / f"good{suffix}"
            write(path, rows, np.repeat([0, 1], 20))
            files[kind] = (suffix, path.read_bytes())
    return files


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


def stem_of(kind):
    return kind.replace(" ", "_").replace(".", "_")


def visibly_damaged(folder, whole_files):
    """Write files whose damage anybody can see who knows the format: cut short, or flipped where it says what it is."""
    for kind, (suffix, content) in whole_files.items():
        if kind in TEXT:
            digits = [place for place, byte in enumerate(content) if chr(byte).isdigit() and place > len(content) // 4]
            for number, place in enumerate(digits[:: len(digits) // len(CUTS)]):
                put(folder, f"{stem_of(kind)}_letter{number}{suffix}", flipped(content, place, 6))
            continue
        for number, share in enumerate(CUTS):
            put(folder, f"{stem_of(kind)}_cut{number}{suffix}", content[: int(share * len(content))])
        for bit in SIGNATURE_BITS:
            put(folder, f"{stem_of(kind)}_signature{bit}{suffix}", flipped(content, signature_place(kind), bit))


def signature_place(kind):
    """Return a byte that tells the format.

    Parquet has it at the end as well, MATLAB 5 after a line of text, and HDF5 inside others after 512 bytes of it.
    """
    if kind == "parquet":
        return -2
    if kind in ("mat", "packed mat", "sparse mat"):
        return 126
    return 513 if kind in ("mat 7.3", "h5mu") else 1


def flipped(content, place, bit):
    damaged = bytearray(content)
    damaged[place] ^= 1 << bit
    return bytes(damaged)


@pytest.mark.needs("linux")
def test_damage_that_may_change_nothing_but_numbers(whole_files, tmp_path):
    """Flips at random and text cut at the end of a number: refused, or a file of that many rows that can be read."""
    rng = np.random.default_rng(1)
    paths = []
    for kind, (suffix, content) in whole_files.items():
        for number in range(FLIPS):
            # The first flips are near the start, where the structure of most formats is described.
            limit = min(len(content), 512) if number < FLIPS // 2 else len(content)
            damaged = content
            for place in rng.integers(0, limit, size=3):
                damaged = flipped(damaged, place, int(rng.integers(8)))
            paths.append(put(tmp_path, f"{stem_of(kind)}_flip{number}{suffix}", damaged))
        if kind in TEXT:
            for number, share in enumerate(CUTS):
                part = content[: int(share * len(content))]
                paths.append(put(tmp_path, f"{stem_of(kind)}_cut{number}{suffix}", part))
    results = run_all(paths, tmp_path / "runs")
    for path in paths:
        check(results[path.name], path.name, {0, 2})
    assert {result["code"] for result in results.values()} == {0, 2}


def npy_header(shape, descr="<f8", fortran=False):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": fortran, "shape": shape})
    return file.getvalue()


class Harm:
    """Would leave a file behind if it were ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        """Say what unpickling should do."""
        return (open, (str(self.path), "w"))


def hostile_files(folder, whole_files):
    trap = folder / "trap"
    harm = np.array([[Harm(trap)] * 2] * 3, dtype=object)
    np.save(folder / "pickled.npy", harm, allow_pickle=True)
    np.savez(folder / "pickled_inside.npz", X=harm, allow_pickle=True)
    put(folder, "plain_pickle.npy", pickle.dumps(Harm(trap)))
    put(folder, "billion_rows.npy", npy_header((10**9, 4)) + bytes(64))
    put(folder, "overflowing.npy", npy_header((2**62, 2**62)) + bytes(64))
    put(folder, "zero_times_huge.npy", npy_header((0, 2**62)) + bytes(64))
    put(folder, "empty.csv", b"")
    put(folder, "only_lines.csv", b"\n\n\n")
    put(folder, "only_names.csv", b"a,b,c\n")
    put(folder, "zeros.csv", bytes(5000))
    put(folder, "long_names.csv", b"x" * 100_000 + b",y\n1,2\n" * 3)
    put(folder, "unknown.docx", b"text")
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as file:
        file.write(npy_header((2**24, 4)))
        for _ in range(2**9):
            file.write(bytes(2**20))
    with zipfile.ZipFile(folder / "traversal.npz", "w") as archive:
        archive.writestr("../../escaped.txt", b"x")
    with zipfile.ZipFile(folder / "billion_inside.npz", "w") as archive:
        archive.writestr("X.npy", npy_header((10**9, 4)))
    for kind, (_, content) in whole_files.items():
        # The name promises another format.
        wrong = ".parquet" if kind in TEXT else ".csv"
        put(folder, f"wrong_{stem_of(kind)}{wrong}", content)
        put(folder, f"wrong_{stem_of(kind)}.mat", content if "mat" not in kind else b"{}")


def hostile_hdf5(folder):
    import h5py

    with h5py.File(folder / "billion_rows.h5", "w") as file:
        file.create_dataset("rows", shape=(10**9, 4), chunks=(1000, 4), dtype="f8")
    with h5py.File(folder / "giant_chunk.h5", "w") as file:
        file.create_dataset("rows", shape=(2**27, 4), chunks=(2**26, 4), dtype="f8", compression="gzip")
    secret = folder / "secret.bin"
    secret.write_bytes(bytes(320))
    with h5py.File(folder / "elsewhere.h5", "w") as file:
        file.create_dataset("rows", shape=(10, 4), dtype="f8", external=[(str(secret), 0, 320)])
    with h5py.File(folder / "other.h5ad", "w") as file:
        file["X"] = np.zeros((5, 2))
    with h5py.File(folder / "linked.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(folder / "other.h5ad"), "X")
    with h5py.File(folder / "billion_sparse.mat", "w", userblock_size=512) as file:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = np.uint64(10**9)
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group["data"], group["ir"], group["jc"] = np.ones(1), np.zeros(1, np.uint64), np.array([0, 1], np.uint64)
    (folder / "other.h5ad").rename(folder / "other.data")


def hostile_tables(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy import io as matlab
    from scipy import sparse

    constant = pa.table({"a": pa.DictionaryArray.from_arrays(np.zeros(2**20, np.int32), [1.0]).dictionary_decode()})
    # A few kilobytes that become 128 MiB in one row group.
    pq.write_table(pa.table({f"c{i}": constant["a"] for i in range(16)}), folder / "bomb.parquet", row_group_size=2**20)
    matlab.savemat(folder / "bomb.mat", {"X": np.zeros((2**13, 2**12))}, do_compression=True)
    np.savez(folder / "billion_rows.npz", format=b"coo", shape=[10**9, 3], row=[0], col=[0], data=[1.0])
    np.savez(
        folder / "wrong_index.npz", format=b"csr", shape=[2, 2], indptr=[0, 1, 2], indices=[0, 99], data=[1.0, 2.0]
    )
    np.savez(
        folder / "wrong_starts.npz", format=b"csr", shape=[2, 2], indptr=[0, 9, 2], indices=[0, 1], data=[1.0, 2.0]
    )
    sparse.save_npz(folder / "diagonal.npz", sparse.dia_matrix(np.eye(4)))


@pytest.mark.needs("linux")
def test_two_hundred_corrupted_and_hostile_files_are_all_refused_and_run_nothing(whole_files, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    visibly_damaged(folder, whole_files)
    hostile_files(folder, whole_files)
    hostile_hdf5(folder)
    hostile_tables(folder)
    paths = [path for path in sorted(folder.iterdir()) if path.suffix not in (".bin", ".data")]
    assert len(paths) >= 200
    results = run_all(paths, tmp_path / "runs")
    for path in paths:
        check(results[path.name], path.name, {2})
    # Refused for their sizes before they were unpacked, and not for what came out.
    for name in ("bomb.npz", "bomb.mat"):
        assert "its unpacked content takes" in results[name]["stderr"]
    assert "one row group of 1,048,576 rows takes" in results["bomb.parquet"]["stderr"]
    assert "claims 1,000,000,000 rows" in results["billion_rows.npz"]["stderr"]
    assert not (folder / "trap").exists()
    assert not list(tmp_path.rglob("escaped.txt"))
    assert not (tmp_path.parent / "escaped.txt").exists()
