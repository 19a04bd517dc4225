"""Checks whether Batsim 4.2 would accept a scheduler's messages.

A reply on which Batsim would abort is refused, with a reason.

Source: the protocol as observed from Batsim 4.2.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappush
from math import inf
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.protocol.decision_rules import (
    BREAKING_4,
    LEAST_DELAY,
    check_mapping,
    check_metadata,
)
from batsched_py.protocol.referee.referee_state import LiveJob, RefereeState
from batsched_py.support.old_names import hint_new_name
from batsched_py.workload.batsim.profile_types import PROFILE_TYPES, REGISTRABLE

TERMINAL = ("COMPLETED_", REJECTED)


class DecisionChecks:
    """Checks each reply of the scheduler, and records its requests in ``state``.

    For ``strict`` and ``energy`` see :class:`~batsched_py.protocol.referee.referee.Referee`.
    """

    def __init__(self, state: RefereeState, *, strict: bool, energy: bool | None) -> None:
        self._state = state
        self._strict = strict
        self._energy = energy
        self._dynamic_profiles: set[tuple[str, str]] = set()
        """Those registered with which a job crashes Batsim."""
        self._checks: dict[type, Callable[[Any], object]] = {
            m.ExecuteJob: self._execute,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call_later,
            m.SetJobMetadata: self._set_metadata,
            m.SetResourceState: self._set_state,
            m.RegisterProfile: self._register_profile,
            m.RegisterJob: self._register_job,
            m.Notify: lambda notice: state.registration.handle_notify(notice),
            m.ToJobMsg: self._to_job,
            m.ChangeJobState: self._change_state,
            m.Query: self._query,
            m.Answer: lambda answer: None,  # Batsim reads it and does nothing with it
        }

    def check(self, reply: m.Message) -> None:
        """Check and record a scheduler's reply; raises :class:`ProtocolError` for a bad one."""
        state = self._state
        if self._strict and (not state.now <= reply.now < inf or reply.further):
            raise ProtocolError(
                f"the reply at {state.now} has now = {reply.now} and the further members "
                f"{list(reply.further or ())}: expected the same time or a later one, and none"
            )
        if reply.now > state.heard:
            state.slow = True
        if state.registration.reopens:
            state.registration.reopen()
        for decision in reply.events:
            self._check(decision, reply.now)

    def _check(self, decision: m.Event, reply_now: float) -> None:
        state, time = self._state, decision.timestamp
        if not time <= reply_now:
            raise ProtocolError(
                f"{decision.tag} at {time} is later than the reply's now, {reply_now}"
            )
        if self._strict and (time < state.now or decision.further):
            raise ProtocolError(
                f"{decision.tag} at {time} with the further members "
                f"{list(decision.further or ())}: expected a time from {state.now} on, and none"
            )
        if time > state.now:
            state.now = time
        kind = type(decision)
        check = self._checks.get(kind)
        if check is None:
            raise ProtocolError(f"{kind.__name__} is not a decision of this version of Batsim")
        if state.stopped:
            return
        if not state.ended:
            check(decision)
        elif kind is not m.Notify:
            raise ProtocolError(f"{decision.tag}: the simulation has ended, this comes too late")

    # Decisions on jobs ---------------------------------------------------------------------------

    def _waiting(self, job_id: str, doing: str) -> LiveJob:
        job = self._state.jobs.get(job_id) or self._state.find_job(job_id, doing)
        if job.running:
            raise ProtocolError(f"{doing}: job {job_id!r} runs already")
        return job

    def _execute(self, decision: m.ExecuteJob) -> None:
        job = self._waiting(decision.job_id, "EXECUTE_JOB")
        alloc, size = decision.alloc, job.size
        mappings = (decision.mapping, decision.storage_mapping, decision.additional_io_job)
        if mappings.count(None) < 2:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has more than one of mapping, "
                "storage_mapping and additional_io_job: Batsim takes one"
            )
        if decision.mapping is not None:
            check_mapping(decision, size)
        elif not alloc.size or (alloc.size != size and not self._shares_work(decision, job)):
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} of size {size} was given "
                f"{len(alloc)} processors ({to_text(alloc)!r})"
            )
        if decision.storage_mapping is not None:
            self._check_storages(decision.job_id, decision.storage_mapping)
        if self._dynamic_profiles and (
            (decision.job_id.partition("!")[0], job.profile) in self._dynamic_profiles
        ):
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has the composed profile {job.profile!r}, "
                "which was registered dynamically: Batsim 4.2.0 crashes on it"
            )
        self._occupy(decision)
        job.running, job.alloc, job.held = True, alloc, alloc

    def _check_storages(self, job_id: str, mapping: dict[str, int]) -> None:
        for label, storage in mapping.items():
            if storage not in self._state.storages:
                raise ProtocolError(
                    f"EXECUTE_JOB: the storage {label!r} of job {job_id} was mapped to "
                    f"{storage!r}, expected one of {sorted(self._state.storages)}"
                )

    def _occupy(self, decision: m.ExecuteJob) -> None:
        """Give a job its machines; raises :class:`ProtocolError` unless it may have them."""
        state, alloc = self._state, decision.alloc
        if state.now > state.heard and not state.sharing:
            # Later than the last message: what ran may have ended, and we shall hear of it.
            in_use = (alloc & state.machines) - state.idle.intersect(alloc)
            for job in state.jobs.values():
                job.held -= in_use
            state.idle.give_back(in_use)
        if (
            (state.unavailable.size and alloc & state.unavailable)
            or (state.sharing and alloc - state.machines)
            or not (state.sharing or state.idle.take(alloc))
        ):
            there = alloc & state.machines if state.sharing else state.idle.intersect(alloc)
            unfit = alloc - (there - state.unavailable)
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} was given {to_text(unfit)!r}, which is in "
                "use, not available, or does not exist"
            )

    def _shares_work(self, decision: m.ExecuteJob, job: LiveJob) -> bool:
        """Return whether any number of processors will do: the work is shared among them."""
        return all(
            _parts(profile) or profile.get("type") == "parallel_homogeneous_total"
            for _, profile in self._profiles(decision.job_id, job)
        )

    def _profiles(self, job_id: str, job: LiveJob) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the profile of a job and all that it is composed of, each once, with its name."""
        names = {job.profile: None}  # a dict as an ordered set
        left = [job.profile]
        while left:
            name = left.pop()
            profile = self._state.find_profile(job_id, name, job)
            yield name, profile
            left += [part for part in dict.fromkeys(_parts(profile)) if part not in names]
            names |= dict.fromkeys(left)

    def _reject(self, decision: m.RejectJob) -> None:
        state, job_id = self._state, decision.job_id
        job = self._waiting(job_id, "REJECT_JOB")
        del state.jobs[job_id]
        state.rejected.append((job_id, job.profile))
        state.past.add(job_id)

    def _kill(self, decision: m.KillJob) -> None:
        if not decision.job_ids:
            raise ProtocolError("KILL_JOB: the list of jobs is empty")
        for job_id in decision.job_ids:
            if not self._state.find_job(job_id, "KILL_JOB").running:
                raise ProtocolError(f"KILL_JOB: job {job_id!r} does not run")
            self._state.kills.add(job_id)

    def _set_metadata(self, decision: m.SetJobMetadata) -> None:
        self._state.find_job(decision.job_id, "SET_JOB_METADATA")
        check_metadata(decision)

    def _change_state(self, decision: m.ChangeJobState) -> None:
        job = self._state.find_job(decision.job_id, "CHANGE_JOB_STATE")
        if decision.job_state.startswith(TERMINAL):
            raise ProtocolError(
                f"CHANGE_JOB_STATE: Batsim 4.2.0 aborts when job {decision.job_id} is set to "
                f"{decision.job_state}; let it end, or reject or kill it"
            )
        job.running = decision.job_state == "RUNNING"

    def _to_job(self, decision: m.ToJobMsg) -> None:
        job = self._state.find_job(decision.job_id, "TO_JOB_MSG")
        for name, profile in self._profiles(decision.job_id, job):
            if profile.get("type") != "recv":
                continue
            for target in ("success", "failure", "timeout"):
                wanted = profile.get(target)
                if isinstance(wanted, str) and not self._state.find_profile(
                    decision.job_id, wanted
                ):
                    raise ProtocolError(
                        f"TO_JOB_MSG: the {target} of the profile {name!r} is {wanted!r}, which "
                        "Batsim has dropped, since no job refers to it"
                    )

    # Other decisions -----------------------------------------------------------------------------

    def _call_later(self, decision: m.CallMeLater) -> None:
        state = self._state
        if not state.now < decision.time < inf:
            raise ProtocolError(
                f"CALL_ME_LATER: {decision.time} is not later than the current time {state.now}"
            )
        heappush(state.calls, decision.time)

    def _register_profile(self, decision: m.RegisterProfile) -> None:
        self._state.registration.add_profile(decision)
        kind = decision.profile.get("type")
        is_known = isinstance(kind, str) and kind in PROFILE_TYPES
        delay = decision.profile.get("delay")
        least = 0 if self._state.exact else LEAST_DELAY
        if self._strict and (
            not is_known
            or (kind == "delay" and not (isinstance(delay, float | int) and delay > least))
        ):
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {decision.profile_name!r} is of type {kind!r}"
                f"{hint_new_name(kind)} with delay {delay!r}: expected a type of Batsim, and for "
                f"a delay seconds above {least}"
            )
        if not is_known or kind in REGISTRABLE:
            return
        if self._strict:
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {decision.profile_name!r} is of type {kind!r}, which "
                "Batsim 4.2.0 cannot register dynamically"
            )
        self._dynamic_profiles.add((decision.workload_name, decision.profile_name))

    def _register_job(self, decision: m.RegisterJob) -> None:
        state, job_id, job = self._state, decision.job_id, decision.job
        state.registration.check_job(decision)
        if self._strict and not state.exact and BREAKING_4.search(job_id):
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r}: Batsim 4.2.0 aborts on an id with one of "
                '( ) | } , " \\ or a line break in it'
            )
        if job_id in state.jobs or job_id in state.past:
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} exists already")
        if self._strict and job.submit_time > state.now:
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} has subtime {job.submit_time}, but Batsim submits "
                f"it now, at {state.now}"
            )
        state.add_job(job_id, job)
        if state.acknowledged:
            state.echoes[job_id] = job

    def _needs_energy(self, doing: str) -> None:
        if self._energy is False:
            raise ProtocolError(f"{doing}: energy is not accounted for (start with --energy)")

    def _check_switches(self) -> None:
        self._needs_energy("SET_RESOURCE_STATE")

    def _set_state(self, decision: m.SetResourceState) -> None:
        self._check_switches()
        if not decision.resources or not decision.state.isdecimal():
            raise ProtocolError(
                f"SET_RESOURCE_STATE: {to_text(decision.resources)!r} to {decision.state!r}, "
                "expected machines and the number of a pstate as text"
            )
        self._state.switches.append((decision.resources, decision.state))

    def _query(self, decision: m.Query) -> None:
        if list(decision.requests) != ["consumed_energy"]:
            raise ProtocolError(
                f"QUERY: {list(decision.requests)} is not supported, expected consumed_energy"
            )
        self._needs_energy("QUERY")
        self._state.nb_queries += 1


def _parts(profile: dict[str, Any]) -> list[str]:
    """Return the names of the profiles that a profile is composed of."""
    parts = profile.get("seq")
    return [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
