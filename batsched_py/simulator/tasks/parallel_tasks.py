"""Parallel tasks: computation and communication that share hosts and links.

This is SimGrid's model ``ptask_L07``. A task pays its longest latency once and then advances as one
fraction from 0 to 1; its weight on a host or link is the flops or bytes it has for it. Rates are
found in rounds (:mod:`batsched_py.simulator.tasks.fair_bottleneck`).

Two things keep this fast. Only the tasks that share resources with one that changed, directly or
through others, get new rates. And of the resources that a task has for itself only the scarcest
takes part in the rounds: with the same increments, the others always have more left in proportion,
so they never decide, and nobody else sees what they have left. A link that its users do not share
(``FATPIPE``) is such a resource for each of them: each may take all of it at the same time. How
SimGrid shares one in its rounds was not measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf
from operator import attrgetter

import numpy as np

from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.tasks.fair_bottleneck import FairBottleneck, RateLimits, Use

_SAME_DATE = 1e-9  # s: events closer than this are one
_TCP_WINDOW = 4194304.0  # bytes


@dataclass(slots=True, eq=False)
class ParallelTask:
    """A parallel task, from its start until it ends or is cancelled."""

    number: int
    start: float
    end: float | None = None
    """When it ended or was cancelled (s), None before."""
    rate: float = 0.0
    """The fraction of the task done per second."""
    _active: bool = False  # False during the latency and after the end
    _left: float = 1.0  # fraction left at ``_since``
    _since: float = 0.0
    _version: int = 0  # of its date in the queue
    _uses: dict[int, float] = field(default_factory=dict)  # weight on each resource
    _several: dict[int, tuple[int, float]] = field(default_factory=dict)
    """Executors and the largest weight of one, if there are several on a host."""
    _contested: set[int] = field(default_factory=set)  # the resources that take part in the rounds
    _window: float = 0.0  # largest latency x bytes
    _bound: float = inf
    _scarcest: tuple[float, float] | None = None  # capacity, weight


class ParallelTasks:
    """All parallel tasks that run on a platform; times in seconds.

    Hosts are known by resource number, compute hosts first and storages after them. Before
    anything changes at a time, :meth:`advance` must have been called for that time.
    """

    def __init__(self, platform: Platform) -> None:
        hosts = [*platform.hosts, *platform.storages]
        self._network = platform.network
        self._names = [host.name for host in hosts]
        self._nb_hosts = len(hosts)
        links = platform.network.links
        self._capacity = [host.speed for host in hosts] + [link.bandwidth for link in links]
        self._fatpipe = {self._nb_hosts + at for at, link in enumerate(links) if link.fatpipe}
        self._users: dict[int, dict[ParallelTask, float]] = {}
        self._queue: list[tuple[float, int, int, ParallelTask]] = []
        self._nb_running = 0
        self._nb_started = 0
        self._dirty: set[ParallelTask] = set()
        """Tasks whose rates must be computed again, as of ``_dirty_at``."""
        self._dirty_at = 0.0
        self._changed: set[int] | None = None

    # Changes -------------------------------------------------------------------------------------

    def start(
        self,
        now: float,
        hosts: Sequence[int],
        flops: Sequence[float],
        bytes_: Sequence[float] | float = 0.0,
    ) -> ParallelTask:
        """Start a task with one executor per entry of ``hosts``, where a host may be repeated.

        ``bytes_`` are those of every pair of executors, row by row (row sends to column; nothing
        if there are none), or one number for every ordered pair of different executors. Raises
        :class:`PlatformError` if messages are sent and there is no route for them, and
        :class:`ValueError` if the numbers of hosts, flops and bytes do not fit.
        """
        self._settle(now)
        task = ParallelTask(self._nb_started, now, _since=now)
        self._compute(task, hosts, flops)
        latency = self._communicate(task, hosts, bytes_)
        self._nb_started += 1
        self._nb_running += 1
        if latency > 0:
            self._schedule(task, now + latency)
        elif task._uses:
            self._activate(task, now)
        else:
            self._schedule(task, now)
        return task

    def cancel(self, task: ParallelTask, now: float) -> None:
        """Stop a task; nothing happens if it has ended."""
        if task.end is None:
            self._settle(now)
            self._finish(task, now)

    def set_speed(self, host: int, flops_per_second: float, now: float) -> None:
        """Change the speed of a host."""
        self._settle(now)
        self._capacity[host] = flops_per_second
        users = self._users.get(host)
        if not users:
            return  # nothing that runs, and no load, depends on it
        for task in users:
            task._scarcest = None
        self._dirty.update(users)
        if self._changed is not None:
            self._changed.add(host)

    # Time ----------------------------------------------------------------------------------------

    def find_next_time(self) -> float:
        """Return when the next task ends its latency or itself (seconds), inf if none does."""
        self._settle()
        queue = self._queue
        while queue:
            date, _, version, task = queue[0]
            if task._version == version and task.end is None:
                return date
            heappop(queue)
        return inf

    def advance(self, now: float) -> list[ParallelTask]:
        """Advance all tasks to ``now`` (seconds), and return the tasks that ended.

        Dates closer than a nanosecond are one, so that a task which ends that little after ``now``
        has ended. The tasks are in order of start, date by date.
        """
        ended: list[ParallelTask] = []
        while (date := self.find_next_time()) - now < _SAME_DATE:
            at = min(date, now)
            due = []
            while self.find_next_time() - date < _SAME_DATE:
                due.append(heappop(self._queue)[-1])
            due.sort(key=attrgetter("number"))
            for task in due:
                if task._active or not task._uses:
                    self._finish(task, at)
                    ended.append(task)
                else:
                    self._activate(task, at)
        return ended

    # State ---------------------------------------------------------------------------------------

    def remaining(self, task: ParallelTask, now: float) -> float:
        """Return the fraction of a task that is left at ``now``: 1 during the latency."""
        self._settle()
        if task._active:
            return min(1.0, max(0.0, task._left - task.rate * (now - task._since)))
        return task._left

    def load(self, host: int) -> float:
        """Return the used share of the speed of a host, from 0 to 1."""
        self._settle()
        users = self._users.get(host)
        if not users:
            return 0.0
        capacity = self._capacity[host]
        return (
            sum(task.rate * flops for task, flops in users.items()) / capacity if capacity else 0.0
        )

    def take_changed_loads(self) -> list[int]:
        """Return the hosts whose load may have changed since the last call, in order.

        At the first call these are the hosts that have any. A host that no task uses is never
        among them because of its speed: what else loads it, such as being switched, stays.
        """
        self._settle()
        changed, self._changed = self._changed, set()
        if changed is None:
            changed = {resource for resource in self._users if resource < self._nb_hosts}
        return sorted(changed)

    # What a task uses ----------------------------------------------------------------------------

    def _compute(self, task: ParallelTask, hosts: Sequence[int], flops: Sequence[float]) -> None:
        uses = task._uses
        for host, amount in zip(hosts, flops, strict=True):
            if amount > 0:
                uses[host] = uses.get(host, 0.0) + amount
        if len(set(hosts)) < len(hosts):
            busy = [(h, amount) for h, amount in zip(hosts, flops, strict=True) if amount > 0]
            for host, count in Counter(host for host, _ in busy).items():
                if count > 1:
                    largest = max(amount for other, amount in busy if other == host)
                    task._several[host] = (count, largest)

    def _communicate(
        self, task: ParallelTask, hosts: Sequence[int], bytes_: Sequence[float] | float
    ) -> float:
        """Note the bytes over each link and return the latency."""
        nb = len(hosts)
        if isinstance(bytes_, float | int):
            if bytes_ <= 0 or nb < 2:
                return 0.0
            sent: float | np.ndarray[tuple[int, ...], np.dtype[np.float64]] = bytes_
        else:
            sent = np.asarray(bytes_, dtype=float)
            if not (sent > 0).any():
                return 0.0
            sent = sent.reshape(nb, nb)
        names = self._names
        traffic = self._network.add_up_traffic([names[host] for host in hosts], sent)
        first = self._nb_hosts
        for link, weight in traffic.weights.items():
            task._uses[first + link] = weight
        task._window = traffic.window
        return traffic.latency

    # Who uses what -------------------------------------------------------------------------------

    def _activate(self, task: ParallelTask, now: float) -> None:
        """Let a task use its resources from ``now`` on."""
        task._active = True
        task._since = now
        all_users, contested, fatpipe = self._users, task._contested, self._fatpipe
        for resource, weight in task._uses.items():
            if resource in fatpipe:
                continue
            users = all_users.get(resource)
            if users is None:
                all_users[resource] = {task: weight}
                continue
            if len(users) == 1:
                other = next(iter(users))
                if resource not in other._contested:
                    other._contested.add(resource)
                    other._scarcest = None
            users[task] = weight
            contested.add(resource)
        contested.update(resource for resource in task._several if _is_uneven(task, resource))
        self._dirty.add(task)
        self._dirty_at = now

    def _finish(self, task: ParallelTask, now: float) -> None:
        """End a task and free its resources for other tasks."""
        task.end = now
        self._nb_running -= 1
        self._dirty.discard(task)
        if not task._active:
            if not task._uses and now >= task.start:
                task._left = 0.0
            return
        task._left = max(0.0, task._left - task.rate * (now - task._since))
        task._active = False
        self._note_change(task)
        task.rate = 0.0
        for resource in task._uses:
            if resource in self._fatpipe:
                continue
            users = self._users[resource]
            if len(users) == 1:
                del self._users[resource]
                continue
            del users[task]
            self._dirty.update(users)
            if len(users) == 1:
                other = next(iter(users))
                if not _is_uneven(other, resource):
                    other._contested.discard(resource)
                other._scarcest = None
        self._dirty_at = now

    def _note_change(self, task: ParallelTask) -> None:
        if self._changed is not None:
            nb_hosts = self._nb_hosts
            self._changed.update(resource for resource in task._uses if resource < nb_hosts)

    # Rates ---------------------------------------------------------------------------------------

    def _settle(self, now: float | None = None) -> None:
        """Find the rates that changes up to now have made wrong; then changes are at ``now``."""
        if self._dirty and (now is None or now != self._dirty_at):
            todo, self._dirty = self._dirty, set()
            while todo:
                together, resources = self._component(todo.pop())
                todo.difference_update(together)
                self._share(together, resources)
        if now is not None:
            self._dirty_at = now

    def _component(self, task: ParallelTask) -> tuple[list[ParallelTask], list[int]]:
        """Return the tasks that ``task`` shares resources with, transitively, and the resources."""
        together = {task}
        resources: set[int] = set()
        todo = [task]
        while todo:
            for resource in todo.pop()._contested:
                if resource not in resources:
                    resources.add(resource)
                    for user in self._users[resource]:
                        if user not in together:
                            together.add(user)
                            todo.append(user)
        return sorted(together, key=attrgetter("number")), sorted(resources)

    def _share(self, tasks: list[ParallelTask], resources: list[int]) -> None:
        for task in tasks:
            if task._scarcest is None:
                self._limit(task)
        if resources:
            rates = self._rates_of_sharing(tasks, resources)
        else:
            rates = []
            for task in tasks:
                capacity, weight = task._scarcest or (inf, 1.0)
                rates.append(min(task._bound, capacity / weight))
        for task, rate in zip(tasks, rates, strict=True):
            if rate != task.rate or task._version == 0:
                self._set_rate(task, rate)

    def _rates_of_sharing(self, tasks: list[ParallelTask], resources: list[int]) -> list[float]:
        index = {task: at for at, task in enumerate(tasks)}
        limits = [RateLimits(task._bound, task._scarcest or (inf, 1.0)) for task in tasks]
        shared = [
            (
                self._capacity[resource],
                [
                    Use(index[task], weight, *task._several.get(resource, ()))
                    for task, weight in self._users[resource].items()
                ],
            )
            for resource in resources
        ]
        return FairBottleneck(limits, shared).find_rates()

    def _limit(self, task: ParallelTask) -> None:
        """Find the bound of a task's rate, and the scarcest resource that it has for itself."""
        bound = _TCP_WINDOW / (2.0 * task._window) if task._window else inf
        capacities, contested = self._capacity, task._contested
        nb_hosts, several = self._nb_hosts, task._several
        least, scarcest = inf, (inf, 1.0)
        for resource, weight in task._uses.items():
            capacity = capacities[resource]
            ratio = capacity / weight
            if resource < nb_hosts:
                of_one = capacity / several[resource][1] if resource in several else ratio
                if of_one < bound:
                    bound = of_one
            if ratio < least and resource not in contested:
                least, scarcest = ratio, (capacity, weight)
        task._bound, task._scarcest = bound, scarcest

    def _set_rate(self, task: ParallelTask, rate: float) -> None:
        now = self._dirty_at
        task._left = max(0.0, task._left - task.rate * (now - task._since))
        task._since = now
        task.rate = rate
        self._note_change(task)
        self._schedule(task, now + task._left / rate if rate > 0 else inf)

    def _schedule(self, task: ParallelTask, date: float) -> None:
        task._version += 1
        queue = self._queue
        heappush(queue, (date, task.number, task._version, task))
        if len(queue) > 64 + 8 * self._nb_running:  # mostly outdated entries
            queue[:] = [at for at in queue if at[3]._version == at[2] and at[3].end is None]
            heapify(queue)


def _is_uneven(task: ParallelTask, resource: int) -> bool:
    """Whether unequal executors of one task are on a host, which takes several rounds to fill."""
    several = task._several.get(resource)
    return several is not None and several[0] * several[1] != task._uses[resource]
