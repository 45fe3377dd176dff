"""How much of a file may be in memory; looked at before anything is allocated."""

import math
import sys
from dataclasses import dataclass
from pathlib import Path

from kedge.data_files.refusal import DataFileError
from kedge.memory import machine_memory

_GIB = 2**30
# Matrices up to this size are read whole.
_WHOLE_BYTES = 2**28
# What is kept of every row whatever its width: label, confidence, weights of the graph.
_ROW_BYTES = 64
# No common compression shrinks more: deflate a thousandfold at best.
_MOST_PACKED = 2_000
_SMALL_FILE = 2**16


@dataclass(frozen=True)
class Limits:
    """Bytes that may be used."""

    most_bytes: int  # Of all that is in memory at a time.
    whole_bytes: int  # Matrices up to this size are read whole; larger ones stay on disk where their format allows it.

    @classmethod
    def for_memory(cls, gigabytes: float | None) -> "Limits":
        """Return the limits of a budget in GiB; None means what the machine and the system allow."""
        if gigabytes is not None and not (math.isfinite(gigabytes) and gigabytes > 0):
            raise ValueError(f"memory must be a positive number of GiB: {gigabytes}")
        most = _allowed_memory() if gigabytes is None else int(gigabytes * _GIB)
        return cls(most, min(_WHOLE_BYTES, most // 8))

    def check_whole(self, n_bytes: int, path: Path, what: str = "it") -> None:
        """Refuse what would be read whole and is too large for that; a copy is made on the way."""
        if n_bytes > self.most_bytes // 2:
            raise DataFileError(
                f"{path}: {what} takes {n_bytes / _GIB:,.1f} GiB in memory, and {self.most_bytes / _GIB:,.1f} GiB may "
                "be used for it and its copy; raise --memory, or store the rows as .npy or Parquet, which are read "
                "in parts"
            )

    def check_rows(self, n_rows: int, path: Path) -> None:
        """Refuse more rows than labels could be kept of."""
        if n_rows > self.most_bytes // _ROW_BYTES:
            raise DataFileError(
                f"{path} claims {n_rows:,} rows, whose labels and weights alone take more than the "
                f"{self.most_bytes / _GIB:,.1f} GiB of memory that may be used; is it damaged?"
            )

    def check_packed(self, n_bytes: int, stored: int, path: Path, what: str) -> None:
        """Refuse what would grow more than data does when it is unpacked."""
        if n_bytes > _MOST_PACKED * max(stored, _SMALL_FILE):
            raise DataFileError(
                f"{path}: {what} claims {n_bytes:,} bytes but stores only {stored:,}; is the file damaged?"
            )


def _allowed_memory() -> int:
    limits = [int(0.8 * machine_memory())]
    if sys.platform != "win32":
        import resource

        # A limit on addresses also covers libraries and what is in use already.
        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            limits.append(soft // 2)
    return min(limits)
