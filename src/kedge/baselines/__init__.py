"""The methods that kedge is compared with, as scikit-learn clusterers under one registry."""

from kedge.baselines.alrr import ALRR
from kedge.baselines.amgl import AMGL
from kedge.baselines.ensc import EnSC
from kedge.baselines.essc import ESSC
from kedge.baselines.fnc import FNC
from kedge.baselines.joined_kmeans import JoinedKMeans
from kedge.baselines.kmeans import KMeans
from kedge.baselines.kmm import KMM
from kedge.baselines.lmvsc import LMVSC
from kedge.baselines.lrr import LRR
from kedge.baselines.lsc import LSC
from kedge.baselines.lsr import LSR
from kedge.baselines.mlrssc import MLRSSC
from kedge.baselines.msc_ias import MSC_IAS
from kedge.baselines.registry import Method, available, find_method
from kedge.baselines.slsr import SLSR
from kedge.baselines.sobg import SOBG
from kedge.baselines.spectral import SpectralClustering
from kedge.baselines.ssc import SSC
from kedge.baselines.sscomp import SSCOMP

__all__ = [
    "ALRR",
    "AMGL",
    "ESSC",
    "FNC",
    "KMM",
    "LMVSC",
    "LRR",
    "LSC",
    "LSR",
    "MLRSSC",
    "MSC_IAS",
    "SLSR",
    "SOBG",
    "SSC",
    "SSCOMP",
    "EnSC",
    "JoinedKMeans",
    "KMeans",
    "Method",
    "SpectralClustering",
    "available",
    "find_method",
]
