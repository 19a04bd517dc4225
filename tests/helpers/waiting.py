"""Waiting for other processes: for what they do, not for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LIMIT = 300.0
"""Seconds after which a wait counts as in vain: far more than anything takes on a slow machine."""


def wait_until(condition: Callable[[], T], limit: float = LIMIT) -> T:
    """Wait until a condition holds, and return what it gives; fail if it never does."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if holds := condition():
            return holds
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
