"""Memory of the machine, and of this process now and at its peak."""

import os
import sys
from pathlib import Path

# Where Linux says how much a container may use.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or of the container of this process if that has less."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    for path in map(Path, _CONTAINER_LIMITS):
        if path.exists() and path.read_text().strip().isdigit():
            limits.append(int(path.read_text()))
    # If the system does not say, nothing is refused.
    return min(limits, default=2**63 - 1)


def resident_bytes() -> int | None:
    """Return the bytes that the process holds now; None if the system does not say."""
    return _from_status("VmRSS")


class PeakMemory:
    """The peak of the memory of this process from now on, beyond what it holds now."""

    def __init__(self) -> None:
        # Linux keeps the highest mark of a process and can reset it. Without a reset, the peak is known only if the
        # mark has risen since.
        self._old_mark: int | None = None
        try:
            _CLEAR.write_text("5")
        except OSError:
            self._old_mark = _highest_bytes()
        self._before = resident_bytes() or _highest_bytes()

    def read(self) -> int | None:
        """Return the peak so far, in bytes."""
        highest = _highest_bytes()
        if highest is None or self._before is None or highest == self._old_mark:
            return None
        return max(highest - self._before, 0)


def _highest_bytes() -> int | None:
    # The usual ``ru_maxrss`` of Linux begins at what the parent held when it started this process; this does not.
    if _STATUS.exists():
        return _from_status("VmHWM")
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _from_status(name: str) -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)
