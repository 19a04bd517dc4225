"""Collects the nodes that records name: their partitions, and the most that was held of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_py.accounting.node_file import NodeSize
from batsched_py.accounting.records import Extras
from batsched_py.support.host_lists import MOST_NODES, expand_nodes
from batsched_py.support.natural_order import natural_key
from batsched_py.workload.node_shares import parse_chunks

_MOST_KEPT = 1_000_000
"""Nodes in the sets of nodes that are kept to know them again."""
_TOGETHER = 200_000
"""Parts of nodes whose runs are gone through together."""
_ROUNDING = 1e-3
"""What sums of fractions may be too large."""
_Numbers = NDArray[Any]


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

    Memory grows with the nodes of the machine, and with the runs that run at once. ``site`` are
    the sizes of nodes that are known. A job with fewer cores for a GPU than ``cores_of_gpu`` has a
    part of it.
    """

    def __init__(self, site: Mapping[str, NodeSize], cores_of_gpu: float = 0) -> None:
        self._site, self._cores_of_gpu = site, cores_of_gpu
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, _Numbers] = {}
        """The numbers of the nodes of each text."""
        self._nb_kept = 0
        self._of_partition: dict[int, set[int]] = defaultdict(set)
        self._seen: set[tuple[int, str]] = set()
        self._held = self._most = np.zeros((0, 4))
        """Cores, GPUs, memory and jobs of each node."""
        self._runs: list[tuple[Any, ...]] = []
        """Start, end, nodes, and cores, GPUs and memory of each node."""
        self._nb_parts = 0
        self._running = np.zeros((0, 6))
        """Node, end and amounts of the parts that are held after the runs gone through."""
        self._sizes = np.zeros((0, 3))
        """Of each node, once all are grouped."""
        self.unread = 0
        """Texts that are not sets of nodes, or of too many."""

    def _find(self, text: str) -> _Numbers:
        """Return the numbers of the nodes in a text; count one that is not a set of nodes."""
        if text in self._texts:
            return self._texts[text]
        if self._nb_kept > _MOST_KEPT:
            self._texts.clear()
            self._seen.clear()
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

    def see(self, run: Run) -> None:
        """Add a run."""
        numbers, held = self._find(run.node_names), run.held
        if not (nb := len(numbers)):
            return
        if (run.partition, run.node_names) not in self._seen:
            self._seen.add((run.partition, run.node_names))
            self._of_partition[run.partition].update(numbers.tolist())
        at = 0
        if "+" in held.chunks:
            for count, *part in parse_chunks(held.chunks, run.node_names):
                self._runs.append((run.start, run.end, numbers[at : at + count], *part))
                at += count
        else:
            cores, memory = max(held.cores, 1) / nb, max(held.memory_mib, 0) / nb
            most_gpus = cores / self._cores_of_gpu if self._cores_of_gpu else inf
            gpus = min(max(held.gpus, 0) / nb, most_gpus)
            self._runs.append((run.start, run.end, numbers, cores, gpus, memory))
        self._nb_parts += nb
        if self._nb_parts > _TOGETHER:
            self._sweep()

    def _sweep(self) -> None:
        """Go through the runs that were added, node by node, and note the most held at once.

        What ends at an instant is free for what starts at it; a zero-length run is over before
        the next run.
        """
        if not self._runs:
            return
        starts, ends, numbers, *amounts = zip(*self._runs, strict=True)
        which = np.repeat(np.arange(len(starts)), [len(its) for its in numbers])
        begins = np.array(starts)[which]
        columns = [np.array(values)[which] for values in (ends, *amounts, np.ones(len(starts)))]
        new = np.column_stack([np.concatenate(numbers), *columns])
        parts = np.concatenate([self._running, new])
        ranks = np.zeros(len(parts))
        ranks[len(self._running) :] = np.where(begins < new[:, 1], 0, 2 * which + 2)
        is_over = parts[:, 1] <= starts[-1]
        over = parts[is_over]
        self._running = parts[~is_over]
        nodes = np.concatenate([new[:, 0], over[:, 0]]).astype(np.intp)
        times = np.concatenate([begins, over[:, 1]])
        order = np.lexsort((np.concatenate([2 * which + 1, ranks[is_over]]), times, nodes))
        nodes, changes = nodes[order], np.concatenate([new[:, 2:], -over[:, 2:]])[order]
        firsts = np.flatnonzero(np.diff(nodes, prepend=-1))
        counts = np.diff(firsts, append=len(nodes))
        room = np.zeros((len(self._numbers) - len(self._held), 4))
        self._held, self._most = (np.concatenate([old, room]) for old in (self._held, self._most))
        sums, its = changes.cumsum(axis=0), nodes[firsts]
        levels = sums + np.repeat(self._held[its] - sums[firsts] + changes[firsts], counts, axis=0)
        self._most[its] = np.maximum(self._most[its], np.maximum.reduceat(levels, firsts))
        self._held[its] = levels[firsts + counts - 1]
        self._runs, self._nb_parts = [], 0

    def groups(self) -> list[SeenGroup]:
        """Return the nodes by their partitions and GPUs, or sizes of the site, in order of names.

        Nodes of the same partitions are taken to be equal if the most GPUs held of them have the
        same next power of two, since records show what was used, and nodes have 1, 2, 4 or 8.
        """
        self._sweep()
        partitions: list[list[int]] = [[] for _ in self._numbers]
        for place, numbers in self._of_partition.items():
            for number in numbers:
                partitions[number].append(place)
        groups: dict[tuple[frozenset[int], NodeSize | int], list[str]] = defaultdict(list)
        for name in sorted(self._numbers, key=natural_key):
            number = self._numbers[name]
            most_gpus = self._seen_size([number])[1]
            kind = self._site.get(name) or (most_gpus and 1 + (most_gpus - 1).bit_length())
            groups[frozenset(partitions[number]), kind].append(name)
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

    def site_notes(self) -> dict[str, int]:
        """Return how many nodes differ from the file of nodes, by how they do."""
        both = self._numbers.keys() & self._site.keys()
        exceeded = 0
        for name in both:
            cores, gpus, memory, _ = self._seen_size([self._numbers[name]])
            size = self._site[name]
            exceeded += cores > size.cores or gpus > size.gpus or memory > size.memory > 0
        return {
            "nodes are not in the file of nodes: drafted as seen": len(self._numbers) - len(both),
            "nodes of the file had no job: left out of the draft": len(self._site) - len(both),
            "nodes had more held at once than the file says": exceeded,
        }

    def capacity(self, text: str) -> tuple[float, float, float] | None:
        """Return cores, GPUs and memory (0: unknown) of nodes in total, once all are grouped.

        None: the text is not a set of nodes.
        """
        numbers = self._find(text)
        if not len(numbers):
            return None
        sizes = self._sizes[numbers]
        cores, gpus, memory = sizes.sum(axis=0).tolist()
        return cores, gpus, memory if sizes[:, 2].all() else 0.0
