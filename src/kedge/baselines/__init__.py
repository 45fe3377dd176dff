"""The methods that kedge is compared with, as scikit-learn clusterers under one registry.

Names load on first use.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "ALRR": "kedge.baselines.alrr",
    "AMGL": "kedge.baselines.amgl",
    "EnSC": "kedge.baselines.ensc",
    "ESSC": "kedge.baselines.essc",
    "FNC": "kedge.baselines.fnc",
    "JoinedKMeans": "kedge.baselines.joined_kmeans",
    "KMeans": "kedge.baselines.kmeans",
    "KMM": "kedge.baselines.kmm",
    "LMVSC": "kedge.baselines.lmvsc",
    "LRR": "kedge.baselines.lrr",
    "LSC": "kedge.baselines.lsc",
    "LSR": "kedge.baselines.lsr",
    "MLRSSC": "kedge.baselines.mlrssc",
    "MSC_IAS": "kedge.baselines.msc_ias",
    "SLSR": "kedge.baselines.slsr",
    "SOBG": "kedge.baselines.sobg",
    "SSC": "kedge.baselines.ssc",
    "SSCOMP": "kedge.baselines.sscomp",
    "SpectralClustering": "kedge.baselines.spectral",
    "Method": "kedge.baselines.registry",
    "available": "kedge.baselines.registry",
    "find_method": "kedge.baselines.registry",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kedge.baselines' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOMES)
