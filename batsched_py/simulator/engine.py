"""Time, events and messages of the embedded simulator."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, SimulationError
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee import check_metadata
from batsched_py.simulator.ended import EndedJobs
from batsched_py.simulator.execution import KILLED, Execution
from batsched_py.simulator.platform import Platform
from batsched_py.simulator.registry import Registry, SimulatedJob, State
from batsched_py.transport import Partner
from batsched_py.workload.jobs import Workload


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Batsim's options, as far as they mean something here."""

    dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    profile_reuse: bool = False
    forward_profiles: bool = False
    sched_config: str = ""
    exact_times: bool = False
    """Say in SIMULATION_BEGINS that times come with all digits (ours, not Batsim's)."""
    shake: int | None = None
    """Seed of a shaken order of simultaneous events: those of an instant come in random order,
    and as real Batsim sometimes does, instants are cut into several messages. How often is drawn
    too, from never to always, since it depends on the platform. None: log order, one message."""
    each_event: bool = False
    """Every event in a message of its own, so that the policy runs after each; submissions come
    before ends of the same instant (as in the simulator behind Gaussier et al. 2015)."""


class Outcome(msgspec.Struct):
    """What a simulation leaves: its jobs in order of completion, and counts."""

    jobs: Sequence[SimulatedJob]
    nb_messages: int
    nb_processors: int


class _Kind(Enum):
    """What an entry of the event heap is."""

    END = 0
    CALL = 1
    KILL = 2
    ECHO = 3
    RESUME = 4


class Simulator:
    """Batsim 4.2 for jobs that only compute, on one platform.

    One instant is put into one message: all events at an exactly equal time. Decisions take
    effect at their timestamp, so a scheduler may model the time it needs.
    """

    def __init__(
        self, platform: Platform, workloads: Sequence[Workload] = (), options: Options | None = None
    ) -> None:
        options = options or Options()
        self.platform = platform
        self.options = options
        self.now = 0.0
        self.registry = Registry(dynamic=options.dynamic_jobs, profile_reuse=options.profile_reuse)
        self._workloads = {f"w{i}": workload for i, workload in enumerate(workloads)}
        static = [
            job for name, load in self._workloads.items() for job in self.registry.load(name, load)
        ]
        static.sort(key=lambda job: job.description.subtime)  # stable: w0 before w1
        self._static = static
        self._next_static = 0
        self._next_submission = max(0.0, static[0].description.subtime) if static else inf
        self._announce_static = bool(workloads)
        self._heap: list[tuple[float, int, _Kind, Any]] = []
        self._order = count()
        self._pending: list[m.Event] = []
        self._busy = False
        # Static jobs stay in memory with their workload; of dynamic ones there may be any number.
        self._execution = Execution(platform, EndedJobs() if options.dynamic_jobs else [])
        self._nb_open = 0  # submitted and not yet ended
        self._nb_messages = 0
        self._random = (
            None if options.shake is None else random.Random(f"events of {options.shake}")
        )
        self._cut = 0.0 if self._random is None else self._random.random()
        self._carry_out: dict[type, Callable[[Any], None]] = {
            m.ExecuteJob: self._execute,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call_later,
            m.SetJobMetadata: self._set_metadata,
            m.RegisterProfile: self.registry.add_profile,
            m.RegisterJob: self._register_job,
            m.Notify: self.registry.registration.notified,
        }

    def run(self, partner: Partner) -> Outcome:
        """Simulate to the end.

        Raises :class:`ProtocolError` where Batsim would abort on a decision, and
        :class:`SimulationError` on a deadlock: nothing can happen any more, but jobs wait or
        registration was never finished.
        """
        self._exchange(partner, [self._begins()])
        while (now := self._next_time()) < inf:
            self.now = now
            self._pending += self._events_of_instant(now)
            if self.options.each_event:
                self._pending.sort(key=lambda event: type(event) is not m.JobSubmitted)  # stable
            while self._pending and not self._busy:
                self._exchange(partner, self._next_part())
        self._check_all_done()
        reply = partner(m.Message(self.now, [m.SimulationEnds(timestamp=self.now)]))
        if any(type(decision) is not m.Notify for decision in reply.events):
            raise ProtocolError("decisions in the reply to SIMULATION_ENDS come too late")
        return Outcome(self._execution.ended, self._nb_messages + 1, len(self.platform.hosts))

    # Messages ------------------------------------------------------------------------------------

    def _exchange(self, partner: Partner, events: list[m.Event]) -> None:
        self._nb_messages += 1
        reply = partner(m.Message(self.now, events))
        for event in events:
            if type(event) is m.JobCompleted:
                self.registry.forget(event.job_id)
        self.registry.registration.message_begins()
        self._apply(reply, 0)

    def _apply(self, reply: m.Message, first: int) -> None:
        """Carry out the decisions from number ``first`` on, pausing at those in the future."""
        decisions = reply.events
        for at in range(first, len(decisions)):
            decision = decisions[at]
            if decision.timestamp > self.now:
                if decision.timestamp > reply.now:
                    raise ProtocolError(
                        f"{decision.tag} at {decision.timestamp} is later than the reply's now, "
                        f"{reply.now}"
                    )
                self._pause(decision.timestamp, reply, at)
                return
            carry_out = self._carry_out.get(type(decision))
            if carry_out is None:
                raise ProtocolError(f"{decision.tag} is not supported by the embedded simulator")
            carry_out(decision)
        if reply.now > self.now:
            self._pause(reply.now, reply, len(decisions))
        else:
            self._busy = False

    def _pause(self, until: float, reply: m.Message, at: int) -> None:
        self._busy = True
        self._push(until, _Kind.RESUME, (reply, at))

    def _next_part(self) -> list[m.Event]:
        """Take the next message's events from the pending ones: all of them, unless shaken."""
        events, self._pending = self._pending, []
        if self.options.each_event:
            self._pending = events[1:]
            return events[:1]
        if self._random is None or len(events) < 2 or any(type(e) is m.JobKilled for e in events):
            return events
        last: list[m.Event] = [event for event in events if type(event) is m.Notify]
        loose = [event for event in events if type(event) is not m.Notify]
        self._random.shuffle(loose)
        events = loose + last
        cut = 1
        while cut < len(events) and self._random.random() >= self._cut:
            cut += 1
        self._pending = events[cut:]
        return events[:cut]

    # Time ----------------------------------------------------------------------------------------

    def _push(self, time: float, kind: _Kind, what: Any) -> None:
        heappush(self._heap, (time, next(self._order), kind, what))

    def _next_time(self) -> float:
        heap = self._heap
        while heap and heap[0][2] is _Kind.END and heap[0][3].state is not State.RUNNING:
            heappop(heap)  # the end that a killed job would have had
        time = self._next_submission
        if heap and heap[0][0] < time:
            time = heap[0][0]
        if time == inf and self._announce_static:
            return self.now  # a workload without jobs
        return time

    def _events_of_instant(self, now: float) -> list[m.Event]:
        events: list[m.Event] = []
        heap = self._heap
        while heap and heap[0][0] == now:
            _, _, kind, what = heappop(heap)
            if kind is _Kind.END:
                if what.state is State.RUNNING:  # else it was killed at this instant
                    events.append(self._completed(what))
            elif kind is _Kind.CALL:
                events.append(m.RequestedCall(timestamp=now))
            elif kind is _Kind.RESUME:
                self._apply(*what)
            elif kind is _Kind.ECHO:
                events.append(self._submitted(what))
            else:
                events.extend(self._killed(*what))
        if now == self._next_submission or self._announce_static:
            events.extend(self._static_submissions(now))
        return events

    def _static_submissions(self, now: float) -> Iterator[m.Event]:
        jobs, at = self._static, self._next_static
        while at < len(jobs) and jobs[at].description.subtime <= now:
            job = jobs[at]
            job.state = State.SUBMITTED
            self._nb_open += 1
            yield self._submitted(job)
            at += 1
        self._next_static = at
        self._next_submission = jobs[at].description.subtime if at < len(jobs) else inf
        if at == len(jobs) and self._announce_static:
            self._announce_static = False
            yield m.Notify(timestamp=now, type="no_more_static_job_to_submit")

    # Events --------------------------------------------------------------------------------------

    def _begins(self) -> m.SimulationBegins:
        options = self.options
        hosts = [
            {
                "id": number,
                "name": host.name,
                "state": "idle",
                "properties": {"role": "", **host.properties},
                "zone_properties": host.zone_properties,
            }
            for number, host in enumerate(self.platform.hosts)
        ]
        return m.SimulationBegins(
            timestamp=0.0,
            nb_resources=len(hosts),
            nb_compute_resources=len(hosts),
            config={
                "redis-enabled": False,
                "redis-hostname": "127.0.0.1",
                "redis-port": 6379,
                "redis-prefix": "default",
                "profiles-forwarded-on-submission": options.forward_profiles,
                "dynamic-jobs-enabled": options.dynamic_jobs,
                "dynamic-jobs-acknowledged": options.acknowledge_dynamic_jobs,
                "profile-reuse-enabled": options.profile_reuse,
                "sched-config": options.sched_config,
                "forward-unknown-events": False,
                **({"exact-times": True} if options.exact_times else {}),
            },
            compute_resources=hosts,
            workloads={name: workload.name for name, workload in self._workloads.items()},
            profiles={
                name: dict(self.registry.registration.profiles[name]) for name in self._workloads
            },
        )

    def _submitted(self, job: SimulatedJob) -> m.JobSubmitted:
        description = job.description
        profile = None
        if self.options.forward_profiles:
            profile = self.registry.content(description)
        return m.JobSubmitted(
            timestamp=self.now, job_id=description.id, job=description, profile=profile
        )

    def _completed(self, job: SimulatedJob) -> m.JobCompleted:
        self._execution.end(job)
        self._nb_open -= 1
        return m.JobCompleted(
            timestamp=self.now,
            job_id=job.description.id,
            job_state=job.final_state,
            return_code=job.return_code,
            alloc=job.alloc,
        )

    def _killed(self, job_ids: list[str], really: list[SimulatedJob]) -> Iterator[m.Event]:
        for job in really:
            yield self._completed(job)
        progress = {job.description.id: self._execution.progress(job) for job in really}
        yield m.JobKilled(timestamp=self.now, job_ids=job_ids, job_progress=progress)

    # Decisions -----------------------------------------------------------------------------------

    def _execute(self, decision: m.ExecuteJob) -> None:
        job = self.registry.known(decision.job_id, "EXECUTE_JOB")
        self._execution.start(job, decision, self.now)
        self._push(job.finish_time, _Kind.END, job)

    def _reject(self, decision: m.RejectJob) -> None:
        self._execution.reject(self.registry.known(decision.job_id, "REJECT_JOB"))
        self.registry.forget_rejected(decision.job_id)
        self._nb_open -= 1

    def _kill(self, decision: m.KillJob) -> None:
        if not decision.job_ids:
            raise ProtocolError("KILL_JOB: the list of jobs is empty")
        jobs = [self.registry.known(job_id, "KILL_JOB") for job_id in decision.job_ids]
        for job in jobs:
            if job.state is State.SUBMITTED:
                raise ProtocolError(f"KILL_JOB: job {job.description.id} does not run")
        jobs = [job for job in jobs if job.final_state != KILLED]
        if jobs:  # else all are being killed already, which Batsim ignores
            really = [job for job in jobs if self._execution.kill(job, self.now)]
            self._push(self.now, _Kind.KILL, ([job.description.id for job in jobs], really))

    def _call_later(self, decision: m.CallMeLater) -> None:
        if decision.time <= self.now:
            raise ProtocolError(
                f"CALL_ME_LATER: {decision.time} is not later than the current time {self.now}"
            )
        self._push(decision.time, _Kind.CALL, None)

    def _set_metadata(self, decision: m.SetJobMetadata) -> None:
        check_metadata(decision)
        self.registry.known(decision.job_id, "SET_JOB_METADATA").metadata = decision.metadata

    def _register_job(self, decision: m.RegisterJob) -> None:
        job = self.registry.add_job(decision)
        self._nb_open += 1
        if self.options.acknowledge_dynamic_jobs:
            self._push(self.now, _Kind.ECHO, job)

    # The end -------------------------------------------------------------------------------------

    def _check_all_done(self) -> None:
        if self._nb_open:
            waiting = [
                job.description.id
                for job in self.registry.jobs.values()
                if job.state is State.SUBMITTED
            ]
            some = ", ".join(waiting[:10]) + (", ..." if len(waiting) > 10 else "")
            raise SimulationError(
                f"deadlock at {self.now}: nothing can happen any more, but {len(waiting)} jobs "
                f"wait: {some}"
            )
        if not self.registry.registration.finished:
            raise SimulationError(
                f"deadlock at {self.now}: the scheduler never sent registration_finished"
            )
