"""Measures of agreement between a clustering and known classes."""

from sklearn.metrics import adjusted_rand_score

from kedge.metrics.agreement import ari, clustering_accuracy, inverse_purity, nmi, purity
from kedge.metrics.contingency import contingency_table

__all__ = [
    "adjusted_rand_score",
    "ari",
    "clustering_accuracy",
    "contingency_table",
    "inverse_purity",
    "nmi",
    "purity",
]
