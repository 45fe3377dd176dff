"""One array in a zip: written as .npy, read only if its header and its size agree."""

import hashlib
import io
import math
import re
import zipfile
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kedge.model_files.encoding import is_plain
from kedge.model_files.limits import CHUNK, MOST_DIMENSIONS, MOST_HEADER_BYTES
from kedge.model_files.refusal import Refusal

Array = NDArray[Any]

# What NumPy writes for plain types. Anything else never reaches its parser, which evaluates literals and, where that
# fails, takes the text apart as Python 2 wrote it.
_HEADER = re.compile(
    rb"\{'descr': '[<>|][biufcU]\d{1,9}', 'fortran_order': (True|False), 'shape': \((\d{1,19},? ?)*\), \} *\n"
)
_VERSION = (1, 0)
_LAST_CHARACTER = 0x10FFFF


class _Writable(Protocol):
    def write(self, data: bytes, /) -> int: ...


class HashedWriter:
    """Passes bytes on and keeps their number and SHA-256 digest."""

    def __init__(self, file: _Writable) -> None:
        self._file, self._hash, self.n_bytes = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Write all of the data."""
        self._file.write(data)
        self._hash.update(data)
        self.n_bytes += len(data)
        return len(data)

    @property
    def digest(self) -> str:
        """The digest of what was written, in hexadecimal."""
        return self._hash.hexdigest()


def write_array(file: HashedWriter, array: Array) -> None:
    """Write an array of a plain type, a few megabytes at a time."""
    npy.write_array(file, array, version=_VERSION, allow_pickle=False)


def read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, digest: str) -> Array:
    """Return the array of a member whose digest is known; nothing is allocated before the sizes agree."""
    with cast(zipfile.ZipExtFile, archive.open(member)) as file:
        header = _read_header(file.read, member.filename)
        shape, fortran_order, dtype = _parse_header(header, member.filename)
        n_values = _checked_count(shape, dtype, member.file_size - len(header), member.filename)
        flat = np.empty(n_values, dtype=dtype)
        hashed = hashlib.sha256(header)
        content = flat.view(np.uint8).data
        for start in range(0, len(content), CHUNK):
            part = content[start : start + CHUNK]
            if file.readinto(part) != len(part):
                raise Refusal(f"{member.filename} ends too soon")
            hashed.update(part)
        # Reading to the end makes zipfile compare its own checksum.
        if file.read(1) or hashed.hexdigest() != digest:
            raise Refusal(f"{member.filename} does not match its checksum")
    _check_values(flat, member.filename)
    return flat.reshape(shape, order="F" if fortran_order else "C")


def _read_header(read: Callable[[int], bytes], name: str) -> bytes:
    """Return everything before the numbers."""
    start = read(10)
    if start[:8] != npy.magic(*_VERSION) or len(start) < 10:
        raise Refusal(f"{name} is no .npy array of version 1.0")
    length = int.from_bytes(start[8:10], "little")
    if length > MOST_HEADER_BYTES:
        raise Refusal(f"{name} has a header of {length} bytes; at most {MOST_HEADER_BYTES} are read")
    header = read(length)
    if len(header) != length or not _HEADER.fullmatch(header):
        raise Refusal(f"{name} has a header that kedge does not write, perhaps for objects")
    return start + header


def _parse_header(header: bytes, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        file = io.BytesIO(header)
        npy.read_magic(file)
        shape, fortran_order, dtype = npy.read_array_header_1_0(file)
    except (ValueError, TypeError) as error:
        raise Refusal(f"{name} has a wrong header") from error
    if not is_plain(dtype):
        raise Refusal(f"{name} holds {dtype}, not plain numbers or text")
    return shape, fortran_order, dtype


def _checked_count(shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int, name: str) -> int:
    """Return the number of values; Python's integers cannot overflow."""
    count = math.prod(shape)
    # Zeros hide other sizes, which NumPy multiplies nevertheless.
    apparent = math.prod(max(size, 1) for size in shape) * dtype.itemsize
    if len(shape) > MOST_DIMENSIONS or apparent >= 2**63 or count * dtype.itemsize != n_bytes:
        raise Refusal(f"{name} has shape {shape} of {dtype} but {n_bytes} bytes")
    return count


def _check_values(flat: Array, name: str) -> None:
    """Refuse bytes that are no values of their type, on which NumPy's behaviour is undefined."""
    if flat.dtype.kind == "b":
        highest, limit = flat.view(np.uint8), 1
    elif flat.dtype.kind == "U":
        highest, limit = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder)), _LAST_CHARACTER
    else:
        return
    if len(highest) and highest.max() > limit:
        raise Refusal(f"{name} holds values that are no {flat.dtype}")
