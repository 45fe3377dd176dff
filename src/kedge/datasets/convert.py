"""Public files in their own formats, read into rows and labels."""

import gzip
import math
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from kedge.datasets.catalogue import Dataset, FileForm
from kedge.datasets.content import Array, Content, check_content, one_line

RowsAndLabels = tuple[list[Any], Array]

# Names that labels have in the .mat files of clustering papers.
LABEL_NAMES = ("y", "gnd", "gt", "label", "labels", "truth", "truelabel")


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
    matrices = {name: values for name, values in matrices.items() if _is_matrix(values)}
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


def _is_matrix(values: Any) -> bool:
    is_array = isinstance(values, np.ndarray) or sparse.issparse(values)
    return is_array and values.ndim == 2 and values.dtype.kind in "buif"


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
