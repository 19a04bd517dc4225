"""Workloads and their jobs, in the form that all readers and consumers share."""

from __future__ import annotations

from copy import copy
from itertools import chain, product
from types import NoneType
from typing import Any

import msgspec

from batsched_py.errors import WorkloadError
from batsched_py.support.json_values import (
    copy_containers,
    is_integer,
    is_number,
    is_plain,
    make_copier,
    quote,
    to_python,
)
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME

REFERENCE_SPEED = 1e9
"""Speed in flop/s of the machine that a log was recorded on: run time r becomes r * 1e9 flop."""
DYNAMIC = "dyn"
"""The workload of the jobs that users submit."""
ORIGINAL_SUBMISSION = "original_submission_time"
"""The field of a submitted job with its recorded submission time, if it has one."""
DEADLINE = "deadline"
"""The field of a submitted job with its deadline, if it has one."""
RUN_AFTER = "run_after"
"""The field of a later run of a job, such as a requeued one: the job that is the run before."""
AFTER = "after"
"""The field of a submitted job with the jobs that it depends on, if there are any."""


class WorkloadJob(msgspec.Struct, gc=False, kw_only=True):
    """A job of a workload, with its recorded submission and the one to simulate.

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
    """Name of its profile in :attr:`Workload.profiles`: what it computes."""
    walltime: float | None = None
    """Time limit after which the job is killed; None = no limit."""
    estimate: float | None = None
    """Run time that policies plan with; None = they plan with the walltime."""
    user: str | None = None
    finish_time: float | None = None
    original_submission_time: float | None = None
    """When it was recorded as submitted, on the clock of the simulation; lateness is how much
    later it is submitted. A job of a :class:`Workload` has one, its ``submit_time`` unless given; a
    job that a user model makes up has none, since nothing was recorded."""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    """Further fields of the input, kept in the workload file and in JOB_SUBMITTED."""
    after: tuple[str, ...] = ()
    """Ids of jobs of the same user model that must have ended well before this one may start."""
    deadline: float | None = None
    """When its user needs the result (seconds); policies see it in ``extra``."""
    preceding_job: str | None = None
    """Id of the job that it followed in the log; user models learn from it."""
    think_time: float | None = None
    """Recorded seconds from the end of the preceding job to its submission; None = unknown."""


_TIMES = (
    *("submit_time", "walltime", "estimate", "finish_time", "original_submission_time"),
    *("deadline", "think_time"),
)
_USUAL_TIMES = frozenset((float, NoneType))
_USUAL_KINDS = frozenset(product((float,), (int,), (str, NoneType), *[_USUAL_TIMES] * 6, (dict,)))
"""Types of the fields of a job with plain values, in the order of :func:`with_plain_values`."""
_USUAL = 2**60
"""Sizes below this are taken without a further look."""


def with_plain_values(job: WorkloadJob) -> WorkloadJob:
    """Return a job with Python's numbers in place of numpy's, itself if it has none of numpy's.

    A user that is a whole number becomes a text. Raises :class:`WorkloadError` for a value of
    another type than its field has, and for integers that no float can hold.
    """
    kinds = (
        type(job.submit_time),
        type(job.size),
        type(job.user),
        type(job.walltime),
        type(job.estimate),
        type(job.finish_time),
        type(job.original_submission_time),
        type(job.deadline),
        type(job.think_time),
        type(job.extra),
    )
    if kinds in _USUAL_KINDS and -_USUAL < job.size < _USUAL and is_plain(job.extra.values()):
        return job
    changed = {name: to_python(getattr(job, name)) for name in ("size", "user", "extra", *_TIMES)}
    size, user, extra = changed["size"], changed["user"], changed["extra"]
    if is_integer(user):
        user = changed["user"] = str(user)
    for name, fits, expected in (
        ("size", is_integer(size) and is_number(size), "a whole number"),
        ("user", isinstance(user, str | None), "a text or None"),
        ("extra", isinstance(extra, dict), "a dict"),
        ("submit_time", changed["submit_time"] is not None, "seconds"),
        *((name, _is_time(changed[name]), "seconds or None") for name in _TIMES),
    ):
        if not fits:
            value = quote(getattr(job, name))
            raise WorkloadError(f"job {job.id} with {name} = {value}: expected {expected}")
    return msgspec.structs.replace(job, **changed)


def _is_time(value: Any) -> bool:
    return type(value) in _USUAL_TIMES or is_number(value)


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
    """Sentences on what was found and changed (jobs dropped, times sorted, ...)."""
    unix_start_time: float | None = None
    """Unix time of second 0, None where unknown."""
    time_zone: str = "UTC"
    """IANA name, or a fixed offset such as ``+01:00``."""

    def __post_init__(self) -> None:
        """Raises :class:`WorkloadError` for a job with a value that its field cannot have."""
        for job in self.jobs:
            if job.original_submission_time is None:
                job.original_submission_time = job.submit_time
        self.jobs = list(map(with_plain_values, self.jobs))
        profiles = self.profiles.values()
        are_dicts = all(type(profile) is dict for profile in profiles)
        if not are_dicts or not is_plain(chain.from_iterable(map(dict.values, profiles))):
            self.profiles = to_python(self.profiles)

    def part(self, first: int, last: int) -> Workload:
        """Return a workload of the jobs ``first`` to ``last - 1``, which shares them with this one.

        Preceding jobs that are not among them are left out.
        """
        jobs = self.jobs[first:last]
        names = {None, *(job.id for job in jobs)}
        for place, job in enumerate(jobs):
            if job.preceding_job not in names:
                jobs[place] = msgspec.structs.replace(job, preceding_job=None, think_time=None)
        other = copy(self)  # whose values are not checked again
        other.jobs = jobs
        other.profiles = {job.profile: self.profiles[job.profile] for job in jobs}
        return other

    def copy(self) -> Workload:
        """Return a copy of the workload that shares no mutable object with it."""
        extra_of = make_copier([job.extra for job in self.jobs])
        copied = make_copier(self.profiles.values())
        other = copy(self)  # whose values are not checked again
        other.jobs = [msgspec.structs.replace(job, extra=extra_of(job.extra)) for job in self.jobs]
        other.profiles = {name: copied(profile) for name, profile in self.profiles.items()}
        other.rules, other.notes = copy_containers(self.rules), list(self.notes)
        return other


def check_times(where: str, workload: Workload) -> None:
    """Raise :class:`WorkloadError` for times beyond :data:`~batsched_py.units.LATEST_TIME`.

    These are all times of the jobs but walltime and estimate, which may be of any length, and the
    lengths of delays. ``where`` begins the message.
    """
    for name, profile in workload.profiles.items():
        if takes_too_long(profile):
            raise _too_late(f"{where}: profile {name!r}: delay", profile["delay"])
    for field in ("submit_time", "finish_time", ORIGINAL_SUBMISSION):
        for job in workload.jobs:
            time = getattr(job, field)
            if time is not None and not -LATEST_TIME <= time <= LATEST_TIME:
                named = field.replace("submit_time", "subtime")
                raise _too_late(f"{where}: job {job.id!r}: {named}", time)


def takes_too_long(profile: dict[str, Any]) -> bool:
    """Return whether a profile is a delay of more than :data:`~batsched_py.units.LATEST_TIME`."""
    delay = profile.get("delay")
    return profile.get("type") == "delay" and is_number(delay) and abs(delay) > LATEST_TIME


def _too_late(what: str, time: float) -> WorkloadError:
    return WorkloadError(f"{what} is {quote(time)}, expected a number: {UP_TO_LATEST_TIME}")
