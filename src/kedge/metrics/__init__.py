"""Measures of agreement between a clustering and known classes."""

from kedge.metrics.agreement import ari, clustering_accuracy, inverse_purity, nmi, purity
from kedge.metrics.contingency import contingency_table

__all__ = ["ari", "clustering_accuracy", "contingency_table", "inverse_purity", "nmi", "purity"]
