"""Jobs and sessions drawn by hand or by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec
import numpy as np
from hypothesis import strategies as st

from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.job_columns import JobColumns
from batsched_users.sessions.delimitation import Session

MONDAY = Calendar()
"""Second 0 is Monday 0:00."""


LOG = """\
; UnixStartTime: 0
; MaxProcs: 4
1 0    0 50 2 -1 -1 2 100 -1 1 5 1 1 1 1 -1 -1
2 10   0 50 2 -1 -1 2 100 -1 1 7 1 1 1 1 -1 -1
3 3600 0 50 2 -1 -1 2 100 -1 0 5 1 1 1 1 -1 -1
4 3700 0 50 2 -1 -1 2 100 -1 1 5 1 1 1 1 -1 -1
"""
"""Two users of four jobs as an SWF file; job 3 failed."""


def job(name: str, submit: float, finish: float | None, user: str | None = "u") -> WorkloadJob:
    return WorkloadJob(
        id=name, submit_time=submit, size=1, profile="p", user=user, finish_time=finish
    )


def jobs_of(*times: tuple[float, float]) -> list[WorkloadJob]:
    """Jobs of one user from (submit, finish), named by letters."""
    return [job("abcdefghij"[i], *pair) for i, pair in enumerate(times)]


def sessions_of(*times: tuple[float, float]) -> list[Session]:
    """Sessions of one job each from (start, finish), numbered from 1."""
    return [
        Session(number, "u", [job(f"j{number}", start, finish)], start, finish)
        for number, (start, finish) in enumerate(times, start=1)
    ]


def intervals(largest: int) -> st.SearchStrategy[list[tuple[float, float]]]:
    """Lists of (start, finish) on a grid of ``largest`` + 1 instants: many ties, zero lengths."""
    pair = st.tuples(st.integers(0, largest), st.integers(0, largest))
    return st.lists(pair.map(lambda p: (min(p), max(p))), max_size=14)


def names(sessions: Sequence[Session]) -> list[str]:
    """Sessions as words of the names of their jobs."""
    return ["".join(job.id for job in session.jobs) for session in sessions]


def job_columns(
    user: Sequence[int],
    submit: Sequence[float],
    calendar: Calendar = MONDAY,
    **given: Sequence[float],
) -> JobColumns:
    """Columns of jobs; what is not given is unknown."""
    unknown = np.full(len(submit), np.nan)
    columns = {
        name: np.array(given.get(name, unknown), dtype=float)
        for name in ("end", "size", "run_time", "requested_time")
    }
    numbers = np.array(user, dtype=np.int64)
    return JobColumns(
        user=numbers, submit=np.array(submit, dtype=float), calendar=calendar, **columns
    )


def log_of(jobs: Sequence[WorkloadJob], nb_res: int = 8, start: float | None = None) -> Workload:
    """A log of jobs with the profile ``p``: a second on one processor of the log's machine."""
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
    return Workload(
        name="log", nb_res=nb_res, jobs=list(jobs), profiles=profiles, unix_start_time=start
    )


WEEKS = 40
MONDAY_10 = 1_767_603_600.0
"""Monday 5 January 2026, 10:00 in Paris: second 0 of the drawn log."""


def log_of_stays() -> Workload:
    """Five users who work three sessions a week for the whole log, twelve for some weeks of it."""
    random = Random(1)
    jobs: list[WorkloadJob] = []
    stays = [(0, WEEKS) for _ in range(5)]
    stays += [(random.randrange(6, 30), random.randrange(1, 6)) for _ in range(12)]
    for user, (first, length) in enumerate(stays):
        for week in range(first, first + length):
            for _ in range(3):
                begin = week * WEEK + random.randrange(7) * DAY + random.randrange(24) * HOUR
                for place in range(random.randrange(1, 4)):
                    submit = begin + place * 1000
                    jobs.append(job("", submit, submit + random.randrange(2000), str(user)))
    jobs.sort(key=lambda drawn_job: drawn_job.submit_time)
    for number, drawn_job in enumerate(jobs):
        drawn_job.id = f"j{number}"
    log = log_of(jobs, start=MONDAY_10)
    log.profiles["p"]["cpu"] = 6e11
    return msgspec.structs.replace(log, time_zone="Europe/Paris")
