"""How many anchors, how many sets of them, and which graph: one rule for all data.

Few rows are rebuilt exactly, each from all anchors, by the row problem of the paper. Many anchors serve best there: two
for every three rows up to 1,200, so that an anchor is the mean of very few rows, in four sets that even out the luck of
the draw.

Many rows are joined to their few nearest anchors. Finer anchors follow the shape of clusters better, but cost time in
proportion: their number times that of the rows is kept within a budget, never below a thousand anchors, up to three
sets of three thousand. Rows of few features are joined to near anchors, too: in few dimensions anchors far away rebuild
a row as well as near ones.

Nearest anchors may leave the rows in more pieces than clusters are asked for, as columns of zeros and ones do, and say
nothing of which pieces go together. Then rows are rebuilt from few coarse anchors instead, five per cluster.

The constants were settled on MNIST, digits, ORL, BA and the TR sets, with their labels, and those of sparse rows and of
the limits in rows and anchors also on TDT2, Citeseer and NUS, that of coarse anchors on CoverType; Pokerhand and
Caltech were left aside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Up to this many rows the rows themselves are cut into communities, and the exact problem is affordable.
MOST_REBUILT_ROWS = 4_000
# Sets of anchors: more of them for very few rows, where the luck of a draw weighs most and a set costs next to nothing.
REBUILT_SHARE, REBUILT_SETS, MOST_REBUILT_SETS = 2 / 3, 4, 8
# More anchors than this bring nothing measurable there, and the row problem grows with them.
MOST_REBUILT_ANCHORS = 1_200
# Anchors of one fine set, rows times anchors of all sets that are affordable, and the fewest and most sets.
FINE_ANCHORS, FINE_BUDGET, FINE_SETS = 3_000, 420_000_000, 3
LEAST_FINE_ANCHORS = 1_000
# Rows per fine anchor, at least: an anchor is the mean of some rows, and of more where rows are sparse, since single
# documents share few words.
ROWS_PER_FINE_ANCHOR, SPARSE_ROWS_PER_FINE_ANCHOR = 3, 9
# Rows per anchor where few have every view: enough that some have each.
ROWS_PER_PATCHED_ANCHOR = 10
# Anchors that a row is joined to: fewer where rows are many, as every anchor then has many rows anyway.
NEAR_ANCHORS, NEAR_ANCHORS_OF_MANY, MANY_ROWS = 5, 3, 20_000
# Fewer anchors than this are coarse: rows are rebuilt from all of them, as in the paper, however many rows there are.
LEAST_NEAR_ANCHORS = 400
# Features up to which rows are joined to near anchors, however few they are, from this many rows on.
FEW_FEATURES, LEAST_NEAR_ROWS = 10, 50
# Coarse anchors per cluster where near ones leave the rows in pieces, and rows times anchors of all sets that are
# affordable.
COARSE_PER_CLUSTER, COARSE_BUDGET = 5, 40_000_000


@dataclass(frozen=True)
class AnchorCount:
    """Sizes of the anchor sets, and to how many nearest anchors a row is joined; None if it is rebuilt from all.

    ``coarse`` are the sizes of the sets that take over if near anchors leave the rows in pieces; empty for none.
    """

    sizes: tuple[int, ...]
    n_near: int | None
    coarse: tuple[int, ...] = ()


def count_anchors(
    n_rows: int,
    n_features: int,
    n_anchors: int | str,
    n_init: int | str,
    only_rebuilt: bool = False,
    n_clusters: int | None = None,
    n_complete: int | None = None,
    is_sparse: bool = False,
) -> AnchorCount:
    """Apply the rule; where the user gives the size or the number of sets, the rest follows from that.

    ``only_rebuilt`` says that nearest anchors will not do: mirrored anchors, a structure penalty and a given locality
    are parts of the row problem. ``n_clusters`` is the number of clusters asked for, if any: each needs an anchor.
    ``n_complete`` is the number of rows that have every view: an anchor of few rows that all lack a view says nothing
    of that view.
    """
    least = n_clusters or 1
    few_features = not only_rebuilt and n_features <= FEW_FEATURES and n_rows >= LEAST_NEAR_ROWS
    if not isinstance(n_anchors, str):
        size = int(n_anchors)
    elif n_rows <= MOST_REBUILT_ROWS and not few_features:
        size = max(least, min(round(REBUILT_SHARE * n_rows), MOST_REBUILT_ANCHORS), 1)
    elif only_rebuilt:
        size = max(least, LEAST_NEAR_ANCHORS)
    else:
        affordable = max(LEAST_FINE_ANCHORS, FINE_BUDGET // n_rows)
        rows_per_anchor = SPARSE_ROWS_PER_FINE_ANCHOR if is_sparse else ROWS_PER_FINE_ANCHOR
        size = max(least, min(FINE_ANCHORS, affordable, n_rows // rows_per_anchor))
    complete = round(REBUILT_SHARE * (n_rows if n_complete is None else n_complete))
    patched = n_rows // ROWS_PER_PATCHED_ANCHOR
    if complete < patched:
        # Fine anchors begin as rows, and would only ever be near to rows that lack the same views.
        only_rebuilt, few_features, patched = True, False, min(patched, LEAST_NEAR_ANCHORS)
    if isinstance(n_anchors, str) and n_complete is not None and n_complete < n_rows:
        size = min(size, max(least, complete, patched, 1))
    many = n_rows > MOST_REBUILT_ROWS and size >= LEAST_NEAR_ANCHORS
    n_near = NEAR_ANCHORS if n_rows < MANY_ROWS else NEAR_ANCHORS_OF_MANY
    near = not only_rebuilt and (many or few_features) and size > n_near
    if not isinstance(n_init, str):
        n_sets = int(n_init)
    elif near:
        n_sets = max(1, min(FINE_SETS, FINE_BUDGET // (n_rows * size)))
    else:
        most_sets = min(MOST_REBUILT_SETS, MOST_REBUILT_ROWS // n_rows)
        n_sets = max(REBUILT_SETS, most_sets) if n_rows <= MOST_REBUILT_ROWS else 1
    coarse: tuple[int, ...] = ()
    if near and n_clusters is not None and isinstance(n_anchors, str):
        own = COARSE_PER_CLUSTER * n_clusters
        affordable = int(np.clip(COARSE_BUDGET // (n_rows * own), 1, REBUILT_SETS))
        coarse = (own,) * (affordable if isinstance(n_init, str) else int(n_init))
    return AnchorCount((size,) * n_sets, n_near if near else None, coarse)


def check_counts(n_rows: int, n_clusters: int | None, n_anchors: int | str) -> None:
    """Say which count does not fit which; ``n_clusters`` is None where it is left to the data."""
    if n_clusters is not None and n_rows < n_clusters:
        raise ValueError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}; ask for fewer clusters")
    if isinstance(n_anchors, str):
        return
    if n_clusters is not None and n_anchors < n_clusters:
        raise ValueError(f"n_anchors={n_anchors} should be >= n_clusters={n_clusters}; raise it or leave it 'auto'")
    if n_anchors > n_rows:
        raise ValueError(f"n_anchors={n_anchors} should be <= n_samples={n_rows}; lower it or leave it 'auto'")


def checked_given_anchors(
    anchors: Sequence[Any], n_clusters: int | None, names: Sequence[str], widths: Sequence[int]
) -> Sequence[Any]:
    """Return given anchors, one array per view, as they are if they fit the data and each other."""
    if len(anchors) != len(names):
        raise ValueError(f"anchors has {len(anchors)} arrays, but there are {len(names)} views; give one per view")
    for one, name, width in zip(anchors, names, widths, strict=True):
        if one.shape[1] != width:
            raise ValueError(f"anchors have {one.shape[1]} features, but {name} has {width}")
        if len(one) != len(anchors[0]):
            raise ValueError(
                f"anchors of {name} are {len(one)}, of {names[0]} {len(anchors[0])}; anchor j of all views is one "
                "prototype, so give as many for each view"
            )
    if n_clusters is not None and len(anchors[0]) < n_clusters:
        raise ValueError(f"{len(anchors[0])} anchors were given, but n_clusters={n_clusters} needs at least as many")
    return anchors
