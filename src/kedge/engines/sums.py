"""Sums over rows, merged block by block in a fixed tree."""

from collections.abc import Iterable
from typing import Generic, Protocol, Self, TypeVar


class Mergeable(Protocol):
    """Sums over rows that can be added to those over other rows."""

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        ...


Sums = TypeVar("Sums", bound=Mergeable)


class SumTree(Generic[Sums]):
    """Merges the sums of blocks, which come in order, as neighbours in a fixed tree.

    ``kept`` holds only as many sums as the tree is high: pairs of a height and the sum of ``2**height`` blocks.
    """

    def __init__(self, kept: Iterable[tuple[int, Sums]] = ()) -> None:
        self.kept = list(kept)

    @property
    def n_blocks(self) -> int:
        """Number of blocks so far."""
        return sum(1 << height for height, _ in self.kept)

    def add(self, sums: Sums) -> None:
        """Take the sums of the next block."""
        # Two neighbours that stand for equally many blocks become one.
        height = 0
        while self.kept and self.kept[-1][0] == height:
            sums = self.kept.pop()[1].merge(sums)
            height += 1
        self.kept.append((height, sums))

    def total(self) -> Sums:
        """Return the sum of all blocks."""
        total = self.kept[-1][1]
        for _, sums in reversed(self.kept[:-1]):
            total = sums.merge(total)
        return total


def merge_sums(parts: Iterable[Sums]) -> Sums:
    """Merge the sums of all blocks; see :class:`SumTree`."""
    tree = SumTree[Sums]()
    for sums in parts:
        tree.add(sums)
    return tree.total()
