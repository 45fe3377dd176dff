"""Clusterers with scikit-learn's interface."""

from kedge.estimators.single_view import SGL

__all__ = ["SGL"]
