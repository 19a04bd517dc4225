"""What users see of a site while they wait: their own jobs, and how many others wait."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from batsched_py.errors import InvariantError
from batsched_py.model.job import WAITING, JobState
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload.machine_description import PARTITION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batsched_py.model.job import Job
    from batsched_py.workload.machine_description import MachineDescription
    from batsched_py.workload.workload import WorkloadJob


class ShownSite(Protocol):
    """The site that users look at, :class:`~batsched_py.model.users_side.UsersSide`."""

    now: float
    description: MachineDescription | None

    def open_jobs(self) -> Iterable[tuple[WorkloadJob, Job, float]]:
        """Return the users' jobs that have not ended: as submitted, as policies see it, when."""

    def find_open_job(self, name: str) -> Job | None:
        """Return a job of the users that has not ended, by the name that they gave it."""

    def waiting_jobs(self) -> Iterable[Job]:
        """Return the jobs that wait and are not held for others."""

    def is_bound(self, job: Job) -> bool:
        """Return whether a job waits for its processors to wake."""

    def held_jobs(self) -> Iterable[Job]:
        """Return the jobs that wait for others to end."""

    def expected_start(self, job: Job) -> float | None:
        """Return when a waiting job will start by the plan of the policy, None if unknown."""


class OwnJob(NamedTuple):
    """A job of a user that has not ended; times in seconds."""

    submitted: WorkloadJob
    """The job as the model gave it."""
    state: JobState
    submit_time: float
    start_time: float | None
    """None while it waits."""


class WaitingWork(NamedTuple):
    """The jobs that wait."""

    nb_jobs: int
    work: float
    """Processor-seconds by the estimates that policies know, inf if one has none."""


class SiteView:
    """What the users of a site can look up at any time, as with ``squeue``.

    A user model gets it by its optional method ``begin(site)``. It knows no run times of jobs. What
    it shows is the state before the policy decides at this instant.

    Example: users who look whether fewer than ten jobs wait.

        >>> class Looking:
        ...     def begin(self, site):
        ...         self.site = site
        ...     def is_quiet(self):
        ...         return self.site.waiting().nb_jobs < 10
    """

    def __init__(self, site: ShownSite) -> None:
        self._site = site

    @property
    def now(self) -> float:
        """The time (seconds)."""
        return self._site.now

    def own_jobs(self, user: str | None) -> list[OwnJob]:
        """Return the jobs of a user that wait or run, in order of submission."""
        return [
            OwnJob(given, WAITING, submit, None)
            if job.state is WAITING or self._site.is_bound(job)
            else OwnJob(given, job.state, submit, job.start_time)
            for given, job, submit in self._site.open_jobs()
            if given.user == user
        ]

    def waiting(self, partition: str | None = None) -> WaitingWork:
        """Return number and work of the waiting jobs, of a partition or of the whole machine.

        Raises :class:`InvariantError` for a partition that the machine does not have.
        """
        place = None if partition is None else self._find_place(partition)
        nb, work = 0, 0.0
        for job in chain(self._site.waiting_jobs(), self._site.held_jobs()):
            if place is None or self._place_of(job) == place:
                nb += 1
                work += job.size * job.estimate
        return WaitingWork(nb, work)

    def expected_start(self, job_id: str) -> float | None:
        """Return when a waiting job of the users starts by the policy's plan (seconds).

        ``job_id`` is the name that the model gave it. None if the policy has no plan for it, or if
        it does not wait. A plan is made of estimates: the job may start earlier.
        """
        job = self._site.find_open_job(job_id)
        return None if job is None else self._site.expected_start(job)

    def _place_of(self, job: Job) -> int:
        description = self._site.description
        return 0 if description is None else description.find_place(job.extra.get(PARTITION))

    def _find_place(self, partition: str) -> int:
        description = self._site.description
        names = [] if description is None else [part.name for part in description.partitions]
        if partition not in names:
            hint = did_you_mean(partition, names)
            raise InvariantError(f"the machine has no partition {partition!r}{hint}")
        return names.index(partition)
