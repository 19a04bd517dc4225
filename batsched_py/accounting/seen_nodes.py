"""Collects the nodes that records name: their partitions, and the most that was held of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_py.accounting.node_file import NodeSize
from batsched_py.accounting.node_shares import Share, parse_chunks
from batsched_py.accounting.records import Extras
from batsched_py.support.host_lists import MOST_NODES, expand_nodes
from batsched_py.support.natural_order import natural_key
from batsched_py.workload.logs.swf import UNKNOWN

_MOST_KEPT = 1_000_000
"""Nodes in the sets of nodes that are kept to know them again."""
_TOGETHER = 200_000
"""Shares of nodes that are gone through together."""
_ROUNDING = 1e-3
"""What sums of fractions may be too large."""
Numbers = NDArray[Any]


class Run(NamedTuple):
    """A run: Unix times, processors of the log, and what it held in total."""

    start: int
    end: int
    size: int
    partition: int
    submit: int
    node_names: str
    extras: Extras


class SeenGroup(NamedTuple):
    """A group of nodes on which jobs of the same partitions ran, and the size of each."""

    names: list[str]
    partitions: frozenset[int]
    size: NodeSize
    """What the site says, or the most that jobs held at once."""
    is_shared: bool
    """Whether a node ever had two jobs at once."""
    is_known: bool
    """Whether the site says the size."""


class SeenNodes:
    """Collects nodes and what runs held of them, given in the order of their starts.

    Memory grows with the nodes of the machine, and with the runs that run at once. ``site`` are
    the sizes of nodes that are known. A job with fewer cores for a GPU than ``cores_of_gpu`` has a
    part of it. Without ``chunks`` each job has equal parts of its nodes.
    """

    def __init__(
        self, site: Mapping[str, NodeSize], cores_of_gpu: float = 0, *, chunks: bool = True
    ) -> None:
        self._site, self._cores_of_gpu, self._chunks = site, cores_of_gpu, chunks
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, Numbers | None] = {}
        """The numbers of the nodes of each text, None for one that cannot be read."""
        self._nb_kept = 0
        self._of_partition: dict[int, set[int]] = defaultdict(set)
        self._seen: set[tuple[int, str]] = set()
        self._held = np.zeros((0, 4))
        """Cores, GPUs, memory and jobs of each node; in the order of :class:`Share`."""
        self._most = np.zeros((0, 4))
        self._runs: list[tuple[int, int, Numbers, float, float, float, int]] = []
        self._nb_shares = 0
        self._running = np.zeros((0, 6))
        """Node, end and amounts of the shares that are held after the runs gone through."""
        self.knows_memory = False
        self.unread = 0
        """Texts that are not sets of nodes, or of too many."""
        self.sizes: dict[str, NodeSize] = {}
        """Of each node, once all are grouped."""
        self._sizes = np.zeros((0, 3))

    @property
    def partitions(self) -> set[int]:
        """The partitions whose jobs named their nodes."""
        return set(self._of_partition)

    def find(self, text: str) -> Numbers | None:
        """Return the numbers of the nodes in a text; None if it is not a set of nodes."""
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
        room = MOST_NODES - len(self._numbers)
        for name in names:
            if name not in self._numbers and room > 0:
                self._numbers[name] = len(self._numbers)
                room -= 1
        found = [self._numbers[name] for name in names if name in self._numbers]
        self._nb_kept += len(found) + 1
        self._texts[text] = np.array(found, dtype=np.intp) if found else None
        return self._texts[text]

    def see(self, run: Run) -> None:
        """Add a run; count a text that is not a set of nodes."""
        numbers = self.find(run.node_names) if run.node_names else None
        if numbers is None:
            return
        if (run.partition, run.node_names) not in self._seen:
            self._seen.add((run.partition, run.node_names))
            self._of_partition[run.partition].update(numbers.tolist())
        held, nb = run.extras, len(numbers)
        shares = parse_chunks(held.chunks) if self._chunks and "+" in held.chunks else []
        if sum(count for count, _ in shares) != nb:
            cores, gpus = float(max(run.size, 1)), float(held.gpus)
            if self._cores_of_gpu:
                gpus = min(gpus, cores / self._cores_of_gpu)
            shares = [(nb, Share(cores / nb, gpus / nb, held.memory / nb))]
        at = 0
        for count, (cores, gpus, memory) in shares:
            self.knows_memory |= memory > 0
            amounts = max(cores, 0), max(gpus, 0), max(memory, 0)
            self._runs.append((run.start, run.end, numbers[at : at + count], *amounts, count))
            at += count
        self._nb_shares += nb
        if self._nb_shares > _TOGETHER:
            self._sweep()

    def _sweep(self) -> None:
        """Go through the runs that were added, node by node, and note the most held at once.

        What ends at an instant is free for what starts at it; a run of no time is over before
        the next one.
        """
        if not self._runs:
            return
        starts, ends, numbers, cores, gpus, memory, counts = zip(*self._runs, strict=True)
        which = np.repeat(np.arange(len(counts)), counts)
        run = np.array([starts, ends, cores, gpus, memory, np.ones(len(counts))]).T[which]
        new = np.column_stack([np.concatenate(numbers), run[:, 1:]])
        ending = np.concatenate([self._running, new])
        order = np.concatenate(
            [np.zeros(len(self._running)), np.where(run[:, 0] < run[:, 1], 0, 2 * which + 2)]
        )
        last = starts[-1]
        is_over = ending[:, 1] <= last
        over = ending[is_over]
        nodes = np.concatenate([new[:, 0], over[:, 0]]).astype(np.intp)
        times = np.concatenate([run[:, 0], over[:, 1]])
        ranks = np.concatenate([2 * which + 1, order[is_over]])
        ordered = np.lexsort((ranks, times, nodes))
        nodes, changes = nodes[ordered], np.concatenate([new[:, 2:], -over[:, 2:]])[ordered]
        firsts = np.flatnonzero(np.diff(nodes, prepend=-1))
        lasts = np.append(firsts[1:], len(nodes)) - 1
        room = np.zeros((len(self._numbers) - len(self._held), 4))
        self._held, self._most = (np.concatenate([old, room]) for old in (self._held, self._most))
        sums = changes.cumsum(axis=0)
        before = self._held[nodes[firsts]] - sums[firsts] + changes[firsts]
        levels = sums + np.repeat(before, lasts - firsts + 1, axis=0)
        peaks = np.maximum.reduceat(levels, firsts)
        self._most[nodes[firsts]] = np.maximum(self._most[nodes[firsts]], peaks)
        self._held[nodes[firsts]] = levels[lasts]
        self._running = ending[~is_over]
        self._runs, self._nb_shares = [], 0

    def groups(self) -> list[SeenGroup]:
        """Return the nodes by their partitions and GPUs, or sizes of the site, in order of names.

        Nodes of the same partitions are taken to be equal if all of them, or none, had GPUs.
        """
        self._sweep()
        partitions: list[list[int]] = [[] for _ in self._numbers]
        for place, numbers in sorted(self._of_partition.items()):
            for number in numbers:
                partitions[number].append(place)
        groups: dict[tuple[frozenset[int], NodeSize | bool], list[str]] = defaultdict(list)
        for name in sorted(self._numbers, key=natural_key):
            number = self._numbers[name]
            kind = self._site.get(name) or bool(self._most[number, 1] > 0)
            groups[frozenset(partitions[number]), kind].append(name)
        found = []
        for (places, kind), names in groups.items():
            its = [self._numbers[name] for name in names]
            most = self._most[its].max(axis=0)
            is_known = not isinstance(kind, bool)
            size = kind if isinstance(kind, NodeSize) else self._rounded(most)
            self.sizes.update(dict.fromkeys(names, size))
            found.append(SeenGroup(names, places, size, bool(most[3] > 1.5), is_known))
        return found

    def _rounded(self, most: Numbers) -> NodeSize:
        cores, gpus, memory, _ = np.ceil(most - _ROUNDING).astype(int).tolist()
        return NodeSize(max(cores, 1), gpus, memory if self.knows_memory and memory else UNKNOWN)

    def count_exceeded(self) -> int:
        """Return the nodes of which more was held at once than the site says they have."""
        exceeded = 0
        for name in self._numbers.keys() & self._site.keys():
            cores, gpus, memory = self._rounded(self._most[self._numbers[name]])
            size = self._site[name]
            exceeded += cores > size.cores or gpus > size.gpus or memory > size.memory > 0
        return exceeded

    def capacity(self, text: str) -> Sequence[float] | None:
        """Return the cores, GPUs and memory of the nodes in a text, once all nodes are grouped.

        Memory is nan if it is unknown of a node. None: the text is not a set of nodes.
        """
        numbers = self.find(text) if text else None
        if numbers is None:
            return None
        if not len(self._sizes):
            sizes = np.array([self.sizes[name] for name in self._numbers], dtype=float)
            sizes[sizes[:, 2] < 0, 2] = np.nan
            self._sizes = sizes
        total: list[float] = self._sizes[numbers].sum(axis=0).tolist()
        return total
