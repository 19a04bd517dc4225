"""Jobs and workloads: what every reader produces and every consumer takes."""

from __future__ import annotations

from typing import Any

import msgspec

from batsched_py.errors import WorkloadError
from batsched_py.support.json_values import is_number, shown
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME

REFERENCE_SPEED = 1e9
"""Speed in flop/s of the machine that a log was recorded on: run time r becomes r * 1e9 flop."""
ORIGINAL_SUBMISSION = "original_submission_time"
"""The field of a submitted job that says when it was recorded, if it was."""


class WorkloadJob(msgspec.Struct, gc=False, kw_only=True):
    """A job as it is recorded and as it will be submitted.

    Times are in seconds from the origin of the workload. ``finish_time`` is the *recorded* end
    (recorded submission + wait + run time), None where nothing was recorded: user models learn
    from it, the simulation never reads it.
    """

    id: str
    """Name of the job in its workload, without the ``w0!`` prefix."""
    submit_time: float
    """Recorded submission time; of a job that a user model submits it means nothing."""
    size: int
    """Number of processors it asks for."""
    profile: str
    """Name of the entry of :attr:`Workload.profiles` that says what it computes."""
    walltime: float | None = None
    """Kill limit; None = no limit."""
    estimate: float | None = None
    """Run time that policies are told; None = they are told the walltime."""
    user: str | None = None
    finish_time: float | None = None
    original_submission_time: float | None = None
    """When it was recorded as submitted, on the clock of the simulation; lateness is how much
    later it is submitted. A job of a :class:`Workload` has one, its ``submit_time`` unless said; a
    job that a user model makes up has none, since nothing was recorded."""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    """Further fields of the input, kept in the workload file and in JOB_SUBMITTED."""


class Workload(msgspec.Struct, kw_only=True):
    """Jobs in submission order (ties in input order), their profiles, and where they came from."""

    name: str
    """The file it was read from, for messages and results."""
    nb_res: int
    """Number of processors of the machine it was recorded on."""
    jobs: list[WorkloadJob]
    profiles: dict[str, dict[str, Any]]
    """Profile name -> Batsim profile, e.g. ``{"type": "delay", "delay": 10}``."""
    rules: dict[str, Any] = msgspec.field(default_factory=dict)
    """The conversion rules that made the jobs, as stored with every result."""
    notes: list[str] = msgspec.field(default_factory=list)
    """Sentences on what reading found and did (jobs dropped, times sorted, ...)."""
    unix_start_time: float | None = None
    """Unix time of second 0, None where unknown."""
    time_zone: str = "UTC"
    """IANA name, or a fixed offset such as ``+01:00``."""

    def __post_init__(self) -> None:
        for job in self.jobs:
            if job.original_submission_time is None:
                job.original_submission_time = job.submit_time

    def copy(self) -> Workload:
        """Return a workload whose jobs may be changed and taken out: users do so, and several
        simulations are of one workload."""
        jobs = [msgspec.structs.replace(job, extra=dict(job.extra)) for job in self.jobs]
        return msgspec.structs.replace(self, jobs=jobs, profiles=dict(self.profiles))


def check_times(where: str, workload: Workload) -> None:
    """Raise :class:`WorkloadError` for times beyond :data:`~batsched_py.units.LATEST_TIME`.

    These are all times of the jobs but walltime and estimate, which may be of any length, and the
    lengths of delays. ``where`` begins the message.
    """
    for name, profile in workload.profiles.items():
        check_delay(f"{where}: profile {name!r}", profile)
    for job in workload.jobs:
        check_time(f"{where}: job {job.id!r}: subtime", job.submit_time)
        for field in ("finish_time", ORIGINAL_SUBMISSION):
            if (time := getattr(job, field)) is not None:
                check_time(f"{where}: job {job.id!r}: {field}", time)


def check_delay(where: str, profile: dict[str, Any]) -> None:
    """Raise :class:`WorkloadError` for a profile that is a delay without an end in sight."""
    if profile.get("type") == "delay" and is_number(delay := profile.get("delay")):
        check_time(f"{where}: delay", delay)


def check_time(where: str, time: Any) -> None:
    """Raise :class:`WorkloadError` unless ``time`` is a number of seconds that floats resolve."""
    if not is_number(time) or abs(time) > LATEST_TIME:
        raise WorkloadError(f"{where} is {shown(time)}, expected a number: {UP_TO_LATEST_TIME}")
