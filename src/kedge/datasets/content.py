"""Rows and labels of a data set, checked against the catalogue, and kedge files that hold them.

A kedge file is an npz. Dense views are stored under ``X`` or ``view0``, ``view1``, ..., sparse ones as the CSR parts
``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``; the labels under ``y``. Other members are ignored.
"""

import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from kedge.datasets.catalogue import Dataset

Array = NDArray[Any]

# float32 holds every whole number up to here.
LARGEST_WHOLE = 1 << 24
# Values hashed at a time, so that no second copy of a large array is made.
BLOCK_VALUES = 1 << 22
# What a broken or hostile archive makes the standard library and NumPy raise.
READ_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Content:
    """Views (dense or CSR, float) and labels from 0 of one data set."""

    views: tuple[Any, ...]
    labels: NDArray[np.int64]


def check_content(views: Sequence[Any], labels: Array, dataset: Dataset, origin: str) -> Content:
    """Bring rows and labels into the form that users get, and refuse what the catalogue does not describe.

    Whole numbers become float32, other values keep their type; dense views are C-ordered, sparse ones CSR arrays with
    sorted int32 indices. The catalogue decides which of the two a view is, not the file. Labels may start anywhere.
    ``origin`` names the file or files in error messages.
    """
    checked = []
    for values, width, key in zip(views, dataset.widths, dataset.keys, strict=True):
        expected = (dataset.n_rows, width)
        if values.shape != expected:
            raise ValueError(f"{origin}: {key} has shape {values.shape}, {dataset.name} has {expected}")
        checked.append(_sparse_rows(values) if dataset.most_stored else _dense_rows(values))
        if not np.isfinite(checked[-1].data if dataset.most_stored else checked[-1]).all():
            raise ValueError(f"{origin}: {key} holds NaN or infinity")
    content = Content(tuple(checked), _labels_from_zero(labels, dataset, origin))
    sizes = tuple(np.bincount(content.labels).tolist())
    if dataset.class_sizes and sizes != dataset.class_sizes:
        raise ValueError(f"{origin} does not hold {dataset.name}: class sizes {sizes}, expected {dataset.class_sizes}")
    n_rows, expected_digest = dataset.leading_digest or (None, dataset.digest)
    found = digest_content(content, n_rows) if expected_digest else None
    if found != expected_digest:
        wrong = f"SHA-256 of {f'the first {n_rows} rows' if n_rows else 'the content'}"
        raise ValueError(f"{origin} does not hold {dataset.name}: {wrong} expected {expected_digest}, got {found}")
    return content


def digest_content(content: Content, n_rows: int | None = None) -> str:
    """SHA-256 of type, shape and little-endian bytes of each array, of all rows or of the first ``n_rows``."""
    digest = hashlib.sha256()
    for view in content.views:
        rows = view if n_rows is None else view[:n_rows]
        digest.update(f"{'csr' if sparse.issparse(rows) else 'dense'} {rows.shape}\n".encode())
        for array in (rows.indptr, rows.indices, rows.data) if sparse.issparse(rows) else (rows,):
            _add_array(digest, array)
    _add_array(digest, content.labels[:n_rows])
    return digest.hexdigest()


def _add_array(digest: Any, array: Array) -> None:
    dtype = array.dtype.newbyteorder("<")
    digest.update(f"{dtype.str} {array.shape}\n".encode())
    for block in _blocks(array):
        digest.update(np.ascontiguousarray(block, dtype=dtype).data)


def _blocks(array: Array) -> Iterator[Array]:
    """Yield leading slices of a C-ordered array, a few MiB each."""
    rows = max(1, BLOCK_VALUES // max(1, array[:1].size))
    return (array[start : start + rows] for start in range(0, len(array), rows))


def _is_whole(values: Array) -> bool:
    return all(bool((np.rint(block) == block).all()) for block in _blocks(values))


def _float_type(values: Array) -> type[np.floating[Any]]:
    if values.dtype.kind == "f" and values.dtype.itemsize <= 4:
        return np.float32
    # False for NaN and infinity, which the caller refuses.
    is_small = values.size == 0 or max(-float(values.min()), float(values.max())) <= LARGEST_WHOLE
    return np.float32 if is_small and (values.dtype.kind != "f" or _is_whole(values)) else np.float64


def _dense_rows(values: Any) -> Array:
    rows = values.toarray() if sparse.issparse(values) else values
    return np.ascontiguousarray(rows, dtype=_float_type(rows))


def _sparse_rows(values: Any) -> Any:
    rows = sparse.csr_array(values)
    rows.data = rows.data.astype(_float_type(rows.data))
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _labels_from_zero(labels: Array, dataset: Dataset, origin: str) -> NDArray[np.int64]:
    if labels.shape != (dataset.n_rows,):
        raise ValueError(f"{origin}: {labels.shape} labels, {dataset.name} has {dataset.n_rows} rows")
    if not np.isfinite(labels).all() or not _is_whole(labels):
        raise ValueError(f"{origin}: labels must be whole numbers")
    from_zero: NDArray[np.int64] = labels.astype(np.int64) - int(labels.min())
    classes = np.unique(from_zero)
    if len(classes) != dataset.n_clusters or classes[-1] != dataset.n_clusters - 1:
        found = f"{len(classes)} classes from {int(labels.min())} to {int(labels.max())}"
        raise ValueError(f"{origin}: labels have {found}, {dataset.name} has {dataset.n_clusters} in a row")
    return from_zero


def read_archive(path: Path, dataset: Dataset) -> Content:
    """Return rows and labels of a kedge file.

    Shapes and types are compared with the catalogue before any array is read, so a small file cannot fill the memory.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            views = [_read_view(archive, key, i, dataset) for i, key in enumerate(dataset.keys)]
            labels = _read_member(archive, "y", (dataset.n_rows,))
    except READ_ERRORS as error:
        raise ValueError(f"{path} cannot be read ({one_line(error)}); it is damaged or no npz file") from error
    except ValueError as error:
        raise ValueError(f"{path}: {one_line(error)}") from error
    return check_content(views, labels, dataset, str(path))


def one_line(error: BaseException) -> str:
    """Return the message of an error without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


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
    """Read one array if its header declares this shape, or a vector of at most so many values."""
    if f"{key}.npy" not in archive.namelist():
        raise ValueError(f"no array {key!r} in it")
    with archive.open(f"{key}.npy") as file:
        if npy.read_magic(file) != (1, 0):
            raise ValueError(f"{key} is no npy array of version 1.0")
        found, _, dtype = npy.read_array_header_1_0(file)
        if dtype.kind not in "buif" or dtype.itemsize > 8:
            raise ValueError(f"{key} holds {dtype}, not numbers of at most 8 bytes")
        if shape is not None and found != shape:
            raise ValueError(f"{key} has shape {found}, expected {shape}")
        if most is not None and (len(found) != 1 or found[0] > most):
            raise ValueError(f"{key} has shape {found}, expected at most {most} values")
        file.seek(0)
        array: Array = npy.read_array(file, allow_pickle=False)
        # Reading to the end makes zipfile compare the checksum.
        if file.read(1):
            raise ValueError(f"{key} is longer than its header says")
    return array
