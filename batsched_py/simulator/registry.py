"""The simulator's jobs and profiles, and the rules by which they come and go."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, WorkloadError
from batsched_py.protocol.messages import JobDescription
from batsched_py.simulator.profiles import Profile, parse_profile
from batsched_py.workload.jobs import Workload, WorkloadJob


class State(Enum):
    """Where a job is in the simulator."""

    STATIC = "not yet submitted"
    SUBMITTED = "submitted"
    RUNNING = "running"
    ENDED = "ended"  # ended, the scheduler does not know yet
    FORGOTTEN = "completed"  # the scheduler was told; Batsim then knows the job no more


class SimulatedJob(msgspec.Struct, eq=False, gc=False):
    """A job in the simulator, from registration to its row of the results."""

    description: JobDescription
    profile: Profile
    state: State = State.STATIC
    start_time: float = 0.0
    finish_time: float = 0.0
    alloc: int = 0
    final_state: str = ""
    return_code: int = 0
    metadata: str = ""


class Registry:
    """All jobs by id and all profiles by workload, static and dynamic."""

    def __init__(self, *, dynamic: bool, profile_reuse: bool) -> None:
        self.dynamic = dynamic
        self.profile_reuse = profile_reuse
        self.finished = not dynamic
        """No registration is to come: it is disabled, or was declared finished."""
        self.jobs: dict[str, SimulatedJob] = {}
        self.contents: dict[str, dict[str, dict[str, Any]]] = {}
        """Batsim profiles as written, by workload and name."""
        self._profiles: dict[tuple[str, str], Profile | None] = {}  # None = released
        self._open = dynamic
        self._reopens = False

    def load(self, name: str, workload: Workload) -> list[SimulatedJob]:
        """Add a static workload under ``name`` (w0, w1, ...); return its jobs by submission.

        Simultaneous submissions are in string order of their ids, as in Batsim. Raises
        :class:`WorkloadError` for a profile that cannot run here.
        """
        used = {job.profile for job in workload.jobs}
        self.contents[name] = {key: workload.profiles[key] for key in sorted(used)}
        for key, content in self.contents[name].items():
            try:
                self._profiles[name, key] = parse_profile(key, content)
            except WorkloadError as error:
                raise WorkloadError(f"{workload.name}: {error}") from None
        jobs = []
        for job in sorted(workload.jobs, key=lambda job: (job.submit_time, job.id)):
            profile = self._profiles[name, job.profile]
            assert profile is not None  # just parsed
            simulated = SimulatedJob(_describe(name, job), profile)
            if simulated.description.id in self.jobs:
                raise WorkloadError(f"{workload.name}: job {job.id!r} is there twice")
            self.jobs[simulated.description.id] = simulated
            jobs.append(simulated)
        return jobs

    def known(self, job_id: str, doing: str) -> SimulatedJob:
        """Return a job that the scheduler may speak of; raises :class:`ProtocolError`."""
        job = self.jobs.get(job_id)
        if job is None:
            raise ProtocolError(f"{doing}: there is no job {job_id!r}")
        if job.state is State.STATIC or job.state is State.FORGOTTEN:
            raise ProtocolError(f"{doing}: job {job_id} is {job.state.value}")
        return job

    def forget(self, job_id: str) -> None:
        """Forget a job of whose end the scheduler was told, and its profile.

        Unless profiles are reused, Batsim forgets the profile even while another job with it
        runs, and its name stays taken.
        """
        job = self.jobs[job_id]
        job.state = State.FORGOTTEN
        if not self.profile_reuse and self.dynamic:
            workload = job_id.partition("!")[0]
            self._profiles[workload, job.description.profile] = None

    # Dynamic registration ------------------------------------------------------------------------

    def message_begins(self) -> None:
        """Reopen registration if an earlier message asked for it."""
        if self._reopens:
            self._open, self._reopens = True, False

    def finish(self) -> None:
        """Close registration."""
        self._check_open("registration_finished", opened=True)
        self._open, self.finished = False, True

    def reopen(self) -> None:
        """Open registration again, from the next message on."""
        self._check_open("continue_registration", opened=True)
        self._reopens, self.finished = True, False

    def add_profile(self, workload: str, name: str, content: dict[str, Any]) -> None:
        """Carry out REGISTER_PROFILE; raises :class:`ProtocolError`."""
        self._check_open("REGISTER_PROFILE")
        if (workload, name) in self._profiles:
            raise ProtocolError(
                f"REGISTER_PROFILE: profile {name!r} of workload {workload!r} was registered "
                "before: give each profile a name of its own, or start with profile reuse"
            )
        try:
            self._profiles[workload, name] = parse_profile(name, content)
        except WorkloadError as error:
            raise ProtocolError(f"REGISTER_PROFILE: {error}") from None
        self.contents.setdefault(workload, {})[name] = content

    def add_job(self, job_id: str, description: JobDescription) -> SimulatedJob:
        """Carry out REGISTER_JOB; raises :class:`ProtocolError`."""
        self._check_open("REGISTER_JOB")
        workload, mark, name = job_id.partition("!")
        if not mark or "!" in name:
            raise ProtocolError(f"REGISTER_JOB: id {job_id!r}, expected WORKLOAD!NAME")
        if description.id not in (job_id, name):
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} calls itself {description.id!r}")
        if job_id in self.jobs:
            raise ProtocolError(f"REGISTER_JOB: job {job_id!r} exists already")
        key = (workload, description.profile)
        profile = self._profiles.get(key)
        if profile is None:
            past = "was released with its first job" if key in self._profiles else "does not exist"
            raise ProtocolError(
                f"REGISTER_JOB: profile {description.profile!r} of workload {workload!r} {past}"
            )
        if description.res < 1 or (description.walltime is not None and description.walltime <= 0):
            raise ProtocolError(
                f"REGISTER_JOB: job {job_id!r} has res {description.res} and walltime "
                f"{description.walltime}, expected both above 0 (walltime -1: none)"
            )
        description.id = job_id
        job = SimulatedJob(description, profile, State.SUBMITTED)
        self.jobs[job_id] = job
        return job

    def _check_open(self, doing: str, opened: bool = False) -> None:
        if not self.dynamic:
            raise ProtocolError(f"{doing}: dynamic jobs are not enabled (--enable-dynamic-jobs)")
        if not (opened or self._open):
            raise ProtocolError(
                f"{doing}: registration was declared finished; send continue_registration in an "
                "earlier message"
            )


def _describe(workload: str, job: WorkloadJob) -> JobDescription:
    return JobDescription(
        f"{workload}!{job.id}",
        max(0.0, job.submit_time),
        job.size,
        job.profile,
        job.walltime,
        job.free_fields(),
    )
