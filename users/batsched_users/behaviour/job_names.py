"""Names of submitted jobs that depend only on their own user, for random numbers in common."""

from __future__ import annotations

from batsched_py.workload import WorkloadJob


class JobNames:
    """Gives each submitted job a name that is the same under every policy and user model.

    A recorded job always has the same name; further jobs of a user are numbered. So a stream of
    random numbers with this name belongs to the same job, whatever happens to other users.
    """

    def __init__(self) -> None:
        self._times: dict[tuple[str | None, str | None], int] = {}
        """Number of submissions by user and recorded job; None: jobs that were not recorded."""

    def make_name(self, job: WorkloadJob) -> str:
        """Return the name of a job that is submitted now; call it once for each submission."""
        recorded = job.extra.get("original_job")
        if recorded is None and job.original_submission_time is not None:
            return f"recorded {job.id}"
        number = self._times[job.user, recorded] = self._times.get((job.user, recorded), 0) + 1
        return f"{number}" if recorded is None else f"recorded {recorded} {number}"
