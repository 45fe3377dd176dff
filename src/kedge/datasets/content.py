"""Rows and labels of a data set in one form, checked against the catalogue."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.datasets.catalogue import Dataset

Array = NDArray[Any]

# float32 holds every whole number up to here.
LARGEST_WHOLE = 1 << 24
# Values hashed at a time, so that no second copy of a large array is made.
BLOCK_VALUES = 1 << 22


@dataclass(frozen=True)
class Content:
    """Views (dense or CSR, float) and labels from 0 of one data set."""

    views: tuple[Any, ...]
    labels: NDArray[np.int64]


def check_content(views: Sequence[Any], labels: Array, dataset: Dataset, origin: str) -> Content:
    """Bring rows and labels to the form in which they are handed out; refuse what the catalogue does not describe.

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
    _verify(content, dataset, origin)
    return content


def digest_content(content: Content, n_rows: int | None = None) -> str:
    """SHA-256 of the values: type, shape and little-endian bytes of each array in turn.

    With ``n_rows`` only that many leading rows count.
    """
    digest = hashlib.sha256()
    for view in content.views:
        rows = view if n_rows is None else view[:n_rows]
        digest.update(f"{'csr' if sparse.issparse(rows) else 'dense'} {rows.shape}\n".encode())
        arrays = (rows.indptr, rows.indices, rows.data) if sparse.issparse(rows) else (rows,)
        for array in arrays:
            _add_array(digest, array)
    _add_array(digest, content.labels[:n_rows])
    return digest.hexdigest()


def smallest_exact(values: Array) -> Array:
    """Whole numbers in the smallest integer type that holds them; other values as they are."""
    if values.dtype.kind == "f" and not _is_whole(values):
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    return values.astype(np.result_type(np.min_scalar_type(low), np.min_scalar_type(high)))


def _add_array(digest: Any, array: Array) -> None:
    digest.update(f"{array.dtype.newbyteorder('<').str} {array.shape}\n".encode())
    for block in _blocks(array):
        digest.update(np.ascontiguousarray(block, dtype=array.dtype.newbyteorder("<")).data)


def _blocks(array: Array) -> Iterator[Array]:
    """Leading slices of a C-ordered array, a few MiB each."""
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
        raise ValueError(
            f"{origin}: labels have {len(classes)} classes from {int(labels.min())} to {int(labels.max())}, "
            f"{dataset.name} has {dataset.n_clusters} numbered one after the other"
        )
    return from_zero


def _verify(content: Content, dataset: Dataset, origin: str) -> None:
    """Compare with what the catalogue knows of the values."""
    sizes = tuple(np.bincount(content.labels).tolist())
    if dataset.class_sizes and sizes != dataset.class_sizes:
        raise ValueError(f"{origin} does not hold {dataset.name}: class sizes {sizes}, expected {dataset.class_sizes}")
    known = [(None, dataset.digest)] if dataset.digest else [dataset.leading_digest] if dataset.leading_digest else []
    for n_rows, expected in known:
        found = digest_content(content, n_rows)
        if found != expected:
            part = f"the first {n_rows} rows" if n_rows else "the content"
            raise ValueError(
                f"{origin} does not hold {dataset.name}: SHA-256 of {part} expected {expected}, got {found}"
            )
