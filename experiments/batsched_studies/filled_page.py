"""Pages of the documentation that a command writes: a template with its tables filled in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def line(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def filled(template: Path, parts: Mapping[str, str]) -> str:
    """Return the template with each ``{{name}}`` replaced by the part of that name."""
    text = template.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text
