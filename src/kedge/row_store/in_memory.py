"""Coefficients in memory."""

from scipy import sparse


class MemoryStore:
    """A list of blocks, overwritten in place: a pass writes a block only after it has read it."""

    def __init__(self, n_blocks: int) -> None:
        self._blocks: list[sparse.csr_array | None] = [None] * n_blocks
        self._next = 0

    def begin_pass(self) -> None:
        """Begin again at the first block."""
        self._next = 0

    def write(self, coefficients: sparse.csr_array) -> None:
        """Put the next block in its place."""
        self._blocks[self._next] = coefficients
        self._next += 1

    def end_pass(self) -> None:
        """Do nothing: all blocks are in place."""

    def read(self, number: int) -> sparse.csr_array | None:
        """Return a block."""
        return self._blocks[number]

    def close(self) -> None:
        """Let the blocks go."""
        self._blocks = [None] * len(self._blocks)
