"""What is read from data files, and what is asked of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.data_files.column_choice import ColumnChoice
from kedge.data_files.limits import Limits
from kedge.loop import Progress
from kedge.sources.view_reader import ViewReader


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
    """Known classes, kept aside for scoring."""

    column: str  # Name of the column or array they come from.
    codes: NDArray[np.int64]  # Shape (n_rows,). Number of the class of each row.
    names: list[str]  # Names of the classes.

    @property
    def values(self) -> NDArray[Any]:
        """Name of the class of each row."""
        return np.array(self.names, dtype=object)[self.codes]


@dataclass(frozen=True)
class FileContents:
    """What one file holds."""

    views: list[FileView]
    row_names: NDArray[Any] | None = None
    labels: Labels | None = None
    # What was passed over, in words.
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Wanted:
    """What is asked of every file."""

    columns: ColumnChoice
    label_column: str | None
    limits: Limits
    scratch_folder: Path | None
    progress: Progress


@dataclass(frozen=True)
class DataFiles:
    """Views with one row per sample, from one file or several."""

    views: list[FileView]  # The matrices, all with the same number of rows.
    row_names: NDArray[Any] | None  # Shape (n_rows,). Names of the rows, where a file has them.
    labels: Labels | None  # What ``label_column`` asked for.
    left_out: list[str]  # What was passed over, in words.

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
    def in_memory(self) -> bool:
        """Whether all rows are in memory."""
        return all(view.in_memory for view in self.views)

    @property
    def observed(self) -> NDArray[np.bool_] | None:
        """Which views each row has, of shape (n_rows, n_views); None means all."""
        if all(view.observed is None for view in self.views):
            return None
        every = np.ones(self.n_rows, dtype=bool)
        return np.column_stack([every if view.observed is None else view.observed for view in self.views])
