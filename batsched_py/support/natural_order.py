"""The order of names with numbers in them."""

from __future__ import annotations

import re


def natural_key(name: str) -> list[tuple[int, str]]:
    """Return a key by which ``n10`` is after ``n9``."""
    parts = re.split(r"0*(\d+)", name, flags=re.ASCII)
    return [(len(part) if place % 2 else 0, part) for place, part in enumerate(parts)]
