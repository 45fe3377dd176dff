"""Data files: how much memory they may use, how they are refused, and what is found in them."""

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.memory import machine_memory
from kedge.readers.stored_rows import StoredRows, ViewReader, check_matrix

_GIB = 2**30
# Matrices up to this size are read whole.
_WHOLE_BYTES = 2**28
# What is kept of every row whatever its width: label, confidence, weights of the graph.
_ROW_BYTES = 64
# No common compression shrinks more: deflate a thousandfold at best.
_MOST_PACKED = 2_000
_SMALL_FILE = 2**16
_MOST_CHARACTERS = 300
# The parts of a sparse matrix by its form.
SPARSE_PARTS = dict.fromkeys(("csr", "csc"), ("data", "indices", "indptr", "shape"))
SPARSE_PARTS["coo"] = ("data", "row", "col", "shape")


class DataFileError(ValueError):
    """A data file is missing, damaged, hostile, too large, or not what was asked for; the text names the file."""


@contextmanager
def one_kind_of_error(path: Path) -> Iterator[None]:
    """Turn whatever libraries raise for hostile bytes into DataFileError; a missing library says what to install."""
    try:
        yield
    except (DataFileError, ImportError):
        raise
    except PermissionError as error:
        raise DataFileError(f"{path} may not be read by this user; change its permissions") from error
    except MemoryError as error:
        raise DataFileError(f"{path} needs more memory than there is; it is damaged, or too large") from error
    except Exception as error:
        reason = one_line(str(error)) or type(error).__name__
        if str(path) not in reason:
            reason = f"{path} cannot be read: {reason}; is it damaged, or of another kind?"
        raise DataFileError(reason) from error


def one_line(text: str) -> str:
    """Return text without line breaks and control characters, cut where it is long."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= _MOST_CHARACTERS else f"{words[: _MOST_CHARACTERS - 3]}..."


def shown(name: str) -> str:
    """Return a name from a file in quotes, cut where it is long."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


@dataclass(frozen=True)
class Limits:
    """Bytes that may be used; looked at before anything is allocated."""

    most_bytes: int  # Of all that is in memory at a time.
    whole_bytes: int  # Matrices up to this size are read whole; larger ones stay on disk where their format allows it.

    @classmethod
    def for_memory(cls, gigabytes: float | None) -> "Limits":
        """Return the limits of a budget in GiB; None means what the machine and the system allow."""
        if gigabytes is not None and not (math.isfinite(gigabytes) and gigabytes > 0):
            raise ValueError(f"memory must be a positive number of GiB: {gigabytes}")
        most = _allowed_memory() if gigabytes is None else int(gigabytes * _GIB)
        return cls(most, min(_WHOLE_BYTES, most // 8))

    def small_whole(self, reader: StoredRows) -> Any:
        """Return the rows of a reader if they are few, else the reader."""
        n_bytes = reader.n_rows * reader.width * reader.dtype.itemsize
        return reader if n_bytes > self.whole_bytes else reader.read(slice(0, reader.n_rows))

    def check_whole(self, n_bytes: int, path: Path, what: str = "it") -> None:
        """Refuse what would be read whole and is too large for that; a copy is made on the way."""
        if n_bytes > self.most_bytes // 2:
            allowed = f"{self.most_bytes / _GIB:,.1f} GiB may be used for it and its copy"
            advice = "raise --memory, or store rows as .npy or Parquet, which are read in parts"
            raise DataFileError(f"{path}: {what} takes {n_bytes / _GIB:,.1f} GiB in memory, and {allowed}; {advice}")

    def check_rows(self, n_rows: int, path: Path) -> None:
        """Refuse a file with more rows than there is memory for labels."""
        if n_rows > self.most_bytes // _ROW_BYTES:
            allowed = f"{self.most_bytes / _GIB:,.1f} GiB of memory that may be used"
            what = f"{n_rows:,} rows, whose labels and weights alone take more than the {allowed}"
            raise DataFileError(f"{path} claims {what}; is it damaged?")

    def check_packed(self, n_bytes: int, stored: int, path: Path, what: str) -> None:
        """Refuse content that would grow far more than compressed data does."""
        if n_bytes > _MOST_PACKED * max(stored, _SMALL_FILE):
            raise DataFileError(f"{path}: {what} claims {n_bytes:,} bytes but stores only {stored:,}; is it damaged?")


def _allowed_memory() -> int:
    limits = [int(0.8 * machine_memory())]
    if sys.platform != "win32":
        import resource

        # A limit on addresses also covers libraries and what is in use already.
        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            limits.append(soft // 2)
    return min(limits)


@dataclass(frozen=True)
class FileView:
    """One matrix of a file."""

    name: str  # Name of the view: the file's, or that of the array or modality in it.
    path: Path  # The file, absolute.
    kind: str  # Kind of the file: "csv", "tsv", "parquet", "arrow", "npy", "npz", "mat", "hdf5", "h5ad", "h5mu", "csr".
    rows: Any  # ndarray, CSR array, or ViewReader where they stay on disk; all of these can be given to ``fit``.
    feature_names: list[str] | None = None  # Names of the columns, where the file has names.
    image_shape: tuple[int, int] | None = None  # Height and width, where every row was stored as a picture.
    observed: NDArray[np.bool_] | None = None  # Which rows have this view; None means all.

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory."""
        return not isinstance(self.rows, ViewReader)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0]) if self.in_memory else int(self.rows.n_rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1]) if self.in_memory else int(self.rows.width)


@dataclass(frozen=True)
class Labels:
    """Known classes, kept aside."""

    column: str  # Name of the column or array they come from.
    codes: NDArray[np.int64]  # Shape (n_rows,). Number of the class of each row; -1 where it has none.
    values: NDArray[Any]  # Shape (n_rows,). Name of the class of each row, empty where it has none.
    path: Path  # The file.


@dataclass(frozen=True)
class DataFiles:
    """Views with one row per sample, from one file or several."""

    views: list[FileView]  # The matrices, all with the same number of rows.
    row_names: NDArray[Any] | None = None  # Shape (n_rows,). Names of the rows, where a file has them.
    labels: Labels | None = None  # What ``label_column`` asked for.
    left_out: list[str] = field(default_factory=list)  # What was skipped, in words.

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.views[0].n_rows

    @property
    def view_names(self) -> list[str]:
        """Names of the views."""
        return [view.name for view in self.views]

    @property
    def matrices(self) -> list[Any]:
        """The rows of every view, each of a form that ``fit`` accepts."""
        return [view.rows for view in self.views]

    @property
    def feature_names(self) -> list[list[str] | None]:
        """Names of the columns of every view."""
        return [view.feature_names for view in self.views]

    @property
    def observed(self) -> NDArray[np.bool_] | None:
        """Which views each row has, of shape (n_rows, n_views); None means all."""
        if all(view.observed is None for view in self.views):
            return None
        every = np.ones(self.n_rows, dtype=bool)
        return np.column_stack([every if view.observed is None else view.observed for view in self.views])


def checked_sparse(parts: Mapping[str, NDArray[Any]], kind: str, path: Path, limits: Limits) -> sparse.csr_array:
    """Return a sparse matrix by rows from its stored parts, after checking every index."""
    if kind not in SPARSE_PARTS:
        raise DataFileError(f"{path} is a sparse matrix of the form {shown(kind)}; write it with matrix.tocsr()")
    lacking = [part for part in SPARSE_PARTS[kind] if part not in parts]
    if lacking:
        raise DataFileError(f"{path} lacks {lacking[0]!r}, which a sparse matrix needs")
    data, *integers = (parts[part] for part in SPARSE_PARTS[kind])
    if any(part.ndim != 1 for part in (data, *integers)) or {part.dtype.kind for part in integers} - set("iu"):
        raise DataFileError(f"{path}: the parts of a sparse matrix must be vectors, and all but the data integers")
    first, second, shape = (part.astype(np.int64) for part in integers)
    check_matrix(tuple(shape.tolist()), data.dtype, str(path))
    limits.check_rows(int(shape.max()), path)
    limits.check_whole(len(data) * (data.dtype.itemsize + 16) + 8 * int(shape.sum()), path)
    entries = (data, (first, second)) if kind == "coo" else (data, first, second)
    matrix = getattr(sparse, f"{kind}_array")(entries, shape=tuple(shape))
    if kind != "coo":
        if second[-1] != len(first):
            raise DataFileError(f"{path}: the parts of a sparse matrix do not fit each other")
        matrix.check_format(full_check=True)
    rows = sparse.csr_array(matrix)
    rows.sum_duplicates()
    return rows
