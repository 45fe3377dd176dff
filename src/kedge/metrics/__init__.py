"""Measures of agreement between a clustering and known classes."""

from kedge.metrics.agreement import clustering_accuracy, inverse_purity, nmi, purity

__all__ = ["clustering_accuracy", "inverse_purity", "nmi", "purity"]
