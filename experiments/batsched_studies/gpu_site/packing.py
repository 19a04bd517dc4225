"""EASY on nodes with cores, GPUs and memory, by trying: slow, exact, and a twin for fast code.

It shares no code with ``batsched_py``. With numba (extra ``fast``), 200,000 jobs take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Job = tuple[int, int, int, int, int, int, int, str]
"""Submission (s), nodes, cores, GPUs, MiB, estimate (s), run time (s), partition.

Cores, GPUs and MiB are of all nodes together. Each node gives an equal share; the first nodes also
give one unit of the remainder each.
"""
Node = tuple[int, int, int, str]
"""Cores, GPUs, MiB, partition."""
Integers = NDArray[np.int64]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_NOT_YET, _WAITING, _RUNNING, _GONE = range(4)
_END, _LEAVE, _ARRIVE, _OPEN = range(4)
"""Events, in the order of those at one time."""
_NEVER = 2**62


class Packing(NamedTuple):
    """What happened to each job; times are in seconds, -1 where there is none."""

    start: Integers
    end: Integers
    """Also of a job that left the queue."""
    eligible: Integers
    """When the job joined the queue."""
    nodes: Sequence[Sequence[int]]
    """Numbers of the nodes, in the order of their shares."""
    was_held: NDArray[np.bool_]
    """Whether the limit on GPUs hid the job at any time."""
    promised: Integers
    """The start that was computed when the job first was the one with the reservation."""


def pack(
    jobs: Sequence[Job],
    nodes: Sequence[Node],
    *,
    whole: bool = False,
    closed: Sequence[tuple[int, int, int]] = (),
    groups: Mapping[int, int] | None = None,
    most_gpus: int = _NEVER,
    follows: Mapping[int, tuple[int, int]] | None = None,
    leaves: Mapping[int, int] | None = None,
) -> Packing:
    """Schedule jobs by EASY in the order in which they become eligible.

    The first waiting job that does not fit has a reservation: the first time at which it fits if
    running jobs end by their estimates. A later job starts if it fits now and the first job still
    fits at that time. If its best place breaks the reservation, it tries the other nodes.

    A share goes to the node that can hold it and has the fewest free GPUs, then the fewest free
    cores, then the least free memory, then the lowest number.

    Args:
        jobs: see :data:`Job`; numbers below are places in this sequence.
        nodes: see :data:`Node`.
        whole: the planned nodes of the first job are reserved whole, as Slurm's backfill does: a
            later job may use them only if it ends before the reservation by its estimate.
        closed: node, begin and end of each time in which no job may run on a node.
        groups: the group (such as a user) of each job that has one.
        most_gpus: GPUs that running jobs of a group may have. A job that would exceed it is not
            seen: it has no reservation, and others overtake it.
        follows: job to an earlier job and a delay: the job is eligible that long after its end, but
            not before its own submission.
        leaves: job to the time at which its user cancels it. If it still waits, it never starts;
            if it runs, it ends then.

    Raises:
        ValueError: a job does not fit its empty partition, or runs for longer than its estimate.

    Example:
        The second job waits for the GPUs of the first, and the third fits beside it:

        >>> nodes = [(64, 4, 1000, "gpu")]
        >>> jobs = [(0, 1, 8, 3, 10, 50, 40, "gpu"), (1, 1, 8, 2, 10, 9, 9, "gpu"),
        ...         (2, 1, 8, 1, 10, 9, 9, "gpu")]
        >>> pack(jobs, nodes).start.tolist()
        [0, 40, 2]
    """
    groups, follows, leaves = groups or {}, follows or {}, leaves or {}
    names = sorted({node[3] for node in nodes})
    order = sorted(range(len(nodes)), key=lambda i: names.index(nodes[i][3]))
    places = {name: place for place, name in enumerate(names)}
    bounds = np.searchsorted([places[nodes[i][3]] for i in order], range(len(names) + 1))
    room = np.array([nodes[i][:3] for i in order], np.int64).reshape(-1, 3)
    if unknown := [job for job, row in enumerate(jobs) if row[7] not in places]:
        raise ValueError(f"job {unknown[0]}: no node is in its partition")
    table = np.array([(*job[:7], places[job[7]]) for job in jobs], np.int64).reshape(-1, 8)
    _check(table, room, bounds)
    moved = {node: place for place, node in enumerate(order)}
    shut = sorted((moved[node], begin, end) for node, begin, end in closed)
    first_shut = np.searchsorted([row[0] for row in shut], range(len(nodes) + 1))
    extra = np.full((len(jobs), 4), (-1, -1, 0, _NEVER), np.int64)
    for job, group in groups.items():
        extra[job, 0] = group
    for job, follower in follows.items():
        extra[job, 1:3] = follower
    for job, time in leaves.items():
        extra[job, 3] = time
    first = np.append(0, np.cumsum(table[:, 1]))
    world = _World(
        jobs=table,
        extra=extra,
        bounds=bounds.astype(np.int64),
        shut=np.array(shut, np.int64).reshape(-1, 3),
        first_shut=first_shut.astype(np.int64),
        free=room.copy(),
        future=room.copy(),
        first=first,
        taken=np.zeros(first[-1], np.int64),
        state=np.full(len(jobs), _NOT_YET),
        times=np.full((len(jobs), 4), -1),
        was_held=np.zeros(len(jobs), np.bool_),
        gpus_of=np.zeros(extra[:, 0].max(initial=0) + 2, np.int64),
        chosen=np.zeros(len(room), np.int64),
        plan=np.zeros(len(room), np.int64),
        nobody=np.zeros(len(room), np.bool_),
    )
    _run(world, most_gpus, whole)
    numbers = np.array(order, np.int64)[world.taken].tolist()
    return Packing(
        start=world.times[:, 0],
        end=world.times[:, 1],
        eligible=world.times[:, 2],
        nodes=[
            numbers[begin:end] if start >= 0 else []
            for begin, end, start in zip(first, first[1:], world.times[:, 0], strict=False)
        ],
        was_held=world.was_held,
        promised=world.times[:, 3],
    )


class _World(NamedTuple):
    """All that happens, as arrays. Partitions are numbers, and their nodes are neighbours."""

    jobs: Integers
    """As :data:`Job`."""
    extra: Integers
    """Group, earlier job, delay after it, time to leave."""
    bounds: Integers
    """The first node of each partition, and the end of the last."""
    shut: Integers
    """Node, begin and end of each time without jobs, by node."""
    first_shut: Integers
    """The first row of ``shut`` of each node."""
    free: Integers
    """Cores, GPUs and MiB that are free now."""
    future: Integers
    """The same when the first job of a partition is to start."""
    first: Integers
    """The first place of each job in ``taken``."""
    taken: Integers
    """Nodes of the jobs, one job after the other."""
    state: Integers
    times: Integers
    """Start, end, eligible, promised start."""
    was_held: NDArray[np.bool_]
    gpus_of: Integers
    """GPUs of the running jobs of each group; the last element is for jobs without one."""
    chosen: Integers
    """Nodes for the job that is tried."""
    plan: Integers
    """Nodes for the first job of a partition."""
    nobody: NDArray[np.bool_]
    """No node is barred."""


def mean_waits(jobs: Sequence[Job], packing: Packing) -> dict[str, float]:
    """Return the mean wait of the jobs of each partition that started, in seconds.

    Example:
        >>> jobs = [(0, 1, 1, 0, 0, 5, 5, "cpu"), (0, 1, 1, 0, 0, 5, 5, "cpu")]
        >>> mean_waits(jobs, pack(jobs, [(1, 0, 0, "cpu")]))
        {'cpu': 2.5}
    """
    waits: dict[str, list[int]] = {}
    for job, start, eligible in zip(jobs, packing.start, packing.eligible, strict=True):
        if start >= 0:
            waits.setdefault(job[7], []).append(start - eligible)
    return {name: float(np.mean(waits[name])) for name in sorted(waits)}


def _check(table: Integers, room: Integers, bounds: Integers) -> None:
    for (size, cores, gpus, memory, place), job in dict(
        zip(map(tuple, table[:, [1, 2, 3, 4, 7]].tolist()), range(len(table)), strict=True)
    ).items():
        of_partition = room[bounds[place] : bounds[place + 1]]
        for number in range(size):
            share = [total // size + (number < total % size) for total in (cores, gpus, memory)]
            if (of_partition >= share).all(axis=1).sum() <= number:
                raise ValueError(f"job {job}: it does not fit the empty nodes of its partition")
    if (late := np.flatnonzero(table[:, 6] > table[:, 5])).size:
        raise ValueError(f"job {late[0]}: it runs for longer than its estimate")


def _compiled(function: _Function) -> _Function:
    """Compile at the first call if numba is installed."""
    with suppress(ImportError):
        import numba

        function = cast(_Function, numba.njit(function))
        with suppress(RuntimeError):  # there is no folder for compiled code
            function.enable_caching()  # type: ignore[attr-defined]
    return function


@_compiled
def _share(job: Integers, place: int) -> tuple[int, int, int]:
    """Return the cores, GPUs and MiB that the node at a place gives a job."""
    size = job[1]
    return (
        job[2] // size + (place < job[2] % size),
        job[3] // size + (place < job[3] % size),
        job[4] // size + (place < job[4] % size),
    )


@_compiled
def _is_fuller(free: Integers, node: int, other: int) -> bool:
    for kind in (1, 0, 2):  # GPUs, cores, memory
        if free[node, kind] != free[other, kind]:
            return bool(free[node, kind] < free[other, kind])
    return node < other


@_compiled
def _is_open(world: _World, node: int, begin: int, end: int) -> bool:
    for row in range(world.first_shut[node], world.first_shut[node + 1]):
        if begin < world.shut[row, 2] and end > world.shut[row, 1]:
            return False
    return True


@_compiled
def _choose(
    world: _World,
    free: Integers,
    job: Integers,
    time: int,
    barred: NDArray[np.bool_],
    chosen: Integers,
) -> bool:
    """Write the nodes for a job that starts at a time into ``chosen``; return whether it fits.

    A node that can give an earlier share can give all later ones. So it does not matter for these
    which of the nodes gives the earlier one.
    """
    for place in range(job[1]):
        cores, gpus, memory = _share(job, place)
        best = -1
        for node in range(world.bounds[job[7]], world.bounds[job[7] + 1]):
            if (
                not barred[node]
                and free[node, 0] >= cores
                and free[node, 1] >= gpus
                and free[node, 2] >= memory
                and (best < 0 or _is_fuller(free, node, best))
                and _is_open(world, node, time, time + job[5])
                and not (chosen[:place] == node).any()
            ):
                best = node
        if best < 0:
            return False
        chosen[place] = best
    return True


@_compiled
def _move(free: Integers, job: Integers, chosen: Integers, sign: int) -> None:
    """Take the shares of a job from its nodes (``sign`` -1), or give them back (1)."""
    for place in range(job[1]):
        node, (cores, gpus, memory) = chosen[place], _share(job, place)
        free[node, 0] += sign * cores
        free[node, 1] += sign * gpus
        free[node, 2] += sign * memory


@_compiled
def _reserve(world: _World, head: int, running: Integers, now: int) -> int:
    """Plan the first job: return its start, set its nodes, and what is free then."""
    job = world.jobs[head]
    nodes = slice(world.bounds[job[7]], world.bounds[job[7] + 1])
    world.future[nodes] = world.free[nodes]
    ends = world.times[running, 0] + world.jobs[running, 5]
    order = np.argsort(ends)
    nb_released, opens = 0, world.shut[:, 2]
    for time in np.unique(np.concatenate((ends, opens[opens > now]))):
        while nb_released < len(order) and ends[order[nb_released]] <= time:
            other = running[order[nb_released]]
            taken = world.taken[world.first[other] : world.first[other + 1]]
            _move(world.future, world.jobs[other], taken, 1)
            nb_released += 1
        if _choose(world, world.future, job, time, world.nobody, world.plan):
            return int(time)
    return _NEVER


@_compiled
def _leaves_room(
    world: _World, first_job: Integers, shadow: int, job: Integers, now: int, whole: bool
) -> bool:
    """Return whether a job may run beyond the start of the first one; choose nodes where it may."""
    nodes = world.plan.copy()
    if not whole:
        _move(world.future, job, world.chosen, -1)
        if _choose(world, world.future, first_job, shadow, world.nobody, world.plan):
            return True
        _move(world.future, job, world.chosen, 1)
        world.plan[:] = nodes
    planned = world.nobody.copy()
    planned[nodes[: first_job[1]]] = True
    if not _choose(world, world.free, job, now, planned, world.chosen):
        return False
    _move(world.future, job, world.chosen, -1)
    return True


@_compiled
def _schedule(
    world: _World, queue: list[int], running: list[int], now: int, most_gpus: int, whole: bool
) -> list[int]:
    """Start jobs of a partition, and return those that started."""
    jobs, started = world.jobs, [0][:0]
    head, shadow = -1, -1
    for job in queue:
        group = world.extra[job, 0]
        if group >= 0 and world.gpus_of[group] + jobs[job, 3] > most_gpus:
            world.was_held[job] = True
            continue
        if not _choose(world, world.free, jobs[job], now, world.nobody, world.chosen):
            head = job if head < 0 else head
            continue
        if head >= 0 and shadow < 0:
            shadow = _reserve(world, head, np.array(running + started), now)
            if world.times[head, 3] < 0:
                world.times[head, 3] = shadow
        ends_late = head >= 0 and now + jobs[job, 5] > shadow
        if ends_late and not _leaves_room(world, jobs[head], shadow, jobs[job], now, whole):
            continue
        _move(world.free, jobs[job], world.chosen, -1)
        world.taken[world.first[job] : world.first[job + 1]] = world.chosen[: jobs[job, 1]]
        world.gpus_of[group] += jobs[job, 3]
        world.state[job], world.times[job, 0] = _RUNNING, now
        started.append(job)
    return started


@_compiled
def _happen(
    world: _World, kind: int, job: int, now: int, queue: list[int], running: list[int]
) -> bool:
    """Let an event of a job happen; return whether the job is gone now."""
    state = world.state
    if kind == _ARRIVE and state[job] == _NOT_YET:
        state[job], world.times[job, 2] = _WAITING, now
        queue.append(job)
    if kind == _END:
        running.remove(job)
        taken = world.taken[world.first[job] : world.first[job + 1]]
        _move(world.free, world.jobs[job], taken, 1)
        world.gpus_of[world.extra[job, 0]] -= world.jobs[job, 3]
    elif kind != _LEAVE or state[job] >= _RUNNING:
        return False
    elif state[job] == _WAITING:
        queue.remove(job)
    state[job], world.times[job, 1] = _GONE, now
    return True


@_compiled
def _first_events(world: _World) -> list[tuple[int, int, int]]:
    """Return the events that are known at the beginning: time, kind, job."""
    events = [(world.shut[row, 2], _OPEN, 0) for row in range(len(world.shut))]
    for job in range(len(world.jobs)):
        if world.extra[job, 1] < 0:
            events.append((world.jobs[job, 0], _ARRIVE, job))
        if world.extra[job, 3] < _NEVER:
            events.append((world.extra[job, 3], _LEAVE, job))
    heapify(events)
    return events


@_compiled
def _run(world: _World, most_gpus: int, whole: bool) -> None:
    jobs, extra = world.jobs, world.extra
    nb_partitions = len(world.bounds) - 1
    queues = [[0][:0] for _ in range(nb_partitions)]
    running = [[0][:0] for _ in range(nb_partitions)]
    followers = [[0][:0] for _ in range(len(jobs))]
    for job in range(len(jobs)):
        if extra[job, 1] >= 0:
            followers[extra[job, 1]].append(job)
    events = _first_events(world)
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, kind, job = heappop(events)
            if _happen(world, kind, job, now, queues[jobs[job, 7]], running[jobs[job, 7]]):
                for follower in followers[job]:
                    eligible = max(now + extra[follower, 2], jobs[follower, 0])
                    heappush(events, (eligible, _ARRIVE, follower))
        for place in range(nb_partitions):
            started = _schedule(world, queues[place], running[place], now, most_gpus, whole)
            for job in started:
                end = max(min(now + jobs[job, 6], extra[job, 3]), now)
                heappush(events, (end, _END, job))
            if len(started) > 0:
                running[place].extend(started)
                queues[place] = [job for job in queues[place] if world.state[job] == _WAITING]
