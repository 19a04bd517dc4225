"""Collects the nodes that records name, with the partitions of the jobs that ran on them."""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from typing import NamedTuple

from batsched_py.support.host_lists import MOST_NODES, expand_nodes
from batsched_py.support.natural_order import natural_key

_MOST_KEPT = 10_000
"""Sets of nodes that are kept to know them again."""


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
