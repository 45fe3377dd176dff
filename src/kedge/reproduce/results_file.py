"""The results file: one line of JSON per finished unit, appended as it finishes and never changed."""

import json
import os
from pathlib import Path
from typing import Any

from kedge.reproduce.units import Unit


class ResultsFile:
    """Finished units by key; safe against being killed at any moment.

    Parameters
    ----------
    path : Path
        The file; made with its folder where missing.

    Notes
    -----
    A line is written by one call and flushed to disk before it counts. A line cut off by a crash is moved to a file
    beside, so that its unit is run again. A second process that opens the same file for writing is refused.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._descriptor, path)
            self._records = self._read()
        except BaseException:
            os.close(self._descriptor)
            raise

    def __contains__(self, unit: Unit) -> bool:
        """Whether the unit has finished, well or not."""
        return unit.key in self._records

    def __len__(self) -> int:
        """Return how many units have finished."""
        return len(self._records)

    def get(self, unit: Unit) -> dict[str, Any] | None:
        """Return what was recorded of a unit."""
        return self._records.get(unit.key)

    def append(self, unit: Unit, record: dict[str, Any]) -> None:
        """Record a finished unit."""
        if unit.key in self._records:
            raise ValueError(f"{unit.key} is recorded already; a unit is run once")
        full = {"key": unit.key, **record}
        os.write(self._descriptor, (json.dumps(full, sort_keys=True, allow_nan=False) + "\n").encode())
        os.fsync(self._descriptor)
        self._records[unit.key] = full

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)

    def _read(self) -> dict[str, dict[str, Any]]:
        content = self.path.read_bytes()
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            self.path.with_suffix(".torn").write_bytes(torn)
            os.ftruncate(self._descriptor, len(content) - len(torn))
        records = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                records[record["key"]] = record
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path}, line {number}, is not a record of kedge reproduce; move the file away or correct it"
                ) from error
        return records


class RecordedResults:
    """Finished units of a results file, without opening it for writing; empty where there is no file."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._records: dict[str, dict[str, Any]] = {record["key"]: record for record in map(json.loads, lines)}

    def __len__(self) -> int:
        """Return how many units have finished."""
        return len(self._records)

    def get(self, unit: Unit) -> dict[str, Any] | None:
        """Return what was recorded of a unit."""
        return self._records.get(unit.key)


def _lock(descriptor: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: the user must take care
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RuntimeError(
            f"{path} is in use by another kedge reproduce; wait for it or choose another --out"
        ) from None
