"""The jobs and profiles of a simulation, and the rules for adding and removing them."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Any

import msgspec

from batsched_py.errors import JobError, ProtocolError, WorkloadError, located
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import FAILED, KILLED, SUCCESS, WALLTIME_REACHED
from batsched_py.protocol.dynamic_registration import Registration
from batsched_py.protocol.messages import JobDescription
from batsched_py.protocol.own_job_fields import WAKING
from batsched_py.simulator.agenda import Timer
from batsched_py.simulator.options import Options
from batsched_py.simulator.profiles import Composed, Profile, parse_profiles, parse_registered
from batsched_py.support.json_values import make_copier
from batsched_py.workload.batsim.profile_fields import ReceiveFields
from batsched_py.workload.workload import Workload, WorkloadJob


class State(Enum):
    """The state of a job in the simulator."""

    STATIC = "not yet submitted"
    SUBMITTED = "submitted"
    RUNNING = "running"
    ENDED = "ended"  # ended, the scheduler does not know yet
    FORGOTTEN = (
        "completed, rejected or withdrawn"  # the scheduler knows; Batsim then knows the job no more
    )


STATIC, SUBMITTED, RUNNING, ENDED, FORGOTTEN = State
"""The members as names: CPython 3.11 looks up a member as slowly as it calls a function."""

_OPEN = (SUBMITTED, RUNNING)


class SimulatedJob(msgspec.Struct, eq=False, gc=False):
    """A job in the simulator, from registration to its row of the results."""

    description: JobDescription
    profile: Profile
    state: State = STATIC
    start_time: float = 0.0
    finish_time: float = 0.0
    alloc: ProcessorSet = NO_PROCESSORS
    final_state: str = ""
    return_code: int = 0
    metadata: str = ""
    consumed_energy: float = -1.0
    """Joules of its machines while it ran."""
    messages: deque[str] | None = None
    """Messages of the scheduler that the job has not taken yet."""
    end: Timer | None = None
    """Completes it, while it runs and its end is known."""
    kill_requested: bool = False

    def set_end(self, duration: float) -> None:
        """Set end and final state of a job that runs for ``duration`` seconds, or its walltime."""
        profile, walltime = self.profile, self.description.walltime
        return_code = profile.return_code
        # A delay as long as the walltime counts as too long, a computation does not: so does Batsim
        # (of 13,096 such computations on KTH, 13,045 succeeded).
        if walltime is not None and (
            walltime < duration or (walltime == duration and profile.delay is not None)
        ):
            duration, return_code = walltime, -1
        self.finish_time = self.start_time + duration
        self.final_state = SUCCESS
        if return_code:
            self.return_code, self.final_state = return_code, find_final_state(return_code)

    def note_waking(self, seconds: float) -> None:
        """Note how long the processors were woken for the job, as one of its further fields."""
        self.description.extra = {**self.description.extra, WAKING: seconds}

    def end_by_kill(self, now: float, *, computes: bool) -> None:
        """Set end and final state of a job that is killed ``now``, while it ``computes`` or not."""
        self.finish_time = now
        self.final_state = KILLED
        self.return_code = -2 if computes else -1


def find_final_state(return_code: int) -> str:
    """Return Batsim's final state for a return code; below 0 it means that the walltime ended."""
    if return_code == 0:
        return SUCCESS
    return FAILED if return_code > 0 else WALLTIME_REACHED


class JobRegistry:
    """All jobs by id and all profiles by workload, static and dynamic.

    If jobs may be registered, there can be any number of them: once the scheduler knows of the end
    of a job, only its name is kept.
    """

    def __init__(self, options: Options) -> None:
        anytime = options.is_batsim5
        kind: type[Registration] = Registration
        if anytime:
            # Imported here as the decisions of Batsim 5 are, which most simulations do not need.
            from batsched_py.protocol.batsim5.registration import AnytimeRegistration

            kind = AnytimeRegistration
        self.registration = kind(dynamic=options.dynamic_jobs, profile_reuse=options.profile_reuse)
        self._dynamic = anytime or options.dynamic_jobs
        self._sequences = anytime
        """Whether profiles may be composed of registered ones."""
        self._forward_profiles = options.forward_profiles
        self._releases = self.registration.releases
        self.jobs: dict[str, SimulatedJob] = {}
        """The jobs that a decision may name, by id; without registration, all jobs."""
        self._names: set[str] = set()
        """The names of all jobs so far, if jobs may be registered."""
        self._parsed: dict[tuple[str, str], Profile] = {}
        self._rejected: list[tuple[str, SimulatedJob]] = []
        """Jobs whose profiles are released with the next message."""

    def load(self, name: str, workload: Workload) -> list[SimulatedJob]:
        """Add a static workload under ``name`` (w0, w1, ...); return its jobs by submission.

        Simultaneous submissions are in string order of their ids, as in Batsim. Raises
        :class:`WorkloadError` for a profile that cannot run here.
        """
        self.registration.load(name, workload.profiles)
        with located(workload.name, WorkloadError):
            parsed = parse_profiles(workload.profiles, workload.profiles)
        self._parsed.update({(name, key): profile for key, profile in parsed.items()})
        if not self.registration.profile_reuse:
            # What a job receives may lead it to a profile that was released.
            self._releases |= any(
                isinstance(found.body, ReceiveFields) for found in parsed.values()
            )
        jobs = []
        own = make_copier([job.extra for job in workload.jobs])  # policies may change it
        for job in sorted(workload.jobs, key=lambda job: (job.submit_time, job.id)):
            profile = parsed.get(job.profile)
            if profile is None:
                raise WorkloadError(
                    f"{workload.name}: job {job.id!r} has the profile {job.profile!r}, expected "
                    "one of the workload"
                )
            try:
                simulated = SimulatedJob(_describe(name, job, own(job.extra)), profile)
            except JobError as error:
                raise WorkloadError(f"{workload.name}: {error}") from None
            if simulated.description.id in self.jobs:
                raise WorkloadError(f"{workload.name}: job {job.id!r} is there twice")
            self.jobs[simulated.description.id] = simulated
            if self._dynamic:
                self._names.add(simulated.description.id)
            jobs.append(simulated)
        return jobs

    def make_submission(self, job: SimulatedJob, now: float) -> m.JobSubmitted:
        """Return the event that reports the submission of a job at ``now`` to the scheduler."""
        description, profile = job.description, None
        if self._forward_profiles:
            profile = self.find_content(description)
        return m.JobSubmitted(
            timestamp=now, job_id=description.id, job=description, profile=profile
        )

    def find_content(self, job: JobDescription) -> dict[str, Any] | None:
        """Return the profile of a job as it was written, None if it was released."""
        registration = self.registration
        return registration.find_content(
            *registration.resolve_profile(job.id.partition("!")[0], job.profile)
        )

    def profile(self, workload: str, name: str) -> Profile | None:
        """Return the parsed profile of that name, None if there is none."""
        return self._parsed.get((workload, name))

    def list_unfinished(self) -> list[SimulatedJob]:
        """Return the jobs that were submitted and have not ended."""
        return [job for job in self.jobs.values() if job.state in _OPEN]

    def find_job(self, job_id: str, doing: str) -> SimulatedJob:
        """Return a job that a decision may name; raises :class:`ProtocolError` for others."""
        job = self.jobs.get(job_id)
        if job is None:
            if job_id not in self._names:
                hint = "" if "!" in job_id else f", expected WORKLOAD!NAME such as 'w0!{job_id}'"
                raise ProtocolError(f"{doing}: there is no job {job_id!r}{hint}")
            raise ProtocolError(f"{doing}: job {job_id} is {FORGOTTEN.value}")
        if job.state is STATIC or job.state is FORGOTTEN:
            raise ProtocolError(f"{doing}: job {job_id} is {job.state.value}")
        return job

    def forget_ended(self, events: list[m.Event]) -> None:
        """Forget the jobs whose ends a message reported to the scheduler, and their profiles.

        The profiles of rejected jobs are released too, and registration is reopened if the
        scheduler asked for it.
        """
        if self._rejected:
            for job_id, job in self._rejected:
                self._release(job_id, job)
            self._rejected.clear()
        for event in events:
            if type(event) is m.JobCompleted:
                job_id = event.job_id
                job = self.jobs.pop(job_id) if self._dynamic else self.jobs[job_id]
                job.state = FORGOTTEN
                if job.messages is not None:
                    job.messages = None
                if self._releases:
                    self._release(job_id, job)
        if self.registration.reopens:
            self.registration.reopen()

    def forget_rejected(self, job_id: str) -> None:
        """Forget a rejected job; its profile stays until the next message."""
        job = self.jobs.pop(job_id) if self._dynamic else self.jobs[job_id]
        if self._releases:
            self._rejected.append((job_id, job))

    def _release(self, job_id: str, job: SimulatedJob) -> None:
        profile = job.description.profile
        workload, _ = self.registration.resolve_profile(job_id.partition("!")[0], profile)
        for name in _names(profile, job.profile):
            place = self.registration.resolve_profile(workload, name)
            self.registration.release(*place)
            self._parsed.pop(place, None)

    def add_profile(self, decision: m.RegisterProfile) -> None:
        """Carry out REGISTER_PROFILE; raises :class:`ProtocolError`."""
        self.registration.add_profile(decision)
        workload, name = decision.workload_name, decision.profile_name
        with located("REGISTER_PROFILE", WorkloadError, ProtocolError):
            self._parsed[workload, name] = parse_registered(
                name,
                decision.profile,
                (lambda part: self.profile(*self.registration.resolve_profile(workload, part)))
                if self._sequences
                else None,
            )

    def add_job(self, decision: m.RegisterJob) -> SimulatedJob:
        """Carry out REGISTER_JOB; raises :class:`ProtocolError`."""
        job_id, description = decision.job_id, decision.job
        workload = self.registration.check_job(decision)
        if job_id in self._names:
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} exists already")
        self._names.add(job_id)
        description.id = job_id
        profile = self._parsed[self.registration.resolve_profile(workload, description.profile)]
        job = SimulatedJob(description, profile, SUBMITTED)
        self.jobs[job_id] = job
        return job


def _names(name: str, profile: Profile) -> set[str]:
    """Return the names of a profile, of its parts, and of their parts."""
    names, left = {name}, [profile]
    while left:
        body = left.pop().body
        if isinstance(body, Composed):
            for part, inner in body.parts:
                if part not in names:  # once, of however many profiles it is a part
                    names.add(part)
                    left.append(inner)
    return names


def _describe(workload: str, job: WorkloadJob, extra: dict[str, Any]) -> JobDescription:
    return JobDescription(
        f"{workload}!{job.id}",
        job.submit_time,
        job.size,
        job.profile,
        job.walltime,
        job.estimate,
        job.user,
        extra,
    )
