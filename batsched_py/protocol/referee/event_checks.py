"""Checks whether Batsim can have sent a message, by the earlier messages alone.

A message is refused if it is impossible after the earlier ones: then the simulator has a fault, or
somebody else sent it, and an answer would lead to wrong results. Times are compared up to
what Batsim 4.2's six decimals leave out. Sizes and shapes are for the codec.

Source: the protocols as observed from Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any

from batsched_py.errors import ProtocolError, located
from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import ProcessorSet, from_text, to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.registration import AnytimeRegistration
from batsched_py.protocol.batsim_jobs_columns import FAILED, KILLED, SUCCESS, WALLTIME_REACHED
from batsched_py.protocol.dynamic_registration import Registration, split_id
from batsched_py.protocol.message_json import job_to_json
from batsched_py.protocol.referee.referee_state import RefereeState
from batsched_py.support.json_values import is_number, quote

_ROUNDING = 1e-5
"""Seconds by which something may seem to come too early: six decimals, and SimGrid's precision."""
_NO_MORE_JOBS, _NO_MORE_EVENTS = "no_more_static_job_to_submit", "no_more_external_event_to_occur"
_RETURN_CODES: dict[str, Callable[[int], bool]] = {
    SUCCESS: lambda code: code == 0,
    FAILED: lambda code: code > 0,
    WALLTIME_REACHED: lambda code: code < 0,
    KILLED: lambda code: code < 0,
}


class EventChecks:
    """Checks each message of Batsim, and records its events in ``state``."""

    def __init__(self, state: RefereeState) -> None:
        self._state = state
        self._checks: dict[type, Callable[[Any], None]] = {
            m.SimulationBegins: self._begins,
            m.SimulationEnds: self._ends,
            m.JobSubmitted: self._submitted,
            m.JobCompleted: self._completed,
            m.JobKilled: self._killed,
            m.RequestedCall: self._called,
            m.ResourceStateChanged: self._switched,
            m.FromJobMsg: self._from_job,
            m.Notify: self._notified,
            m.Answer: self._answered,
            m.ProbeData: self._probed,
        }

    def check(self, message: m.Message) -> None:
        """Check and record a message; raises :class:`ProtocolError` for an impossible one."""
        state, now, events = self._state, message.now, message.events
        if now < state.heard:
            raise ProtocolError(f"time went back from {state.heard} to {now}")
        if state.ended and not events:
            raise ProtocolError("a message came after SIMULATION_ENDS")
        if not state.begun and not (events and type(events[0]) is m.SimulationBegins):
            raise ProtocolError("the first event is not SIMULATION_BEGINS")
        while state.rejected:
            state.release(*state.rejected.pop())
        time = state.last_event if state.slow else state.heard
        checks = self._checks
        for event in events:
            timestamp = event.timestamp
            if not time <= timestamp <= now or state.ended:
                raise ProtocolError(_out_of_place(event, time, now, ended=state.ended))
            time = timestamp
            check = checks.get(type(event))
            if check is not None:  # else it cannot be wrong
                check(event)
        state.heard = state.now = now
        state.last_event = time
        if time == now:  # events come in order, so no earlier one is to come
            state.slow = False

    # The simulation ------------------------------------------------------------------------------

    def _begins(self, event: m.SimulationBegins) -> None:
        state = self._state
        if state.begun:
            raise ProtocolError("SIMULATION_BEGINS came twice")
        state.begun = True
        state.nb_resources = event.nb_resources
        state.machines = ProcessorSet.interval(0, event.nb_compute_resources)
        state.idle = ProcessorPool(state.machines)
        state.storages = {storage["id"] for storage in event.storage_resources}
        state.sharing = event.allow_compute_sharing
        state.exact = bool(event.config.get(m.EXACT_TIMES))
        state.acknowledged = bool(event.config.get("dynamic-jobs-acknowledged"))
        state.workloads = set(event.workloads)
        kind = AnytimeRegistration if event.is_batsim5 else Registration
        state.registration = kind(
            dynamic=bool(event.config.get("dynamic-jobs-enabled")),
            profile_reuse=bool(event.config.get("profile-reuse-enabled")),
        )
        for workload, profiles in event.profiles.items():
            state.registration.load(workload, profiles)

    def _ends(self, event: m.SimulationEnds) -> None:
        state = self._state
        if state.stopped:
            state.ended = True
            return
        running = sum(job.running for job in state.jobs.values())
        if state.jobs:
            raise ProtocolError(
                f"SIMULATION_ENDS came with {len(state.jobs) - running} jobs waiting and {running} "
                "running"
            )
        if not state.registration.finished:
            raise ProtocolError("SIMULATION_ENDS came before registration was declared finished")
        if state.calls:
            raise ProtocolError(
                f"SIMULATION_ENDS came before the call that was asked for at {state.calls[0]}"
            )
        state.ended = True

    # Jobs ----------------------------------------------------------------------------------------

    def _submitted(self, event: m.JobSubmitted) -> None:
        state, job_id, job = self._state, event.job_id, event.job
        if job.id != job_id:
            raise ProtocolError(f"JOB_SUBMITTED: job {job_id!r} calls itself {job.id!r}")
        if job_id in state.echoes:
            _check_echo(job, state.echoes.pop(job_id))
            return
        if job_id in state.jobs or job_id in state.past:
            raise ProtocolError(f"JOB_SUBMITTED: job {job_id!r} came twice")
        workload, _, name = job_id.partition("!")
        if workload not in state.workloads or "!" in name:
            split_id(job_id, "JOB_SUBMITTED")
            raise ProtocolError(
                f"JOB_SUBMITTED: job {job_id!r} is of a workload that SIMULATION_BEGINS did not "
                f"name, and was not registered: expected one of {sorted(state.workloads)}"
            )
        if _NO_MORE_JOBS in state.over:
            raise ProtocolError(f"JOB_SUBMITTED: job {job_id!r} came after {_NO_MORE_JOBS}")
        if job.submit_time > event.timestamp + _ROUNDING:
            raise ProtocolError(
                f"JOB_SUBMITTED: job {job_id!r} with subtime {job.submit_time} came at "
                f"{event.timestamp}, which is earlier"
            )
        state.add_job(job_id, job)

    def _completed(self, event: m.JobCompleted) -> None:
        state, job_id = self._state, event.job_id
        job = state.jobs.get(job_id) or state.find_job(job_id, "JOB_COMPLETED")
        if not job.running:
            raise ProtocolError(f"JOB_COMPLETED: job {job_id!r} does not run, it waits")
        if event.alloc != job.alloc:
            raise ProtocolError(
                f"JOB_COMPLETED: job {job_id!r} has the alloc {to_text(event.alloc)!r}, but was "
                f"executed on {to_text(job.alloc)!r}"
            )
        if event.job_state != SUCCESS or event.return_code != 0:
            self._check_failure(event)
        del state.jobs[job_id]
        state.past.add(job_id)
        if not state.sharing:
            state.idle.give_back(job.held)
        state.release(job_id, job.profile)

    def _check_failure(self, event: m.JobCompleted) -> None:
        fits = _RETURN_CODES.get(event.job_state)
        if fits is None or not fits(event.return_code):
            raise ProtocolError(
                f"JOB_COMPLETED: job {event.job_id!r} has the state {quote(event.job_state)} and "
                f"the return code {event.return_code}: expected {SUCCESS} and 0, {FAILED} and "
                f"one above it, {WALLTIME_REACHED} or {KILLED} and one below 0"
            )
        if event.job_state == KILLED and event.job_id not in self._state.kills:
            raise ProtocolError(
                f"JOB_COMPLETED: job {event.job_id!r} was killed, which was not requested"
            )

    def _killed(self, event: m.JobKilled) -> None:
        state = self._state
        for job_id in event.job_ids:
            if job_id not in state.kills:
                raise ProtocolError(f"JOB_KILLED: nobody asked to kill job {job_id!r}")
            if job_id in state.jobs:
                raise ProtocolError(f"JOB_KILLED: the JOB_COMPLETED of job {job_id!r} did not come")
            state.kills.discard(job_id)
        others = event.job_progress.keys() - event.job_ids
        if others:
            raise ProtocolError(
                f"JOB_KILLED: job_progress has {quote(sorted(others))}, expected jobs of job_ids"
            )

    def _from_job(self, event: m.FromJobMsg) -> None:
        state, job_id = self._state, event.job_id
        if job_id in state.past:
            return  # it may have ended while its message was under way
        if not state.find_job(job_id, "FROM_JOB_MSG").running:
            raise ProtocolError(f"FROM_JOB_MSG: job {job_id!r} does not run, it waits")

    # Others --------------------------------------------------------------------------------------

    def _called(self, event: m.RequestedCall) -> None:
        calls = self._state.calls
        if event.call_id is not None and event.call_id in self._state.periods:
            if event.last:
                del self._state.periods[event.call_id]
            return
        if not calls:
            raise ProtocolError("REQUESTED_CALL: no CALL_ME_LATER is outstanding")
        due = heappop(calls)  # they come in the order of their times
        if due > event.timestamp + _ROUNDING:
            raise ProtocolError(
                f"REQUESTED_CALL came at {event.timestamp}, the next was asked for at {due}"
            )

    def _switched(self, event: m.ResourceStateChanged) -> None:
        switch = (event.resources, event.state)
        if switch not in self._state.switches:
            raise ProtocolError(
                f"RESOURCE_STATE_CHANGED: no SET_RESOURCE_STATE of {to_text(event.resources)!r} to "
                f"{event.state!r} is outstanding"
            )
        self._state.switches.remove(switch)

    def _answered(self, event: m.Answer) -> None:
        energy = event.answers.get("consumed_energy")
        if not self._state.nb_queries or len(event.answers) != 1 or not is_number(energy):
            raise ProtocolError(
                f"ANSWER: {quote(event.answers)} to {self._state.nb_queries} queries: expected a "
                "QUERY for each, and consumed_energy (joules)"
            )
        self._state.nb_queries -= 1

    def _probed(self, event: m.ProbeData) -> None:
        if event.probe_id not in self._state.periods:
            raise ProtocolError(f"{event.tag}: there is no probe {event.probe_id!r}")

    def _notified(self, event: m.Notify) -> None:
        over = self._state.over
        if event.type in ("event_machine_available", "event_machine_unavailable"):
            self._check_machines(event)
        elif event.type in (_NO_MORE_JOBS, _NO_MORE_EVENTS):
            if event.type in over:
                raise ProtocolError(f"NOTIFY: {event.type} came twice")
            over.add(event.type)

    def _check_machines(self, event: m.Notify) -> None:
        state = self._state
        if _NO_MORE_EVENTS in state.over:
            raise ProtocolError(f"NOTIFY: {event.type} came after {_NO_MORE_EVENTS}")
        with located(f"NOTIFY: {event.type}", ProtocolError):
            machines = from_text(event.details.get("resources", ""), state.nb_resources)
        goes = event.type.endswith("unavailable")
        unchanged = machines & state.unavailable if goes else machines - state.unavailable
        if unchanged:
            raise ProtocolError(
                f"NOTIFY: {event.type} of {to_text(unchanged)!r}, which are in this state already"
            )
        state.unavailable = state.unavailable | machines if goes else state.unavailable - machines


def _out_of_place(event: m.Event, time: float, now: float, *, ended: bool) -> str:
    what = event.type if isinstance(event, m.UnknownEvent) else event.tag
    if ended:
        return f"{what} came after SIMULATION_ENDS"
    return (
        f"{what} has the timestamp {event.timestamp}: expected one from {time}, when the last "
        f"message or event was, to {now}, which is the message's now"
    )


def _check_echo(job: m.JobDescription, registered: m.JobDescription) -> None:
    """Raise :class:`ProtocolError` unless Batsim repeats a job as it was registered."""
    repeated, expected = job_to_json(job), job_to_json(registered)
    for field in {**expected, **repeated}:
        if field != "id" and not _alike(repeated.get(field), expected.get(field)):
            raise ProtocolError(
                f"JOB_SUBMITTED: job {job.id!r} was registered with {field} "
                f"{quote(expected.get(field))}, and is repeated with {quote(repeated.get(field))}"
            )


def _alike(value: Any, expected: Any) -> bool:
    """Return whether Batsim repeats a value: it rounds, and overwrites members called id."""
    if is_number(value) and is_number(expected):
        return abs(value - expected) <= 1e-6 or value == expected
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            name == "id" or _alike(value[name], expected[name]) for name in value
        )
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(_alike, value, expected))
    return bool(value == expected)
