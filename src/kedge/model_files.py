"""Models in files: a zip of plain arrays and a description in JSON, written in one step and read with suspicion."""

import hashlib
import io
import json
import math
import os
import re
import stat
import struct
import zipfile
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, cast

from numpy.typing import NDArray
from scipy import sparse

from kedge.model_values import (
    CHUNK,
    DAMAGED,
    MOST_DIGITS,
    MOST_MEMBERS,
    Refusal,
    decode,
    encode,
    find_fault,
    read_array,
    write_array,
)
from kedge.msgl import MSGL
from kedge.sgl import SGL
from kedge.user_warnings import warn_user
from kedge.whole_file import replace_whole

__all__ = ["ModelFileError", "load", "save"]

_FORMAT, _VERSION, _DESCRIPTION = "kedge model", 1, "model.json"
_LIBRARIES = ("kedge", "numpy", "scipy", "scikit-learn")

# How large the parts of a file may be. All members together, unless the caller of ``load`` says otherwise:
_MOST_BYTES = 16 * 2**30
# The list of contents at the end of a zip; 10,000 members take about half of it.
_MOST_DIRECTORY_BYTES = 2 * 2**20
# Parsed, JSON takes up to 50 times its size.
_MOST_DESCRIPTION_BYTES = 4 * 2**20
_MOST_NESTED_JSON = 100
# Sizes above this need the wider fields of zip64; headers of .npy members are part of the margin.
_LARGE = 2**30

# The only names there are, so that none can lead out of a folder into which someone unpacks the file.
_NAME = re.compile(r"model\.json|array_(0|[1-9]\d{0,5})\.npy")
# The oldest time a zip can hold: one model gives the same bytes at any time.
_TIME = (1980, 1, 1, 0, 0, 0)
# A string in JSON, also one without an end: to look for the end of each would take quadratic time.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
# What a broken or hostile file makes the standard library, NumPy and SciPy raise.
_FOREIGN = (zipfile.BadZipFile, struct.error, OSError, EOFError, RuntimeError, ValueError, OverflowError)
_UPGRADE = "upgrade kedge to load it"


class ModelFileError(ValueError):
    """A file is no model file, is damaged, hostile, or of a format that this kedge does not know."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model, fitted or not, in one file that :func:`kedge.load` reads without running code.

    The file is written beside its place and moved there whole: after an error, what was there before is still there.
    Rows that the model keeps on disk or on a cluster are brought into the file. Equal models give equal files.

    Parameters
    ----------
    model : SGL, MSGL or baseline
        The model; its parameters and attributes are stored, functions such as ``callback`` are left out with a warning.
    path : path
        Where to; the custom is a name that ends in ``.kedge``.

    See Also
    --------
    kedge.load : The way back.

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
        names = ", ".join(["SGL", "MSGL", *(method.name for method in import_module("kedge.baselines").available())])
        raise TypeError(f"model is a {name}, which cannot be saved; these can: {names}")
    given = model.get_params(deep=False)
    held = {key: value for key, value in _in_memory(model).items() if key not in given}
    left_out = [key for key, value in given.items() if callable(value)]
    arrays: dict[str, NDArray[Any]] = {}
    description = {
        "format": _FORMAT,
        "version": _VERSION,
        "class": name,
        "fitted": "labels_" in held,
        "versions": {library: version(library) for library in _LIBRARIES},
        "parameters": {
            key: encode(value, f"parameter {key!r} of {name}", arrays)
            for key, value in given.items()
            if key not in left_out
        },
        "left_out": left_out,
        "attributes": {key: encode(value, f"attribute {key!r} of {name}", arrays) for key, value in held.items()},
    }
    fault = find_fault(type(model), held, "labels_" in held)
    if fault is not None:
        raise TypeError(f"the model cannot be saved: {fault}")
    with replace_whole(Path(path)) as file:
        _write(file, description, arrays)
    for parameter in left_out:
        text = f"{parameter} of {name} is a function and was not saved; set it again after loading"
        warn_user(text)


def load(path: str | os.PathLike[str], *, max_bytes: int = _MOST_BYTES) -> Any:
    """Load a model that :func:`kedge.save` wrote; it predicts the same bits.

    Loading runs no code from the file and writes nothing. Sizes, names, types and checksums are compared before
    anything is allocated or used, so that files of unknown origin can be looked at; but a stranger's model may still
    predict nonsense, and its parameters deserve a look before it is fitted again.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default=16 GiB
        Most bytes that the arrays of the model may have.

    Returns
    -------
    model : SGL, MSGL or baseline
        As it was saved.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    kedge.model_files.ModelFileError
        The file is no model, damaged, hostile, or written by a newer kedge; a ValueError.

    See Also
    --------
    kedge.save : The way there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kedge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kedge.save(kedge.SGL(n_clusters=5, alpha=0.2), Path(folder) / "plan.kedge")
    ...     kedge.load(Path(folder) / "plan.kedge")
    SGL(alpha=0.2, n_clusters=5)
    """
    path = Path(path)
    # A pipe would wait for a writer.
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path} is no file; give the path of a file that kedge.save wrote")
    # Errors of the system itself, such as a missing file, are raised as they are.
    with _ShortReads(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(archive, _checked_members(archive, file.n_bytes, max_bytes))
        except Refusal as refusal:
            raise ModelFileError(f"{path} cannot be loaded: {refusal}") from refusal
        except _FOREIGN as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise ModelFileError(f"{path} cannot be loaded: {reason}; {DAMAGED}") from error


# What a model consists of.


def _class_named(name: str) -> type[Any] | None:
    """Return the class of a name that files know; the baselines are only loaded where one of them is asked for."""
    if name in ("SGL", "MSGL"):
        return cast(type[Any], SGL if name == "SGL" else MSGL)
    if name in ("PublishedSGL", "PublishedMSGL"):
        return cast(type[Any], getattr(import_module("kedge.published"), name))
    methods = import_module("kedge.baselines").available()
    return next((method.estimator for method in methods if method.name == name), None)


def _in_memory(model: Any) -> dict[str, Any]:
    """Return the attributes, with those of rows elsewhere as the arrays that pickles hold too."""
    held = dict(vars(model))
    if "graph_" in held and not sparse.issparse(held["graph_"]) and hasattr(model, "__getstate__"):
        portable = model.__getstate__()
        *parts, shape = portable["graph_"]
        held |= {"graph_": sparse.csr_array(tuple(parts), shape=tuple(shape))}
        held |= {key: portable[key] for key in ("embedding_", "labels_", "confidence_")}
    return held


# The zip around it.


def _write(file: BinaryIO, description: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as they come, then the description with their digests."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = {}
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name, _TIME), "w", force_zip64=array.nbytes > _LARGE) as opened:
                members[name] = write_array(opened, array)
        text = json.dumps(description | {"members": members}, allow_nan=False).encode("ascii")
        if len(text) > _MOST_DESCRIPTION_BYTES:
            raise ValueError(
                f"the model has {len(text)} bytes of lists, dicts and text, at most {_MOST_DESCRIPTION_BYTES} fit in a "
                "file: pass long lists as arrays"
            )
        archive.writestr(zipfile.ZipInfo(_DESCRIPTION, _TIME), text)
        archive.comment = _comment(text)


def _comment(description: bytes) -> bytes:
    return f"{_FORMAT} sha256={hashlib.sha256(description).hexdigest()}".encode("ascii")


class _ShortReads(io.BufferedReader):
    """A file that reads little at a time: zipfile reads the list of contents at once, however long it says it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self.n_bytes = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a limited number of bytes, or the rest if that is short."""
        if size is None or size < 0:
            size = max(self.n_bytes - self.tell(), 0)
        if size > _MOST_DIRECTORY_BYTES:
            raise Refusal("its list of contents is too long")
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
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise Refusal(f"{name} is compressed, which kedge does not do")
        if info.flag_bits & ~0x800:
            raise Refusal(f"{name} is encrypted or of another unusual form")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise Refusal(f"{name} is a link or another special file")
        members[name] = info
    if _DESCRIPTION not in members:
        raise Refusal(f"it has no {_DESCRIPTION}", "give the path of a file that kedge.save wrote")
    if members[_DESCRIPTION].file_size > _MOST_DESCRIPTION_BYTES:
        raise Refusal(f"{_DESCRIPTION} has more than {_MOST_DESCRIPTION_BYTES} bytes")
    total = sum(info.file_size for info in listed)
    if total > size:
        raise Refusal(f"its members have {total} bytes, the file has {size}")
    if total > most_bytes:
        raise Refusal(f"its members have {total} bytes, more than max_bytes={most_bytes}", "raise max_bytes")
    return members


def _read(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Any:
    """Return the model of an archive whose list of contents was checked."""
    description = _read_description(archive, members[_DESCRIPTION])
    if description["version"] > _VERSION:
        text = f"it was written by a newer kedge, in version {description['version']} of the format"
        raise Refusal(text, _UPGRADE)
    if description["version"] < _VERSION:
        raise Refusal(f"there is no version {description['version']} of the format")
    kinds = {"class": str, "fitted": bool, "parameters": dict, "attributes": dict, "members": dict, "left_out": list}
    for field, kind in kinds.items():
        if not isinstance(description.get(field), kind):
            raise Refusal(f"its description has no proper {field!r}")
    name = description["class"]
    estimator = _class_named(name)
    if estimator is None:
        raise Refusal(f"it holds a {name[:80]!r}, which this kedge does not have", _UPGRADE)
    digests = _checked_digests(description["members"], members)

    def take(member: Any) -> NDArray[Any]:
        """Return an array; each once, so that a small file cannot stand for a large model."""
        if not isinstance(member, str) or member not in digests:
            raise Refusal(f"the array {str(member)[:80]!r} is missing or used twice")
        return read_array(archive, members[member], digests.pop(member))

    parameters, attributes = (
        {key: decode(value, f"{key[:80]!r}", take) for key, value in description[group].items()}
        for group in ("parameters", "attributes")
    )
    if digests:
        raise Refusal(f"{next(iter(digests))} belongs to no attribute")
    if name in ("SGL", "MSGL") and "recipe" in parameters:
        estimator, parameters = _without_recipe(name, parameters)
    return _assemble(estimator, parameters, attributes, description["fitted"])


def _without_recipe(name: str, parameters: dict[str, Any]) -> tuple[type[Any], dict[str, Any]]:
    """Return class and parameters of a model from before the published algorithms had classes of their own."""
    estimator = _class_named(f"Published{name}" if parameters["recipe"] == "published" else name)
    assert estimator is not None
    return estimator, {key: parameters[key] for key in estimator._get_param_names() if key in parameters}


def _assemble(estimator: type[Any], parameters: dict[str, Any], attributes: dict[str, Any], fitted: bool) -> Any:
    """Build the model; parameters that a later kedge added take their defaults."""
    known = estimator._get_param_names()
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        raise Refusal(f"{estimator.__name__} has no parameter {unknown[0][:80]!r}", _UPGRADE)
    hidden = [key for key in attributes if key in known]
    fault = f"{hidden[0]!r} is a parameter" if hidden else find_fault(estimator, attributes, fitted)
    if fault is None and fitted != ("labels_" in attributes):
        fault = "it is said to be unfitted but has labels"
    if fault is not None:
        raise Refusal(fault)
    model = estimator(**parameters)
    vars(model).update(attributes)
    return model


def _checked_digests(listed: dict[str, Any], members: dict[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Return the digests of all arrays; they are those of the file, and their sizes are right."""
    if {_DESCRIPTION, *listed} != set(members) or _DESCRIPTION in listed:
        raise Refusal("its members are not those that its description lists")
    for name, facts in listed.items():
        has_size = isinstance(facts, dict) and facts.get("bytes") == members[name].file_size
        if not has_size or not isinstance(facts.get("sha256"), str):
            raise Refusal(f"its description has no proper size and checksum of {name}")
    return {name: facts["sha256"] for name, facts in listed.items()}


def _read_description(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    """Return the description of a model of any version; nothing but its format is checked."""
    with archive.open(member) as file:
        text = b"".join(iter(lambda: file.read(CHUNK), b""))
    if archive.comment != _comment(text):
        raise Refusal(f"{_DESCRIPTION} does not match its checksum")
    depth = 0
    # Before the parser goes that deep.
    for bracket in re.finditer(rb"[\[\]{}]", _STRING.sub(b"", text)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > _MOST_NESTED_JSON:
            raise Refusal(f"its description is nested more than {_MOST_NESTED_JSON} levels deep")
    hooks: dict[str, Any] = {"parse_constant": _finite, "parse_float": _finite, "parse_int": _short_integer}
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates, **hooks)
    except ValueError as error:
        raise Refusal("its description is no JSON") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT or type(found.get("version")) is not int:
        raise Refusal("it is no model file", "give the path of a file that kedge.save wrote")
    return found


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refusal("its description says something twice")
    return found


def _finite(digits: str) -> float:
    if not math.isfinite(float(digits)):
        raise Refusal(f"its description has the number {digits[:20]}, which is out of range")
    return float(digits)


def _short_integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS + 1:
        raise Refusal(f"its description has an integer of more than {MOST_DIGITS} digits")
    return int(digits)
