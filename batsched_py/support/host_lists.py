"""Reads and writes lists of nodes such as ``gpu[01-04,7],login``, as Slurm writes them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby, product
from math import prod

MOST_NODES = 100_000
"""That a list may name."""
_LONGEST_NAME = 255
"""Characters of a node's name (RFC 1123)."""
_PART = re.compile(r"((?:[^\[\],]|\[[^\[\]]*\])+)(?:,|$)")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_LAST_NUMBER = re.compile(r"\d{1,9}(?=[^\d.]*(?:\.|$))", re.ASCII)
"""Of a name, but for those of its domain."""


def expand_nodes(text: str) -> list[str]:
    """Return the names of a set of nodes.

    The names are counted before any is made. Raises :class:`ValueError` for another text,
    for one of more than :data:`MOST_NODES`, and for names longer than those of hosts.
    """
    parts = list(_parts(text))
    if sum(prod(map(_count, part[1::2])) for part in parts) > MOST_NODES:
        raise ValueError(f"{text[:60]!r} has more than {MOST_NODES:,} nodes")
    names: list[str] = []
    for part in parts:
        choices = [_list_numbers(piece) if at % 2 else [piece] for at, piece in enumerate(part)]
        names += map("".join, product(*choices))
    return names


def _parts(text: str) -> Iterator[list[str]]:
    """Yield each name between commas as texts and ranges in turn."""
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if not match:
            raise ValueError(f"{text[:60]!r} is not a set of nodes")
        part = _RANGES.split(match[1])
        if sum(map(len, part[::2])) + len(part) // 2 > _LONGEST_NAME:  # a digit or more of each
            raise ValueError(f"{text[:60]!r} is too long for the name of a node")
        yield part
        at = match.end()


def _find_ranges(text: str) -> Iterator[tuple[range, int]]:
    """Yield the numbers of each range of ``001-003,7``, and its digits."""
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if not match or int(match[1]) > int(match[2] or match[1]):
            raise ValueError(f"{part[:60]!r} is not a range of nodes")
        yield range(int(match[1]), int(match[2] or match[1]) + 1), len(match[1])


def _count(ranges: str) -> int:
    return sum(len(numbers) for numbers, _ in _find_ranges(ranges))


def _list_numbers(ranges: str) -> list[str]:
    """Return the numbers of ranges, as they are written."""
    found = _find_ranges(ranges)
    return [f"{number:0{digits}d}" for numbers, digits in found for number in numbers]


def fold_nodes(names: Iterable[str]) -> str:
    """Return a list of nodes, with consecutive numbers as ranges.

    >>> fold_nodes(["g01", "g02", "g04", "login", "n9.site"])
    'g[01-02,04],login,n9.site'
    """
    numbers: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for name in names:
        match = _LAST_NUMBER.search(name)
        begin, end = match.span() if match else (len(name), len(name))
        numbers[name[:begin], name[end:], end - begin].append(int(name[begin:end] or 0))
    parts = []
    for (before, after, width), values in numbers.items():
        texts = []
        for _, run in groupby(enumerate(sorted(values)), key=lambda pair: pair[1] - pair[0]):
            consecutive = [f"{number:0{width}d}" for _, number in run]
            texts.append("-".join(dict.fromkeys((consecutive[0], consecutive[-1]))))
        listed = ",".join(texts) if width else ""
        parts.append(f"{before}{listed if len(values) < 2 else f'[{listed}]'}{after}")
    return ",".join(parts)
