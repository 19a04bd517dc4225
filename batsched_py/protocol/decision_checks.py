"""What Batsim 4.2 accepts from a scheduler, judged from the messages alone.

The referee hears both sides of a conversation and refuses, with a reason, a reply on which Batsim
would abort. It judges ``as Batsim`` does, or, for what we send ourselves, strictly: then it also
refuses what Batsim takes but cannot have been meant, and what Batsim 4.2.0 does not survive later.

Source: the protocol as observed from Batsim 4.2.0. What the messages do not show is not judged:
machines that sleep, and whether energy is accounted for (which the caller may say).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.protocol.dynamic_registration import Registration, split_id
from batsched_py.support.name_set import UsedNames
from batsched_py.support.processor_sets import from_text, to_text
from batsched_py.workload.profile_types import profile_type

TERMINAL = ("COMPLETED_", REJECTED)
_BREAKING = re.compile(r"[()|},\"\\\n]")
"""Characters in the id of a registered job on which Batsim 4.2.0 aborts."""
_LEAST_DELAY = 5e-7
"""Seconds; less than that is 0 once Batsim has rounded it to six decimals."""


class _LiveJob(msgspec.Struct, gc=False):
    """A job that the scheduler may speak of."""

    size: int
    profile: str
    content: dict[str, Any]
    """The profile as written, which the job keeps when it is released."""
    running: bool = False
    alloc: int = 0
    """Processors while it runs."""


class Referee:
    """Refuses replies that Batsim would not accept; see the module's text.

    ``strict`` is for what we send. ``energy`` says whether Batsim was started with ``--energy``,
    which its messages do not tell (None: not known, and not judged).
    """

    def __init__(self, *, strict: bool = True, energy: bool | None = None) -> None:
        self._strict = strict
        self._energy = energy
        self._heard = -inf
        """Time of the last message from Batsim."""
        self._now = -inf
        self._ended = False
        self._jobs: dict[str, _LiveJob] = {}
        self._rejected: list[tuple[str, str]] = []
        """Ids of jobs and their profiles, which are released with the next message."""
        self._past = UsedNames()
        self._machines = 0
        self._used = 0
        self._unavailable = 0
        self._sharing = False
        self._exact = False
        """Whether the other side is our simulator, which reads all digits and any id."""
        self._storages: set[int] = set()
        self._registration = Registration(dynamic=False, profile_reuse=False)
        self._dynamic_profiles: set[tuple[str, str]] = set()
        self._hear: dict[type, Callable[[Any], None]] = {
            m.SimulationBegins: self._begins,
            m.SimulationEnds: self._ends,
            m.JobSubmitted: self._submitted,
            m.JobCompleted: self._completed,
            m.Notify: self._notified,
        }
        self._judge: dict[type, Callable[[Any], None]] = {
            m.ExecuteJob: self._execute,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call_later,
            m.SetJobMetadata: self._set_metadata,
            m.SetResourceState: self._set_state,
            m.RegisterProfile: self._register_profile,
            m.RegisterJob: self._register_job,
            m.Notify: self._registration_notice,
            m.ToJobMsg: self._to_job,
            m.ChangeJobState: self._change_state,
            m.Query: self._query,
            m.Answer: self._answer,
        }

    def heard(self, message: m.Message) -> None:
        """Take note of a message from Batsim."""
        self._heard = self._now = message.now
        while self._rejected:
            self._release(*self._rejected.pop())
        for event in message.events:
            hear = self._hear.get(type(event))
            if hear is not None:
                hear(event)

    def check(self, reply: m.Message) -> None:
        """Take note of the scheduler's reply; raises :class:`ProtocolError` if it is refused."""
        if self._strict and (not self._now <= reply.now < inf or reply.further):
            raise ProtocolError(
                f"the reply at {self._now} has now = {reply.now} and the further members "
                f"{list(reply.further or ())}: expected the same time or a later one, and none"
            )
        self._registration.message_begins()
        for decision in reply.events:
            self._check(decision, reply.now)

    def _check(self, decision: m.Event, reply_now: float) -> None:
        time = decision.timestamp
        if not time <= reply_now:
            raise ProtocolError(
                f"{decision.tag} at {time} is later than the reply's now, {reply_now}"
            )
        if self._strict and (time < self._now or decision.further):
            raise ProtocolError(
                f"{decision.tag} at {time} with the further members "
                f"{list(decision.further or ())}: expected a time from {self._now} on, and none"
            )
        if time > self._now:
            self._now = time
        kind = type(decision)
        judge = self._judge.get(kind)
        if judge is None:
            raise ProtocolError(f"{kind.__name__} is no decision of Batsim's protocol")
        if not self._ended:
            judge(decision)
        elif kind is not m.Notify:
            raise ProtocolError(f"{decision.tag}: the simulation has ended, this comes too late")

    # From Batsim ---------------------------------------------------------------------------------

    def _begins(self, event: m.SimulationBegins) -> None:
        self._machines = (1 << event.nb_compute_resources) - 1
        self._sharing = event.allow_compute_sharing
        self._exact = bool(event.config.get("exact-times"))
        self._storages = {storage.get("id", -1) for storage in event.storage_resources}
        self._registration = Registration(
            dynamic=bool(event.config.get("dynamic-jobs-enabled")),
            profile_reuse=bool(event.config.get("profile-reuse-enabled")),
        )
        for workload, profiles in event.profiles.items():
            self._registration.load(workload, profiles)

    def _ends(self, event: m.SimulationEnds) -> None:
        self._ended = True

    def _submitted(self, event: m.JobSubmitted) -> None:
        if event.job_id not in self._jobs:  # else the echo of a registration
            self._add_job(event.job_id, event.job)

    def _completed(self, event: m.JobCompleted) -> None:
        job = self._jobs.pop(event.job_id, None)
        if job is not None:
            self._past.add(event.job_id)
            self._used &= ~job.alloc
            self._release(event.job_id, job.profile)

    def _release(self, job_id: str, profile: str) -> None:
        if self._registration.releases:
            self._registration.release(job_id.partition("!")[0], profile)

    def _notified(self, event: m.Notify) -> None:
        if event.type == "event_machine_unavailable":
            self._unavailable |= from_text(event.details.get("resources", ""))
        elif event.type == "event_machine_available":
            self._unavailable &= ~from_text(event.details.get("resources", ""))

    # Decisions on jobs ---------------------------------------------------------------------------

    def _add_job(self, job_id: str, job: m.JobDescription) -> None:
        content = self._profile(job_id, job.profile)
        self._jobs[job_id] = _LiveJob(job.size, job.profile, content)

    def _known(self, job_id: str, doing: str) -> _LiveJob:
        job = self._jobs.get(job_id)
        if job is None:
            split_id(job_id, doing)
            why = "has ended" if job_id in self._past else "was never submitted"
            raise ProtocolError(f"{doing}: job {job_id!r} {why}")
        return job

    def _waiting(self, job_id: str, doing: str) -> _LiveJob:
        job = self._known(job_id, doing)
        if job.running:
            raise ProtocolError(f"{doing}: job {job_id!r} runs already")
        return job

    def _execute(self, decision: m.ExecuteJob) -> None:
        job = self._waiting(decision.job_id, "EXECUTE_JOB")
        alloc, size = decision.alloc, job.size
        mappings = (decision.mapping, decision.storage_mapping, decision.additional_io_job)
        if sum(mapping is not None for mapping in mappings) > 1:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has more than one of mapping, "
                "storage_mapping and additional_io_job: Batsim takes one"
            )
        if decision.mapping is not None:
            check_mapping(decision, size)
        elif not alloc or (alloc.bit_count() != size and not self._shares_work(decision, job)):
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} of size {size} was given "
                f"{alloc.bit_count()} processors ({to_text(alloc)!r})"
            )
        self._check_free(decision)
        for label, storage in (decision.storage_mapping or {}).items():
            if storage not in self._storages:
                raise ProtocolError(
                    f"EXECUTE_JOB: the storage {label!r} of job {decision.job_id} was mapped to "
                    f"{storage!r}, expected one of {sorted(self._storages)}"
                )
        workload = decision.job_id.partition("!")[0]
        if (workload, job.profile) in self._dynamic_profiles:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has the composed profile {job.profile!r}, "
                "which was registered dynamically: Batsim 4.2.0 crashes on it"
            )
        job.running, job.alloc = True, alloc
        self._used |= alloc

    def _check_free(self, decision: m.ExecuteJob) -> None:
        alloc = decision.alloc
        in_use = 0 if self._sharing else self._used
        if alloc & in_use and self._now > self._heard:
            # Later than the last message: what ran may have ended, and we shall hear of it.
            for job in self._jobs.values():
                job.alloc &= ~alloc
            in_use = 0
        unfit = alloc & (~self._machines | self._unavailable | in_use)
        if unfit:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} was given {to_text(unfit)!r}, which is in "
                "use, not available, or does not exist"
            )

    def _profile(self, job_id: str, name: str, job: _LiveJob | None = None) -> dict[str, Any]:
        if job is not None and name == job.profile:
            return job.content
        return self._registration.content(job_id.partition("!")[0], name) or {}

    def _shares_work(self, decision: m.ExecuteJob, job: _LiveJob) -> bool:
        """Tell whether any number of processors will do: the work is shared among them."""
        names = [job.profile]
        for name in names:
            profile = self._profile(decision.job_id, name, job)
            parts = profile.get("seq", [])
            if not parts and profile.get("type") != "parallel_homogeneous_total":
                return False
            names += [part for part in parts if part not in names]
        return True

    def _reject(self, decision: m.RejectJob) -> None:
        self._waiting(decision.job_id, "REJECT_JOB")
        self._rejected.append((decision.job_id, self._jobs.pop(decision.job_id).profile))
        self._past.add(decision.job_id)

    def _kill(self, decision: m.KillJob) -> None:
        if not decision.job_ids:
            raise ProtocolError("KILL_JOB: the list of jobs is empty")
        for job_id in decision.job_ids:
            if not self._known(job_id, "KILL_JOB").running:
                raise ProtocolError(f"KILL_JOB: job {job_id!r} does not run")

    def _set_metadata(self, decision: m.SetJobMetadata) -> None:
        self._known(decision.job_id, "SET_JOB_METADATA")
        check_metadata(decision)

    def _change_state(self, decision: m.ChangeJobState) -> None:
        job = self._known(decision.job_id, "CHANGE_JOB_STATE")
        if decision.job_state.startswith(TERMINAL):
            raise ProtocolError(
                f"CHANGE_JOB_STATE: Batsim 4.2.0 aborts when job {decision.job_id} is set to "
                f"{decision.job_state}; let it end, or reject or kill it"
            )
        job.running = decision.job_state == "RUNNING"

    def _to_job(self, decision: m.ToJobMsg) -> None:
        job = self._known(decision.job_id, "TO_JOB_MSG")
        names = [job.profile]
        for name in names:
            profile = self._profile(decision.job_id, name, job)
            names += [part for part in profile.get("seq", []) if part not in names]
            if profile.get("type") != "recv":
                continue
            for target in ("success", "failure", "timeout"):
                wanted = profile.get(target)
                if wanted is not None and not self._profile(decision.job_id, wanted):
                    raise ProtocolError(
                        f"TO_JOB_MSG: the {target} of the profile {name!r} is {wanted!r}, which "
                        "Batsim has dropped, since no job refers to it"
                    )

    # Other decisions -----------------------------------------------------------------------------

    def _call_later(self, decision: m.CallMeLater) -> None:
        if not self._now < decision.time < inf:
            raise ProtocolError(
                f"CALL_ME_LATER: {decision.time} is not later than the current time {self._now}"
            )

    def _register_profile(self, decision: m.RegisterProfile) -> None:
        self._registration.add_profile(decision)
        kind = decision.profile.get("type")
        known_type = profile_type(kind)
        delay = decision.profile.get("delay")
        least = 0 if self._exact else _LEAST_DELAY
        if self._strict and (
            known_type is None
            or (kind == "delay" and not (isinstance(delay, float | int) and delay > least))
        ):
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {decision.profile_name!r} is of type {kind!r} with "
                f"delay {delay!r}: expected a type of Batsim, and for a delay seconds above {least}"
            )
        if known_type is None or known_type.registrable:
            return
        if self._strict:
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {decision.profile_name!r} is of type {kind!r}, which "
                "Batsim 4.2.0 cannot register dynamically"
            )
        self._dynamic_profiles.add((decision.workload_name, decision.profile_name))

    def _register_job(self, decision: m.RegisterJob) -> None:
        job_id, job = decision.job_id, decision.job
        self._registration.check_job(decision)
        if self._strict and not self._exact and _BREAKING.search(job_id):
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r}: Batsim 4.2.0 aborts on an id with one of "
                '( ) | } , " \\ or a line break in it'
            )
        if job_id in self._jobs or job_id in self._past:
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} exists already")
        if self._strict and job.submit_time > self._now:
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} has subtime {job.submit_time}, but Batsim submits "
                f"it now, at {self._now}"
            )
        self._add_job(job_id, job)

    def _registration_notice(self, decision: m.Notify) -> None:
        self._registration.notified(decision)

    def _needs_energy(self, doing: str) -> None:
        if self._energy is False:
            raise ProtocolError(f"{doing}: energy is not accounted for (start with --energy)")

    def _set_state(self, decision: m.SetResourceState) -> None:
        self._needs_energy("SET_RESOURCE_STATE")
        if not decision.resources or not decision.state.isdecimal():
            raise ProtocolError(
                f"SET_RESOURCE_STATE: {to_text(decision.resources)!r} to {decision.state!r}, "
                "expected machines and the number of a pstate as text"
            )

    def _query(self, decision: m.Query) -> None:
        if list(decision.requests) != ["consumed_energy"]:
            raise ProtocolError(
                f"QUERY: {list(decision.requests)} is not supported, expected consumed_energy"
            )
        self._needs_energy("QUERY")

    def _answer(self, decision: m.Answer) -> None:
        """Batsim reads an answer and does nothing with it."""


def check_mapping(decision: m.ExecuteJob, size: int) -> list[int]:
    """Return the place inside the allocation of each executor, 0 to ``size`` - 1, in their order.

    Raises :class:`ProtocolError` for a mapping that does not place each exactly once.
    """
    mapping = decision.mapping or {}
    places: dict[int, int] = {}
    if len(mapping) == size and {int, str}.issuperset(map(type, mapping.values())):
        with suppress(ValueError):
            places = {int(executor): int(place) for executor, place in mapping.items()}
    width = decision.alloc.bit_count()
    if sorted(places) != list(range(size)) or not all(0 <= p < width for p in places.values()):
        raise ProtocolError(
            f"EXECUTE_JOB: the mapping of job {decision.job_id} must name the executors 0 to "
            f"{size - 1} and their places, 0 to {width - 1}, found {mapping}"
        )
    return [places[executor] for executor in range(size)]


def check_metadata(decision: m.SetJobMetadata) -> None:
    """Raise :class:`ProtocolError` for a text that Batsim cannot write to its table."""
    if '"' in decision.metadata:
        raise ProtocolError('SET_JOB_METADATA: the text must not contain "')
