"""What a model file can hold: a closed set of values, so that loading runs no code, and attributes of checked kinds.

None, bool, int, finite float, str and list are themselves in JSON. Everything else is a JSON object with a "kind"; its
arrays are .npy members of the file, which the object names.
"""

import hashlib
import inspect
import io
import math
import re
import reprlib
import types
import zipfile
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path, PurePath
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.lib import format as npy
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.core.scaling import SCALES, ViewScaling

Array = NDArray[Any]

DAMAGED = "it is damaged or was changed; save the model again or fetch another copy"
MOST_MEMBERS = 10_000
# Decimal digits of an integer.
MOST_DIGITS = 1000
# Bytes read at a time.
CHUNK = 2**20
_MOST_DIMENSIONS = 16
# Levels of lists and dicts; each takes up to three of JSON.
_MOST_NESTED = 20
# Text before the numbers of an .npy member; what kedge writes takes 118 bytes.
_MOST_HEADER_BYTES = 512
_SIZE_LIMIT = 2**63
_LAST_CHARACTER = 0x10FFFF
# Kinds of NumPy types that mean the same on every machine, each with its largest size in bytes.
_NUMBERS = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}
# What NumPy writes for plain types; its own parser, which evaluates literals, sees nothing of a file.
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufcU]\d{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \((|\d{1,19},|\d{1,19}(?:, \d{1,19})+)\), \} *\n"
)
_FITTED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*_")
_OF_MIXINS = ("_n_features_out", "_sklearn_output_config")


class Refusal(Exception):
    """What is wrong with a file and what to do; :func:`kedge.load` adds which file and raises ModelFileError."""

    def __init__(self, problem: str, advice: str = DAMAGED) -> None:
        super().__init__(f"{problem}; {advice}")


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether values of a type can be stored as they are: numbers of at most double precision, bool and text."""
    return 0 < dtype.itemsize <= _NUMBERS.get(dtype.kind, 0) or (dtype.kind == "U" and dtype.itemsize > 0)


def encode(value: Any, where: str, arrays: dict[str, Array], depth: int = 0) -> Any:
    """Return a value as JSON.

    Parameters
    ----------
    value : object
        What is to be saved.
    where : str
        Its name, for errors.
    arrays : dict of arrays
        Gains the arrays of the value, by the names of their members.
    depth : int, default=0
        In how many lists and dicts the value is.
    """
    if depth > _MOST_NESTED:
        raise ValueError(f"{where} is nested more than {_MOST_NESTED} levels deep and cannot be saved")
    # The type itself: a subclass may hold more than the values that would be stored.
    kind = type(value)
    if value is None or kind in (bool, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is int:
        if value.bit_length() > 3 * MOST_DIGITS:
            raise ValueError(f"{where} is an integer of more than {MOST_DIGITS} digits and cannot be saved")
        return value
    if kind is float or isinstance(value, PurePath | np.str_):
        name = "float" if kind is float else "path" if isinstance(value, PurePath) else "text scalar"
        return {"kind": name, "value": str(value)}
    if kind in (list, tuple):
        items = [encode(one, f"{where}[{number}]", arrays, depth + 1) for number, one in enumerate(value)]
        return items if kind is list else {"kind": "tuple", "items": items}
    if kind is dict and all(type(key) in (str, int) for key in value):
        pairs = [[key, encode(one, f"{where}[{key!r}]", arrays, depth + 1)] for key, one in value.items()]
        return {"kind": "dict", "items": pairs}
    if kind is slice and all(_is_bound(bound) for bound in (value.start, value.stop, value.step)):
        return {"kind": "slice", "bounds": encode([value.start, value.stop, value.step], where, arrays, depth)}
    if isinstance(value, np.generic) and _is_plain(value.dtype):
        dtype = value.dtype.newbyteorder("<")
        return {"kind": "scalar", "type": dtype.str, "bytes": np.asarray(value).astype(dtype).tobytes().hex()}
    parts = _array_parts(value)
    if parts is None or not all(_is_plain(one.dtype) and one.ndim <= _MOST_DIMENSIONS for one in parts[1].values()):
        found = f"{kind.__module__}.{kind.__qualname__} ({reprlib.repr(value)})"
        raise TypeError(f"{where} is a {found}, which cannot be saved")
    return parts[0] | {name: _add(one, where, arrays) for name, one in parts[1].items()}


def _is_bound(bound: Any) -> bool:
    return bound is None or isinstance(bound, int | np.integer)


def _array_parts(value: Any) -> tuple[dict[str, Any], dict[str, Array]] | None:
    """Return the JSON of an object that consists of arrays, and these; None if it is no such object."""
    kind = type(value)
    if kind in (np.ndarray, np.memmap) and value.dtype.kind != "O":
        return {"kind": "array"}, {"member": value}
    if kind in (np.ndarray, np.memmap) and all(isinstance(one, str) for one in value.flat):
        strings = value.ravel().tolist()
        text = np.frombuffer("".join(strings).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        lengths = np.array([len(one) for one in strings], dtype=np.int64)
        return {"kind": "strings", "shape": list(value.shape)}, {"text": text, "lengths": lengths}
    if kind is sparse.csr_array and value.ndim == 2 and value.dtype.isnative:
        # SciPy allows room behind the last entry.
        parts = {"data": value.data[: value.nnz], "indices": value.indices[: value.nnz], "indptr": value.indptr}
        return {"kind": "csr", "shape": [int(size) for size in value.shape]}, parts
    state: Any = value.get_state(legacy=False) if kind is RandomState else {}
    if state.get("bit_generator") == "MT19937":
        gauss = [int(state["has_gauss"]), float(state["gauss"])]
        position = int(state["state"]["pos"])
        return {"kind": "random state", "position": position, "gauss": gauss}, {"key": state["state"]["key"]}
    return None


def _add(array: Array, where: str, arrays: dict[str, Array]) -> str:
    if len(arrays) == MOST_MEMBERS - 1:
        raise ValueError(f"{where}: the model has more than {MOST_MEMBERS - 1} arrays, too many for one file")
    name = f"array_{len(arrays)}.npy"
    is_whole = array.flags.c_contiguous or array.flags.f_contiguous
    # The order of axes is kept: the last bits of products may depend on it.
    arrays[name] = array if is_whole else array.copy(order="K")
    return name


def decode(value: Any, where: str, take: Callable[[Any], Array]) -> Any:
    """Return the value that JSON of unknown origin stands for.

    Parameters
    ----------
    value : JSON
        Nested no deeper than was checked before.
    where : str
        Its name, for errors.
    take : callable
        Returns the array of a member, given its name; each can be taken once.
    """
    found: Any = None
    n_fields = len(value) if isinstance(value, dict) else 0
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [decode(one, f"{where}[{number}]", take) for number, one in enumerate(value)]
        case {"kind": "float", "value": "nan" | "inf" | "-inf" as text} if n_fields == 2:
            found = float(text)
        case {"kind": "path", "value": str(text)} if n_fields == 2:
            found = Path(text)
        case {"kind": "text scalar", "value": str(text)} if n_fields == 2:
            found = np.str_(text)
        case {"kind": "tuple", "items": list(items)} if n_fields == 2:
            found = tuple(decode(items, where, take))
        case {"kind": "dict", "items": list(pairs)} if n_fields == 2 and all(map(_is_pair, pairs)):
            if len({key for key, _ in pairs}) == len(pairs):
                found = {key: decode(one, f"{where}[{str(key)[:40]!r}]", take) for key, one in pairs}
        case {"kind": "slice", "bounds": [_, _, _] as bounds} if n_fields == 2:
            ends = decode(bounds, where, take)
            found = slice(*ends) if all(map(_is_bound, ends)) else None
        case {"kind": "scalar", "type": str(name), "bytes": str(digits)} if n_fields == 3:
            found = _decode_scalar(name, digits)
        case {"kind": "array", "member": member} if n_fields == 2:
            found = take(member)
        case {"kind": "strings", "shape": shape, "text": text, "lengths": sizes} if n_fields == 4 and _is_shape(shape):
            found = _decode_strings(tuple(shape), take(text), take(sizes))
        case {"kind": "csr", "shape": [_, _] as shape, **parts} if n_fields == 5 and _is_shape(shape):
            found = _decode_csr(tuple(shape), *(take(parts.get(part)) for part in ("data", "indices", "indptr")))
        case {"kind": "random state", "key": key, "position": int(position), "gauss": gauss} if n_fields == 4:
            found = _decode_random_state(take(key), position, gauss)
    if found is None:
        kind = str(value.get("kind"))[:40]
        raise Refusal(f"{where} is no {({'strings': 'array of strings', 'csr': 'CSR array'}).get(kind, kind)}")
    return found


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and type(pair[0]) in (str, int)


def _is_shape(shape: Any) -> bool:
    is_short = isinstance(shape, list) and len(shape) <= _MOST_DIMENSIONS
    return is_short and all(type(size) is int and 0 <= size < _SIZE_LIMIT for size in shape)


def _decode_scalar(name: str, digits: str) -> Any:
    # Only what is written: order of bytes, kind, size.
    if not re.fullmatch(r"[<|][biufc]\d{1,2}", name):
        return None
    try:
        dtype, content = np.dtype(name), bytes.fromhex(digits)
    except (TypeError, ValueError):
        return None
    if not _is_plain(dtype) or len(content) != dtype.itemsize or (dtype.kind == "b" and content > b"\1"):
        return None
    # In the order of bytes of this machine, as scalars are.
    return np.frombuffer(content, dtype=dtype).astype(dtype.newbyteorder("="))[0]


def _decode_strings(shape: tuple[int, ...], text: Array, lengths: Array) -> Array | None:
    if text.dtype != np.uint8 or text.ndim != 1 or lengths.dtype != np.int64 or lengths.shape != (math.prod(shape),):
        return None
    # Python's integers cannot overflow.
    whole, sizes, start = text.tobytes().decode("utf-8", "surrogatepass"), lengths.tolist(), 0
    if any(size < 0 for size in sizes) or sum(sizes) != len(whole):
        return None
    found = np.empty(len(sizes), dtype=object)
    for number, size in enumerate(sizes):
        found[number], start = whole[start : start + size], start + size
    return found.reshape(shape)


def _decode_csr(shape: tuple[int, int], data: Array, indices: Array, indptr: Array) -> sparse.csr_array | None:
    # The lengths first: SciPy would allocate by the shape.
    if not data.ndim == indices.ndim == indptr.ndim == 1 or len(indptr) != shape[0] + 1:
        return None
    if not len(data) == len(indices) == indptr[-1] or data.dtype.kind not in _NUMBERS or not data.dtype.isnative:
        return None
    if indices.dtype != indptr.dtype or indptr.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        return None
    rows = sparse.csr_array((data, indices, indptr), shape=shape)
    rows.check_format(full_check=True)
    if rows.indices.dtype != indices.dtype:
        # SciPy may choose a smaller type.
        rows.indices, rows.indptr = indices, indptr
    return rows


def _decode_random_state(key: Array, position: int, gauss: Any) -> RandomState | None:
    match gauss:
        case [0 | 1, float()] if key.shape == (624,) and key.dtype == np.uint32 and 0 <= position <= 624:
            generator = RandomState(0)
            generator.set_state(("MT19937", key, position, *gauss))
            return generator
    return None


def write_array(file: Any, array: Array) -> dict[str, Any]:
    """Write an .npy member and return its size and digest."""
    header = io.BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    parts: list[Any] = [header.getvalue(), array.reshape(-1, order="A").view(np.uint8).data]
    digest = hashlib.sha256()
    for part in parts:
        file.write(part)
        digest.update(part)
    return {"bytes": sum(map(len, parts)), "sha256": digest.hexdigest()}


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, digest: str) -> Array:
    """Return the array of an .npy member whose digest is known; nothing is allocated before the sizes agree."""
    name = member.filename
    with cast(zipfile.ZipExtFile, archive.open(member)) as file:
        start = file.read(10)
        if start[:8] != npy.magic(1, 0) or len(start) < 10:
            raise Refusal(f"{name} is no .npy array of version 1.0")
        length = int.from_bytes(start[8:], "little")
        if length > _MOST_HEADER_BYTES:
            raise Refusal(f"{name} has a header of {length} bytes; at most {_MOST_HEADER_BYTES} are read")
        header = file.read(length)
        shape, order, dtype = _parse_header(header, member.file_size - 10 - length, name)
        flat, hashed = np.empty(math.prod(shape), dtype=dtype), hashlib.sha256(start + header)
        content = flat.view(np.uint8).data
        for first in range(0, len(content), CHUNK):
            part = content[first : first + CHUNK]
            if file.readinto(part) != len(part):
                raise Refusal(f"{name} ends too soon")
            hashed.update(part)
        # Reading to the end makes zipfile compare its own checksum.
        if file.read(1) or hashed.hexdigest() != digest:
            raise Refusal(f"{name} does not match its checksum")
    # NumPy's behaviour is undefined on bytes that are no values of their type.
    highest = {"b": 1, "U": _LAST_CHARACTER}.get(dtype.kind)
    if highest is not None and len(flat):
        bits = np.uint8 if dtype.kind == "b" else np.dtype(np.uint32).newbyteorder(dtype.byteorder)
        if flat.view(bits).max() > highest:
            raise Refusal(f"{name} holds values that are no {dtype}")
    return flat.reshape(shape, order=order)


def _parse_header(header: bytes, n_bytes: int, name: str) -> tuple[tuple[int, ...], Any, np.dtype[Any]]:
    """Return shape, order and type of an array that takes this many bytes."""
    words = _HEADER.fullmatch(header)
    if words is None:
        raise Refusal(f"{name} has a header that kedge does not write, perhaps for objects")
    shape = tuple(int(size) for size in re.findall(rb"\d+", words[3]))
    try:
        dtype = np.dtype(words[1].decode())
    except TypeError as error:
        raise Refusal(f"{name} has a wrong header") from error
    if not _is_plain(dtype):
        raise Refusal(f"{name} holds {dtype}, not plain numbers or text")
    # Python's integers cannot overflow. Zeros hide other sizes, which NumPy multiplies nevertheless.
    apparent = math.prod(max(size, 1) for size in shape) * dtype.itemsize
    if len(shape) > _MOST_DIMENSIONS or apparent >= _SIZE_LIMIT or math.prod(shape) * dtype.itemsize != n_bytes:
        raise Refusal(f"{name} has shape {shape} of {dtype} but {n_bytes} bytes")
    return shape, "F" if words[2] == b"True" else "C", dtype


def declared_attributes(estimator: type[Any]) -> dict[str, Any]:
    """Return the fitted attributes that a class annotates, each with its type: every fit has to leave them."""
    return {name: kind for name, kind in get_type_hints(estimator).items() if _FITTED.fullmatch(name)}


def find_fault(estimator: type[Any], attributes: Mapping[str, Any], fitted: bool) -> str | None:
    """Return what is wrong with the attributes of a model beside its parameters; None if nothing is."""
    own = estimator.__name__
    for name in attributes:
        if not _FITTED.fullmatch(name) and name not in _OF_MIXINS:
            return f"{name!r} is no attribute of a fitted {own}"
        if hasattr(estimator, name):
            # A value in place of a method would change what the class does.
            return f"attribute {name!r} would hide a member of {own}"
    declared = declared_attributes(estimator) | _ALWAYS
    missing = [name for name in declared if name not in attributes]
    if fitted and missing:
        return f"{own} lacks {', '.join(missing)}"
    for name, kind in (declared | _SOMETIMES).items():
        if name in attributes and not _holds(kind, attributes[name]):
            expected = kind if isinstance(kind, str) else inspect.formatannotation(kind)
            return f"attribute {name!r} of {own} is no {expected}"
    return None


def _holds(kind: Any, value: Any) -> bool:
    """Whether a value is of an annotated type, or of a kind with a check of its own."""
    if isinstance(kind, str):
        return _CHECKS[kind](value)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_holds(part, value) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_holds(parts[0], one) for one in value)
    if origin is np.ndarray:
        scalar = get_args(parts[1])[0]
        families = [one for one in (np.integer, np.floating) if isinstance(scalar, type) and issubclass(scalar, one)]
        return isinstance(value, np.ndarray) and all(issubclass(value.dtype.type, one) for one in families)
    if kind is int or kind is float:
        # For Python, a bool is an int and an int is a real number.
        return not isinstance(value, bool) and isinstance(value, Real) and isinstance(value, Integral) == (kind is int)
    return kind is Any or isinstance(value, origin or kind)


def _is_array(value: Any, n_dimensions: int, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == n_dimensions and value.dtype.kind in kinds


def _is_scaling(value: Any) -> bool:
    fields = get_type_hints(ViewScaling)
    is_whole = isinstance(value, dict) and set(value) == set(fields) and value["kind"] in SCALES
    return is_whole and all(_holds(kind, value[field]) for field, kind in fields.items())


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "vector of int": lambda value: _is_array(value, 1, "iu"),
    "vector of str": lambda value: _is_array(value, 1, "OU"),
    "matrix": lambda value: _is_array(value, 2, "f"),
    "list of scalings": lambda value: isinstance(value, list) and all(map(_is_scaling, value)),
}
# What every fit leaves, and what some leave.
_ALWAYS: dict[str, Any] = {"labels_": "vector of int", "n_features_in_": int, "scalings_": "list of scalings"}
_SOMETIMES: dict[str, Any] = {
    "feature_names_in_": "vector of str",
    "view_columns_": list,
    "graph_": sparse.csr_array,
    "embedding_": "matrix",
}
