"""The zip around a model: arrays, a description in JSON, and the digest of that in the comment."""

import hashlib
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from kedge.model_files.limits import (
    CHUNK,
    DESCRIPTION,
    FORMAT,
    MOST_DESCRIPTION_BYTES,
    MOST_DIRECTORY_BYTES,
    MOST_MEMBERS,
)
from kedge.model_files.npy_member import HashedWriter, write_array
from kedge.model_files.refusal import Refusal

# The only names there are, so that none can lead out of a folder into which someone unpacks the file.
_NAME = re.compile(r"model\.json|array_(0|[1-9]\d{0,5})\.npy")
# The oldest time a zip can hold: one model gives the same bytes at any time.
_TIME = (1980, 1, 1, 0, 0, 0)
# Sizes above this need the wider fields of zip64; headers of .npy members are part of the margin.
_LARGE = 2**30


@dataclass(frozen=True)
class Container:
    """An open model file whose list of contents was checked."""

    archive: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]

    def read_description(self) -> bytes:
        """Return the JSON text."""
        with self.archive.open(self.members[DESCRIPTION]) as file:
            text = b"".join(iter(lambda: file.read(CHUNK), b""))
        if self.archive.comment != _comment(text):
            raise Refusal(f"{DESCRIPTION} does not match its checksum")
        return text


def write_container(file: BinaryIO, description: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as they come, then the description with their digests."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = {}
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name, _TIME), "w", force_zip64=array.nbytes > _LARGE) as opened:
                writer = HashedWriter(opened)
                write_array(writer, array)
            members[name] = {"bytes": writer.n_bytes, "sha256": writer.digest}
        text = json.dumps(description | {"members": members}, allow_nan=False).encode("ascii")
        if len(text) > MOST_DESCRIPTION_BYTES:
            raise ValueError(
                f"the model has {len(text)} bytes of lists, dicts and text, at most {MOST_DESCRIPTION_BYTES} fit in a "
                "file: pass long lists as arrays"
            )
        archive.writestr(zipfile.ZipInfo(DESCRIPTION, _TIME), text)
        archive.comment = _comment(text)


class ShortReads(io.BufferedReader):
    """A file that reads little at a time: zipfile reads the list of contents at once, however long it says it is.

    Attributes
    ----------
    n_bytes : int
        Size of the file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self.n_bytes = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Read a limited number of bytes, or the rest if that is short."""
        if size is None or size < 0:
            size = max(self.n_bytes - self.tell(), 0)
        if size > MOST_DIRECTORY_BYTES:
            raise Refusal("its list of contents is too long")
        return super().read(size)


@contextmanager
def open_container(file: ShortReads, most_bytes: int) -> Iterator[Container]:
    """Check the list of contents of a file before anything in it is read."""
    with zipfile.ZipFile(file) as archive:
        yield Container(archive, _checked_members(archive, file.n_bytes, most_bytes))


def _checked_members(archive: zipfile.ZipFile, size: int, most_bytes: int) -> dict[str, zipfile.ZipInfo]:
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
        _check_form(info)
        members[name] = info
    if DESCRIPTION not in members:
        raise Refusal(f"it has no {DESCRIPTION}", "give the path of a file that kedge.save wrote")
    if members[DESCRIPTION].file_size > MOST_DESCRIPTION_BYTES:
        raise Refusal(f"{DESCRIPTION} has more than {MOST_DESCRIPTION_BYTES} bytes")
    total = sum(info.file_size for info in listed)
    if total > size:
        raise Refusal(f"its members have {total} bytes, the file has {size}")
    if total > most_bytes:
        raise Refusal(f"its members have {total} bytes, more than max_bytes={most_bytes}", "raise max_bytes")
    return members


def _check_form(info: zipfile.ZipInfo) -> None:
    """Refuse members that are not plain bytes: packed ones can grow a thousandfold."""
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise Refusal(f"{info.filename} is compressed, which kedge does not do")
    if info.flag_bits & ~0x800:
        raise Refusal(f"{info.filename} is encrypted or of another unusual form")
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        raise Refusal(f"{info.filename} is a link or another special file")


def _comment(description: bytes) -> bytes:
    return f"{FORMAT} sha256={hashlib.sha256(description).hexdigest()}".encode("ascii")
