"""The rules that switch idle processors off, and wake those that a promised start needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import floor, inf
from typing import NamedTuple

from batsched_py.model.decisions import CallMeLater, SwitchOff, SwitchOn
from batsched_py.model.machine import Machine
from batsched_py.model.partitions import split_into_regions
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.site import Site
from batsched_py.model.sleepers import Times
from batsched_py.processors.sets import ProcessorSet, join_intervals
from batsched_py.schedulers.shutdown import promises as p
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.units import LATEST_TIME
from batsched_py.workload.machine_description import Outage

Switches = Iterator[SwitchOff | SwitchOn]


class Instant(NamedTuple):
    """What a rule sees after the last pass of the policy."""

    now: float
    queue: WaitingQueue
    machine: Machine
    promises: Callable[[], list[p.Promise]]


def make_rule(options: Shutdown, outages: Iterable[Outage] = ()) -> IdleRule:
    """Return the rule with these options; ``outages`` are those of the machine."""
    kinds = {"idle": IdleRule, "proportional": ProportionalRule, "inertial": InertialRule}
    return kinds[options.rule](options, outages)


class IdleRule:
    """Switches off processors that have been idle for ``idle_time``, the longest first.

    As many idle processors of each partition as ``keep`` says stay on, and so do those that the
    promised start of a first waiting job needs. If it lacks some, they are woken at once.
    """

    def __init__(self, options: Shutdown, outages: Iterable[Outage] = ()) -> None:
        self._options = options
        self._outages = [outage for outage in outages if outage.planned]
        self._next = options.period or -inf
        """When to look for processors to switch off (seconds); -inf: at every event."""
        self._nb_woken = 0

    def decide(
        self, now: float, queue: WaitingQueue, machine: Machine, policy: Scheduler, *, begins: bool
    ) -> Iterator[SwitchOff | SwitchOn | CallMeLater]:
        """Yield decisions for the instant ``now`` (seconds); only a call if a simulation begins."""
        if machine.sleepers is None or self._options == Shutdown():
            return
        look = cache(lambda: [*p.find_promises(now, queue, machine, policy, self._outages)])
        at = Instant(now, queue, machine, look)
        for promise in look() if machine.sleepers.away.size and queue else ():
            if missing := promise.choose_missing():
                self._nb_woken += missing.size
                yield SwitchOn(missing)
        if self._next <= now and not begins:
            yield from self._switch(at)
        if self._next <= now or begins:
            call = self._find_call(at)
            if call <= LATEST_TIME:
                yield CallMeLater(call)

    def _switch(self, at: Instant) -> Switches:
        """Yield the switches that are not for promises."""
        if off := self._choose(at, list_due(at, self._options.idle_time)):
            yield SwitchOff(off)

    def _find_call(self, at: Instant) -> float:
        """Return when something becomes due (seconds), inf if an event must come before."""
        if period := self._options.period:
            self._next = (floor(at.now / period + 1e-9) + 1) * period
            return self._next
        dues = [since + self._options.idle_time for since, _ in list_idle(at.machine)]
        call = min((due for due in dues if due > at.now), default=inf)
        self._next = call if min(dues, default=-inf) > at.now else -inf
        return call

    def _choose(self, at: Instant, due: list[ProcessorSet], most: float = inf) -> ProcessorSet:
        """Return up to ``most`` processors that go, of the first sets first, the highest first."""
        chosen: list[tuple[int, int]] = []
        spare = self._count_spare(at, most) if due else {}
        regions = split_into_regions(sites := [*spare])
        for some in due:
            pieces = [
                (first, last, [sites[place] for place in places])
                for region, places in regions
                for first, last in (some & region).intervals()
            ]
            for first, last, members in sorted(pieces, reverse=True):
                nb = min(last + 1 - first, *(max(spare[site], 0) for site in members))
                stay = ProcessorSet.interval(first, last + 1 - first - int(nb))
                ends = [end for site in members for end in site.nodes_of(stay).bounds[-1:]]
                if (begin := max([first, *ends])) <= last:
                    chosen.append((begin, last))
                    for site in members:
                        spare[site] -= last + 1 - begin
        return join_intervals(chosen)

    def _count_spare(self, at: Instant, most: float) -> dict[Site, float]:
        """Return how many may go of the machine, of each partition and the sites of promises."""
        spare: dict[Site, float] = {at.machine: most}
        for part in at.machine.partitions:
            kept = self._options.count_kept(part.nb_processors)
            if kept and part.sleepers is not None:
                awake = part.free_processors - part.nodes_of(part.sleepers.away)
                spare[part] = min(spare.get(part, inf), awake.size - kept)
        for promise in at.promises():
            if promise.time < inf:
                surplus = promise.count_surplus()
                spare[promise.site] = min(spare.get(promise.site, inf), surplus)
        return spare


class ProportionalRule(IdleRule):
    """Switches off, each period, what is idle beyond ``awake`` processors, busy ones included.

    At least as many stay on as the first waiting job needs. Processors that have been idle for
    ``idle_time`` go as well if none is being woken. Source: batsched 1.4, ``energy_bf_subpart_sleeper``.
    """

    def _switch(self, at: Instant) -> Switches:
        nb = at.machine.nb_processors
        stay = [self._options.count_awake(nb), *(each.head.size for each in at.promises())]
        most = nb - p.find_lost(at.machine).size - max(stay)
        if off := self._choose(at, list_due(at, 0), most):
            yield SwitchOff(off)
        if not p.find_coming(at.machine):
            yield from super()._switch(at)


class InertialRule(IdleRule):
    """Switches more processors off, period by period, until the load rises; then more on.

    The load is the integral of the liquid load horizon over a period. Each period of the same
    direction switches twice as many as the one before, or one more; one that turns round none.
    Processors that have been idle for ``idle_time`` go as well if none is being woken.

    Source: batsched 1.4, ``energy_bf_monitoring_inertial``.
    """

    def __init__(self, options: Shutdown, outages: Iterable[Outage] = ()) -> None:
        super().__init__(options, outages)
        self._load = 0.0
        self._load_before: float | None = None
        """Square seconds, of this period and of the one before; None in the first."""
        self._wakes, self._nb_off = True, 0
        self._noted: tuple[float, float, list[tuple[float, int]]] = 0.0, 0.0, []

    def decide(
        self, now: float, queue: WaitingQueue, machine: Machine, policy: Scheduler, *, begins: bool
    ) -> Iterator[SwitchOff | SwitchOn | CallMeLater]:
        """Yield decisions for the instant ``now`` (seconds); only a call if a simulation begins."""
        time, work, free = self._noted
        if work and now > time:
            both = find_horizon(work, free, time) + find_horizon(work, free, now)
            self._load += both / 2 * (now - time)
        yield from super().decide(now, queue, machine, policy, begins=begins)
        lost = p.find_lost(machine)
        free = [(ready, (some - lost).size) for ready, some in machine.ready_times()]
        free += ((each[0], each[1]) for each in machine.expected_releases() if each[0] < inf)
        self._noted = now, sum(job.size * job.estimate for job in queue), sorted(free)

    def _switch(self, at: Instant) -> Switches:
        load, before = self._load, self._load_before
        nb = self._nb_woken if self._wakes else self._nb_off
        self._load, self._load_before, self._nb_woken, self._nb_off = 0.0, load, 0, 0
        if load / self._options.period >= self._options.load_bound and before is not None:
            self._wakes, before = True, 0.0
        most = max(2 * nb if self._options.growth == "double" else nb + 1, 1)
        if before is not None and (load > before) != self._wakes:
            self._wakes = not self._wakes
        elif before is not None and self._wakes:
            if on := p.choose_sleepers(at.machine, most):
                self._nb_woken = on.size
                yield SwitchOn(on)
        elif before is not None and (off := self._choose(at, list_due(at, 0), most)):
            self._nb_off = off.size
            yield SwitchOff(off)
        if not p.find_coming(at.machine):
            yield from super()._switch(at)


def list_due(at: Instant, idle_time: float) -> list[ProcessorSet]:
    """Return the processors that have been idle for ``idle_time`` seconds, the longest first."""
    idle = reversed(list_idle(at.machine))
    return [some for since, some in idle if since + idle_time <= at.now]


def list_idle(machine: Machine) -> Times:
    """Return the idle processors that can sleep, with the time since when, the latest first.

    Where jobs take whole nodes, a node is idle if all of it is, since its last processor is.
    """
    sleepers, times = machine.sleepers, []
    if sleepers is None or not (idle := machine.idle & sleepers.can_sleep):
        return []
    for part in machine.partitions:
        idle -= part.all_processors - part.free_processors
    for since, some in sleepers.idle_since():
        for part in machine.partitions:
            some |= part.nodes_of(some)
        if some := some & idle:
            times.append((since, some))
            idle -= some
    return times


def find_horizon(work: float, free: list[tuple[float, int]], now: float) -> float:
    """Return batsched's liquid load horizon: how long the waiting ``work`` takes from ``now`` on.

    The work, in processor-seconds, is poured into the processors that become free: ``free`` are
    pairs of a time and a number, ascending. inf if there are none (seconds).

    >>> find_horizon(600.0, [(0.0, 1), (100.0, 1)], 0.0)
    350.0
    """
    begin, nb = now, 0
    for time, more in free:
        if nb and nb * (time - begin) >= work:
            break
        work -= nb * max(time - begin, 0.0)
        begin, nb = max(time, begin), nb + more
    return begin + work / nb - now if nb else inf
