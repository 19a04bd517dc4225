"""Collects the nodes that records name: their partitions, and the most that was held of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from heapq import heappop, heappush
from math import inf
from operator import gt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_py.accounting.records import Extras
from batsched_py.support.host_lists import MOST_NODES, expand_nodes
from batsched_py.support.natural_order import natural_key
from batsched_py.workload.node_shares import NodeSize, parse_chunks

_MOST_KEPT = 16_384
"""Sets of nodes that are kept to know them again."""
_ROUNDING = 1e-3
"""What sums of fractions may be too large."""


class Run(NamedTuple):
    """A run: Unix times, processors of the log, partition by its place, and what it held."""

    start: int
    end: int
    size: int
    partition: int
    submit: int
    node_names: str
    held: Extras


class SeenGroup(NamedTuple):
    """A group of nodes on which jobs of the same partitions ran, and the size of each."""

    names: list[str]
    partitions: frozenset[int]
    size: NodeSize
    """By the file of nodes, or the most that jobs held at once."""
    is_shared: bool
    """Whether a node ever had two jobs at once."""
    is_known: bool
    """Whether the file of nodes has the size."""


class SeenNodes:
    """Collects nodes and what runs held of them, given in the order of their starts.

    Memory grows with the runs that run at once. ``site`` are the sizes of nodes that are known. A
    job with fewer cores for a GPU than ``cores_of_gpu`` has a part of it.
    """

    def __init__(self, site: Mapping[str, NodeSize], cores_of_gpu: float = 0) -> None:
        self._site, self._cores_of_gpu = site, cores_of_gpu
        self._nodes: dict[str, tuple[int, set[int]]] = {}
        """The number and the partitions of each node."""
        self._find = lru_cache(_MOST_KEPT)(self._number)
        self.capacity = lru_cache(_MOST_KEPT)(self._add_up)
        self._held, self._most = np.zeros((0, 4)), np.zeros((0, 4))
        """Cores, GPUs, memory and jobs of each node, and of some to come."""
        self._running: list[tuple[int, int, Any, NDArray[Any]]] = []
        """End, a number, nodes and amounts of the runs that hold nodes."""
        self._nb_runs = 0
        self._sizes: dict[str, NodeSize] = {}
        """Of each node, once all are grouped."""
        self.unread: set[str] = set()
        """Texts that are not sets of nodes, or of too many."""

    def _names(self, text: str) -> list[str]:
        try:
            return expand_nodes(text)
        except ValueError:
            self.unread.add(text)
            return []

    def _number(self, text: str, partition: int) -> NDArray[np.intp]:
        """Return the numbers of the nodes in a text, which become nodes of the partition."""
        found = []
        for name in self._names(text):
            if name in self._nodes or len(self._nodes) < MOST_NODES:
                number, partitions = self._nodes.setdefault(name, (len(self._nodes), set()))
                partitions.add(partition)
                found.append(number)
        if len(self._nodes) > len(self._held):
            for amounts in (self._held, self._most):
                amounts.resize((2 * len(self._nodes), 4), refcheck=False)
        return np.array(found, dtype=np.intp)

    def see(self, run: Run) -> Run:
        """Add and return a run. What ends at an instant is free for what starts at it."""
        numbers, held = self._find(run.node_names, run.partition), run.held
        if not (nb := len(numbers)):
            return run
        while self._running and self._running[0][0] <= run.start:
            _, _, its, amounts = heappop(self._running)
            self._held[its] -= amounts
        parts = parse_chunks(held.chunks, run.node_names) if "+" in held.chunks else ()
        if parts and sum(part.nodes for part in parts) == nb:
            amounts = np.array([(*part, 1) for nodes, *part in parts for _ in range(nodes)])
        else:
            cores, memory = max(held.cores, 1) / nb, max(held.memory_mib, 0) / nb
            most_gpus = cores / self._cores_of_gpu if self._cores_of_gpu else inf
            amounts = np.array([cores, min(max(held.gpus, 0) / nb, most_gpus), memory, 1])
        places = numbers if nb > 1 else numbers[0]  # which is faster
        self._held[places] = now = self._held[places] + amounts
        self._most[places] = np.maximum(self._most[places], now)
        self._nb_runs += 1
        heappush(self._running, (run.end, self._nb_runs, places, amounts))
        return run

    def groups(self) -> list[SeenGroup]:
        """Return the nodes by their partitions and GPUs, or sizes of the site, in order of names.

        Nodes of the same partitions are taken to be equal if the most GPUs held of them have the
        same next power of two, since records show what was used, and nodes have 1, 2, 4 or 8.
        """
        groups: dict[tuple[frozenset[int], NodeSize | int], list[str]] = defaultdict(list)
        for name in sorted(self._nodes, key=natural_key):
            gpus = self._seen_size([name])[1]
            kind = self._site.get(name) or (gpus and 1 + (gpus - 1).bit_length())
            groups[frozenset(self._nodes[name][1]), kind].append(name)
        found = []
        for (places, kind), names in groups.items():
            cores, gpus, memory, jobs = self._seen_size(names)
            size = kind if isinstance(kind, NodeSize) else NodeSize(max(cores, 1), gpus, memory)
            self._sizes |= dict.fromkeys(names, size)
            found.append(SeenGroup(names, places, size, jobs > 1, size is kind))
        return found

    def _seen_size(self, names: list[str]) -> list[int]:
        """Return the most cores, GPUs, memory and jobs that one of these nodes had at once."""
        most = self._most[[self._nodes[name][0] for name in names]].max(axis=0)
        sizes: list[int] = np.ceil(most - _ROUNDING).astype(int).tolist()
        return sizes

    def site_notes(self) -> dict[str, int]:
        """Return how many nodes differ from the file of nodes, by how they do."""
        both = self._nodes.keys() & self._site.keys()
        pairs = [(self._seen_size([name]), self._site[name]) for name in both]
        over = sum(any(map(gt, most, (*size[:2], size.memory or inf))) for most, size in pairs)
        return {
            "nodes are not in the file of nodes: drafted as seen": len(self._nodes) - len(both),
            "nodes of the file had no job: left out of the draft": len(self._site) - len(both),
            "nodes had more held at once than the file says": over,
        }

    def _add_up(self, text: str) -> NodeSize:
        """Return the size of the nodes in a text together, once all are grouped; 0 is unknown."""
        sizes = [self._sizes[name] for name in self._names(text) if name in self._sizes]
        total = NodeSize(*map(sum, zip(NodeSize(0), *sizes, strict=True)))
        return total if all(size.memory for size in sizes) else total._replace(memory=0)
