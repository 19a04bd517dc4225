"""Collects the nodes that records name: their partitions, and the most that was held of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
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

_MOST_KEPT = 1_000_000
"""Nodes in the sets of nodes that are kept to know them again."""
_ROUNDING = 1e-3
"""What sums of fractions may be too large."""
_Numbers = NDArray[np.intp]


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
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, _Numbers] = {}
        """The numbers of the nodes of each text."""
        self._totals: dict[str, tuple[float, float, float] | None] = {}
        """Their cores, GPUs and memory."""
        self._nb_kept = 0
        self._partitions: list[set[int]] = []
        """Of each node."""
        self._seen: set[tuple[int, str]] = set()
        self._held = self._most = np.zeros((0, 4))
        """Cores, GPUs, memory and jobs of each node, and of some to come."""
        self._running: list[tuple[int, int, Any, NDArray[Any]]] = []
        """End, a number, nodes and amounts of the runs that hold nodes."""
        self._nb_runs = 0
        self._sizes = np.zeros((0, 3))
        """Of each node, once all are grouped."""
        self.unread = 0
        """Texts that are not sets of nodes, or of too many."""

    def _find(self, text: str) -> _Numbers:
        """Return the numbers of the nodes in a text; count one that is not a set of nodes."""
        if text in self._texts:
            return self._texts[text]
        if self._nb_kept > _MOST_KEPT:
            for known in (self._texts, self._totals, self._seen):
                known.clear()
            self._nb_kept = 0
        try:
            names = expand_nodes(text)
        except ValueError:
            names = []
            self.unread += 1
        for name in names[: max(0, MOST_NODES - len(self._numbers))]:
            self._numbers.setdefault(name, len(self._numbers))
        found = [self._numbers[name] for name in names if name in self._numbers]
        self._nb_kept += len(found) + 1
        self._texts[text] = np.array(found, dtype=np.intp)
        return self._texts[text]

    def see(self, run: Run) -> Run:
        """Add and return a run. What ends at an instant is free for what starts at it."""
        numbers, held = self._find(run.node_names), run.held
        if not (nb := len(numbers)):
            return run
        if (run.partition, run.node_names) not in self._seen:
            self._seen.add((run.partition, run.node_names))
            self._partitions += [set() for _ in range(len(self._numbers) - len(self._partitions))]
            for number in numbers:
                self._partitions[number].add(run.partition)
            if (more := len(self._numbers) - len(self._held)) > 0:
                room = np.zeros((max(more, len(self._held)), 4))
                self._held, self._most = (
                    np.append(self._held, room, 0),
                    np.append(self._most, room, 0),
                )
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
        for name in sorted(self._numbers, key=natural_key):
            number = self._numbers[name]
            gpus = self._seen_size([number])[1]
            kind = self._site.get(name) or (gpus and 1 + (gpus - 1).bit_length())
            groups[frozenset(self._partitions[number]), kind].append(name)
        found = []
        self._sizes = np.zeros((len(self._numbers), 3))
        for (places, kind), names in groups.items():
            its = [self._numbers[name] for name in names]
            cores, gpus, memory, jobs = self._seen_size(its)
            size = kind if isinstance(kind, NodeSize) else NodeSize(max(cores, 1), gpus, memory)
            self._sizes[its] = size
            found.append(SeenGroup(names, places, size, jobs > 1, isinstance(kind, NodeSize)))
        return found

    def _seen_size(self, numbers: list[int]) -> list[int]:
        """Return the most cores, GPUs, memory and jobs that one of these nodes had at once."""
        most: list[int] = np.ceil(self._most[numbers].max(axis=0) - _ROUNDING).astype(int).tolist()
        return most

    def site_notes(self) -> Iterator[str]:
        """Yield how many nodes differ from the file of nodes, by how they do."""
        both = self._numbers.keys() & self._site.keys()
        pairs = [(self._seen_size([self._numbers[name]]), self._site[name]) for name in both]
        over = sum(any(map(gt, most, (*size[:2], size.memory or inf))) for most, size in pairs)
        for nb, what in (
            (len(self._numbers) - len(both), "are not in the file of nodes: drafted as seen"),
            (len(self._site) - len(both), "of the file had no job: left out of the draft"),
            (over, "had more held at once than the file says"),
        ):
            if nb:
                yield f"nodes {what} ({nb})"

    def capacity(self, text: str) -> tuple[float, float, float] | None:
        """Return cores, GPUs and memory (0: unknown) of nodes in total, once all are grouped.

        None: the text is not a set of nodes.
        """
        if text not in self._totals:
            sizes = self._sizes[self._find(text)]
            cores, gpus, memory = sizes.sum(axis=0).tolist()
            known = cores, gpus, memory if sizes[:, 2].all() else 0.0
            self._totals[text] = known if len(sizes) else None
        return self._totals[text]
