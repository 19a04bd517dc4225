"""How costs grow: with the log, the machine, the queue and the users, as figures."""

from __future__ import annotations

from pathlib import Path

from measuring import Bench


def draw(bench: Bench, folder: Path) -> None:
    """Measure and draw everything."""
