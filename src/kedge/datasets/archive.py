"""The kedge file of a data set: a compressed npz, read with suspicion and written in one step.

Dense views are stored under ``X`` or ``view0``, ``view1``, ..., sparse ones as the CSR parts ``X_data``, ``X_indices``,
``X_indptr`` and ``X_shape``; the labels under ``y``. Other members are ignored.
"""

import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from kedge.datasets.catalogue import Dataset
from kedge.datasets.content import Content, check_content, smallest_exact
from kedge.whole_file import replace_whole

Array = NDArray[Any]

# What a broken or hostile archive makes the standard library and NumPy raise.
READ_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, NotImplementedError, RuntimeError)


def read_archive(path: Path, dataset: Dataset) -> Content:
    """Return rows and labels of a kedge file.

    The declared shapes and types are compared with the catalogue before any array is read, so that a small file cannot
    fill the memory.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            views = [_read_view(archive, key, i, dataset) for i, key in enumerate(dataset.keys)]
            labels = _read_member(archive, "y", (dataset.n_rows,))
    except READ_ERRORS as error:
        raise ValueError(f"{path} cannot be read ({_one_line(error)}); it is damaged or no npz file") from error
    except ValueError as error:
        raise ValueError(f"{path}: {_one_line(error)}") from error
    return check_content(views, labels, dataset, str(path))


def write_archive(path: Path, content: Content, dataset: Dataset) -> None:
    """Write a kedge file beside its place and move it there whole."""
    arrays: dict[str, Array] = {"y": smallest_exact(content.labels)}
    for key, view in zip(dataset.keys, content.views, strict=True):
        if sparse.issparse(view):
            arrays[f"{key}_data"] = smallest_exact(view.data)
            arrays |= {f"{key}_indices": view.indices, f"{key}_indptr": view.indptr}
            arrays[f"{key}_shape"] = np.array(view.shape)
        else:
            arrays[key] = smallest_exact(view)
    if dataset.view_names:
        arrays["view_names"] = np.array(dataset.view_names)
    with replace_whole(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def _read_view(archive: zipfile.ZipFile, key: str, number: int, dataset: Dataset) -> Any:
    shape = (dataset.n_rows, dataset.widths[number])
    if not dataset.most_stored:
        return _read_member(archive, key, shape)
    data = _read_member(archive, f"{key}_data", None, dataset.most_stored[number])
    indices = _read_member(archive, f"{key}_indices", data.shape)
    indptr = _read_member(archive, f"{key}_indptr", (shape[0] + 1,))
    declared = tuple(_read_member(archive, f"{key}_shape", (2,)).tolist())
    if declared != shape:
        raise ValueError(f"{key} has shape {declared}, {dataset.name} has {shape}")
    if indices.dtype.kind == "f" or indptr.dtype.kind == "f":
        raise ValueError(f"indices of {key} are not whole numbers")
    # In 64 bits first, so that an index too large for 32 is seen and not wrapped.
    rows = sparse.csr_array((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=shape)
    rows.check_format(full_check=True)
    return rows


def _read_member(archive: zipfile.ZipFile, key: str, shape: tuple[int, ...] | None, most: int | None = None) -> Array:
    """Read one array whose header agrees with what is expected: this shape, or at most so many values."""
    try:
        member = archive.getinfo(f"{key}.npy")
    except KeyError:
        raise ValueError(f"no array {key!r} in it") from None
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{key} has npy version {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        found, _, dtype = read_header(file)
        if dtype.kind not in "buif" or dtype.itemsize > 8:
            raise ValueError(f"{key} holds {dtype}, not numbers of at most 8 bytes")
        if shape is not None and found != shape:
            raise ValueError(f"{key} has shape {found}, expected {shape}")
        if most is not None and (len(found) != 1 or found[0] > most):
            raise ValueError(f"{key} has shape {found}, expected at most {most} values")
    with archive.open(member) as file:
        array: Array = npy.read_array(file, allow_pickle=False)
        # Reading to the end makes zipfile compare the checksum.
        if file.read(1):
            raise ValueError(f"{key} is longer than its header says")
    return array


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
