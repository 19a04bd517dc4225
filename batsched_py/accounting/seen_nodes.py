"""Collects the nodes that records name, with the partitions of the jobs that ran on them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import ceil, prod
from typing import NamedTuple

from batsched_py.support.natural_order import natural_key

MOST_NODES = 100_000
"""That a list may name."""
_LONGEST_NAME = 255
"""Characters of a node's name (RFC 1123)."""
_MOST_KEPT = 10_000
"""Sets of nodes that are kept to know them again."""
_PART = re.compile(r"((?:[^\[\],]|\[[^\[\]]*\])+)(?:,|$)")
_RANGES = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


class SeenGroup(NamedTuple):
    """A group of nodes on which jobs of the same partitions ran."""

    names: list[str]
    partitions: frozenset[int]
    cores: int
    """The most that jobs had of a node."""


class SeenNodes:
    """Collects the names of nodes; its memory grows with the nodes of the machine only."""

    def __init__(self) -> None:
        self._partitions: dict[str, set[int]] = defaultdict(set)
        self._cores: dict[str, int] = {}
        self._texts: set[tuple[int, str, int]] = set()
        self.partitions: set[int] = set()
        """Whose jobs named their nodes."""
        self.unread = 0
        """Texts that are not sets of nodes, or of too many."""

    def see(self, partition: int, text: str, cores: int, nodes: int) -> None:
        """Add the nodes of a job; count a text that is not a set of nodes."""
        each = ceil(cores / nodes) if cores > 0 and nodes > 0 else 1
        known = (partition, text, each)
        if not text or known in self._texts:
            return
        if len(self._texts) >= _MOST_KEPT:
            self._texts.clear()
        self._texts.add(known)
        try:
            names = expand_nodes(text)
        except ValueError:
            self.unread += 1
            return
        if len(self._cores) + len(names) > MOST_NODES:
            names = [name for name in names if name in self._cores]
        self.partitions.add(partition)
        for name in names:
            self._partitions[name].add(partition)
            self._cores[name] = max(each, self._cores.get(name, 1))

    def groups(self) -> list[SeenGroup]:
        """Return the nodes by the partitions that they are in, in order of their names."""
        groups: dict[frozenset[int], list[str]] = defaultdict(list)
        for name in sorted(self._partitions, key=natural_key):
            groups[frozenset(self._partitions[name])].append(name)
        return [
            SeenGroup(names, partitions, max(self._cores[name] for name in names))
            for partitions, names in groups.items()
        ]


def expand_nodes(text: str) -> list[str]:
    """Return the names of a set of nodes.

    The names are counted before any is made. Raises :class:`ValueError` for another text,
    for one of more than :data:`MOST_NODES`, and for names longer than those of hosts.
    """
    parts = list(_parts(text))
    if sum(prod(map(_nb_numbers, part[1::2])) for part in parts) > MOST_NODES:
        raise ValueError("too many nodes")
    names: list[str] = []
    for part in parts:
        choices = [_numbers(piece) if at % 2 else [piece] for at, piece in enumerate(part)]
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


def _bounds(ranges: str) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last number of each range of ``001-003,7``, and its digits."""
    for text in ranges.split(","):
        match = _RANGE.fullmatch(text)
        if not match or int(match[1]) > int(match[2] or match[1]):
            raise ValueError(f"{text[:60]!r} is not a range of nodes")
        yield int(match[1]), int(match[2] or match[1]), len(match[1])


def _nb_numbers(ranges: str) -> int:
    return sum(last - first + 1 for first, last, _ in _bounds(ranges))


def _numbers(ranges: str) -> list[str]:
    """Return the numbers of ranges, as they are written."""
    return [
        f"{number:0{width}d}"
        for first, last, width in _bounds(ranges)
        for number in range(first, last + 1)
    ]
