"""What travels to every block of rows in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kedge.model.near_problem import NearProblem
from kedge.model.row_problem import RowProblem
from kedge.model.structure_penalty import StructurePenalty


@dataclass(frozen=True)
class PassState:
    """The row problems of all anchor sets, and the structure penalty on their joint graph.

    The coefficients of the sets stand side by side, each divided by the number of sets, so that rows sum to one.

    Attributes
    ----------
    problems : tuple of RowProblem or NearProblem
        One per anchor set, all of the same kind.
    penalty : StructurePenalty or None
        None in the first pass, or where beta is zero.
    want_change : bool
        Whether the summary holds the Gram matrix of the change of the coefficients.
    """

    problems: tuple[RowProblem | NearProblem, ...]
    penalty: StructurePenalty | None = None
    want_change: bool = False

    @property
    def n_columns(self) -> int:
        """Columns of the coefficients of all problems together."""
        return sum(problem.n_columns for problem in self.problems)

    def column_ranges(self) -> list[slice]:
        """Return the columns of each problem."""
        ends = np.cumsum([problem.n_columns for problem in self.problems])
        return [slice(int(end) - p.n_columns, int(end)) for end, p in zip(ends, self.problems, strict=True)]

    def with_weights(self, weights: Sequence[float]) -> "PassState":
        """Return the state with other weights of the views."""
        if tuple(weights) == self.problems[0].weights:
            return self
        problems = tuple(problem.with_weights(weights) for problem in self.problems if isinstance(problem, RowProblem))
        return replace(self, problems=problems)

    def with_penalty(self, penalty: StructurePenalty | None) -> "PassState":
        """Return the state of the next pass."""
        return replace(self, penalty=penalty)


@dataclass(frozen=True)
class ColumnLayout:
    """Which anchor each column of the coefficients belongs to.

    Without mirrored anchors column j is anchor j; with them, two columns of a set belong to one anchor.
    """

    anchor_of: NDArray[np.intp]
    n_anchors: int

    @property
    def is_plain(self) -> bool:
        """Whether columns and anchors are the same."""
        return len(self.anchor_of) == self.n_anchors


def column_layout(set_sizes: list[int], signed: bool) -> ColumnLayout:
    """Lay out the columns of anchor sets of these sizes."""
    starts = np.cumsum([0, *set_sizes[:-1]])
    copies = 2 if signed else 1
    parts = [np.tile(np.arange(start, start + size), copies) for start, size in zip(starts, set_sizes, strict=True)]
    return ColumnLayout(np.concatenate(parts).astype(np.intp), sum(set_sizes))
