"""Models of version 1 of the format: what they lack today is worked out from what they hold."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.model_files.refusal import Refusal
from kedge.partition.communities import merge_tree

_NO_PROJECTION = {"center": None, "directions": None}


def with_todays_attributes(
    class_name: str, parameters: dict[str, Any], attributes: dict[str, Any], fitted: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and attributes as a fit leaves them now; faults are left to be found later."""
    scalings = attributes.get("scalings_")
    if isinstance(scalings, list) and all(isinstance(one, dict) for one in scalings):
        attributes = attributes | {"scalings_": [one | _NO_PROJECTION for one in scalings]}
    if class_name not in ("SGL", "MSGL"):
        return parameters, attributes
    # Labels came from k-means of singular vectors.
    parameters = {"partition": "spectral"} | parameters
    return parameters, _anchor_graph(parameters, attributes) if fitted else attributes


def _anchor_graph(parameters: Mapping[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in attributes.items() if name != "anchors_"}
    if "anchors_" in attributes:
        found["graph_anchors_"] = attributes["anchors_"]
    graph: Any
    labels: Any
    centers: Any
    graph, labels, centers = (found.get(name) for name in ("graph_", "labels_", "cluster_centers_"))
    if not (sparse.issparse(graph) and _is_array(labels, 1, "iu") and _is_array(centers, 2, "f")):
        return found
    used = _used_anchors(found.get("graph_anchors_"), found.get("embedding_anchors_"))
    n_clusters = len(centers)
    if len(labels) != graph.shape[0] or len(used) != graph.shape[1] or not np.isin(labels, np.arange(n_clusters)).all():
        raise Refusal("its labels, graph, anchors and centres do not belong together")
    shares, tree = _clusters_of(graph, labels, n_clusters)
    all_shares = np.zeros((_count(found["embedding_anchors_"]), n_clusters))
    all_shares[used] = shares
    return {
        "confidence_": None,
        "auto_report_": None,
        "n_clusters_": n_clusters,
        "locality_": float(parameters.get("locality", 0.0)),
        **found,
        "used_anchors_": used,
        "n_communities_": n_clusters,
        "community_shares_": all_shares,
        "cluster_shares_": all_shares.copy(),
        "tree_": tree,
        "n_near_": None,
    }


def _clusters_of(
    graph: sparse.csr_array, labels: NDArray[Any], n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of each anchor in each cluster, and the tree of the merges of clusters."""
    member = np.zeros((len(labels), n_clusters))
    member[np.arange(len(labels)), labels] = 1.0
    support = np.asarray(graph.T @ member, dtype=np.float64)
    totals = support.sum(axis=1, keepdims=True)
    shares = support / np.where(totals > 0, totals, 1.0)
    weights = np.asarray(graph @ shares, dtype=np.float64)
    return shares, merge_tree(sparse.csr_array(weights.T @ weights), np.arange(n_clusters), 1.0)


def _used_anchors(some: Any, every: Any) -> NDArray[np.intp]:
    """Return where the anchors of the graph stand among all anchors."""
    some, every = (one if isinstance(one, list) else [one] for one in (some, every))
    if not all(_is_array(one, 2, "f") for one in (*some, *every)):
        raise Refusal("its anchors are no matrices")
    if len(some[0]) == len(every[0]):
        return np.arange(len(some[0]))
    places = {row.tobytes(): place for place, row in enumerate(np.hstack(every))}
    found = [places.get(row.tobytes()) for row in np.hstack(some)]
    if None in found:
        raise Refusal("its graph has anchors that its embedding lacks")
    return np.array(found, dtype=np.intp)


def _count(anchors: Any) -> int:
    return len(anchors[0] if isinstance(anchors, list) else anchors)


def _is_array(value: Any, n_dimensions: int, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == n_dimensions and value.dtype.kind in kinds
