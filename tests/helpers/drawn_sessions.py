"""Jobs and sessions drawn by hand or by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from batsched_py.workload import WorkloadJob
from batsched_users.sessions.delimitation import Session


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
