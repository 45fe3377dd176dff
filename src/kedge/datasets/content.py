"""Rows and labels of a data set, read from kedge files or from public files, and checked against the catalogue.

A kedge file is an npz. Dense views are stored under ``X`` or ``view0``, ``view1``, ..., sparse ones as the CSR parts
``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``; the labels under ``y``. Other members are ignored.
"""

import gzip
import hashlib
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import io, sparse

from kedge.datasets.catalogue import Dataset, FileForm

Array = NDArray[Any]
RowsAndLabels = tuple[list[Any], Array]

# float32 holds every whole number up to here.
LARGEST_WHOLE = 1 << 24
# Names that labels have in the .mat files of clustering papers.
LABEL_NAMES = ("y", "gnd", "gt", "label", "labels", "truth", "truelabel")
# What a broken or hostile archive makes the standard library and NumPy raise.
READ_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, NotImplementedError, RuntimeError)


class Content(NamedTuple):
    """Views (dense or CSR, float) and labels from 0 of one data set."""

    views: tuple[Any, ...]
    labels: NDArray[np.int64]


def check_content(views: Sequence[Any], labels: Array, dataset: Dataset, origin: str) -> Content:
    """Bring rows and labels into the form that ``load`` documents; refuse, by ``origin``, what the set cannot be.

    The catalogue decides whether a view is dense or sparse, not the file. Labels may start anywhere.
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
    digest.update(np.ascontiguousarray(array, dtype=dtype).data)


def _float_type(values: Array) -> type[np.floating[Any]]:
    if values.dtype.kind == "f" and values.dtype.itemsize <= 4:
        return np.float32
    # False for NaN and infinity, which the caller refuses.
    is_small = values.size == 0 or max(-float(values.min()), float(values.max())) <= LARGEST_WHOLE
    return np.float32 if is_small and (values.dtype.kind != "f" or bool((values % 1 == 0).all())) else np.float64


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
    if not np.isfinite(labels).all() or (labels % 1 != 0).any():
        raise ValueError(f"{origin}: labels must be whole numbers")
    from_zero: NDArray[np.int64] = labels.astype(np.int64) - int(labels.min())
    classes = np.unique(from_zero)
    if len(classes) != dataset.n_clusters or classes[-1] != dataset.n_clusters - 1:
        found = f"{len(classes)} classes from {int(labels.min())} to {int(labels.max())}"
        raise ValueError(f"{origin}: labels have {found}, {dataset.name} has {dataset.n_clusters} in a row")
    return from_zero


def read_archive(path: Path, dataset: Dataset) -> Content:
    """Return rows and labels of a kedge file."""
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
    # The header is checked before the array is read, so that a small file cannot fill the memory.
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


def convert_files(paths: Sequence[Path], form: FileForm, dataset: Dataset) -> Content:
    """Read the public files of a data set, which are in the order of the catalogue."""
    origin = ", ".join(map(str, paths))
    try:
        views, labels = READERS[form](paths, dataset)
    # Readers of MATLAB files raise almost anything on damaged input.
    except Exception as error:
        raise ValueError(f"{origin} cannot be read as {dataset.name} ({one_line(error)})") from error
    return check_content(views, labels, dataset, origin)


def read_matlab(paths: Sequence[Path], dataset: Dataset) -> RowsAndLabels:
    """Find each view by its shape, in this or the transposed form, and the labels by their number and name."""
    (path,) = paths
    matrices: dict[str, Any] = {}
    for name, values in io.loadmat(path).items():
        if isinstance(values, np.ndarray) and values.dtype == object:
            matrices |= {f"{name}{{{i + 1}}}": cell for i, cell in enumerate(values.ravel())}
        elif not name.startswith("__"):
            matrices[name] = values
    arrays = {name: x for name, x in matrices.items() if isinstance(x, np.ndarray) or sparse.issparse(x)}
    matrices = {name: x for name, x in arrays.items() if x.ndim == 2 and x.dtype.kind in "buif"}
    views = [_matrix_of_width(matrices, dataset.n_rows, width) for width in dataset.widths]
    vectors = {name: values for name, values in matrices.items() if sorted(values.shape) == [1, dataset.n_rows]}
    vectors = {name: values for name, values in vectors.items() if name.lower() in LABEL_NAMES} or vectors
    if len(vectors) != 1:
        raise ValueError(f"{len(vectors)} vectors of {dataset.n_rows} labels in it")
    (labels,) = vectors.values()
    return views, np.ravel(labels.toarray() if sparse.issparse(labels) else labels)


def read_alphadigits(paths: Sequence[Path], dataset: Dataset) -> RowsAndLabels:
    """Read the cell array ``dat`` (classes by samples); an image becomes a row column by column, as in MATLAB."""
    (path,) = paths
    cells = io.loadmat(path, variable_names=["dat"])["dat"]
    n_classes, n_images = cells.shape
    rows = np.stack([image.ravel(order="F") for image in cells.ravel()])
    return [rows], np.repeat(np.arange(n_classes), n_images)


def read_idx(paths: Sequence[Path], dataset: Dataset) -> RowsAndLabels:
    """Read pairs of idx files of bytes, images and labels, one pair after the other."""
    limit = dataset.n_rows * dataset.widths[0]
    images = [_read_idx_file(path, limit) for path in paths[0::2]]
    labels = [_read_idx_file(path, dataset.n_rows) for path in paths[1::2]]
    return [np.concatenate([stack.reshape(len(stack), -1) for stack in images])], np.concatenate(labels)


def read_table(paths: Sequence[Path], dataset: Dataset, *, only_leading: bool = False) -> RowsAndLabels:
    """Stack tables of whole numbers with the labels in the last column; ``only_leading`` ignores surplus rows."""
    tables: list[Array] = []
    # One row more than expected is enough to see that a table is too long.
    n_left = dataset.n_rows + (not only_leading)
    for path in paths:
        tables.append(np.loadtxt(path, delimiter=",", dtype=np.int16, max_rows=n_left, ndmin=2))
        n_left -= len(tables[-1])
    table = np.concatenate(tables)
    return [table[:, :-1]], table[:, -1]


READERS: dict[FileForm, Callable[[Sequence[Path], Dataset], RowsAndLabels]] = {
    "matlab": read_matlab,
    "alphadigits": read_alphadigits,
    "idx": read_idx,
    "table": read_table,
    "leading rows": partial(read_table, only_leading=True),
}


def _matrix_of_width(matrices: dict[str, Any], n_rows: int, width: int) -> Any:
    for shape in ((n_rows, width), (width, n_rows)):
        fitting = [values for values in matrices.values() if values.shape == shape]
        if len(fitting) == 1:
            return fitting[0] if shape == (n_rows, width) else fitting[0].T
    shapes = ", ".join(f"{name} {values.shape}" for name, values in matrices.items())
    raise ValueError(f"no single matrix of shape {(n_rows, width)} in it, only {shapes or 'no matrix'}")


def _read_idx_file(path: Path, limit: int) -> Array:
    """Read an idx file of at most ``limit`` unsigned bytes, compressed or not."""
    with path.open("rb") as plain:
        is_compressed = plain.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path) if is_compressed else path.open("rb") as file:
            zeros, kind, n_axes = int.from_bytes(file.read(2)), *file.read(2)
            if zeros or kind != 8 or n_axes > 3:
                raise ValueError(f"{path.name} is no idx file of bytes")
            shape = tuple(int.from_bytes(file.read(4)) for _ in range(n_axes))
            size = math.prod(shape)
            if size > limit:
                raise ValueError(f"{path.name} declares {shape} values, more than the set has")
            data = file.read(size + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error
    if len(data) != size:
        raise ValueError(f"{path.name} holds {min(len(data), size)} of {size} values, or more than it declares")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)
