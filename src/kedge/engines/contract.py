"""What an engine offers to a fit."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from scipy import sparse

from kedge.model.block_step import RowBlock
from kedge.model.pass_state import PassState
from kedge.model.pass_summary import PassSummary

Result = TypeVar("Result")


class Engine(Protocol):
    """Runs one function over all blocks of rows and keeps the coefficients between passes."""

    n_rows: int

    def run_pass(self, state: PassState) -> PassSummary:
        """Solve all rows, keep their coefficients, and return the merged sums."""
        ...

    def map_blocks(self, function: Callable[[RowBlock], Result]) -> list[Result]:
        """Apply a function to every block with its present coefficients; results are in the order of the rows."""
        ...

    def map_coefficients(self, function: Callable[[slice, sparse.csr_array], Result]) -> list[Result]:
        """Apply a function to the range and the coefficients of every block, without reading its rows again."""
        ...

    def coefficients(self) -> sparse.csr_array:
        """Return the coefficients of all rows."""
        ...

    def close(self) -> Any:
        """Free threads and scratch space."""
        ...
