"""Values of parameters and attributes as JSON and arrays: a closed set of types, so that loading needs no code.

None, bool, int, finite float, str and list are themselves in JSON; every JSON object has a "kind" that says what it is.
Arrays are referred to by the names of their members. :mod:`kedge.model_files.decoding` is the way back.
"""

import math
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse

from kedge.model_files.limits import MOST_DIGITS, MOST_DIMENSIONS, MOST_MEMBERS, MOST_NESTED_VALUES

Array = NDArray[Any]

# Kinds of NumPy types that mean the same on every machine, each with its largest size in bytes.
NUMBERS: dict[str, int] = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether values of a type can be stored as they are: numbers of at most double precision, bool and text."""
    return 0 < dtype.itemsize <= NUMBERS.get(dtype.kind, 0) or (dtype.kind == "U" and dtype.itemsize > 0)


class Encoder:
    """Turns values into JSON and collects their arrays.

    Attributes
    ----------
    arrays : dict of arrays
        By the names of their members, in the order of writing.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return a value as JSON; ``where`` names it in errors."""
        if depth > MOST_NESTED_VALUES:
            raise ValueError(f"{where} is nested more than {MOST_NESTED_VALUES} levels deep and cannot be saved")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return self._encode_int(value, where)
        if kind is float:
            return value if math.isfinite(value) else {"kind": "float", "value": str(value)}
        if kind in (list, tuple):
            items = [self.encode(one, f"{where}[{number}]", depth + 1) for number, one in enumerate(value)]
            return items if kind is list else {"kind": "tuple", "items": items}
        for known, encode_kind in _ENCODERS.items():
            # Subclasses may hold more than the values that would be stored.
            if kind is known or (known in _OPEN and isinstance(value, known)):
                return encode_kind(self, value, where, depth)
        raise TypeError(f"{where} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved")

    def _encode_int(self, value: int, where: str) -> int:
        if value.bit_length() > 3 * MOST_DIGITS:
            raise ValueError(f"{where} is an integer of more than {MOST_DIGITS} digits and cannot be saved")
        return value

    def _encode_dict(self, value: dict[Any, Any], where: str, depth: int) -> Any:
        for key in value:
            if type(key) not in (str, int):
                raise TypeError(f"{where} has the key {key!r}; only dicts with str and int keys can be saved")
        items = [[key, self.encode(one, f"{where}[{key!r}]", depth + 1)] for key, one in value.items()]
        return {"kind": "dict", "items": items}

    def _encode_slice(self, value: slice, where: str, depth: int) -> Any:
        bounds = [value.start, value.stop, value.step]
        if any(bound is not None and not isinstance(bound, int | np.integer) for bound in bounds):
            raise TypeError(f"{where} is {value!r}; only slices between integers can be saved")
        return {"kind": "slice", "bounds": [self.encode(bound, where, depth + 1) for bound in bounds]}

    def _encode_path(self, value: PurePath, where: str, depth: int) -> Any:
        return {"kind": "path", "value": str(value)}

    def _encode_scalar(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, np.str_):
            return {"kind": "text scalar", "value": str(value)}
        if not is_plain(value.dtype):
            raise TypeError(f"{where} is a scalar of type {value.dtype}, which cannot be saved")
        return {"kind": "scalar", "type": value.dtype.newbyteorder("<").str, "bytes": _little_endian(value).hex()}

    def _encode_array(self, value: Array, where: str, depth: int) -> Any:
        if value.dtype.kind == "O":
            return self._encode_strings(value, where)
        return {"kind": "array", "member": self._add(value, where)}

    def _encode_strings(self, value: Array, where: str) -> Any:
        strings = value.ravel().tolist()
        for one in strings:
            if not isinstance(one, str):
                raise TypeError(
                    f"{where} is an array of objects with a {type(one).__qualname__}; only str can be saved"
                )
        text = np.frombuffer("".join(strings).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        lengths = np.array([len(one) for one in strings], dtype=np.int64)
        members = {"text": self._add(text, where), "lengths": self._add(lengths, where)}
        return {"kind": "strings", "shape": list(value.shape), **members}

    def _encode_csr(self, value: sparse.csr_array, where: str, depth: int) -> Any:
        if value.ndim != 2:
            raise TypeError(f"{where} is a sparse array of {value.ndim} dimensions; only two can be saved")
        if not value.dtype.isnative:
            raise TypeError(f"{where} is a sparse array of foreign byte order, which cannot be saved")
        # SciPy allows room behind the last entry.
        parts = {"data": value.data[: value.nnz], "indices": value.indices[: value.nnz], "indptr": value.indptr}
        members = {name: self._add(part, where) for name, part in parts.items()}
        return {"kind": "csr", "shape": [int(size) for size in value.shape], **members}

    def _encode_random_state(self, value: RandomState, where: str, depth: int) -> Any:
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise TypeError(
                f"{where} is a RandomState of {state['bit_generator']}; only MT19937 can be saved: pass an int"
            )
        key, position = state["state"]["key"], int(state["state"]["pos"])
        gauss = [int(state["has_gauss"]), float(state["gauss"])]
        return {"kind": "random state", "key": self._add(key, where), "position": position, "gauss": gauss}

    def _add(self, array: Array, where: str) -> str:
        if not is_plain(array.dtype) or array.ndim > MOST_DIMENSIONS:
            raise TypeError(
                f"{where} is an array of {array.ndim} dimensions and type {array.dtype}; it cannot be saved"
            )
        if len(self.arrays) == MOST_MEMBERS - 1:
            raise ValueError(f"{where}: the model has more than {MOST_MEMBERS - 1} arrays, too many for one file")
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            # The order of axes is kept, on which the last bits of products may depend.
            array = array.copy(order="K")
        name = f"array_{len(self.arrays)}.npy"
        self.arrays[name] = array
        return name


_ENCODERS: dict[type[Any], Callable[[Encoder, Any, str, int], Any]] = {
    dict: Encoder._encode_dict,
    slice: Encoder._encode_slice,
    PurePath: Encoder._encode_path,
    np.generic: Encoder._encode_scalar,
    np.ndarray: Encoder._encode_array,
    np.memmap: Encoder._encode_array,
    sparse.csr_array: Encoder._encode_csr,
    RandomState: Encoder._encode_random_state,
}
_OPEN = (PurePath, np.generic)


def _little_endian(value: Any) -> bytes:
    array = np.asarray(value)
    return array.astype(array.dtype.newbyteorder("<")).tobytes()
