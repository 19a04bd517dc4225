"""The users of a simulation: what they submit and withdraw, and what they learn.

:class:`UsersSide` is the base of :class:`~batsched_py.model.system.System`, and of
:class:`~batsched_py.transport.users_proxy.UsersProxy` for schedulers of others.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from batsched_py.errors import BatschedError, InvariantError
from batsched_py.model.endless_work import SubmissionWatch
from batsched_py.model.job import ENDED, WAITING, Job
from batsched_py.model.site_view import SiteView
from batsched_py.model.user_model import (
    SUCCESS,
    WITHDRAWN,
    EndedJob,
    StartedJob,
    UserModel,
    Withdraw,
    check_due,
    find_method,
    make_plain_job,
)
from batsched_py.options.budgets import Budgets
from batsched_py.units import LATEST_TIME
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.workload import (
    AFTER,
    DEADLINE,
    DYNAMIC,
    ORIGINAL_SUBMISSION,
    RUN_AFTER,
    WorkloadJob,
)


class UsersSide(ABC):
    """Asks users what they do at the time :attr:`now` (seconds), and reports to them.

    ``shake`` is the seed of a random order of the jobs that users submit at one instant (None: the
    order of the user model). ``budgets`` end endless submissions, ``nb_recorded`` jobs may be
    submitted before they count. ``description`` is the content of a machine file, if any.
    """

    # With over 30 attributes outside of slots, CPython 3.11 is slower at each; subclasses add some.
    __slots__ = (
        "_dependents",
        "_failed",
        "_held",
        "_job_started",
        "_of_users",
        "_random",
        "_settling",
        "_submissions",
        "_submitted",
        "_users_due",
        "_users_know",
        "description",
        "nb_too_late",
        "nb_withdrawn",
        "now",
        "users",
    )

    def __init__(
        self,
        users: UserModel | None,
        shake: int | None,
        description: MachineDescription | None,
        budgets: Budgets,
        nb_recorded: int,
    ) -> None:
        self.now = 0.0
        self.users, self.description = users, description
        self.nb_withdrawn = 0
        """Number of jobs that were withdrawn, by their users or with a job that they depend on."""
        self.nb_too_late = 0
        """Number of withdrawals without effect, since the job had started or ended."""
        self._submissions = SubmissionWatch(budgets, nb_recorded)
        self._random = None if shake is None else random.Random(f"users of {shake}")
        self._submitted: set[str] = set()
        """Ids of the users' jobs, also of those that have ended."""
        self._of_users: dict[str, tuple[WorkloadJob, Job, float]] = {}
        """The users' jobs that have not ended, by id, with their submission (seconds)."""
        self._failed: set[str] = set()
        """Ids of the users' jobs that did not end well: no job may depend on them."""
        self._held: dict[str, set[str]] = {}
        """The jobs that wait for others, by id: the ids of the jobs that they wait for."""
        self._dependents: dict[str, list[Job]] = {}
        """The jobs that wait for a job, by its id."""
        self._settling: list[str] = []
        """Ids of ended jobs whose dependents are still to be released or withdrawn."""
        self._users_due, self._users_know = inf, True
        """The next submission of the users (seconds), and whether that accounts for all ends."""
        self._job_started = find_method(users, "job_started")

    # What a subclass provides --------------------------------------------------------------------

    @abstractmethod
    def _register(self, job_id: str, job: WorkloadJob, size: int, extra: dict[str, Any]) -> Job:
        """Register a job of users with this size and these fields; return the policy's job."""

    @abstractmethod
    def job_submitted(self, job: Job) -> None:
        """Show a new job to the policy, or reject it if it can never run."""

    @abstractmethod
    def _drop_withdrawn(self, job: Job, *, was_shown: bool) -> None:
        """Forget a waiting job that its user withdrew; ``was_shown``: the policy knows it."""

    @abstractmethod
    def _kill_for_user(self, job: Job) -> None:
        """End a job that runs, unless it is being killed already."""

    @abstractmethod
    def waiting_jobs(self) -> Iterable[Job]:
        """Return the jobs that wait and are not held for others."""

    @abstractmethod
    def expected_start(self, job: Job) -> float | None:
        """Return when a waiting job will start by the plan of the policy, None if unknown."""

    @contextmanager
    def name_time_in_errors(self) -> Iterator[None]:
        """Add the time to errors of plug-ins, and make an error of a SystemExit."""
        try:
            yield
        except SystemExit as error:  # only a plug-in can have raised it
            raise InvariantError(
                f"the policy or the user model raised SystemExit({error})"
            ) from error
        except Exception as error:
            if not isinstance(error, BatschedError):
                error.add_note(f"at {self.now}")
            raise

    # What users do -------------------------------------------------------------------------------

    def show_site(self) -> None:
        """Show the site to users who look at it; call it before all else."""
        if (begin := find_method(self.users, "begin")) is not None:
            begin(SiteView(self))

    def ask_users(self, users: UserModel) -> None:
        """Submit the jobs of all users who are due, then withdraw what they withdraw."""
        now, submissions = self.now, self._submissions
        while True:
            if self._settling:
                self._settle()
            due = users.next_submission()
            if type(due) is not float or not due <= LATEST_TIME:
                due = check_due(due, users)
            if due > now:
                break
            jobs = submissions.jobs_due(users, now)
            if self._random is not None:
                self._shuffle(jobs, self._random)
            for job in jobs:
                self._submit(job, users)
            if submissions.withdrawals:
                withdrawals, submissions.withdrawals = submissions.withdrawals, []
                for withdrawal in withdrawals:
                    self._settle()
                    self._withdraw(withdrawal, users)
        self._users_due, self._users_know = due, True

    @staticmethod
    def _shuffle(jobs: list[WorkloadJob], random: random.Random) -> None:
        """Shuffle jobs, but leave each behind the jobs that it depends on."""
        depth: dict[str, int] = {}
        for job in jobs:
            befores = job.after if isinstance(job.after, tuple | list) else ()
            depth[job.id] = 1 + max([depth.get(before, 0) for before in befores], default=0)
        random.shuffle(jobs)
        jobs.sort(key=lambda job: depth[job.id])

    def _submit(self, job: WorkloadJob, users: UserModel) -> None:
        job_id = f"{DYNAMIC}!{job.id}"
        if job_id in self._submitted:
            raise InvariantError(f"users submitted job {job.id} twice")
        waits_for = self._find_unfinished(job, users) if job.after else None
        self._submitted.add(job_id)
        plain = make_plain_job(job, users)
        size, extra = plain.size, {**plain.extra}  # policies may write into it
        if plain.original_submission_time is not None:
            extra.setdefault(ORIGINAL_SUBMISSION, plain.original_submission_time)
        if plain.deadline is not None:
            extra.setdefault(DEADLINE, plain.deadline)
        if plain.after:
            extra.setdefault(AFTER, list(plain.after))  # so that recordings hold it
        if self.description is not None:
            size = self.description.find_partition(extra).whole_nodes(size)
        registered = self._register(job_id, plain, size, extra)
        self._of_users[job_id] = job, registered, self.now
        if waits_for:
            self._hold(registered, waits_for)
        else:
            self.job_submitted(registered)

    def _find_unfinished(self, job: WorkloadJob, users: UserModel) -> set[str]:
        """Return the ids of the jobs that a job depends on and that have not ended well."""
        if not isinstance(job.after, tuple | list) or {*map(type, job.after)} != {str}:
            raise InvariantError(
                f"{type(users).__name__} submitted job {job.id} with after = {job.after!r}: "
                "expected the ids of jobs, such as ('17',)"
            )
        waits_for = {f"{DYNAMIC}!{name}" for name in job.after}
        for before in sorted(waits_for - self._submitted):
            raise InvariantError(
                f"{type(users).__name__} submitted job {job.id} after job "
                f"{before.partition('!')[2]}, which it has not submitted"
            )
        return {each for each in waits_for if each in self._of_users or each in self._failed}

    def _withdraw(self, wanted: Withdraw, users: UserModel) -> None:
        job_id = f"{DYNAMIC}!{wanted.job}"
        if job_id not in self._submitted:
            raise InvariantError(
                f"{type(users).__name__} withdrew job {wanted.job!r} at {self.now}: expected the "
                "id of a job that it has submitted"
            )
        _, job, _ = self._of_users.get(job_id, (None, None, None))
        if job is not None and job.state is WAITING:
            self._take_back(job)
        elif job is not None and (wanted.kill or self.is_bound(job)):
            self._kill_for_user(job)
        else:
            self.nb_too_late += 1

    def _take_back(self, job: Job) -> None:
        """Withdraw a waiting job."""
        job.state = ENDED
        was_shown = self._held.pop(job.id, None) is None
        self._drop_withdrawn(job, was_shown=was_shown)
        self.nb_withdrawn += 1
        self._tell_users(job, WITHDRAWN)

    # Jobs that depend on others ------------------------------------------------------------------

    def _waits_for_run(self, job: Job, open_jobs: Iterable[Job]) -> bool:
        """Hold a later run of a job while the run before is among the jobs that have not ended."""
        before = f"{job.id.partition('!')[0]}!{job.extra[RUN_AFTER]}"
        if before not in self._held and not any(other.id == before for other in open_jobs):
            return False
        self._held[job.id] = {before}
        self._dependents.setdefault(before, []).append(job)
        return True

    def _hold(self, job: Job, waits_for: set[str]) -> None:
        """Hold a job until the jobs that it waits for end well; withdraw it if one did not."""
        self._held[job.id] = waits_for
        if waits_for & self._failed:
            self._take_back(job)
            return
        for before in waits_for:
            self._dependents.setdefault(before, []).append(job)

    def _settle(self) -> None:
        """Release the jobs that waited for jobs that have ended, or withdraw them.

        This comes after all ends of an instant, as a simulator reports them together.
        """
        for job_id in self._settling:  # which grows
            for held in self._dependents.pop(job_id, ()):
                if held.state is not WAITING:
                    continue  # it was withdrawn
                waits_for = self._held[held.id]
                if job_id in self._failed and RUN_AFTER not in held.extra:
                    self._take_back(held)
                    continue
                waits_for.discard(job_id)
                if not waits_for:
                    del self._held[held.id]
                    held.submit_time = self.now  # since when the policy may start it
                    self.job_submitted(held)
        self._settling.clear()

    # What users learn ----------------------------------------------------------------------------

    def _tell_users(self, job: Job, state: str) -> None:
        """Report the end of a job to the users if it is theirs, and note it for its dependents."""
        if self._dependents and job.id in self._dependents:
            self._settling.append(job.id)
            if self.users is None:
                self._settle()
        known = self._of_users.pop(job.id, None)
        if known is None or self.users is None:
            return
        submitted, _, submit_time = known
        start = job.start_time if job.start_time < inf else None
        self.users.job_ended(self.now, EndedJob(submitted, submit_time, start, self.now), state)
        self._users_know = False
        if state != SUCCESS:
            self._failed.add(job.id)

    def _tell_start(self, job: Job) -> None:
        """Report the start of a job to users who want to know, if it is theirs."""
        known = self._of_users.get(job.id)
        if known is not None and self._job_started is not None:
            self._users_know = False
            self._job_started(self.now, StartedJob(known[0], known[2], self.now))

    # What users see ------------------------------------------------------------------------------

    def open_jobs(self) -> Iterable[tuple[WorkloadJob, Job, float]]:
        """Return the users' jobs that have not ended: as submitted, as policies see it, when."""
        return self._of_users.values()

    def find_open_job(self, name: str) -> Job | None:
        """Return a job of the users that has not ended, by the name that they gave it."""
        known = self._of_users.get(f"{DYNAMIC}!{name}")
        return None if known is None else known[1]

    def is_bound(self, job: Job) -> bool:
        """Return whether a job waits for its processors to wake, which only some know."""
        return False

    def held_jobs(self) -> Iterable[Job]:
        """Return the jobs that wait for others to end."""
        return (self._of_users[job_id][1] for job_id in self._held)
