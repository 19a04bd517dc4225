"""What a user model is told of a job that ended: when it was submitted, started and ended."""

from __future__ import annotations

from typing import Any

from batsched_py import EndedJob, Workload
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_users.models.rigid import Rigid


class Diary(Rigid):
    """Submits the jobs of a log when they were recorded, and writes down what it is told."""

    def __init__(self, log: Workload) -> None:
        super().__init__(log)
        self.told: list[tuple[float, EndedJob, str]] = []

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.told.append((now, job, state))

    @property
    def times(self) -> list[tuple[Any, ...]]:
        """Id, submission, start, end, wait, turnaround and state of each, as it was told."""
        return [
            (
                *(job.id, job.submit_time, job.start_time, job.finish_time),
                *(job.waiting_time, job.turnaround_time, state.removeprefix("COMPLETED_")),
            )
            for _, job, state in self.told
        ]


LOG = workload(
    [
        J(0, 4, 10, None, "ann", 5),
        J(2, 2, 20, 5, "bob"),  # would run for 20 s and is killed after 5
        J(3, 9, 1, 1, "bob"),  # wider than the machine
        J(4, 2, 6, None),
    ],
    4,
    names="abcd",
)


def test_jobs_that_wait_are_killed_or_are_rejected() -> None:
    r"""On four processors, FCFS:

    a ##########      waits for nobody
    b   ........##### killed at its walltime
    c    x            rejected
    d     ......######
    """
    diary = Diary(LOG)
    run(LOG, Fcfs(), diary)
    assert diary.times == [
        ("c", 3, None, 3, None, None, "REJECTED"),
        ("a", 0, 0, 10, 0, 10, "SUCCESSFULLY"),
        ("b", 2, 10, 15, 8, 13, "WALLTIME_REACHED"),
        ("d", 4, 10, 16, 6, 12, "SUCCESSFULLY"),
    ]
    assert [now for now, *_ in diary.told] == [3, 10, 15, 16]
    for _, job, _ in diary.told:  # what the model gave, by its own name
        (given,) = (given for given in LOG.jobs if given.id == job.id)
        assert job.submitted is given
        for name in ("user", "size", "walltime", "estimate", "extra"):
            assert getattr(job, name) == getattr(given, name), name
