"""What a fitted model has to have: the attributes of each class and what they hold."""

import re
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from kedge.core.scaling import SCALES

# Attributes that scikit-learn's mixins leave; all others are fitted ones, which end in an underscore.
_OF_MIXINS = {"_n_features_out", "_sklearn_output_config"}
_FITTED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | Integral)


def _is_array(value: Any, n_dimensions: int, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == n_dimensions and value.dtype.kind in kinds


def _is_csr(value: Any) -> bool:
    return isinstance(value, sparse.csr_array)


def _is_list_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(holds(one) for one in value)


def _is_scaling(value: Any) -> bool:
    """Whether a dict holds the fields of a ViewScaling."""
    return (
        isinstance(value, dict)
        and set(value) == {"kind", "shift", "factor", "size", "center", "directions"}
        and value["kind"] in SCALES
        and all(value[part] is None or _is_array(value[part], 1, "f") for part in ("shift", "factor", "center"))
        and (value["directions"] is None or _is_array(value["directions"], 2, "f"))
        and isinstance(value["size"], Real)
    )


_HOLDS: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "float": _is_float,
    "None": lambda value: value is None,
    "dict": lambda value: isinstance(value, dict),
    "vector of int": lambda value: _is_array(value, 1, "iu"),
    "vector of float": lambda value: _is_array(value, 1, "f"),
    "vector of str": lambda value: _is_array(value, 1, "OU"),
    "matrix": lambda value: _is_array(value, 2, "f"),
    "CSR array": _is_csr,
    "list": lambda value: isinstance(value, list),
    "list of int": lambda value: _is_list_of(value, _is_int),
    "list of float": lambda value: _is_list_of(value, _is_float),
    "list of str": lambda value: _is_list_of(value, lambda one: isinstance(one, str)),
    "list of matrices": lambda value: _is_list_of(value, lambda one: _is_array(one, 2, "f")),
    "list of CSR arrays": lambda value: _is_list_of(value, _is_csr),
    "list of scalings": lambda value: _is_list_of(value, _is_scaling),
}

_ALL = {"labels_": "vector of int", "n_features_in_": "int", "scalings_": "list of scalings"}
_VIEWS = {"view_names_": "list of str", "view_widths_": "list of int"}
_SELF_EXPRESSION = {"coefficients_": "CSR array", "embedding_": "matrix"}
_ANCHOR_GRAPH = {
    "graph_": "CSR array",
    "graph_anchors_": "matrix",
    "used_anchors_": "vector of int",
    "anchor_labels_": "vector of int",
    "embedding_": "matrix",
    "anchor_embedding_": "matrix",
    "objective_": "vector of float",
    "n_iter_": "int",
    "n_components_": "int",
    "singular_values_": "vector of float",
    "cluster_centers_": "matrix or None",
    "n_clusters_": "int",
    "n_communities_": "int",
    "tree_": "matrix",
    "community_shares_": "matrix",
    "smoothed_shares_": "matrix",
    "cluster_shares_": "matrix",
    "confidence_shares_": "matrix",
    "confidence_": "vector of float or None",
    "auto_report_": "dict or None",
    "ridge_factors_": "vector of float or None",
    "embedding_anchors_": "matrix",
    "anchor_set_sizes_": "vector of int",
    "problem_weights_": "vector of float",
    "row_map_": "matrix",
    "ridge_": "float",
    "locality_": "float",
    "n_near_": "int or None",
    "penalty_weight_": "float",
    "penalty_targets_": "matrix or None",
    "_n_features_out": "int",
}
_OF_CLASS: dict[str, Mapping[str, str]] = {
    "SGL": _ANCHOR_GRAPH,
    "MSGL": _ANCHOR_GRAPH
    | _VIEWS
    | {
        "graph_anchors_": "list of matrices",
        "embedding_anchors_": "list of matrices",
        "view_prior_": "vector of float",
        "view_weights_": "vector of float",
        "view_weights_history_": "matrix",
    },
    "ALRR": {"core_": "matrix", "row_basis_": "matrix", "embedding_": "matrix", "n_iter_": "int"},
    "KMM": {
        "graph_": "CSR array",
        "prototypes_": "matrix",
        "n_components_": "int",
        "n_iter_": "int",
        "history_": "matrix",
    },
    "ESSC": _SELF_EXPRESSION | {"n_iter_": "int"},
    "FNC": {
        "graph_": "CSR array",
        "anchors_": "matrix",
        "objective_": "float",
        "objective_history_": "list of float",
        "n_iter_": "int",
    },
    "SSCOMP": _SELF_EXPRESSION,
    "SLSR": {
        "in_sample_indices_": "vector of int",
        "in_sample_rows_": "matrix or CSR array",
        "coefficients_": "matrix",
        "embedding_": "matrix",
    },
    "SSC": _SELF_EXPRESSION | {"n_iter_": "int"},
    "LRR": {"coefficient_factor_": "matrix", "row_basis_": "matrix", "embedding_": "matrix", "n_iter_": "int"},
    "LSR": {"coefficients_": "matrix", "embedding_": "matrix"},
    "EnSC": _SELF_EXPRESSION | {"n_iter_": "int"},
    "LSC": {
        "graph_": "CSR array",
        "landmarks_": "matrix",
        "embedding_": "matrix",
        "singular_values_": "vector of float",
    },
    "SOBG": {
        "graph_": "CSR array",
        "anchors_": "matrix",
        "n_components_": "int",
        "n_iter_": "int",
        "history_": "matrix",
    },
    "KMeans": {"cluster_centers_": "matrix", "inertia_": "float", "n_iter_": "int"},
    "SpectralClustering": {},
    "AMGL": _VIEWS
    | {
        "embedding_": "matrix",
        "view_weights_": "vector of float",
        "view_weights_history_": "matrix",
        "objective_": "vector of float",
        "n_components_": "vector of int",
        "graphs_": "list of CSR arrays",
        "n_iter_": "int",
    },
    "MLRSSC": _VIEWS
    | {
        "affinity_": "matrix",
        "view_coefficients_": "list of matrices",
        "embedding_": "matrix",
        "residuals_": "matrix",
        "n_iter_": "int",
    },
    "MSC_IAS": _VIEWS
    | {
        "similarity_": "CSR array",
        "latent_": "matrix",
        "bases_": "list of matrices",
        "objective_": "vector of float",
        "dependence_weight_": "float",
        "n_iter_": "int",
        "embedding_": "matrix",
    },
    "LMVSC": _VIEWS
    | {
        "graphs_": "list of CSR arrays",
        "anchors_": "list of matrices",
        "embedding_": "matrix",
        "singular_values_": "vector of float",
        "row_map_": "matrix",
        "cluster_centers_": "matrix",
        "ridges_": "vector of float",
        "_n_features_out": "int",
    },
    "JoinedKMeans": _VIEWS | {"cluster_centers_": "matrix", "inertia_": "float", "n_iter_": "int"},
}
# What X decides: whether it had names, and whether it was one matrix.
_OPTIONAL = {"feature_names_in_": "vector of str", "view_columns_": "list"}


def required_attributes(class_name: str) -> dict[str, str]:
    """Return the attributes that every fit of a class leaves, and what each holds."""
    return _ALL | dict(_OF_CLASS[class_name])


def find_fault(class_name: str, estimator: type[Any], attributes: Mapping[str, Any], fitted: bool) -> str | None:
    """Return what is wrong with the attributes of a model beside its parameters; None if nothing is."""
    for name in attributes:
        if name not in _OF_MIXINS and not _FITTED.fullmatch(name):
            return f"{name!r} is no attribute of a fitted {class_name}"
        if hasattr(estimator, name):
            # A value in place of a method would change what the class does.
            return f"attribute {name!r} would hide a member of {class_name}"
    required = required_attributes(class_name)
    if fitted:
        missing = [name for name in required if name not in attributes]
        if missing:
            return f"{class_name} lacks {', '.join(missing)}"
    for name, expected in (required | _OPTIONAL).items():
        if name in attributes and not any(_HOLDS[kind](attributes[name]) for kind in expected.split(" or ")):
            return f"attribute {name!r} of {class_name} is no {expected}"
    return None
