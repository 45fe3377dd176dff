"""What keeps the coefficients of blocks of rows between passes."""

from typing import Protocol

from scipy import sparse


class RowStore(Protocol):
    """Coefficients of blocks of rows, numbered from zero; read from several threads, written from one."""

    def begin_pass(self) -> None:
        """Get ready for the coefficients of a new pass, which come in the order of the blocks."""
        ...

    def write(self, coefficients: sparse.csr_array) -> None:
        """Take the coefficients of the next block; those of the last pass may be gone from then on."""
        ...

    def end_pass(self) -> None:
        """Make the pass that was written the one that is read."""
        ...

    def read(self, number: int) -> sparse.csr_array | None:
        """Return the coefficients of a block in the last pass; None before the first."""
        ...

    def close(self) -> None:
        """Give up what was kept."""
        ...
