"""What made a recorded result: the version of kedge, the commit of its code, and the date."""

import subprocess
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("kedge", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of kedge and the libraries below it."""
    return {name: version(name) for name in LIBRARIES}


def now() -> str:
    """Return date and time, in UTC."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M}"


@lru_cache(maxsize=1)
def commit() -> str:
    """Return the commit of the code when it was first asked for, and whether files of kedge differed from it."""
    folder = Path(__file__).parents[1]
    try:
        shown = subprocess.run(
            ["git", "rev-parse", "--short=10", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        )
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src"], cwd=folder, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return shown.stdout.strip() + (", with changes" if changed else "")
