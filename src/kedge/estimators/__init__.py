"""Clusterers with scikit-learn's interface."""

from kedge.estimators.multi_view import MSGL
from kedge.estimators.single_view import SGL

__all__ = ["MSGL", "SGL"]
