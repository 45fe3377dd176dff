"""A look at the structure of MATLAB files of version 5 before SciPy reads them.

SciPy trusts the marks in a file that say what each part is, and a wrong one can end the process; and a compressed part
says nothing about how large it will be.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from kedge.data_files.contents import Wanted
from kedge.data_files.refusal import DataFileError

_HEADER_BYTES = 128
_PIECE = 2**20
_MOST_NESTED = 20
# Marks of parts: vectors of numbers or text, matrices, compressed matrices.
_VECTORS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18}
_MATRIX, _COMPRESSED = 14, 15
# Classes of matrices, and how many vectors stand in front of the matrices inside them.
_CELL, _STRUCTURE, _OBJECT = 1, 2, 3
_LEADING = {_CELL: 2, _STRUCTURE: 4, _OBJECT: 5}
_PLAIN = range(4, 16)


def check_matlab_elements(path: Path, wanted: Wanted) -> None:
    """Refuse a file whose parts do not fit into each other, or that would be too large in memory."""
    size = path.stat().st_size
    if size < _HEADER_BYTES:
        raise DataFileError(f"{path} is no MATLAB file, or cut short: {size} bytes")
    total = 0
    with path.open("rb") as file:
        mark = file.read(_HEADER_BYTES)[126:128]
        if mark not in (b"IM", b"MI"):
            raise DataFileError(f"{path} is no MATLAB file of version 5 or later; save it again with -v7")
        order = "<" if mark == b"IM" else ">"
        while tag := file.read(8):
            if len(tag) < 8:
                raise _damaged(path)
            kind, length = struct.unpack(f"{order}II", tag)
            if file.tell() + length > size or kind not in (_MATRIX, _COMPRESSED):
                raise _damaged(path)
            total += length
            wanted.limits.check_whole(total, path, "its content")
            content = memoryview(file.read(length))
            if kind == _COMPRESSED:
                unpacked = _unpacked(content, total, path, wanted)
                total += len(unpacked)
                [(kind, content)] = _parts(memoryview(unpacked), order, path)
            if kind != _MATRIX:
                raise _damaged(path)
            _check_matrix(content, order, path, 0)


def _unpacked(content: memoryview, before: int, path: Path, wanted: Wanted) -> bytes:
    """Unpack a part, after a first time in which its bytes are only counted."""
    unpacker, n_bytes = zlib.decompressobj(), before
    rest: bytes | memoryview = content
    while rest and not unpacker.eof:
        n_bytes += len(unpacker.decompress(rest, _PIECE))
        rest = unpacker.unconsumed_tail
        wanted.limits.check_whole(n_bytes, path, "its unpacked content")
    if not unpacker.eof:
        raise _damaged(path)
    return zlib.decompress(content)


def _check_matrix(content: memoryview, order: str, path: Path, depth: int) -> None:
    if not len(content):
        return
    parts = list(_parts(content, order, path))
    flags = parts[0]
    if depth > _MOST_NESTED or flags[0] != 6 or len(flags[1]) != 8:
        raise _damaged(path)
    (word,) = struct.unpack(f"{order}I", flags[1][:4])
    kind = word & 0xFF
    if kind not in _PLAIN and kind not in _LEADING:
        return  # functions and the like, which are not read
    n_leading = len(parts) if kind in _PLAIN else 1 + _LEADING[kind]
    if len(parts) < min(n_leading, 3) or any(mark not in _VECTORS for mark, _ in parts[:n_leading]):
        raise _damaged(path)
    for mark, inside in parts[n_leading:]:
        if mark != _MATRIX:
            raise _damaged(path)
        _check_matrix(inside, order, path, depth + 1)


def _parts(content: memoryview, order: str, path: Path) -> Iterator[tuple[int, memoryview]]:
    """Yield mark and content of the parts that stand one after another."""
    place = 0
    while place < len(content):
        if place + 8 > len(content):
            raise _damaged(path)
        kind, length = struct.unpack(f"{order}II", content[place : place + 8])
        if kind >> 16:
            # Up to four bytes stand beside the mark itself.
            kind, length = kind & 0xFFFF, kind >> 16
            start, after = place + 4, place + 8
            fits = length <= 4
        else:
            start = place + 8
            after = start + length + (-length % 8 if kind != _MATRIX else 0)
            fits = start + length <= len(content)
        if not fits:
            raise _damaged(path)
        yield kind, content[start : start + length]
        place = after


def _damaged(path: Path) -> DataFileError:
    return DataFileError(f"{path} is damaged or cut short: its parts do not fit into each other")
