"""The values that a model file can hold, as JSON and .npy arrays. The set is closed, so loading runs no code.

None, bool, int, finite float, str and list are themselves in JSON. Any other value is a JSON object with a "kind"; its
arrays are .npy members of the file, which the object names.
"""

import hashlib
import io
import math
import re
import reprlib
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any, cast

import numpy as np
from numpy.lib import format as npy
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.readers.npy import MOST_DIMENSIONS, read_member

Array = NDArray[Any]

DAMAGED = "it is damaged or was changed; save the model again or fetch another copy"
MOST_MEMBERS = 10_000
# Decimal digits of an integer.
MOST_DIGITS = 1000
# Levels of lists and dicts; each takes up to three of JSON.
_MOST_NESTED = 20
_LAST_CHARACTER = 0x10FFFF
_BOUND = int | np.integer | None
# Types that mean the same on every machine: bool, numbers of at most double precision, and text.
_PLAIN = r"[<>|](?:b1|[iu][1248]|f[248]|c8|c16|U[1-9]\d{0,7})"


class Refusal(Exception):
    """What is wrong with a file and what to do; :func:`kedge.load` adds which file and raises ModelFileError."""

    def __init__(self, problem: str, advice: str = DAMAGED) -> None:
        super().__init__(problem)
        self.advice = advice


def encode(value: Any, where: str, arrays: dict[str, Array], depth: int = 0) -> Any:
    """Return a value as JSON and add its arrays to ``arrays``; ``where`` names the value in errors."""
    if depth > _MOST_NESTED:
        raise ValueError(f"{where} is nested more than {_MOST_NESTED} levels deep and cannot be saved")
    # The type itself: a subclass may hold more than the values that would be stored.
    kind = type(value)
    if kind is int and value.bit_length() > 3 * MOST_DIGITS:
        raise ValueError(f"{where} is an integer of more than {MOST_DIGITS} digits and cannot be saved")
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
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
    if kind is slice and all(isinstance(bound, _BOUND) for bound in (value.start, value.stop, value.step)):
        return {"kind": "slice", "bounds": encode([value.start, value.stop, value.step], where, arrays, depth)}
    if isinstance(value, np.generic) and _is_plain(value):
        dtype = value.dtype.newbyteorder("<")
        return {"kind": "scalar", "type": dtype.str, "bytes": np.asarray(value).astype(dtype).tobytes().hex()}
    facts, parts = _array_parts(value)
    if not parts or not all(map(_is_plain, parts.values())):
        found = f"{kind.__module__}.{kind.__qualname__} ({reprlib.repr(value)})"
        raise TypeError(f"{where} is a {found}, which cannot be saved")
    return facts | {name: _add(one, where, arrays) for name, one in parts.items()}


def _is_plain(value: Any) -> bool:
    return value.ndim <= MOST_DIMENSIONS and re.fullmatch(_PLAIN, value.dtype.str) is not None


def _array_parts(value: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the JSON of an object that consists of arrays, and the arrays; no arrays if it is another object."""
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
    return {}, {}


def _add(array: Array, where: str, arrays: dict[str, Array]) -> str:
    if len(arrays) == MOST_MEMBERS - 1:
        raise ValueError(f"{where}: the model has more than {MOST_MEMBERS - 1} arrays, too many for one file")
    name = f"array_{len(arrays)}.npy"
    is_whole = array.flags.c_contiguous or array.flags.f_contiguous
    # The order of axes is kept: the last bits of products may depend on it.
    arrays[name] = array if is_whole else array.copy(order="K")
    return name


def decode(value: Any, where: str, take: Callable[[Any], Array]) -> Any:
    """Return the value of JSON of unknown origin; ``take`` returns the array of a member by name, each once."""
    if isinstance(value, list):
        return [decode(one, f"{where}[{number}]", take) for number, one in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise Refusal(f"{where} is no finite number")
    if not isinstance(value, dict):
        return value
    try:
        make, names = _DECODERS[value.get("kind")]
        _require(set(value) == {"kind", *names})
        return make(*(take(value[name]) if name in _MEMBERS else decode(value[name], where, take) for name in names))
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        raise Refusal(f"{where} is no {str(value.get('kind'))[:40]}") from error


def _require(condition: bool, problem: str = "") -> None:
    if not condition:
        raise ValueError(problem)


def _decode_dict(items: list[Any]) -> dict[Any, Any]:
    found = dict(items)
    _require(len(found) == len(items) and all(type(key) in (str, int) for key in found))
    return found


def _decode_slice(bounds: list[Any]) -> slice:
    _require(len(bounds) == 3 and all(isinstance(bound, _BOUND) for bound in bounds))
    return slice(*bounds)


def _decode_scalar(name: str, digits: str) -> Any:
    # Text has a kind of its own.
    _require(re.fullmatch(_PLAIN, name) is not None and "U" not in name)
    dtype, content = np.dtype(name), bytes.fromhex(digits)
    _require(len(content) == dtype.itemsize and (dtype.kind != "b" or content <= b"\1"))
    # In the byte order of this machine, like all scalars.
    return np.frombuffer(content, dtype=dtype).astype(dtype.newbyteorder("="))[0]


def _decode_strings(shape: list[int], text: Array, lengths: Array) -> Array:
    _require(text.dtype == np.uint8 and lengths.dtype == np.int64 and lengths.shape == (math.prod(shape),))
    letters = io.StringIO(text.tobytes().decode("utf-8", "surrogatepass"), newline="")
    strings = [letters.read(size) for size in lengths.tolist()]
    _require([len(one) for one in strings] == lengths.tolist() and not letters.read())
    return np.array(strings, dtype=object).reshape(shape)


def _decode_csr(shape: list[int], data: Array, indices: Array, indptr: Array) -> sparse.csr_array:
    # The lengths first: SciPy would allocate by the shape.
    _require(data.ndim == indices.ndim == indptr.ndim == 1 and len(shape) == 2 and len(indptr) == shape[0] + 1)
    _require(len(data) == len(indices) == indptr[-1] and data.dtype.kind in "biufc" and data.dtype.isnative)
    _require(indices.dtype == indptr.dtype and indptr.dtype in (np.dtype(np.int32), np.dtype(np.int64)))
    rows = sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    rows.check_format(full_check=True)
    # SciPy may choose a smaller type.
    rows.indices, rows.indptr = indices, indptr
    return rows


def _decode_random_state(key: Array, position: int, gauss: list[Any]) -> RandomState:
    _require(key.shape == (624,) and key.dtype == np.uint32 and type(position) is int and 0 <= position <= 624)
    _require(len(gauss) == 2 and gauss[0] in (0, 1) and type(gauss[1]) is float)
    generator = RandomState(0)
    generator.set_state(("MT19937", key, position, *gauss))
    return generator


# How each kind of JSON object is read, and from which fields; some fields name .npy members.
_DECODERS: dict[Any, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "float": ({"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__, ("value",)),
    "path": (Path, ("value",)),
    # Only text can be added to text.
    "text scalar": (lambda value: np.str_("" + value), ("value",)),
    "tuple": (tuple, ("items",)),
    "dict": (_decode_dict, ("items",)),
    "slice": (_decode_slice, ("bounds",)),
    "scalar": (_decode_scalar, ("type", "bytes")),
    "array": (lambda member: member, ("member",)),
    "strings": (_decode_strings, ("shape", "text", "lengths")),
    "csr": (_decode_csr, ("shape", "data", "indices", "indptr")),
    "random state": (_decode_random_state, ("key", "position", "gauss")),
}
_MEMBERS = ("member", "text", "lengths", "data", "indices", "indptr", "key")


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


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, facts: Any) -> Array:
    """Return the array of an .npy member, which must have this size and digest."""
    name = member.filename
    with archive.open(member) as file:
        digest = hashlib.file_digest(cast(zipfile.ZipExtFile, file), "sha256").hexdigest()
    if facts != {"bytes": member.file_size, "sha256": digest}:
        raise Refusal(f"{name} does not match its size and checksum")
    try:
        array = read_member(archive, member, "it")
        _require(_is_plain(array), f"it holds {array.dtype}")
        if array.dtype.kind in "Ub" and array.size:
            # NumPy's behaviour is undefined for bytes that are not valid values of their type.
            is_bool = array.dtype.kind == "b"
            bits = array.ravel(order="K").view(np.uint8 if is_bool else array.dtype.byteorder + "u4")
            _require(bits.max() <= (1 if is_bool else _LAST_CHARACTER), f"it holds values that are no {array.dtype}")
    except ValueError as error:
        raise Refusal(f"{name} is no .npy array that kedge writes: {error}") from error
    return array
