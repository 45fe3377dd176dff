"""Subspace clustering of one view or many, linear in the number of rows.

kedge clusters high-dimensional rows by rebuilding each one from a few of m anchor points. The weights form a small
bipartite graph between rows and anchors; its leading singular vectors separate the clusters.

Names load on first use, so ``import kedge`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedge import baselines, datasets, kernels, metrics
    from kedge.anchors.select import select_anchors
    from kedge.classifier import SGLClassifier
    from kedge.kernels.simplex import simplex_qp
    from kedge.model_files import load, save
    from kedge.msgl import MSGL
    from kedge.partition.communities import communities
    from kedge.partition.consensus import consensus
    from kedge.planning import FitEstimate, plan
    from kedge.sgl import SGL

__version__ = "0.2.0"

__all__ = [
    "MSGL",
    "SGL",
    "FitEstimate",
    "SGLClassifier",
    "__version__",
    "baselines",
    "communities",
    "consensus",
    "datasets",
    "kernels",
    "load",
    "metrics",
    "plan",
    "save",
    "select_anchors",
    "simplex_qp",
]

_HOMES = {
    "FitEstimate": "kedge.planning",
    "MSGL": "kedge.msgl",
    "SGL": "kedge.sgl",
    "SGLClassifier": "kedge.classifier",
    "communities": "kedge.partition.communities",
    "consensus": "kedge.partition.consensus",
    "load": "kedge.model_files",
    "plan": "kedge.planning",
    "save": "kedge.model_files",
    "select_anchors": "kedge.anchors.select",
    "simplex_qp": "kedge.kernels.simplex",
}


_ROOMS = {"baselines", "datasets", "kernels", "metrics"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"kedge.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'kedge' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
