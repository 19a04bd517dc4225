"""The nodes that records name, and which partitions' jobs were on them."""

from __future__ import annotations

import re
from collections import defaultdict
from math import ceil
from typing import NamedTuple

from batsched_py.accounting.node_lists import MOST_NODES, expand_nodes

_MOST_KEPT = 20_000_000
"""Characters of the sets of nodes that are kept to know them again."""


class SeenGroup(NamedTuple):
    """Nodes on which jobs of the same partitions ran."""

    names: list[str]
    partitions: frozenset[int]
    cores: int
    """The most that jobs had of a node."""


class SeenNodes:
    """Gathers the names of nodes; memory is for the nodes of the machine."""

    def __init__(self) -> None:
        self._partitions: dict[str, set[int]] = defaultdict(set)
        self._cores: dict[str, int] = {}
        self._texts: set[tuple[int, str, int]] = set()
        self._kept = 0
        self.partitions: set[int] = set()
        """Whose jobs named their nodes."""
        self.unread = 0
        """Texts that are no sets of nodes, or of too many."""

    def see(self, partition: int, text: str, cores: int, nodes: int) -> None:
        """Take the nodes of a job; a text that is no set of nodes is counted."""
        each = ceil(cores / nodes) if cores > 0 and nodes > 0 else 1
        known = (partition, text, each)
        if not text or known in self._texts:
            return
        self._kept += len(text)
        if self._kept > _MOST_KEPT:
            self._texts.clear()
            self._kept = len(text)
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
        for name in sorted(self._partitions, key=_natural):
            groups[frozenset(self._partitions[name])].append(name)
        return [
            SeenGroup(names, partitions, max(self._cores[name] for name in names))
            for partitions, names in groups.items()
        ]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which ``n10`` is after ``n9``."""
    parts = re.split(r"0*(\d+)", name, flags=re.ASCII)
    return [(len(part) if place % 2 else 0, part) for place, part in enumerate(parts)]
