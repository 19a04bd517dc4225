"""Partitions of a machine as policies see them: they may overlap, or give whole nodes only.

Each is a :class:`~batsched_py.model.site.Site`. Jobs of overlapping partitions run there too.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from batsched_py.model.job import Job
from batsched_py.model.site import Release, Site
from batsched_py.model.sleepers import Times
from batsched_py.processors.bits import make_pool, to_bits
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, make_set
from batsched_py.workload.machine_description import Partition

if TYPE_CHECKING:
    from batsched_py.model.nodes import Nodes


class WholeNodes(Site):
    """A partition whose jobs take whole nodes: only idle nodes are free.

    Numbers are processors all the same, multiples of those of a node. Node n of an interval of the
    partition begins ``n * unit`` processors after it.
    """

    def __init__(self, part: Partition, *, shared: bool) -> None:
        super().__init__(part.processors, part.name, shared=shared)
        self._unit = part.unit
        self._idle = make_pool(part.processors)
        """Processors here on which nothing runs, even if the rest of their nodes is in use."""
        self._holds: dict[int, tuple[ProcessorSet, int]] = {}
        """All processors of the nodes of each job that runs here, by its number; as bits, too."""
        self._held = 0
        """Sum of their sizes: more than the processors in use if jobs share nodes."""

    def nodes_of(self, processors: ProcessorSet) -> ProcessorSet:
        """Return all processors of the nodes that some of the ``processors`` are on."""
        unit, whole = self._unit, NO_PROCESSORS
        for first, last in self._all.intervals():
            part = processors & ProcessorSet.interval(first, last + 1 - first)
            bounds: list[int] = []
            for low, high in part.intervals():
                begin = first + (low - first) // unit * unit
                end = first + ((high - first) // unit + 1) * unit
                if bounds and begin <= bounds[-1]:
                    bounds[-1] = max(end, bounds[-1])
                else:
                    bounds += begin, end
            whole |= make_set(bounds)
        return whole

    def occupy(self, job: Job, share: ProcessorSet) -> None:
        """Take the nodes of a job that starts on ``share``, its processors here."""
        self._idle.take(self._idle.intersect(share))
        nodes = self.nodes_of(share)
        self._holds[job.number] = nodes, to_bits(nodes)
        self._held += nodes.size
        taken = self._pool.intersect(nodes)
        self._pool.take(taken)
        self.free -= taken.size
        insort(self._releases, (job.expected_end, nodes.size, job.number, job))

    def vacate(self, job: Job, share: ProcessorSet) -> None:
        """Free the nodes of a job that has ended."""
        self.nb_ended += 1
        nodes, _ = self._holds.pop(job.number)
        self._held -= nodes.size
        self._releases.remove((job.expected_end, nodes.size, job.number, job))
        self._idle.give_back(share)
        usable = nodes - self.unavailable
        busy = self.nodes_of(usable - self._idle.intersect(usable))
        free = usable - busy - self._pool.intersect(usable)
        self._pool.give_back(free)
        self.free += free.size

    def expected_releases(self) -> Sequence[Release]:
        """Return (end, processors, number, job): nodes are free at the end of their last job."""
        if self._held == self.nb_processors - self.free and not self.unavailable.size:
            return self._releases
        latest_first: list[Release] = []
        seen = to_bits(self.unavailable)
        for end, _, number, job in reversed(self._releases):
            nodes = self._holds[number][1]
            latest_first.append((end, (nodes & ~seen).bit_count(), number, job))
            seen |= nodes
        return latest_first[::-1]

    def waking_times(self) -> Times:
        """Return when free nodes would be ready: each when its last processor is."""
        latest_first, seen = [], NO_PROCESSORS
        for time, some in reversed(super().waking_times()):
            if nodes := self.nodes_of(some) - seen:
                latest_first.append((time, nodes))
                seen |= nodes
        return latest_first[::-1]

    def set_available(self, processors: ProcessorSet, available: bool) -> None:
        """Make the partition's nodes of the ``processors`` unavailable, or available again."""
        here = processors & self._all
        if available:
            self.unavailable -= here
        else:
            self.unavailable |= here
        broken = self.nodes_of(self.unavailable)
        busy = self.nodes_of(self._all - self._idle.snapshot())
        self._pool = make_pool(self._all - broken - busy)
        self.free = len(self._pool)


def make_views(partitions: Iterable[Partition], nodes: Nodes | None = None) -> tuple[Site, ...]:
    """Return each partition as a site, which is shared if it overlaps with another.

    Jobs hold parts of ``nodes``, if given. Partitions of the same processors, such as queues of one
    machine, are one site.
    """
    parts = tuple(partitions)
    views: dict[tuple[tuple[int, ...], int], Site] = {}
    for part in parts:
        key = part.processors.bounds, part.unit
        if key not in views:
            shared = any(other.processors & part.processors for other in parts if other is not part)
            if part.unit > 1 and nodes is None:
                views[key] = WholeNodes(part, shared=shared)
            else:
                views[key] = Site(part.processors, part.name, shared=shared)
            if nodes is not None:
                from batsched_py.model.nodes import NodeRoom

                views[key].nodes = NodeRoom(nodes, part.nodes, whole_nodes=part.takes_nodes)
    return tuple(views[part.processors.bounds, part.unit] for part in parts)


def split_into_regions(views: Sequence[Site]) -> list[tuple[ProcessorSet, frozenset[int]]]:
    """Return the regions: sets of processors that are in the same partitions, and their places.

    Regions are disjoint, and cover all processors of the partitions.
    """
    found: list[tuple[ProcessorSet, frozenset[int]]] = []
    for place, view in enumerate(views):
        rest, split = view.all_processors, []
        for processors, members in found:
            inside = processors & view.all_processors
            rest -= inside
            if inside:
                split.append((inside, members | {place}))
            if outside := processors - inside:
                split.append((outside, members))
        if rest:
            split.append((rest, frozenset({place})))
        found = split
    return found
