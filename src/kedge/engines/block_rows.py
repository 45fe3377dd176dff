"""Which rows are solved together."""

from sklearn import get_config

# Entries of the linear terms of a block: small enough to stay in cache, large enough to hide the cost of a call.
BLOCK_ENTRIES = 1 << 18
FEWEST_ROWS, MOST_ROWS = 256, 16384
# Blocks of rows that are in memory at a time, at most: read ahead, being solved, and copies while they are scaled.
_BLOCKS_IN_MEMORY = 8


def rows_per_block(n_columns: int, bytes_per_row: int = 0) -> int:
    """Return how many rows are solved together; depends on the problem alone, so that threads cannot change sums.

    Parameters
    ----------
    n_columns : int
        Columns of the coefficients.
    bytes_per_row : int, default=0
        What a row of all views takes in memory. Blocks of very wide rows are shortened so that those in work stay
        within scikit-learn's ``working_memory``; sums then differ in their last bits.
    """
    # Every block brings a Gram matrix of n_columns^2 entries, which must not cost more than its rows.
    fewest = max(FEWEST_ROWS, n_columns)
    wanted = min(max(BLOCK_ENTRIES // max(n_columns, 1), fewest), MOST_ROWS)
    budget = int(get_config()["working_memory"] * 2**20) // _BLOCKS_IN_MEMORY
    return max(1, min(wanted, budget // max(bytes_per_row, 1)))


def cut_rows(n_rows: int, step: int) -> list[slice]:
    """Cut rows into consecutive blocks; the last may be shorter."""
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
