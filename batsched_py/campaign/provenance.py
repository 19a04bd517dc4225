"""Which code computed a result."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import batsched_py


@cache
def provenance() -> dict[str, Any]:
    """Return the version and, in a checkout, the git revision (``-dirty``: with changes)."""
    return {"version": version("batsched_py"), "git_revision": _revision()}


def _revision() -> str | None:
    checkout = Path(batsched_py.__file__).parents[1]
    if not (checkout / ".git").exists():  # of an installed package
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):  # no git here, or not our checkout
        return None
    return done.stdout.strip() or None
