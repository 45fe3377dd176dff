"""One clustering from many: rows that most of them put together belong together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

# Rows that vote; the table of pairs grows with their square.
MOST_VOTERS = 2_000


def agreed_groups(
    votes: Sequence[NDArray[np.int64]],
    n_groups: int,
    weights: NDArray[np.float64] | None = None,
    company_share: float = 0.0,
) -> NDArray[np.int64]:
    """Join rows by average linkage, two rows being the closer the more clusterings put them together.

    Clusterings count alike, or as their weights say. With a ``company_share``, this much of how close two rows are is
    how alike their company is, that is, how much they are together with the same rows: the cosine between their rows of
    the table of pairs. That is steadier where clusterings are few, and takes O(n^3) time.
    """
    n_rows = len(votes[0])
    if n_rows <= n_groups:
        return np.arange(n_rows)
    starts = np.cumsum([0, *(int(vote.max()) + 1 for vote in votes)])
    columns = np.stack([vote + start for vote, start in zip(votes, starts[:-1], strict=True)], axis=1).ravel()
    pointers = np.arange(0, len(columns) + 1, len(votes))
    heavy = np.ones(len(votes)) if weights is None else weights * (len(votes) / weights.sum())
    roots = np.tile(np.sqrt(heavy).astype(np.float32), n_rows)
    ballots = sparse.csr_array((roots, columns, pointers), shape=(n_rows, starts[-1]))
    together = (ballots @ ballots.T).toarray()
    together /= np.float32(len(votes))
    if company_share > 0:
        together = (1.0 - np.float32(company_share)) * together + np.float32(company_share) * _alike_company(together)
    # Weights add up to one only but for rounding, and distances below zero are none.
    apart = np.maximum(1.0 - together, np.float32(0))
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart, checks=False), method="average")
    return np.asarray(fcluster(tree, n_groups, criterion="maxclust") - 1, dtype=np.int64)


def _alike_company(together: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosines between the rows of a symmetric table; none is zero, as every row is together with itself."""
    unit = together / np.linalg.norm(together, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, dtype=np.float32)
