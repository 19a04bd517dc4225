"""The state of a simulation as the referee knows it from the messages of both sides."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.dynamic_registration import Registration, split_id


class LiveJob(msgspec.Struct, gc=False):
    """A job that has not ended, so that the scheduler may name it."""

    size: int
    profile: str
    content: dict[str, Any]
    """The profile as written, which the job keeps when it is released."""
    running: bool = False
    alloc: ProcessorSet = NO_PROCESSORS
    """Processors that it was given."""
    held: ProcessorSet = NO_PROCESSORS
    """The part of these machines that no job has got since."""


class RefereeState(msgspec.Struct, eq=False):
    """The state of a simulation, derived from its messages; times are seconds."""

    begun: bool = False
    ended: bool = False
    heard: float = 0.0
    """Time of the last message from Batsim."""
    last_event: float = 0.0
    now: float = -inf
    """The time that has been reached in the reply to it."""
    slow: bool = False
    """Whether a reply took its time and events of that time are still to come: that may take
    several messages."""
    exact: bool = False
    """Whether the other side is the embedded simulator, which reads all digits and any id."""

    jobs: dict[str, LiveJob] = msgspec.field(default_factory=dict)
    past: set[str] = msgspec.field(default_factory=set)
    """Ids of the jobs that have ended or were rejected."""
    rejected: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """Ids of jobs and their profiles, which are released with the next message."""
    workloads: set[str] = msgspec.field(default_factory=set)
    """Names of the static workloads."""
    over: set[str] = msgspec.field(default_factory=set)
    """The notices that have come of what does not come again: ``no_more_...``."""
    registration: Registration = msgspec.field(
        default_factory=lambda: Registration(dynamic=False, profile_reuse=False)
    )
    acknowledged: bool = False
    """Whether Batsim repeats what is registered, as JOB_SUBMITTED."""

    nb_resources: int = 0
    machines: ProcessorSet = NO_PROCESSORS
    """The machines that compute."""
    storages: set[int] = msgspec.field(default_factory=set)
    sharing: bool = False
    idle: ProcessorPool = msgspec.field(default_factory=ProcessorPool)
    """Machines without a job, if they are not shared; available or not."""
    unavailable: ProcessorSet = NO_PROCESSORS

    # Requests of the scheduler that Batsim has not confirmed yet.
    echoes: dict[str, m.JobDescription] = msgspec.field(default_factory=dict)
    calls: list[float] = msgspec.field(default_factory=list)
    """Times of requested calls, a heap."""
    periods: dict[str, tuple[float, int | None]] = msgspec.field(default_factory=dict)
    """Period (seconds) and number of Batsim 5's periodic calls and probes, by id."""
    stopped: bool = False
    """Whether the scheduler has asked Batsim 5 to end at once."""
    kills: set[str] = msgspec.field(default_factory=set)
    switches: list[tuple[ProcessorSet, str]] = msgspec.field(default_factory=list)
    """Machines, and the pstate to which they are being switched."""
    nb_queries: int = 0

    def add_job(self, job_id: str, job: m.JobDescription) -> None:
        """Add a job that now waits."""
        content = self.find_profile(job_id, job.profile)
        self.jobs[job_id] = LiveJob(job.size, job.profile, content)

    def find_job(self, job_id: str, doing: str) -> LiveJob:
        """Return a waiting or running job; raises :class:`ProtocolError` for others."""
        job = self.jobs.get(job_id)
        if job is None:
            split_id(job_id, doing)
            why = "has ended" if job_id in self.past else "was never submitted"
            raise ProtocolError(f"{doing}: job {job_id!r} {why}")
        return job

    def find_profile(self, job_id: str, name: str, job: LiveJob | None = None) -> dict[str, Any]:
        """Return a profile of the job's workload as written, ``{}`` if it is unknown."""
        if job is not None and name == job.profile:
            return job.content
        return self.registration.find_content(job_id.partition("!")[0], name) or {}

    def release(self, job_id: str, profile: str) -> None:
        """Release the profile of a job that has ended, if profiles are released at all."""
        if self.registration.releases:
            self.registration.release(job_id.partition("!")[0], profile)
