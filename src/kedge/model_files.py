"""Models in files: a zip of plain arrays and a description in JSON. Loading trusts nothing in it."""

import hashlib
import io
import json
import os
import re
import stat
import struct
import types
import zipfile
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.scaling import SCALES, ViewScaling
from kedge.engines.local import graph_in_memory
from kedge.model_values import DAMAGED, MOST_MEMBERS, Refusal, decode, encode, read_array, write_array
from kedge.user_warnings import warn_user
from kedge.whole_file import replace_whole

__all__ = ["ModelFileError", "load", "save"]

_FORMAT, _VERSION, _DESCRIPTION = "kedge model", 1, "model.json"
_LIBRARIES = ("kedge", "numpy", "scipy", "scikit-learn")
_MODULES = {
    "SGL": "sgl",
    "MSGL": "msgl",
    "SGLClassifier": "classifier",
    "PublishedSGL": "published",
    "PublishedMSGL": "published",
}

# How large the parts of a file may be. All members together, unless the caller of ``load`` says otherwise:
_MOST_BYTES = 16 * 2**30
# The description, and the list of contents at the end of a zip. Parsed, JSON takes up to 50 times its size.
_MOST_TEXT_BYTES = 4 * 2**20
# Sizes above this need the wider fields of zip64; headers of .npy members are part of the margin.
_LARGE = 2**30

# No other names are read, so none can lead out of a folder into which someone unpacks the file.
_NAME = re.compile(r"model\.json|array_(0|[1-9]\d{0,5})\.npy")
# The oldest time a zip can hold: the same model gives the same bytes at any time.
_TIME = (1980, 1, 1, 0, 0, 0)
# What broken and hostile files make the libraries raise; JSON that is nested too deep gives a RuntimeError.
_FOREIGN = (zipfile.BadZipFile, struct.error, OSError, EOFError, RuntimeError, ValueError, OverflowError)
_UPGRADE = "upgrade kedge to load it"
_NO_MODEL = "give the path of a file that kedge.save wrote"

_FITTED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")
_OF_MIXINS = ("_n_features_out", "_sklearn_output_config")
# What every fit leaves beside the attributes that its class declares, and what some fits leave. Arrays are described by
# a name, their number of dimensions and the kinds of their types.
_ALWAYS: dict[str, Any] = {"labels_": ("vector of int", 1, "iu"), "n_features_in_": int, "scalings_": list[ViewScaling]}
_SOMETIMES: dict[str, Any] = {
    "feature_names_in_": ("vector of str", 1, "OU"),
    "view_columns_": list,
    "graph_": sparse.csr_array,
    "embedding_": ("matrix", 2, "f"),
}


class ModelFileError(ValueError):
    """A file is no model file, is damaged or hostile, or has a format that this kedge does not know."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model, fitted or not, in one file that :func:`kedge.load` reads without running code.

    The file replaces an older one only when it is complete. A graph on disk or on a cluster is copied into the file.
    Equal models give equal files.

    Parameters
    ----------
    model : SGL, MSGL, SGLClassifier or baseline
        The model; its parameters and attributes are stored, functions such as ``callback`` are left out with a warning.
    path : path
        Where to save it; the name usually ends in ``.kedge``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kedge
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(100, centers=3, random_state=0)
    >>> model = kedge.SGL(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kedge.save(model, Path(folder) / "blobs.kedge")
    ...     again = kedge.load(Path(folder) / "blobs.kedge")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    name = type(model).__name__
    # A subclass has code of its own, which a file cannot hold.
    if _class_named(name) is not type(model):
        names = ", ".join(
            ["SGL", "MSGL", "SGLClassifier", *(method.name for method in import_module("kedge.baselines").available())]
        )
        raise TypeError(f"model is a {name}, which cannot be saved; these can: {names}")
    given = model.get_params(deep=False)
    held = {key: value for key, value in vars(model).items() if key not in given}
    if "graph_" in held and not sparse.issparse(held["graph_"]):  # on disk, or on the workers of a cluster
        held |= {key: np.asarray(held[key]) for key in ("embedding_", "labels_", "confidence_")}
        held["graph_"] = graph_in_memory(held["graph_"])
    left_out = [key for key, value in given.items() if callable(value)]
    stored = {key: value for key, value in given.items() if key not in left_out}
    arrays: dict[str, NDArray[Any]] = {}
    description = {
        "format": _FORMAT,
        "version": _VERSION,
        "class": name,
        "fitted": "labels_" in held,
        "versions": {library: version(library) for library in _LIBRARIES},
        "parameters": {key: encode(value, f"parameter {key!r} of {name}", arrays) for key, value in stored.items()},
        "left_out": left_out,
        "attributes": {key: encode(value, f"attribute {key!r} of {name}", arrays) for key, value in held.items()},
    }
    try:
        _check_attributes(type(model), held, "labels_" in held)
    except Refusal as refusal:
        raise TypeError(f"the model cannot be saved: {refusal}") from refusal
    with replace_whole(Path(path)) as file:
        _write(file, description, arrays)
    for parameter in left_out:
        warn_user(f"{parameter} of {name} is a function and was not saved; set it again after loading")


def load(path: str | os.PathLike[str], *, max_bytes: int = _MOST_BYTES) -> Any:
    """Load a model that :func:`kedge.save` wrote; it predicts the same bits.

    Loading runs no code from the file and writes nothing. Sizes, names, types and checksums are checked before anything
    is allocated or used, so you can look at files of unknown origin. But a stranger's model may still predict nonsense;
    look at its parameters before you fit it again.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default=16 GiB
        Largest size of all arrays of the model together.

    Returns
    -------
    model : SGL, MSGL, SGLClassifier or baseline
        The model as it was saved.

    Raises
    ------
    kedge.model_files.ModelFileError
        The file is no model, damaged, hostile, or written by a newer kedge; a ValueError.
    """
    path = Path(path)
    # A pipe would wait for a writer.
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path} is no file; {_NO_MODEL}")
    # Errors of the system itself, such as a missing file, are raised as they are.
    with _ShortReads(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(archive, _checked_members(archive, path.stat().st_size, max_bytes))
        except (Refusal, *_FOREIGN) as error:
            reason = " ".join(str(error).split())[:400] or type(error).__name__
            advice = error.advice if isinstance(error, Refusal) else DAMAGED
            raise ModelFileError(f"{path} cannot be loaded: {reason}; {advice}") from error


# What a model consists of.


def _class_named(name: str) -> type[Any] | None:
    """Return the class that files know by this name. The baselines are imported only when they are needed."""
    if name in _MODULES:
        return cast(type[Any], getattr(import_module(f"kedge.{_MODULES[name]}"), name))
    methods = import_module("kedge.baselines").available()
    return next((method.estimator for method in methods if method.name == name), None)


def declared_attributes(estimator: type[Any]) -> dict[str, Any]:
    """Return the fitted attributes that a class annotates, with their types. Every fit has to leave them."""
    return {name: kind for name, kind in get_type_hints(estimator).items() if _FITTED.fullmatch(name)}


def _check_attributes(estimator: type[Any], attributes: Mapping[str, Any], fitted: bool) -> None:
    """Refuse a model whose attributes, beside its parameters, are not those that a fit leaves."""
    own = estimator.__name__
    for name in attributes:
        if not _FITTED.fullmatch(name) and name not in _OF_MIXINS:
            raise Refusal(f"{name!r} is no attribute of a fitted {own}")
    declared = declared_attributes(estimator) | _ALWAYS
    missing = [name for name in declared if name not in attributes]
    if fitted and missing:
        raise Refusal(f"{own} lacks {', '.join(missing)}")
    if not fitted and "labels_" in attributes:
        raise Refusal("it claims to be unfitted but has labels")
    for name, kind in (declared | _SOMETIMES).items():
        if name in attributes and not _holds(kind, attributes[name]):
            raise Refusal(f"attribute {name!r} of {own} is no {kind[0] if isinstance(kind, tuple) else kind}")


def _holds(kind: Any, value: Any) -> bool:
    """Whether a value is of an annotated type, or an array as described in ``_ALWAYS``."""
    if isinstance(kind, tuple):
        return isinstance(value, np.ndarray) and value.ndim == kind[1] and value.dtype.kind in kind[2]
    if kind is ViewScaling:
        fields = get_type_hints(ViewScaling)
        is_whole = isinstance(value, dict) and set(value) == set(fields) and value["kind"] in SCALES
        return is_whole and all(_holds(one, value[field]) for field, one in fields.items())
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_holds(part, value) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_holds(parts[0], one) for one in value)
    if origin is np.ndarray:
        family = np.integer if get_args(parts[1])[0] is np.int64 else np.floating
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, family)
    if kind is int or kind is float:
        # For Python, a bool is an int.
        return isinstance(value, (kind, np.integer if kind is int else np.floating)) and type(value) is not bool
    return kind is Any or isinstance(value, origin or kind)


# The zip around it.


def _write(file: BinaryIO, description: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays, then the description with their digests."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = {}
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name, _TIME), "w", force_zip64=array.nbytes > _LARGE) as opened:
                members[name] = write_array(opened, array)
        text = json.dumps(description | {"members": members}, allow_nan=False).encode("ascii")
        if len(text) > _MOST_TEXT_BYTES:
            has = f"{len(text)} bytes of lists, dicts and text, at most {_MOST_TEXT_BYTES} fit in a file"
            raise ValueError(f"the model has {has}: pass long lists as arrays")
        archive.writestr(zipfile.ZipInfo(_DESCRIPTION, _TIME), text)
        archive.comment = _comment(text)


def _comment(description: bytes) -> bytes:
    return f"{_FORMAT} sha256={hashlib.sha256(description).hexdigest()}".encode("ascii")


class _ShortReads(io.FileIO):
    """A file that refuses long reads: zipfile reads the list of contents at once, however long it says it is."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a limited number of bytes; zipfile asks for the rest of a file only near its end."""
        if size is not None and size > _MOST_TEXT_BYTES:
            raise Refusal(f"its list of contents or {_DESCRIPTION} has more than {_MOST_TEXT_BYTES} bytes")
        return super().read(size)


def _checked_members(archive: zipfile.ZipFile, size: int, most_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Check the list of contents of a file before anything in it is read."""
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        raise Refusal(f"it has {len(listed)} members, at most {MOST_MEMBERS} are read")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in listed:
        # The name as it is in the file; zipfile cuts it at a null character and turns backslashes.
        name = info.orig_filename
        if not _NAME.fullmatch(name) or info.filename != name:
            raise Refusal(f"it has a member {name[:80]!r}, which kedge does not write")
        if name in members:
            raise Refusal(f"it has two members {name!r}")
        # Plain bytes only: packed ones can grow a thousandfold.
        is_stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        if not is_stored or info.flag_bits & ~0x800 or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise Refusal(f"{name} is compressed, encrypted or a special file, which kedge does not write")
        members[name] = info
    if _DESCRIPTION not in members:
        raise Refusal(f"it has no {_DESCRIPTION}", _NO_MODEL)
    total = sum(info.file_size for info in listed)
    if total > size:
        raise Refusal(f"its members have {total} bytes, the file has {size}")
    if total > most_bytes:
        raise Refusal(f"its members have {total} bytes, more than max_bytes={most_bytes}", "raise max_bytes")
    return members


def _read(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Any:
    """Return the model of an archive whose list of contents was checked."""
    description = _read_description(archive)
    name = description["class"]
    estimator = _class_named(name)
    if estimator is None:
        raise Refusal(f"it holds a {name[:80]!r}, which this kedge does not have", _UPGRADE)
    unused = description["members"]
    if {_DESCRIPTION, *unused} != set(members):
        raise Refusal("its members are not those that its description lists")

    def take(member: Any) -> NDArray[Any]:
        """Return an array; each once, so that a small file cannot stand for a large model."""
        if not isinstance(member, str) or member not in unused:
            raise Refusal(f"the array {str(member)[:80]!r} is missing or used twice")
        return read_array(archive, members[member], unused.pop(member))

    parameters, attributes = (
        {key: decode(value, f"{key[:80]!r}", take) for key, value in description[group].items()}
        for group in ("parameters", "attributes")
    )
    if unused:
        raise Refusal(f"{next(iter(unused))} belongs to no attribute")
    if name in ("SGL", "MSGL") and "recipe" in parameters:
        # Saved before the published algorithms had classes of their own.
        estimator = _class_named(f"Published{name}" if parameters["recipe"] == "published" else name) or estimator
        parameters = {key: parameters[key] for key in estimator._get_param_names() if key in parameters}
    unknown = [parameter for parameter in parameters if parameter not in estimator._get_param_names()]
    if unknown:
        raise Refusal(f"{name} has no parameter {unknown[0][:80]!r}", _UPGRADE)
    _check_attributes(estimator, attributes, description["fitted"])
    # Parameters that a later kedge added take their defaults.
    model = estimator(**parameters)
    vars(model).update(attributes)
    return model


def _read_description(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the description of a model; its fields are there and of the right kinds."""
    text = archive.read(_DESCRIPTION)
    if archive.comment != _comment(text):
        raise Refusal(f"{_DESCRIPTION} does not match its checksum")
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except ValueError as error:
        raise Refusal("its description is no JSON") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT or type(found.get("version")) is not int:
        raise Refusal("it is no model file", _NO_MODEL)
    if found["version"] != _VERSION:
        raise Refusal(f"it has version {found['version']} of the format, this kedge knows {_VERSION}", _UPGRADE)
    kinds = {"class": str, "fitted": bool, "parameters": dict, "attributes": dict, "members": dict, "left_out": list}
    for field, kind in kinds.items():
        if not isinstance(found.get(field), kind):
            raise Refusal(f"its description has no proper {field!r}")
    return found


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refusal("its description says something twice")
    return found
