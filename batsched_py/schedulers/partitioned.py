"""Runs any policy on a machine with partitions: one policy for each, which sees only that part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from math import inf
from typing import Any, NamedTuple

from batsched_py.errors import InvariantError, UsageError, parameter
from batsched_py.model.counters import read_counters
from batsched_py.model.decisions import CallMeLater, Decision, Reject, Start
from batsched_py.model.job import WAITING, Job
from batsched_py.model.machine import Machine, to_processor_set
from batsched_py.model.policy import ExplainingScheduler, Scheduler, declares
from batsched_py.model.policy_mistakes import make_decision_error
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.site import Site
from batsched_py.model.user_model import find_method, iterate_returned
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.schedulers.admission import Admission, Outages
from batsched_py.workload.machine_description import MachineDescription, Outage


def adapt_to_partitions(
    make: Callable[[], Scheduler], described: MachineDescription | None
) -> Scheduler:
    """Return the policy that ``make`` makes, wrapped if the machine's partitions require it."""
    first = make()
    if described is None:
        return first
    limited = described.outages or described.all_limits
    if not limited and (described.is_one or declares(first, "knows_partitions")):
        return first
    return Partitioned(make, first, described)


def unwrap_policy(scheduler: Any) -> Any:
    """Return the policy inside a :class:`Partitioned`; any other policy as it is."""
    return scheduler.policy if isinstance(scheduler, Partitioned) else scheduler


class Partitioned:
    """Runs one policy per partition of a machine, or one for all if it knows partitions.

    A policy sees the processors of its partition as if they were a machine, and the partition's
    waiting jobs, except those that limits of users or outages hold back. Partitions of a higher
    tier come first. Where partitions overlap, a reservation of one does not bind the others.
    """

    def __init__(
        self, make: Callable[[], Scheduler], first: Scheduler, described: MachineDescription
    ) -> None:
        if callable(getattr(first, "dilates", None)):
            raise UsageError(
                f"{type(first).__name__} places jobs on sites, which a machine file does not have: "
                f"give another policy, or {parameter('sites')} in place of {parameter('machine')}"
            )
        if described.nodes and not declares(first, "packs_nodes"):
            raise UsageError(
                f"{type(first).__name__} does not place jobs by GPUs and memory of nodes: give "
                "each partition of the machine file a unit, 'core' or 'gpu'"
            )
        self._outages = Outages(described.outages)
        self._knows = declares(first, "knows_partitions") or described.is_one
        nb = 1 if self._knows else len(described.partitions)
        policies = [first, *(make() for _ in range(nb - 1))]
        if policies[-1] is first and nb > 1:
            raise UsageError(
                f"{type(first).__name__} is one policy, but each partition needs its own: give the "
                "class"
            )
        parts = described.partitions
        self._admission = Admission(self._outages, described, nb)
        self._lines = [_Line(*each) for each in zip(count(), policies, self._admission.queues)]
        self._ordered = sorted(self._lines, key=lambda line: -parts[line.place].tier)
        self._seen = 0
        self.needs_estimates = declares(first, "needs_estimates")

    @property
    def policy(self) -> Scheduler:
        """The policy of the first partition, or of all partitions."""
        return self._lines[0].policy

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Run the policy of each partition on its own jobs."""
        self._outages.update(now, machine)
        new, self._seen = queue.since(self._seen), queue.nb_arrived
        parts = (machine,) if self._knows else machine.partitions
        admission = self._admission
        admission.update(now, new)
        lines = self._ordered
        while lines:
            hidden: list[Job] = []
            for line in lines:
                for decision in line.decisions(now, parts[line.place]):
                    if not isinstance(decision, Decision):
                        raise make_decision_error(line.policy, decision)
                    if not isinstance(decision, Start):
                        yield decision
                        if isinstance(decision, Reject):
                            admission.forget(decision.job)
                    elif (start := self._placed(decision, now, line, machine)) is not None:
                        yield start
                        hidden += admission.start(start.job)
            for job in hidden:
                self._line_of(job).report("job_hidden", now, job)
            places = {self._line_of(job).place for job in hidden}  # where others may start now
            lines = [line for line in self._ordered if line.place in places]
        if (change := self._outages.next_change) < inf and (len(queue) or _is_waking(now, machine)):
            yield CallMeLater(change)

    def _placed(self, start: Start, now: float, line: _Line, machine: Machine) -> Start | None:
        """Return a start on processors of the partition that stay available until the job ends.

        None if outages leave too few free processors, or a limit no room: the job waits.
        """
        job, sleepers = start.job, machine.sleepers
        if job.state is WAITING and job not in line.queue:  # the policy keeps a list of its own
            return None
        part, rules = machine.partitions[job.partition], machine.rules[job.partition]
        found = self._outages.find_conflicts(now, job, rules)
        if (found or sleepers is not None) and job.size <= part.free:  # else an error elsewhere
            chosen, outages = self._choose_beside(found, start, now, machine)
            if outages and not chosen:
                self._admission.withhold(job, outages[0])
                return None
            if outages:
                return Start(job, chosen, start.dilation, start.transfer)
        return start if self._knows else _on_lowest(start, part, rules.name)

    def _choose_beside(
        self, found: list[Outage], start: Start, now: float, machine: Machine
    ) -> tuple[ProcessorSet, list[Outage]]:
        """Return processors without those of the outages in the way of a start, and these outages.

        The processors are none if outages leave too few.
        """
        job, sleepers = start.job, machine.sleepers
        part, rules = machine.partitions[job.partition], machine.rules[job.partition]
        free, is_fixed = part.free_processors, False
        if start.processors is not None:
            free = to_processor_set(start.processors, f"job {job.id} was started on")
            is_fixed = part.nodes is not None
        while True:
            left, outages = free, found
            for outage in outages:
                left -= outage.processors
            if outages and left.size < (free.size if is_fixed else job.size):
                return NO_PROCESSORS, outages
            chosen = left if is_fixed else part.choose_for(job, left)
            if not chosen:
                return NO_PROCESSORS, outages
            # it begins when the last of these is awake, and may then run into others
            waking = 0.0 if sleepers is None else sleepers.ready_at(chosen) - now
            found = self._outages.find_conflicts(now, job, rules, waking)
            if len(found) == len(outages):
                return chosen, outages

    def job_started(self, now: float, job: Job) -> None:
        """Pass the event on to the policy of the job's partition."""
        self._line_of(job).report("job_started", now, job)

    def job_ended(self, now: float, job: Job) -> None:
        """Pass the event on to the policy of the job's partition."""
        self._admission.limits.end(job)
        self._line_of(job).report("job_ended", now, job)

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Remove a withdrawn job, and pass the event on to the policy of its partition."""
        self._admission.forget(job)
        self._line_of(job).report("job_withdrawn", now, job)

    def _line_of(self, job: Job) -> _Line:
        return self._lines[0 if self._knows else job.partition]

    def held(
        self, job: Job, now: float, queue: WaitingQueue, machine: Machine
    ) -> WaitingReason | None:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        line = self._line_of(job)
        if (note := self._admission.find_reason(job)) is not None:
            return WaitingReason("limit", note=note)
        if isinstance(line.policy, ExplainingScheduler):
            part: Any = machine if self._knows else machine.partitions[job.partition]
            return line.policy.held(job, now, line.queue, part)
        return None

    def statistics(self) -> Mapping[str, Any]:
        """Return the counters of the policy, or those of each partition's policy by its place."""
        of_lines = [read_counters(line.policy) for line in self._lines]
        counted = [counters for counters in of_lines if counters is not None]
        if self._knows and counted:
            return counted[0]
        return {str(place): counts for place, counts in enumerate(counted)}


def _is_waking(now: float, machine: Machine) -> bool:
    """Return whether a job waits for its processors to wake: an outage may take some of them."""
    if machine.sleepers is None or not machine.sleepers.away:
        return False
    return any(job.start_time > now for job in machine.releases())


class _Line(NamedTuple):
    """The policy of a partition, or of all partitions, and the jobs that it sees."""

    place: int
    policy: Scheduler
    queue: WaitingQueue

    def decisions(self, now: float, part: Any) -> Iterable[Any]:
        """Return the decisions of the policy for its part of the machine."""
        returned = self.policy.schedule(now, self.queue, part)
        return iterate_returned(returned, self.policy, "schedule")

    def report(self, event: str, now: float, job: Job) -> None:
        """Call the method of the policy that is named as the event, if it has one."""
        if (method := find_method(self.policy, event)) is not None:
            method(now, job)


def _on_lowest(decision: Start, part: Site, name: str) -> Start:
    """Return a start on the lowest free processors of the partition if it names none.

    Raises :class:`InvariantError` if too few are free.
    """
    job = decision.job
    if decision.processors is not None:
        return decision
    if job.size > part.free:
        raise InvariantError(
            f"job {job.id} needs {job.size} processors, {part.free} are free in partition {name}"
        )
    chosen = part.choose_for(job)
    if not chosen:
        raise InvariantError(f"job {job.id} was started: no nodes of partition {name} have room")
    return Start(job, chosen, decision.dilation, decision.transfer)
