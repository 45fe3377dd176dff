"""Data sets by name, and generated data with known clusters."""

from kedge.datasets.catalogue import Dataset, available
from kedge.datasets.generators import make_multiview, make_union_of_subspaces
from kedge.datasets.loading import load, why_not_here

__all__ = ["Dataset", "available", "load", "make_multiview", "make_union_of_subspaces", "why_not_here"]
