"""The interface of user models, and checks that report mistakes to the author of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any, Protocol, runtime_checkable

import msgspec

from batsched_py.errors import InvariantError, WorkloadError
from batsched_py.support.json_values import quote, to_python
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME
from batsched_py.workload.workload import WorkloadJob, takes_too_long, with_plain_values

SUCCESS = "COMPLETED_SUCCESSFULLY"
"""Batsim's final state of a job that ended well."""
REJECTED = "REJECTED"
"""The state in which users learn that a job was refused, as Batsim calls it."""
WITHDRAWN = "WITHDRAWN"
"""The state in which users learn that a waiting job was withdrawn."""


class Withdraw(msgspec.Struct, frozen=True, gc=False):
    """Users withdraw a waiting job, as with ``scancel``: it leaves the queue and never runs.

    :meth:`UserModel.jobs_to_submit` gives it among the jobs to submit, and it takes effect after
    them, before the policy decides. A job that has started stays, unless ``kill`` ends it; then
    the withdrawal comes too late, and is counted.

    >>> Withdraw("17")
    Withdraw(job='17', kill=False)
    """

    job: str
    """The id that the model gave the job."""
    kill: bool = False
    """Whether the job is to end even if it already runs."""


class StartedJob(msgspec.Struct, frozen=True, gc=False):
    """A job of a user model that has started; times in seconds.

    Names are as in :class:`~batsched_py.model.job.Job`.
    """

    submitted: WorkloadJob
    """The job as the model gave it."""
    submit_time: float
    """When it was submitted in this simulation."""
    start_time: float | None
    """When it started; of a job that has ended: None if it was rejected or withdrawn."""

    @property
    def id(self) -> str:
        """The name that the model gave it."""
        return self.submitted.id

    @property
    def user(self) -> str | None:
        """The user who submitted it, None if the model gave none."""
        return self.submitted.user

    @property
    def size(self) -> int:
        """Number of processors that it asked for."""
        return self.submitted.size

    @property
    def walltime(self) -> float | None:
        """Time limit after which the job is killed, as submitted; None = no limit."""
        return self.submitted.walltime

    @property
    def estimate(self) -> float | None:
        """Run time that policies planned with, None = the walltime."""
        return self.submitted.estimate

    @property
    def extra(self) -> dict[str, Any]:
        """Further fields that the model gave it."""
        return self.submitted.extra

    @property
    def waiting_time(self) -> float | None:
        """From submission to start, None if it never started."""
        return None if self.start_time is None else self.start_time - self.submit_time


class EndedJob(StartedJob, frozen=True, gc=False):
    """A job of a user model that has ended; times in seconds."""

    finish_time: float
    """When it ended, or was rejected or withdrawn."""

    @property
    def turnaround_time(self) -> float | None:
        """From submission to end (the response time), None if it never started."""
        return None if self.start_time is None else self.finish_time - self.submit_time

    @property
    def waited(self) -> float:
        """From submission to start, or to the end of a job that never started."""
        until = self.finish_time if self.start_time is None else self.start_time
        return until - self.submit_time


class UserModel(Protocol):
    """Simulated users: a function of time and of the ends of their jobs.

    They see neither policies nor messages. A job that they submit is a :class:`WorkloadJob`; the
    fields of its ``extra`` (session, ...) become output columns. A job of the replayed log has its
    recorded submission time; a made-up job has none, and so no lateness.

    An attribute or property ``reacts`` may declare whether submissions depend on when jobs end (a
    closed loop), see :func:`reacts`. ``follows_dependencies = True`` declares that a model uses the
    preceding jobs of a log; without it, a note counts them.

    Two methods are optional. ``begin(site)`` is called before all others, with the
    :class:`~batsched_py.model.site_view.SiteView` that users may look at. ``job_started(now, job)``
    reports the start of each :class:`StartedJob`.
    """

    @property
    def profiles(self) -> Mapping[str, dict[str, Any]]:
        """The Batsim profiles of all jobs that the model submits, by name.

        A model may add profiles later. If jobs communicate or are composed of parts, a profile of
        this kind must be there before the simulation.
        """

    def next_submission(self) -> float:
        """Return when users act next (seconds), inf if never before they learn of another job.

        It is called whenever anything has happened, and after each of the calls below.
        """

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob | Withdraw]:
        """Return the jobs that users submit or withdraw at ``now``; called when ``now`` is due.

        There may be none, if :meth:`next_submission` moves on.
        """

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Learn that ``job`` ended at ``now``.

        ``state`` is Batsim's final state, or REJECTED or WITHDRAWN for a job that never started.
        """


@runtime_checkable
class CountingUserModel(UserModel, Protocol):
    """A user model that counts what its users do."""

    def statistics(self) -> Mapping[str, Any]:
        """Return the counters, once after the simulation; none if nothing was counted.

        They are written to ``_run.json`` under ``user_statistics``, so JSON must be able to hold
        them. The text ``summary`` among them is printed at the end of a simulation.
        """


def makes_up_jobs(users: object) -> bool:
    """Return whether the class of a user model declares ``makes_up_jobs = True``.

    It submits its own jobs in place of the log's jobs.
    """
    return bool(getattr(users, "makes_up_jobs", False))


def reacts(users: UserModel | None) -> bool | None:
    """Return whether the submissions of users depend on when jobs end: a closed loop.

    A model declares it by ``reacts``; None if it does not. Rigid replay has no model.
    """
    declared = False if users is None else getattr(users, "reacts", None)
    return declared if isinstance(declared, bool) else None


def any_reacts(answers: Iterable[bool | None]) -> bool | None:
    """Return whether any of the ``answers`` of :func:`reacts` is true; None if that is unknown."""
    known = set(answers)
    return True if True in known else None if None in known else False


def ask_next_due(users: UserModel) -> float:
    """Return a model's next submission (seconds); raises :class:`InvariantError` if invalid."""
    return check_due(users.next_submission(), users)


def check_due(due: Any, users: UserModel) -> float:
    """Return what a model gave as its next submission, as :func:`ask_next_due` does."""
    if type(due) is not float:
        due = to_python(due)
    if isinstance(due, float | int) and (due <= LATEST_TIME or due == inf):
        return due
    raise InvariantError(
        f"{type(users).__name__}.next_submission() is {due!r}: expected {UP_TO_LATEST_TIME}, or "
        "inf if nothing is due before another job ends"
    )


def find_method(plugin: object, name: str) -> Callable[..., Any] | None:
    """Return an optional method of a plug-in, None if it has none.

    Raises :class:`InvariantError` if the name stands for something else.
    """
    method = getattr(plugin, name, None)
    if method is not None and not callable(method):
        raise InvariantError(f"{type(plugin).__name__}.{name} is {method!r}: expected a method")
    return method


def make_plain_job(job: WorkloadJob, users: UserModel) -> WorkloadJob:
    """Return a job with plain Python values; raises :class:`InvariantError` for impossible ones."""
    try:
        return with_plain_values(job)
    except WorkloadError as error:
        raise InvariantError(f"{type(users).__name__} submitted {error}") from None


def find_profile(job: WorkloadJob, users: UserModel) -> dict[str, Any]:
    """Return the profile of a job that a model submits, in plain values.

    Raises :class:`InvariantError` naming the model for one that is missing, or lasts too long.
    """
    content = users.profiles.get(job.profile)
    if content is None:
        raise InvariantError(
            f"{type(users).__name__} submitted job {job.id} with the profile {job.profile!r}, "
            "which is not in its profiles"
        )
    profile: dict[str, Any] = to_python(content)
    if takes_too_long(profile):
        raise InvariantError(
            f"{type(users).__name__} submitted job {job.id}: its profile: delay is "
            f"{quote(profile['delay'])}, expected a number: {UP_TO_LATEST_TIME}"
        )
    return profile


def take_submissions(
    users: UserModel, now: float, before: int = 0, *, jobs: Any = None
) -> Iterator[WorkloadJob | Withdraw]:
    """Give the jobs that users submit or withdraw ``now``, after ``before`` at the same instant.

    ``jobs`` are what they returned if they were asked already. Raises :class:`InvariantError` for
    an object that is not a job, and if they submit none and are still due.
    """
    given = users.jobs_to_submit(now) if jobs is None else jobs
    job = None
    for job in iterate_returned(given, users, "jobs_to_submit"):
        if not isinstance(job, WorkloadJob | Withdraw):
            raise InvariantError(
                f"{type(users).__name__} submitted {job!r} at {now}: expected a WorkloadJob, such "
                "as one of workload.jobs, or a Withdraw"
            )
        yield job
    if job is None and ask_next_due(users) <= now:
        raise InvariantError(
            f"{type(users).__name__} is still due at {now} after it submitted {before} jobs at "
            "that instant: next_submission must move on"
        )


def iterate_returned(items: Any, plugin: object, method: str) -> Iterator[Any]:
    """Return an iterator of ``items``, which a plug-in returned; raises :class:`InvariantError`."""
    try:
        return iter(items)
    except TypeError:
        raise InvariantError(
            f"{type(plugin).__name__}.{method} returned {items!r}: expected a generator or a list"
            + ("; was a yield forgotten?" if items is None else "")
        ) from None
