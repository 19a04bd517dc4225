"""Multifactor priorities with backfilling at intervals, as Slurm does it at many sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from operator import itemgetter
from typing import Any, Literal

from batsched_py.model.decisions import CallMeLater, Decision, Start
from batsched_py.model.job import RUNNING, Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.waiting_reason import WaitingReason, Why
from batsched_py.options import option_values as options
from batsched_py.options.durations import Duration
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.schedulers.multifactor.backfill_pass import BackfillPass
from batsched_py.schedulers.multifactor.fair_share_tree import Algorithm
from batsched_py.schedulers.multifactor.overlapping import Group, make_groups
from batsched_py.schedulers.multifactor.priority import Priority
from batsched_py.schedulers.multifactor.settings import make_backfill_pass, make_priority
from batsched_py.schedulers.multifactor.waiting_order import WaitingOrder


class Multifactor:
    """Schedule as Slurm does at many sites: multifactor priorities, and backfilling at intervals.

    At each event, jobs start in the order of their priorities; in each partition up to the first
    job that does not fit. At most every ``bf_interval``, and only after a change, backfilling plans
    jobs in that order and starts those whose planned time is now.

    The priority of a job is the sum of its factors (0 to 1) times their weights. Ties go to the job
    that was submitted first.

    Sources: Slurm's "Multifactor Priority Plugin" and "Scheduling Configuration Guide".

    Args:
        weight_age: Weight of the time waited. Allowed: a number from 0 to 1e12.
        weight_fairshare: Weight of the fair share of the user. Allowed: a number from 0 to 1e12.
        weight_jobsize: Weight of the size of the job. Allowed: a number from 0 to 1e12.
        weight_partition: Weight of the priority of the partition. Allowed: a number from 0 to 1e12.
        weight_qos: Weight of the quality of service. Allowed: a number from 0 to 1e12.
        weight_assoc: Weight of the priority of the user or account. Allowed: a number from 0 to
            1e12.
        max_age: Time waited at which the age factor reaches 1.
        favor_small: Whether small jobs have the larger size factor.
        small_relative_to_time: Whether the size is divided by the minutes of the estimate.
        qos: Priority of each quality of service, by the name or number in a job's field ``queue``
            (null: none). Allowed: a JSON object, such as {"high": 2, "low": 1}.
        accounts: TOML file of accounts and users with their shares (null: equal shares). Allowed: a
            path.
        algorithm: Algorithm of the fair-share factor.
        dampening: Dampening factor of ``algorithm=classic``. Allowed: a number from 1e-9 to 1e9.
        half_life: Time after which usage counts half; 0: usage never fades.
        calc_period: Least time between two computations of the fair-share factors.
        queue_depth: Most jobs that a pass in the order of priorities considers. Allowed: a whole
            number, at least 1.
        backfill: Whether there is backfilling (``slurm``) or not (``none``).
        bf_interval: Least time between two backfilling passes; 0: at each event.
        bf_window: How far ahead backfilling plans, at least 1 s (null: without end).
        bf_resolution: Step of the times of plans; 0: exact times.
        bf_max_job_test: Most jobs that a backfilling pass considers (null: all). Allowed: a whole
            number, at least 1.
        bf_max_job_user: Most jobs of one user among them; 0: any number. Allowed: a whole number,
            at least 0.
        bf_max_job_part: Most jobs of one partition among them; 0: any number. Allowed: a whole
            number, at least 0.
        bf_job_part_count_reserve: Number of jobs of each partition that get a planned start; the
            others may only start now. 0: all get one. Allowed: a whole number, at least 0.
    """

    knows_partitions = packs_nodes = True

    def __init__(
        self,
        *,
        weight_age: float = 1000.0,
        weight_fairshare: float = 10_000.0,
        weight_jobsize: float = 1000.0,
        weight_partition: float = 1000.0,
        weight_qos: float = 2000.0,
        weight_assoc: float = 0.0,
        max_age: Duration = "7 days",
        favor_small: bool = False,
        small_relative_to_time: bool = False,
        qos: dict[str, float] | None = None,
        accounts: str | None = None,
        algorithm: Algorithm = "fair_tree",
        dampening: float = 1.0,
        half_life: Duration = "7 days",
        calc_period: Duration = "5 min",
        queue_depth: int = 100,
        backfill: Literal["slurm", "none"] = "slurm",
        bf_interval: Duration = 30.0,
        bf_window: Duration | None = "1 day",
        bf_resolution: Duration = 60.0,
        bf_max_job_test: int | None = 500,
        bf_max_job_user: int = 0,
        bf_max_job_part: int = 0,
        bf_job_part_count_reserve: int = 0,
    ) -> None:
        given = dict(locals())
        self._priority: Priority = make_priority(given)
        self._queue_depth = options.whole_number("queue_depth", queue_depth, 1)
        slurm = options.one_of("backfill", backfill, ("slurm", "none")) == "slurm"
        backfilling = make_backfill_pass(given)
        self._backfill: BackfillPass | None = backfilling if slurm else None
        self._groups: list[Group] = []
        self._group_of: dict[int, Group] = {}
        self._order: WaitingOrder
        self._changed = False
        """Whether something has happened since backfilling looked last."""
        self._changed_places: set[int] = set()
        """The partitions in which that was; unknown where processors are counted."""
        self._left = False
        """Whether a job has ended or was withdrawn since the last pass."""
        self._next_pass = self._called_at = -inf
        self._unavailable = NO_PROCESSORS
        self._counts = dict.fromkeys(
            ("main_passes", "main_starts", "backfill_passes", "backfill_starts", "calls"), 0
        )

    def _begin(self, machine: Machine) -> None:
        self._groups = make_groups(machine.partitions)
        self._group_of = {place: group for group in self._groups for place in group.places}
        self._order = WaitingOrder(
            self._priority,
            [rules.tier for rules in machine.rules],
            [rules.priority for rules in machine.rules],
            machine.nb_processors,
        )

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start jobs in the order of their priorities, and backfill if the interval is over."""
        if not self._groups:
            self._begin(machine)
        left, self._left = self._left, False
        if queue.head is None or not self._something_changed(left, queue, machine):
            return
        if len(queue) == 1 and len(self._group_of) == 1:
            if machine.partitions[0].has_room(queue.head):
                yield from self._started(Start(queue.head), "main_starts")
            return
        self._order.update(now, queue)
        self._counts["main_passes"] += 1
        if may_start := self._order.find_partitions_with_room(machine.partitions):
            self._order.sort(now, queue)
            yield from self._main_pass(machine, may_start)
        if self._backfill and self._order.has_size(machine.free):
            yield from self._backfill_or_later(now, self._backfill, machine)

    def job_started(self, now: float, job: Job) -> None:
        """Charge a job to its user from now on."""
        self._priority.usage.job_started(now, job)

    def job_ended(self, now: float, job: Job) -> None:
        """Charge a job no longer."""
        self._priority.usage.job_ended(now, job)
        self._changed_places.add(job.partition)
        self._left = True

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Let the jobs behind a withdrawn one start."""
        if self._groups:
            self._order.remove(job)
        self._changed_places.add(job.partition)
        self._left = True

    job_hidden = job_withdrawn

    def _something_changed(self, left: bool, queue: WaitingQueue, machine: Machine) -> bool:
        """Tell whether a job may start that could not at the last backfilling."""
        news = self._order.take_new_jobs(queue)
        if news:
            self._changed_places.update(job.partition for job in news)
        if machine.unavailable != self._unavailable:
            self._unavailable, left = machine.unavailable, True
            self._changed_places.update(self._group_of)
        if left:
            self._changed = True
        elif not self._changed:  # new jobs that do not fit let no other job start
            self._changed = any(
                job.size <= machine.free
                and ((room := machine.partitions[job.partition].nodes) is None or room.find(job))
                for job in news
            )
        return self._changed and machine.free > 0

    def _started(self, start: Start, count: str) -> Iterator[Decision]:
        self._order.remove(start.job)
        yield start
        if start.job.state is RUNNING:  # it is not if outages leave too little
            self._counts[count] += 1

    def _main_pass(self, machine: Machine, may_start: set[int]) -> Iterator[Decision]:
        """Start jobs in order, of each partition up to the first that does not fit.

        No job gets processors of a partition in which a job before it waits. ``may_start`` are the
        partitions in which some job has room.
        """
        entries, at = self._order.entries, 0
        waits: set[int] = set()
        blocked = NO_PROCESSORS
        for _ in range(self._queue_depth):
            while at < len(entries) and entries[at][-1].partition in waits:
                at += 1
            if at == len(entries):
                return
            job = entries[at][-1]
            start = self._start(job, machine, blocked)
            if start is not None:
                yield from self._started(start, "main_starts")
                continue
            waits.add(job.partition)
            if waits >= may_start:
                return
            if len(self._group_of[job.partition].places) > 1:  # others may have some of these
                blocked |= machine.partitions[job.partition].all_processors

    def _start(self, job: Job, machine: Machine, blocked: ProcessorSet) -> Start | None:
        """Return the start of a job if it has room now."""
        view = machine.partitions[job.partition]
        if not view.has_room(job):
            return None
        if view is machine:
            return Start(job)
        if view.nodes is not None:
            chosen = view.choose_for(job, view.free_processors - blocked if blocked else None)
        else:
            chosen = self._group_of[job.partition].choose(view, job.partition, job.size, blocked)
        return Start(job, chosen) if chosen else None

    def _backfill_or_later(
        self, now: float, backfill: BackfillPass, machine: Machine
    ) -> Iterator[Decision]:
        if now < self._next_pass:
            if self._called_at != self._next_pass:
                self._called_at = self._next_pass
                self._counts["calls"] += 1
                yield CallMeLater(self._next_pass)
            return
        self._next_pass, self._changed = now + backfill.interval, False
        changed, self._changed_places = self._changed_places, set()
        self._counts["backfill_passes"] += 1
        may_start = self._order.find_partitions_with_room(machine.partitions)
        if not may_start:
            return
        jobs = backfill.select_jobs(map(itemgetter(-1), self._order.entries))
        for group in self._groups:
            if may_start.isdisjoint(group.places):
                continue
            on_nodes = machine.partitions[group.places[0]].nodes is not None
            if not on_nodes or not changed.isdisjoint(group.places):
                of_group = jobs
                if len(self._groups) > 1:
                    of_group = [job for job in jobs if job.partition in group.places]
                for start in backfill.find_starts(now, of_group, group, machine):
                    yield from self._started(start, "backfill_starts")

    def statistics(self) -> Mapping[str, Any]:
        """Return the numbers of passes and of the jobs that they started, by kind of pass."""
        return {**self._counts, "fair_share_computed": self._priority.nb_computed}

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        view = machine.partitions[job.partition]
        jobs = self._order.list_jobs(now, queue)
        place = 1 + next(at for at, other in enumerate(jobs) if other is job)
        head = next(other for other in jobs if other.partition == job.partition)
        until, note = inf, ""
        if self._backfill:
            until, note = self._planned(self._backfill, job, now, jobs, machine)
        if head is job:
            return WaitingReason("head", place, until=until, free=view.free, note=note)
        why: Why = "processors" if job.size > view.free else "plan" if until < inf else "behind"
        return WaitingReason(why, place, head.id, until, view.free, note=note)

    def _planned(
        self, backfill: BackfillPass, job: Job, now: float, jobs: list[Job], machine: Machine
    ) -> tuple[float, str]:
        """Return the planned start of a job (seconds), and a note for the explanation."""
        group = self._group_of[job.partition]
        tested = [each for each in backfill.select_jobs(jobs) if each.partition in group.places]
        if not any(each is job for each in tested):
            return inf, "not among the jobs that backfilling looks at"
        start = backfill.find_planned_start(job, now, tested, group, machine)
        if start == inf:
            return inf, "not planned within the window of backfilling"
        later = self._changed and self._next_pass > now
        return start, f"backfilling looks again at {self._next_pass:.15g}" if later else ""
