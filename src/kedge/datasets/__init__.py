"""Generated data with known clusters."""

from kedge.datasets.generators import make_multiview, make_union_of_subspaces

__all__ = ["make_multiview", "make_union_of_subspaces"]
