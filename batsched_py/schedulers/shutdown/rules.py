"""The rules that switch idle processors off, and wake those that a promised start needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import floor, inf

from batsched_py.model.decisions import CallMeLater, SwitchOff, SwitchOn
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.partitions import split_into_regions
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.site import Site
from batsched_py.model.sleepers import Times
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, join_intervals
from batsched_py.schedulers.shutdown import promises as p
from batsched_py.schedulers.shutdown.settings import Shutdown, count_processors
from batsched_py.units import LATEST_TIME
from batsched_py.workload.machine_description import Outage

Decisions = Iterator[SwitchOff | SwitchOn | CallMeLater]
_MOST_QUIET = 3
"""Periods in a row without a job or a decision after which the rule waits for an event."""


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
        self._never = options.rule == "idle" and options.idle_time == inf
        self._outages = [outage for outage in outages if outage.planned]
        self._next = self._call = options.period or options.idle_time
        """When to look for processors to switch off (seconds), -inf: at every event; and when to be
        called for it."""
        self._nb_woken = self._nb_quiet = 0

    def decide(
        self, now: float, queue: WaitingQueue, machine: Machine, policy: Scheduler, *, begins: bool
    ) -> Decisions:
        """Yield decisions for the instant ``now`` (seconds); only a call if a simulation begins."""
        if machine.sleepers is None or self._never:
            return
        sleepers, resumes = machine.sleepers, self._nb_quiet > _MOST_QUIET
        if resumes:  # something has happened
            self._nb_quiet, self._next = 0, self._find_period(now)
            self._call = self._next
        looks, away = self._next <= now and not begins, sleepers.away.size
        promises: list[p.Promise] = []
        if machine.free and (away or looks):
            promises += p.find_promises(now, queue, machine, policy, self._outages)
        for promise in promises if away else ():
            if missing := promise.choose_missing():
                self._nb_woken += missing.size
                yield SwitchOn(missing)
        if looks:
            acts = len(queue) > 0
            for decision in self._switch(now, machine, promises):
                yield decision  # one at a time: the next depends on it
                acts = True
            if self._options.period:
                self._end_period(now, machine, acts=acts)
        if (looks or begins or resumes) and now < self._call <= LATEST_TIME:
            yield CallMeLater(self._call)

    def _end_period(self, now: float, machine: Machine, *, acts: bool) -> None:
        """Find when to look again: after a few quiet periods, not before an event."""
        assert machine.sleepers is not None
        switching = machine.sleepers.switching_on or machine.sleepers.switching_off
        acts |= bool(switching or machine.expected_releases() or self._call < inf)
        self._nb_quiet = 0 if acts else self._nb_quiet + 1
        self._next = self._call = self._find_period(now)
        if self._nb_quiet > _MOST_QUIET:
            self._call = inf

    def _find_period(self, now: float) -> float:
        """Return when the next period begins (seconds)."""
        return (floor(now / self._options.period + 1e-9) + 1) * self._options.period

    def _switch(self, now: float, machine: Machine, promises: Sequence[p.Promise]) -> Decisions:
        """Yield the switches that are not for promises."""
        yield from self._switch_off(now, machine, promises, self._options.idle_time)

    def _switch_off(
        self,
        now: float,
        machine: Machine,
        promises: Sequence[p.Promise],
        idle_time: float,
        most: float = inf,
    ) -> Iterator[SwitchOff]:
        """Switch off up to ``most`` processors that have been idle for ``idle_time`` seconds.

        The longest idle ones go first, of equals the highest numbers.
        """
        times = [(since + idle_time, some) for since, some in list_idle(machine)]
        due = [some for time, some in reversed(times) if time <= now]
        self._call = min((time for time, _ in times if time > now), default=inf)
        self._next = -inf if due or self._call == inf else self._call
        if not due:
            return
        spare: dict[Site, float] = {machine: min(most, machine.nb_idle)}
        for part in machine.partitions:
            kept = count_processors(self._options.keep, part.nb_processors)
            spare[part] = min(part.nb_idle - kept, spare.get(part, inf))
        for promise in promises:
            if promise.time < inf:
                site = promise.site
                spare[site] = min(promise.count_surplus(), spare.get(site, inf))
        if spare[machine] <= 0:  # an event must come before any goes
            self._call = inf
            return
        off = choose_from(due, spare)
        if off.size == sum(some.size for some in due) and self._call < inf:
            self._next = self._call
        if off:
            yield SwitchOff(off)


class ProportionalRule(IdleRule):
    """Switches off, each period, what is idle beyond ``awake`` processors, busy ones included.

    At least as many stay on as the first waiting job needs. Processors that have been idle for
    ``idle_time`` go as well if none is being woken.

    Source: batsched 1.4, ``energy_bf_subpart_sleeper``.
    """

    def _switch(self, now: float, machine: Machine, promises: Sequence[p.Promise]) -> Decisions:
        sleepers, nb = machine.sleepers, machine.nb_processors
        assert sleepers is not None
        awake = count_processors(self._options.awake, nb)
        stay = max([awake, *(each.head.size for each in promises)])
        most = nb - sleepers.lost.size - stay
        yield from self._switch_off(now, machine, promises, 0, most)
        if not sleepers.wakes:
            yield from super()._switch(now, machine, promises)


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
    ) -> Decisions:
        """Yield decisions as the base class does, and note the load."""
        time, work, free = self._noted
        if work and now > time:
            both = find_horizon(work, free, time) + find_horizon(work, free, now)
            self._load += both / 2 * (now - time)
        yield from super().decide(now, queue, machine, policy, begins=begins)
        lost = NO_PROCESSORS if machine.sleepers is None else machine.sleepers.lost
        free = [(ready, (some - lost).size) for ready, some in machine.ready_times()]
        free += ((each[0], each[1]) for each in machine.expected_releases() if each[0] < inf)
        work = sum(queue.view(_WaitingWork).of_jobs.values())
        self._noted = now, work, sorted(free)

    def _switch(self, now: float, machine: Machine, promises: Sequence[p.Promise]) -> Decisions:
        assert machine.sleepers is not None
        load, before = self._load, self._load_before
        nb = self._nb_woken if self._wakes else self._nb_off
        self._load, self._load_before, self._nb_woken, self._nb_off = 0.0, load, 0, 0
        if before is not None:
            if load / self._options.period >= self._options.load_bound:
                self._wakes, before = True, 0.0
            most = max(2 * nb if self._options.growth == "double" else nb + 1, 1)
            if (load > before) != self._wakes:
                self._wakes = not self._wakes
            elif not self._wakes:
                for off in self._switch_off(now, machine, promises, 0, most):
                    self._nb_off = sum(1 for _ in off.processors)
                    yield off
            elif on := p.choose_sleepers(machine, most):
                self._nb_woken = on.size
                yield SwitchOn(on)
        if not machine.sleepers.wakes:
            yield from super()._switch(now, machine, promises)


class _WaitingWork:
    """The estimated processor-seconds of each waiting job, by its number."""

    def __init__(self, queue: WaitingQueue) -> None:
        self.of_jobs = {job.number: job.size * job.estimate for job in queue}

    def add(self, job: Job) -> None:
        self.of_jobs[job.number] = job.size * job.estimate

    insert = add

    def remove(self, job: Job) -> None:
        del self.of_jobs[job.number]


def list_idle(machine: Machine) -> Times:
    """Return the idle processors that can sleep, with the time since when, the latest first.

    Where jobs take whole nodes, a node is idle if all of it is, since its last processor is.
    """
    sleepers = machine.sleepers
    if sleepers is None or not (idle := machine.idle):
        return []
    since = sleepers.idle_since(idle)
    parts = [part for part in machine.partitions if part is not machine]
    if not parts and sleepers.can_sleep == machine.all_processors:
        return since
    idle &= sleepers.can_sleep
    for part in parts:
        idle -= part.all_processors - part.free_processors
    times = []
    for time, some in since:
        for part in parts:
            some |= part.nodes_of(some)
        if some := some & idle:
            times.append((time, some))
            idle -= some
    return times


def choose_from(due: Iterable[ProcessorSet], spare: dict[Site, float]) -> ProcessorSet:
    """Return the processors of the sets that may go: of the first sets first, the highest first."""
    sites, chosen = [*spare], list[tuple[int, int]]()
    regions = split_into_regions(sites)
    for some in due:
        pieces = (((some & region).intervals(), places) for region, places in regions)
        runs = ((last, first, places) for runs, places in pieces for first, last in runs)
        for last, first, places in sorted(runs, reverse=True):
            members = [sites[place] for place in places]
            nb = min(last + 1 - first, *(max(spare[site], 0) for site in members))
            stay = ProcessorSet.interval(first, last + 1 - first - int(nb))
            ends = [end for site in members for end in site.nodes_of(stay).bounds[-1:]]
            if (begin := max([first, *ends])) <= last:
                chosen.append((begin, last))
                for site in members:
                    spare[site] -= last + 1 - begin
    return join_intervals(chosen)


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
