"""The settings that are tried where a parameter is left to the data."""

from dataclasses import dataclass, replace
from itertools import product

# Tried where the parameter is "auto".
ALPHAS = (0.001, 0.01, 0.1)
LOCALITIES = (0.0, 0.3, 1.0)
METHODS = ("kmeans", "plusplus", "random", "ffs")
# Farthest-first search grows with the cube of the anchors and is tried up to this many; and only where less than this
# share of the entries is not zero, as in text: on denser rows it was never among the better settings.
MOST_FARTHEST, FILLED_SHARE = 150, 0.1
# Anchors per cluster, least and most; a set draws its size from the range.
FEW, MANY = (3.0, 5.0), (8.0, 14.0)
# What a fit does without being asked, and where it is tried, its share before anything is known.
USUAL_ALPHA, USUAL_LOCALITY, USUAL_SHARE = 0.01, 0.0, 0.1
# Not more than this share of the rows are anchors of one set.
MOST_ANCHORS = 0.5


@dataclass(frozen=True)
class Setting:
    """One way to build the graph of a set of anchors.

    Attributes
    ----------
    method : str
        How anchors are chosen; "given" for given ones.
    sizes : tuple of float
        Least and most anchors per cluster.
    alpha, locality : float
        As in the estimators.
    """

    method: str
    sizes: tuple[float, float]
    alpha: float
    locality: float

    def is_usual(self) -> bool:
        """Whether this is what a fit does without being asked."""
        return (self.sizes, self.alpha, self.locality) == (FEW, USUAL_ALPHA, USUAL_LOCALITY)

    def count_anchors(self, share: float, n_rows: int, n_clusters: int) -> int:
        """Return the number of anchors for a draw from 0 to 1: either end of the range."""
        wanted = round(self.sizes[int(share >= 0.5)] * n_clusters)
        return max(n_clusters, min(wanted, int(MOST_ANCHORS * n_rows)))

    def kept_per_cluster(self) -> float:
        """Return the anchors per cluster of the graph that is kept: the end of the range nearer to the usual number."""
        return self.sizes[1] if self.sizes == FEW else self.sizes[0]

    def largest(self, n_rows: int, n_clusters: int) -> int:
        """Return the most anchors that a set of this setting has."""
        return self.count_anchors(1.0, n_rows, n_clusters)


@dataclass(frozen=True)
class Choices:
    """What may be chosen for each parameter; one entry where the user has decided."""

    alphas: tuple[float, ...]
    localities: tuple[float, ...]
    sizes: tuple[tuple[float, float], ...]
    methods: tuple[str, ...]

    def settings(self) -> list[Setting]:
        """Return all combinations, those with the same anchors next to each other."""
        return [Setting(*parts) for parts in product(self.methods, self.sizes, self.alphas, self.localities)]

    def without_slow(self, n_clusters: int, filled: float) -> "Choices":
        """Leave out what would take too long for so many clusters or such a share of nonzeros, unless it is all."""
        most = max(size[1] for size in self.sizes) * n_clusters
        worth_it = most <= MOST_FARTHEST and filled < FILLED_SHARE
        quick = tuple(method for method in self.methods if method != "ffs" or worth_it)
        return replace(self, methods=quick or self.methods)
