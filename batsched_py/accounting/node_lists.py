"""Sets of nodes as Slurm writes them: ``n[001-003,7],gpu1``."""

from __future__ import annotations

import re
from itertools import product

MOST_NODES = 100_000
"""That a list may name."""
_PART = re.compile(r"((?:[^\[\],]|\[[^\[\]]*\])+)(?:,|$)")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def expand_nodes(text: str) -> list[str]:
    """Return the names of a set of nodes.

    Raises :class:`ValueError` for what is no such set, or one of more than :data:`MOST_NODES`.
    """
    names: list[str] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if not match:
            raise ValueError(f"{text[:60]!r} is no set of nodes")
        names += _expanded(match[1])
        if len(names) > MOST_NODES:
            raise ValueError("too many nodes")
        at = match.end()
    return names


def _expanded(part: str) -> list[str]:
    pieces = _RANGES.split(part)  # texts and ranges in turn
    choices = [_numbers(piece) if at % 2 else [piece] for at, piece in enumerate(pieces)]
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > MOST_NODES:
        raise ValueError("too many nodes")
    return ["".join(chosen) for chosen in product(*choices)]


def _numbers(ranges: str) -> list[str]:
    """Return the numbers of ``001-003,7``, as they are written."""
    numbers: list[str] = []
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if not match:
            raise ValueError(f"{text[:60]!r} is no range of nodes")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < first + MOST_NODES:
            raise ValueError(f"{text!r} is no range of nodes")
        width = len(match[1])
        numbers += [f"{number:0{width}d}" for number in range(first, last + 1)]
    return numbers
