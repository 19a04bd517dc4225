"""What installed packages offer by name.

The packages are looked at once, and only for what this program does not know itself: the look goes
over all that is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def entry_points_of(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, sorted."""
    entries = sorted(_everything().select(group=group), key=lambda entry: str(entry.name))
    return {entry.name: entry for entry in entries}


@cache
def _everything() -> Any:
    from importlib.metadata import entry_points

    return entry_points()
