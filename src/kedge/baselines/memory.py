"""What a method would need and what the machine has: sizes that do not fit are refused before anything is allocated."""

from collections.abc import Callable
from typing import NoReturn

_GIB = 2**30


def refuse(method: str, n_samples: int, needed: int, largest: int, limit: float, *, is_own: bool) -> NoReturn:
    """Raise MemoryError, saying how many bytes a fit needs beyond X and how many rows would fit in the limit.

    ``is_own`` says whether the user set the limit; otherwise it is the machine.
    """
    raise MemoryError(
        f"{method} of {n_samples:,} rows needs about {needed / _GIB:,.1f} GiB of memory beyond X, and "
        f"{'memory_limit allows' if is_own else 'the machine has'} {limit / _GIB:,.1f}; at most about {largest:,} rows "
        "fit: pass fewer rows, or use a method that is linear in them, such as kedge.SGL"
    )


def largest_that_fits(needed: Callable[[int], int], limit: float) -> int:
    """Return the largest number of rows whose fit stays within the limit, by bisection; at most 10^12."""
    low, high = 1, 10**12
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if needed(middle) <= limit else (low, middle - 1)
    return low
