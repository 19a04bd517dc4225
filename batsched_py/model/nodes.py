"""Nodes with cores, GPUs and memory: what each has free, and which nodes a job can have, and when.

A job needs shares of some nodes, each of another node. It gets its cores, GPUs and memory there at
once, or waits. As in Slurm, nodes that are planned for a job are reserved whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import InvariantError
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.workload.node_shares import Demand, Share, read_shares

if TYPE_CHECKING:
    from batsched_py.model.job import Job
    from batsched_py.workload.machine_description import NodeGroup

Mask = NDArray[np.bool_]
Seconds = NDArray[np.float64]
Placed = list[tuple[int, Share]]
"""The number of each node that a job gets, and the share of the job there."""
_ANY_MEMORY = 1 << 60
"""MiB of a node whose memory is unknown."""
_MOST_KEPT = 1000
"""Shares whose ready times are kept."""


class Nodes:
    """All nodes of a machine, with what is free on each and the jobs that run there."""

    def __init__(self, groups: Sequence[NodeGroup]) -> None:
        counts = [group.count for group in groups]
        rows = [(of.cores, of.gpus, of.memory_mib or _ANY_MEMORY) for of in groups]
        self.whole = np.repeat(np.array(rows, np.int64), counts, axis=0).T
        """Cores, GPUs and MiB of each node, of shape (3, n)."""
        self.free = self.whole.copy()
        """The same that is free; nothing where a job has the whole node."""
        ends = np.cumsum(self.whole[0])
        self._first = (ends - self.whole[0]).tolist()
        self.out: Mask = np.zeros(len(self._first), np.bool_)
        """Which nodes have processors that are out of order."""
        self.jobs: list[dict[int, tuple[Job, tuple[int, ...]]]] = [{} for _ in self._first]
        """By node: the jobs that run there, by number, and what they hold (as in ``whole``)."""
        self.rooms: list[NodeRoom] = []
        self._nodes_of: dict[int, list[int]] = {}
        """The nodes of each running job, by its number."""
        self._chosen: dict[int, tuple[ProcessorSet, Placed]] = {}
        """The processors that were chosen for a job, by its number, and its shares there."""

    def processors(self, node: int) -> ProcessorSet:
        """Return the processors of a node."""
        return ProcessorSet.interval(self._first[node], int(self.whole[0, node]))

    def choose(self, job: Job, placed: Placed, free: ProcessorSet) -> ProcessorSet:
        """Return the ``free`` processors for the shares of a job that may start next."""
        processors = NO_PROCESSORS
        for node, share in placed:
            processors |= (free & self.processors(node)).lowest(share.cores)
        self._chosen[job.number] = processors, placed
        return processors

    def occupy(self, job: Job) -> None:
        """Take the shares of a job that starts; raises :class:`InvariantError` if one is in use."""
        processors, placed = self._chosen.pop(job.number, (None, []))
        if processors != job.processors:
            raise InvariantError(
                f"job {job.id} was started on processors {job.processors}: expected those that "
                "choose_for() returned for it last"
            )
        exclusive = job.demand is not None and job.demand.exclusive
        for node, share in placed:
            taken = tuple(self.whole[:, node].tolist()) if exclusive else share[1:]
            if self.out[node] or (self.free[:, node] < taken).any():
                raise InvariantError(
                    f"job {job.id} cannot start on processors {job.processors}: node {node} has "
                    f"{self.free[:, node]} cores, GPUs and MiB free, the job needs {taken}"
                )
            self.free[:, node] -= taken
            self.jobs[node][job.number] = job, taken
        self._nodes_of[job.number] = nodes = [node for node, _ in placed]
        self._note(nodes)

    def vacate(self, job: Job) -> None:
        """Free the shares of a job that has ended."""
        nodes = self._nodes_of.pop(job.number)
        for node in nodes:
            self.free[:, node] += self.jobs[node].pop(job.number)[1]
        self._note(nodes, freed=True)

    def postpone(self, job: Job) -> None:
        """Take note of a running job whose end is expected at another time."""
        self._note(self._nodes_of[job.number])

    def set_out(self, processors: ProcessorSet) -> None:
        """Run nothing new on the nodes of ``processors``, which are out of order."""
        self.out = np.array([bool(self.processors(at) & processors) for at in range(len(self.out))])
        self._note(range(len(self.out)), freed=True)

    def _note(self, nodes: Iterable[int], *, freed: bool = False) -> None:
        for room in self.rooms:
            room.note_change(nodes, freed=freed)


class ReadyTimes:
    """When each of some nodes can hold each share that was asked for.

    Times are kept. They are computed again for nodes at places that are put into ``changed``.
    """

    def __init__(self, nodes: Nodes, numbers: list[int]) -> None:
        self._nodes, self._numbers = nodes, numbers
        self._ahead: dict[int, tuple[Seconds, NDArray[np.int64]]] = {}
        """By place of a node: the expected ends, and what is free now and after each."""
        self.changed = {*range(len(numbers))}
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Demand, slice] = {}
        self._wanted = np.zeros((4, 0), np.int64)
        """Cores, GPUs and MiB of each share, and whether it needs whole nodes."""
        self._times: Seconds = np.zeros((0, len(self._numbers)))

    def find(self, demand: Demand) -> Seconds:
        """Return when each node can hold each share (seconds): -inf if now, inf if never."""
        if len(self._times) > _MOST_KEPT:
            self._forget()
        for at in self.changed:
            node = self._numbers[at]
            held = sorted(self._nodes.jobs[node].values(), key=lambda each: each[0].expected_end)
            ends = np.array([-inf, *(job.expected_end for job, _ in held), inf])
            free = np.array([self._nodes.free[:, node].tolist(), *(each[1] for each in held)])
            self._ahead[at] = ends, free.cumsum(axis=0).T
            self._update(at, slice(None))
        self.changed.clear()
        if demand not in self._rows:
            nb = len(demand.shares)
            shares = np.array([(*share[1:], demand.exclusive) for share in demand.shares]).T
            self._rows[demand] = slice(len(self._times), len(self._times) + nb)
            self._wanted = np.concatenate((self._wanted, shares), axis=1)
            self._times = np.pad(self._times, ((0, nb), (0, 0)))
            for at in range(len(self._numbers)):
                self._update(at, self._rows[demand])
        return self._times[self._rows[demand]]

    def _update(self, at: int, rows: slice) -> None:
        nodes, node, (ends, free) = self._nodes, self._numbers[at], self._ahead[at]
        *shares, exclusive = self._wanted[:, rows]
        wanted = np.maximum(shares, nodes.whole[:, node, None] * exclusive)
        first = np.maximum(free[0].searchsorted(wanted[0]), free[1].searchsorted(wanted[1]))
        ready = ends[np.maximum(first, free[2].searchsorted(wanted[2]))]
        self._times[rows, at] = inf if nodes.out[node] else ready


class NodeRoom:
    """The nodes of a partition: which of them a job can have now, and when it can have enough."""

    def __init__(self, nodes: Nodes, numbers: ProcessorSet, *, whole_nodes: bool) -> None:
        self.nodes, self._whole_nodes = nodes, whole_nodes
        self.numbers = np.array([*numbers], np.intp)
        """The numbers of the nodes of this partition."""
        self._place = {node: at for at, node in enumerate(self.numbers.tolist())}
        self.ready = ReadyTimes(nodes, [*self._place])
        self.planned: Mask = np.zeros(len(self.numbers), np.bool_)
        """The nodes that :meth:`plan` has reserved, as a mask of the nodes of this partition."""
        self.nb_changes = 0
        """How often jobs may have got room: nodes were freed, or others were planned."""
        self._plan: tuple[Job | None, float] = None, inf
        """The job of the last plan, None if nodes have changed since, and when it can start."""
        self._no_room: set[tuple[Demand, bool]] = set()
        """What had no room, on any nodes or on unplanned ones, and has none now."""
        self._found: tuple[Job | None, Placed] = None, []
        self._demands: dict[Demand, Demand] = {}
        """Each demand, so that equal demands are one object."""
        nodes.rooms.append(self)
        self._biggest: list[int] = nodes.whole[:, self.numbers].max(axis=1).tolist()

    def make_demand(self, size: int, extra: Mapping[str, Any], where: str) -> Demand:
        """Return what a job needs of nodes, by the fields of a workload.

        A job that names no number of nodes gets the fewest that can hold it. Raises
        :class:`WorkloadError`, which begins with ``where``, for fields that make no sense.
        """
        demand = read_shares(size, extra, self._biggest, where)
        if self._whole_nodes:
            demand = demand._replace(exclusive=True)
        return self._demands.setdefault(demand, demand)

    def can_hold(self, demand: Demand) -> bool:
        """Return whether a job with this demand could run here if nothing else did."""
        whole = self.nodes.whole[:, self.numbers]
        fit = np.array([np.all(share[1:] <= whole.T, axis=1) for share in demand.shares])
        return assign(demand.shares, fit, whole) is not None

    def find(self, job: Job, *, unplanned: bool = False) -> bool:
        """Return whether ``job`` has room now, on nodes that are not planned if so wanted."""
        demand = job.demand
        assert demand is not None
        if (demand, unplanned) in self._no_room:
            return False
        placed = self._choose(demand, ~self.planned if unplanned else None)
        if placed is None:
            self._no_room.add((demand, unplanned))
            return False
        self._found = job, placed
        return True

    def choose(
        self, job: Job, free: ProcessorSet, among: ProcessorSet | None = None
    ) -> ProcessorSet:
        """Return some ``free`` processors for ``job``, as :meth:`find` found them.

        They are none if it has no room. With ``among``, only nodes are taken all of whose free
        processors are among them.
        """
        assert job.demand is not None
        placed: Placed | None = self._found[1]
        if among is not None:
            others, nodes = free - among, self.nodes
            allowed = np.array([not nodes.processors(at) & others for at in self.numbers.tolist()])
            placed = self._choose(job.demand, allowed)
        elif self._found[0] is not job:
            placed = self._choose(job.demand, None)
        return self.nodes.choose(job, placed or [], free)

    def plan(self, job: Job, *, every_node: bool = False) -> float:
        """Reserve the nodes that ``job`` can have first, and return when (seconds, maybe inf).

        With ``every_node``, all nodes are reserved until then.
        """
        assert job.demand is not None
        shares = job.demand.shares
        if job is self._plan[0]:
            return self._plan[1]
        every_ready = self.ready.find(job.demand)
        planned = np.zeros_like(self.planned)
        times: Seconds = np.sort(every_ready, axis=None)[sum(share.nodes for share in shares) - 1 :]
        free = self.nodes.free[:, self.numbers]
        for time in times[times < inf].tolist():
            found = assign(shares, every_ready <= time, free)
            if found is not None:
                planned[[at for at, _ in found]] = True
                break
        else:  # maybe a node is out of order; or nobody knows when jobs end
            time = inf
            every_node |= not self.nodes.out[self.numbers].any()
        planned |= every_node
        if (planned != self.planned).any():
            self.planned = planned
            self.nb_changes += 1
            self._no_room = {key for key in self._no_room if not key[1]}
            self._found = None, []
        self._plan = job, time
        return float(time)

    def note_change(self, nodes: Iterable[int], *, freed: bool) -> None:
        """Take note that jobs started or ended on ``nodes``."""
        here = [node for node in nodes if node in self._place]
        if not here:
            return
        self.ready.changed.update(self._place[node] for node in here)
        self._plan, self._found = (None, inf), (None, [])
        if freed:
            self.nb_changes += 1
            most = self.nodes.free[:, here].max(axis=1).tolist()
            self._no_room = {key for key in self._no_room if not _may_fit(key[0], most)}

    def _choose(self, demand: Demand, allowed: Mask | None) -> Placed | None:
        """Return a node for each share, None if there are too few."""
        fit: Mask = self.ready.find(demand) == -inf
        if allowed is not None:
            fit &= allowed
        if len(fit) == 1 and np.count_nonzero(fit) < demand.shares[0].nodes:  # mostly
            return None
        found = assign(demand.shares, fit, self.nodes.free[:, self.numbers])
        return found and [(int(self.numbers[at]), share) for at, share in found]


def assign(shares: Sequence[Share], fit: Mask, free: NDArray[np.int64]) -> Placed | None:
    """Return the place of a node for each share, the best-fitting ones; None if there are too few.

    ``fit`` has a row for each kind of share: the nodes that can hold it. Nodes with the fewest free
    GPUs come first, then with the fewest free cores, least free memory and lowest number.
    """
    chosen: Placed = []
    taken: list[int] = []
    for share, mask in zip(shares, fit, strict=True):
        places = mask.nonzero()[0]
        if taken:
            places = places[~np.isin(places, taken)]
        if len(places) < share.nodes:
            return _match(shares, fit) if taken else None
        if len(places) > share.nodes:
            cores, gpus, memory = free[:, places]
            places = places[np.lexsort((memory, cores, gpus))[: share.nodes]]
        taken += places.tolist()
        chosen += [(at, share) for at in places.tolist()]
    return chosen


def _match(shares: Sequence[Share], fit: Mask) -> Placed | None:
    """Return some node for each share, where best-fitting ones leave none for the last shares."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rows = np.repeat(np.arange(len(shares)), [share.nodes for share in shares])
    places = maximum_bipartite_matching(csr_array(fit[rows]), perm_type="column").tolist()
    if -1 in places:
        return None
    return [(place, shares[row]) for place, row in zip(places, rows.tolist(), strict=True)]


def _may_fit(demand: Demand, most: Sequence[int]) -> bool:
    """Return whether a node may hold some share, given the ``most`` that any has free of each."""
    cores, gpus, memory = most
    return any(c <= cores and g <= gpus and m <= memory for _, c, g, m in demand.shares)
