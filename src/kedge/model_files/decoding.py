"""Values from JSON and arrays: the way back from :mod:`kedge.model_files.encoding`, trusting nothing."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.model_files.encoding import is_plain
from kedge.model_files.limits import MOST_DIMENSIONS
from kedge.model_files.refusal import Refusal

Array = NDArray[Any]

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SIZE_LIMIT = 2**63


def decode(value: Any, where: str, take: Callable[[Any], Array]) -> Any:
    """Return the value that JSON stands for.

    Parameters
    ----------
    value : JSON
        Nested no deeper than was checked before.
    where : str
        Its name, for errors.
    take : callable
        Returns the array of a member, given its name; each can be taken once.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [decode(one, f"{where}[{number}]", take) for number, one in enumerate(value)]
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _DECODERS:
        raise Refusal(f"{where} is of the unknown kind {str(kind)[:40]!r}")
    fields, decode_kind = _DECODERS[kind]
    if set(value) != {"kind", *fields}:
        raise Refusal(f"{where} is no {kind}: it should have the fields {', '.join(fields)}")
    return decode_kind([value[field] for field in fields], where, take)


Fields = list[Any]
Take = Callable[[Any], Array]


def _expect(holds: bool, where: str, what: str) -> None:
    if not holds:
        raise Refusal(f"{where} is no {what}")


def _decode_float(fields: Fields, where: str, take: Take) -> float:
    _expect(isinstance(fields[0], str) and fields[0] in _FLOATS, where, "float")
    return _FLOATS[fields[0]]


def _decode_tuple(fields: Fields, where: str, take: Take) -> tuple[Any, ...]:
    _expect(isinstance(fields[0], list), where, "tuple")
    return tuple(decode(fields[0], where, take))


def _decode_dict(fields: Fields, where: str, take: Take) -> dict[Any, Any]:
    _expect(isinstance(fields[0], list), where, "dict")
    found: dict[Any, Any] = {}
    for item in fields[0]:
        _expect(isinstance(item, list) and len(item) == 2 and type(item[0]) in (str, int), where, "dict")
        _expect(item[0] not in found, where, "dict without duplicate keys")
        found[item[0]] = decode(item[1], f"{where}[{str(item[0])[:40]!r}]", take)
    return found


def _decode_slice(fields: Fields, where: str, take: Take) -> slice:
    _expect(isinstance(fields[0], list) and len(fields[0]) == 3, where, "slice")
    bounds = decode(fields[0], where, take)
    _expect(all(bound is None or isinstance(bound, int | np.integer) for bound in bounds), where, "slice")
    return slice(*bounds)


def _decode_path(fields: Fields, where: str, take: Take) -> Path:
    _expect(isinstance(fields[0], str), where, "path")
    return Path(fields[0])


def _decode_text_scalar(fields: Fields, where: str, take: Take) -> np.str_:
    _expect(isinstance(fields[0], str), where, "text scalar")
    return np.str_(fields[0])


def _decode_scalar(fields: Fields, where: str, take: Take) -> Any:
    name, digits = fields
    _expect(isinstance(name, str) and isinstance(digits, str), where, "scalar")
    # Only what the encoder writes: order of bytes, kind, size.
    _expect(len(name) in (3, 4) and name[0] in "<|" and name[1] in "biufc" and name[2:].isdecimal(), where, "scalar")
    try:
        dtype, content = np.dtype(name), bytes.fromhex(digits)
    except (TypeError, ValueError) as error:
        raise Refusal(f"{where} is no scalar") from error
    _expect(is_plain(dtype) and len(content) == dtype.itemsize, where, "scalar")
    _expect(dtype.kind != "b" or content in (b"\0", b"\1"), where, "scalar")
    # In the order of bytes of this machine, as scalars are.
    return np.frombuffer(content, dtype=dtype).astype(dtype.newbyteorder("="))[0]


def _decode_array(fields: Fields, where: str, take: Take) -> Array:
    return take(fields[0])


def _decode_strings(fields: Fields, where: str, take: Take) -> Array:
    shape, text, lengths = _checked_shape(fields[0], where), take(fields[1]), take(fields[2])
    _expect(text.dtype == np.uint8 and text.ndim == 1 and lengths.dtype == np.int64, where, "array of strings")
    _expect(lengths.shape == (math.prod(shape),) and bool((lengths >= 0).all()), where, "array of strings")
    whole = text.tobytes().decode("utf-8", "surrogatepass")
    ends = np.cumsum(lengths)
    # Each length below the whole, so that the sum cannot run over.
    fits = not len(ends) or (int(lengths.max()) <= len(whole) and len(ends) * (len(whole) + 1) < _SIZE_LIMIT)
    _expect(fits and (int(ends[-1]) if len(ends) else 0) == len(whole), where, "array of strings")
    found = np.empty(len(ends), dtype=object)
    start = 0
    for number, end in enumerate(ends.tolist()):
        found[number], start = whole[start:end], end
    return found.reshape(shape)


def _decode_csr(fields: Fields, where: str, take: Take) -> sparse.csr_array:
    shape, data, indices, indptr = _checked_shape(fields[0], where), *map(take, fields[1:])
    _expect(len(shape) == 2 and data.ndim == indices.ndim == indptr.ndim == 1, where, "CSR array")
    # The lengths first: SciPy would allocate by the shape.
    _expect(len(indptr) == shape[0] + 1 and len(data) == len(indices) == indptr[-1], where, "CSR array")
    _expect(data.dtype.kind in "biufc" and data.dtype.isnative and indices.dtype == indptr.dtype, where, "CSR array")
    _expect(indptr.dtype in (np.dtype(np.int32), np.dtype(np.int64)), where, "CSR array")
    rows = sparse.csr_array((data, indices, indptr), shape=shape)
    rows.check_format(full_check=True)
    if rows.indices.dtype != indices.dtype:
        # SciPy may choose a smaller type.
        rows.indices, rows.indptr = indices, indptr
    return rows


def _decode_random_state(fields: Fields, where: str, take: Take) -> RandomState:
    key, position, gauss = take(fields[0]), fields[1], fields[2]
    _expect(key.shape == (624,) and key.dtype == np.uint32, where, "random state")
    _expect(type(position) is int and 0 <= position <= 624, where, "random state")
    _expect(isinstance(gauss, list) and len(gauss) == 2 and gauss[0] in (0, 1), where, "random state")
    _expect(isinstance(gauss[1], float), where, "random state")
    random_state = RandomState(0)
    random_state.set_state(("MT19937", key, position, gauss[0], gauss[1]))
    return random_state


def _checked_shape(shape: Any, where: str) -> tuple[int, ...]:
    _expect(isinstance(shape, list) and len(shape) <= MOST_DIMENSIONS, where, "array: its shape is wrong")
    _expect(all(type(size) is int and 0 <= size < _SIZE_LIMIT for size in shape), where, "array: its shape is wrong")
    return tuple(shape)


_DECODERS: dict[str, tuple[tuple[str, ...], Callable[[Fields, str, Take], Any]]] = {
    "float": (("value",), _decode_float),
    "tuple": (("items",), _decode_tuple),
    "dict": (("items",), _decode_dict),
    "slice": (("bounds",), _decode_slice),
    "path": (("value",), _decode_path),
    "text scalar": (("value",), _decode_text_scalar),
    "scalar": (("type", "bytes"), _decode_scalar),
    "array": (("member",), _decode_array),
    "strings": (("shape", "text", "lengths"), _decode_strings),
    "csr": (("shape", "data", "indices", "indptr"), _decode_csr),
    "random state": (("key", "position", "gauss"), _decode_random_state),
}
