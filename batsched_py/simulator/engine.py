"""Time, events and messages of the embedded simulator."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any

from batsched_py.errors import DeadlockError, ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_checks import check_metadata
from batsched_py.simulator.execution import KILLED
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.jobs import Registry, SimulatedJob, State
from batsched_py.simulator.options import Options, Outcome
from batsched_py.simulator.platform.platform import Platform
from batsched_py.simulator.simulation_begins import simulation_begins
from batsched_py.simulator.site import Site
from batsched_py.transport import Partner
from batsched_py.workload.workload import Workload

__all__ = ["Options", "Outcome", "Simulator"]


class _Kind(Enum):
    """What an entry of the event heap is."""

    END = 0
    CALL = 1
    LATER = 2
    RESUME = 3


_Events = Iterable[m.Event]
_Later = tuple[Callable[[], bool] | None, Callable[[], _Events | None]]
"""Whether it still means something (None: always), and what it does."""
_Entry = tuple[float, int, _Kind, Any]
"""Time (s), order of what is at the same time, and what it is."""
_FEW_ENTRIES = 4096
"""Entries of the heap that are not worth looking through."""


class Simulator:
    """Batsim 4.2 on one platform.

    One instant is put into one message: all events at an exactly equal time. Decisions take
    effect at their timestamp, so a scheduler may model the time it needs. ``events`` are external
    ones. Raises :class:`WorkloadError` for jobs and :class:`PlatformError` for machines that
    cannot be simulated.
    """

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload] = (),
        options: Options | None = None,
        events: Sequence[ExternalEvent] | None = None,
    ) -> None:
        options = options or Options()
        self.platform = platform
        self.options = options
        self.now = 0.0
        self.outcome: Outcome | None = None
        """What the simulation came to, as soon as nothing can happen in it any more."""
        self.registry = Registry(dynamic=options.dynamic_jobs, profile_reuse=options.profile_reuse)
        self._workloads = {f"w{i}": workload for i, workload in enumerate(workloads)}
        static = [
            job for name, load in self._workloads.items() for job in self.registry.load(name, load)
        ]
        static.sort(key=lambda job: job.description.submit_time)  # stable: w0 before w1
        self._static = static
        self._next_static = 0
        self._submission_order = -1
        """When the wait for the next submission began, in the order of the heap's entries."""
        self._next_submission = inf
        if workloads:  # of workloads without jobs, only the end is announced
            self._next_submission = max(0.0, static[0].description.submit_time) if static else 0.0
        self._heap: list[_Entry] = []
        self._most_entries = _FEW_ENTRIES
        self._order = count()
        self._ending: list[SimulatedJob] = []
        """Jobs that have ended at this instant, to be told of."""
        self._pending: list[m.Event] = []
        self._busy = False
        self._nb_open = 0  # submitted and not yet ended
        self._nb_messages = 0
        self._random = (
            None if options.shake is None else random.Random(f"events of {options.shake}")
        )
        self._cut = 0.0 if self._random is None else self._random.random()
        failing = events is not None
        self._site = Site(platform, options, self.registry, self, failing=failing)
        self._execution = self._site.execution
        if events is not None:
            self._site.expect(events)
        self._carry_out: dict[type, Callable[[Any], None]] = {
            m.ExecuteJob: self._execute,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call_later,
            m.SetJobMetadata: self._set_metadata,
            m.RegisterProfile: self.registry.add_profile,
            m.RegisterJob: self._register_job,
            m.Notify: self.registry.registration.notified,
            m.ToJobMsg: self._tell_job,
            m.ChangeJobState: self._change_job_state,
            m.SetResourceState: self._set_resource_state,
            m.Query: self._query,
            m.Answer: lambda decision: None,  # as in Batsim
        }

    def run(self, partner: Partner) -> Outcome:
        """Simulate to the end.

        Raises :class:`ProtocolError` where Batsim would abort on a decision, and
        :class:`DeadlockError`: nothing can happen any more, but jobs wait or registration was
        never finished.
        """
        self._exchange(partner, [self._begins()])
        while (now := self._next_time()) < inf:
            self.now = now
            self._pending += self._events_of_instant(now)
            if self.options.each_event:
                self._pending.sort(key=_submissions_first)
            while self._pending and not self._busy:
                self._exchange(partner, self._next_part())
        self.outcome = self._outcome()
        self._check_all_done()
        self._say_goodbye(partner)
        self.outcome.nb_messages = self._nb_messages
        return self.outcome

    # Messages ------------------------------------------------------------------------------------

    def _say_goodbye(self, partner: Partner) -> None:
        self._nb_messages += 1
        reply = partner(m.Message(self.now, [m.SimulationEnds(timestamp=self.now)]))
        late = [event.tag for event in reply.events if type(event) is not m.Notify]
        if late:
            raise ProtocolError(
                f"{', '.join(late)} in the reply to SIMULATION_ENDS: decisions come too late there"
            )

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
        at = first
        try:
            for at in range(first, len(decisions)):
                decision = decisions[at]
                if decision.timestamp > reply.now:
                    raise ProtocolError(
                        f"{decision.tag} at {decision.timestamp} is later than the reply's now, "
                        f"{reply.now}"
                    )
                if decision.timestamp > self.now:
                    self._site.settle()
                    self._pause(decision.timestamp, reply, at)
                    return
                carry_out = self._carry_out.get(type(decision))
                if carry_out is None:
                    raise ProtocolError(f"{decision.tag} is no decision of a scheduler")
                carry_out(decision)
        except ProtocolError as error:
            raise ProtocolError(
                f"{error} (event {at + 1} of {len(decisions)} in the reply, carried out at "
                f"{self.now:f} s)"
            ) from None
        if self._site.has_programs:
            self._site.settle()
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
        if self._random is None or len(events) < 2 or not _LOOSE.issuperset(map(type, events)):
            return events
        if events[0].timestamp != events[-1].timestamp:
            return events  # what happened while the scheduler was busy stays in order
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
        while heap and not _is_to_come(heap[0]):
            heappop(heap)
        time = self._next_submission
        return heap[0][0] if heap and heap[0][0] < time else time

    def later(
        self,
        time: float,
        do: Callable[[], Iterable[m.Event] | None],
        due: Callable[[], bool] | None = None,
    ) -> None:
        """Do something at a time, and send the events that it returns, if it is due then."""
        self._push(time, _Kind.LATER, (due, do))
        if len(self._heap) > self._most_entries:
            self._heap[:] = filter(_is_to_come, self._heap)
            heapify(self._heap)
            self._most_entries = 2 * len(self._heap) + _FEW_ENTRIES

    def end_now(self, job: SimulatedJob) -> None:
        """Let a running job end at this instant."""
        job.finish_time = self.now
        self._ending.append(job)

    def _events_of_instant(self, now: float) -> list[m.Event]:
        events: list[m.Event] = []
        heap = self._heap
        while heap and heap[0][0] == now:
            if now == self._next_submission and self._submission_order < heap[0][1]:
                # As in Batsim, waits that began earlier end earlier, at the same instant too.
                events.extend(self._static_submissions(now))
                continue
            _, _, kind, what = heappop(heap)
            if kind is _Kind.END:
                if what.state is State.RUNNING:  # else it was killed at this instant
                    events.append(self._completed(what))
            elif kind is _Kind.CALL:
                events.append(m.RequestedCall(timestamp=now))
            elif kind is _Kind.RESUME:
                self._apply(*what)
            elif _is_due(what):
                events.extend(what[1]() or ())
                self._site.settle()
                events.extend(map(self._completed, self._ending))
                self._ending.clear()
        if now == self._next_submission:
            events.extend(self._static_submissions(now))
        return events

    def _static_submissions(self, now: float) -> Iterator[m.Event]:
        jobs, at = self._static, self._next_static
        while at < len(jobs) and jobs[at].description.submit_time <= now:
            job = jobs[at]
            job.state = State.SUBMITTED
            self._nb_open += 1
            yield self._submitted(job)
            at += 1
        if at > self._next_static:
            self._submission_order = next(self._order)
        self._next_static = at
        self._next_submission = jobs[at].description.submit_time if at < len(jobs) else inf
        if at == len(jobs):
            yield m.Notify(timestamp=now, type="no_more_static_job_to_submit")

    # Events --------------------------------------------------------------------------------------

    def _begins(self) -> m.SimulationBegins:
        energy = self._site.energy
        asleep = energy.asleep() if energy is not None else 0
        return simulation_begins(self.platform, self.options, self._workloads, asleep)

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

    def _killed(
        self, job_ids: list[str], really: list[tuple[SimulatedJob, dict[str, Any]]]
    ) -> Iterator[m.Event]:
        for job, _ in really:
            yield self._completed(job)
        progress = {job.description.id: progress for job, progress in really}
        yield m.JobKilled(timestamp=self.now, job_ids=job_ids, job_progress=progress)

    # Decisions -----------------------------------------------------------------------------------

    def _execute(self, decision: m.ExecuteJob) -> None:
        job = self.registry.known(decision.job_id, "EXECUTE_JOB")
        self._execution.start(job, decision, self.now)
        if job.finish_time < inf:
            self._push(job.finish_time, _Kind.END, job)
            self._ending.clear()  # it is there if it did nothing that takes time

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
                raise ProtocolError(
                    f"KILL_JOB: job {job.description.id} does not run: it waits to be started"
                )
        jobs = [job for job in jobs if job.final_state != KILLED]
        if jobs:  # else all are being killed already, which Batsim ignores
            done = [(job, self._execution.kill(job, self.now)) for job in jobs]
            really = [(job, progress) for job, progress in done if progress is not None]
            ids = [job.description.id for job in jobs]
            self.later(self.now, partial(self._killed, ids, really))

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
            self._site.send(self._submitted(job))

    def _tell_job(self, decision: m.ToJobMsg) -> None:
        job = self.registry.known(decision.job_id, "TO_JOB_MSG")
        self._site.programs().tell(job, decision.msg, self.now)

    def _change_job_state(self, decision: m.ChangeJobState) -> None:
        job = self.registry.known(decision.job_id, "CHANGE_JOB_STATE")
        self._execution.change_state(job, decision.job_state, self.now)

    def _set_resource_state(self, decision: m.SetResourceState) -> None:
        if self._site.power is None:
            raise ProtocolError("SET_RESOURCE_STATE: energy is not accounted for (option -E)")
        self._site.power.switch(decision, self.now)

    def _query(self, decision: m.Query) -> None:
        if list(decision.requests) != ["consumed_energy"]:
            raise ProtocolError(
                f"QUERY: {list(decision.requests)} is not known, expected consumed_energy"
            )
        if self._site.energy is None:
            raise ProtocolError("QUERY: energy is not accounted for (option -E)")
        energy = self._site.energy.total(self.now)
        self._site.send(m.Answer(timestamp=self.now, answers={"consumed_energy": energy}))

    # The end -------------------------------------------------------------------------------------

    def _outcome(self) -> Outcome:
        site = self._site
        return Outcome(
            self._execution.ended,
            self._nb_messages,
            len(self.platform.hosts),
            self.now,
            len(self.platform.storages),
            site.states,
            site.power,
        )

    def _check_all_done(self) -> None:
        if self._nb_open:
            left = [job for job in self.registry.jobs.values() if job.state in _OPEN]
            waiting = [job.description.id for job in left]
            some = ", ".join(waiting[:50]) + (", ..." if len(waiting) > 50 else "")
            listening = len(self._site.waiting_for_messages())
            reason = f" ({listening} for a message, running)" if listening else ""
            jobs = "1 job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
            raise DeadlockError(
                f"deadlock at {self.now}: nothing can happen any more, but {jobs}{reason}: {some}",
                waiting,
            )
        if not self.registry.registration.finished:
            raise DeadlockError(
                f"deadlock at {self.now}: the scheduler never sent registration_finished"
            )


def _submissions_first(event: m.Event) -> tuple[float, bool]:
    return event.timestamp, type(event) is not m.JobSubmitted


def _is_to_come(entry: _Entry) -> bool:
    """Tell whether something will happen then: not the end of a job that has been killed."""
    _, _, kind, what = entry
    if kind is _Kind.END:
        return what.state is State.RUNNING
    return kind is not _Kind.LATER or _is_due(what)


def _is_due(what: _Later) -> bool:
    return what[0] is None or what[0]()


_OPEN = (State.SUBMITTED, State.RUNNING)
_LOOSE = {m.JobSubmitted, m.JobCompleted, m.RequestedCall, m.Notify}
"""Events whose order in an instant means nothing."""
