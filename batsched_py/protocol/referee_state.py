"""What the referee knows of a simulation from what both sides have said."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.dynamic_registration import Registration, split_id
from batsched_py.support.name_set import UsedNames
from batsched_py.support.processor_pool import ProcessorPool
from batsched_py.support.processor_sets import NO_PROCESSORS, ProcessorSet


class LiveJob(msgspec.Struct, gc=False):
    """A job that the scheduler may speak of."""

    size: int
    profile: str
    content: dict[str, Any]
    """The profile as written, which the job keeps when it is released."""
    running: bool = False
    alloc: ProcessorSet = NO_PROCESSORS
    """Processors that it was given."""
    held: ProcessorSet = NO_PROCESSORS
    """Those of them that nobody has been given since."""


class RefereeState:
    """A simulation as its messages tell it; times are seconds."""

    def __init__(self) -> None:
        self.begun = False
        self.ended = False
        self.heard = 0.0
        """Time of the last message from Batsim."""
        self.last_event = 0.0
        self.now = -inf
        """The time that has been reached in the reply to it."""
        self.slow = False
        """Whether a reply took its time, and not all of what happened meanwhile was told yet: that
        may take several messages."""
        self.exact = False
        """Whether the other side is our simulator, which reads all digits and any id."""

        self.jobs: dict[str, LiveJob] = {}
        self.past = UsedNames()
        """Ids of the jobs that have ended or were rejected."""
        self.rejected: list[tuple[str, str]] = []
        """Ids of jobs and their profiles, which are released with the next message."""
        self.workloads: set[str] = set()
        """Names of the static workloads."""
        self.more_static_jobs = True
        self.registration = Registration(dynamic=False, profile_reuse=False)
        self.acknowledged = False
        """Whether Batsim repeats what is registered, as JOB_SUBMITTED."""

        self.nb_resources = 0
        self.machines = NO_PROCESSORS
        """Those that compute."""
        self.storages: set[int] = set()
        self.sharing = False
        self.idle = ProcessorPool()
        """Machines that nobody was given, if they are not shared; available or not."""
        self.unavailable = NO_PROCESSORS
        self.more_external_events = True

        # What the scheduler has asked for, and was not told of yet.
        self.echoes: dict[str, m.JobDescription] = {}
        self.calls: list[float] = []
        """A heap."""
        self.kills: set[str] = set()
        self.switches: list[tuple[ProcessorSet, str]] = []
        """Machines and the pstate they are to reach."""
        self.nb_queries = 0

    def add_job(self, job_id: str, job: m.JobDescription) -> None:
        """Take note of a job that now waits."""
        content = self.profile(job_id, job.profile)
        self.jobs[job_id] = LiveJob(job.size, job.profile, content)

    def known(self, job_id: str, doing: str) -> LiveJob:
        """Return a job that waits or runs; raises :class:`ProtocolError`."""
        job = self.jobs.get(job_id)
        if job is None:
            split_id(job_id, doing)
            why = "has ended" if job_id in self.past else "was never submitted"
            raise ProtocolError(f"{doing}: job {job_id!r} {why}")
        return job

    def profile(self, job_id: str, name: str, job: LiveJob | None = None) -> dict[str, Any]:
        """Return a profile of the job's workload as written, ``{}`` if it is not known."""
        if job is not None and name == job.profile:
            return job.content
        return self.registration.content(job_id.partition("!")[0], name) or {}

    def release(self, job_id: str, profile: str) -> None:
        """Release the profile of a job that has ended, if profiles are."""
        if self.registration.releases:
            self.registration.release(job_id.partition("!")[0], profile)
