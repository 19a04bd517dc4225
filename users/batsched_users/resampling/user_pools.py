"""Splits the users of a log into pools: long-term users, temporary users, rare behaviour.

Source: N. Zakay, PhD thesis, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import msgspec

from batsched_py.errors import UsageError
from batsched_py.units import DAY, WEEK
from batsched_py.workload import WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.sessions.batches import JOINS, Trace, traces
from batsched_users.sessions.delimitation import Delimitation

LONG_WEEKS = 12.0
"""Users active for more weeks are long-term; activities cluster below, and spread evenly above."""
EDGE_WEEKS = 4.0
"""Weeks at the edges of a log, where the activity of temporary users may be cut off.

The thesis says 4 weeks; its pools for LANL-CM5 and KTH-SP2 are reproduced exactly with 60 days."""


class Pools(msgspec.Struct):
    """The users of a log as traces, in pools: long-term, temporary, discarded and rare."""

    long_term: list[Trace]
    temporary: list[Trace]
    discarded: list[Trace]
    """Temporary users at the edges of the log, who are not drawn."""
    rare: list[Trace]
    start: float
    """First submission of the log, seconds."""
    end: float
    """Last submission of the log, seconds."""
    edge_weeks: float
    """Length of the edges whose temporary users are discarded."""

    @property
    def weeks(self) -> float:
        """Length of the log in weeks."""
        return (self.end - self.start) / WEEK


class Rare(msgspec.Struct, frozen=True):
    """A period of rare behaviour of one user, from ``begin`` to ``end`` (seconds)."""

    user: str
    begin: float = -inf
    end: float = inf

    @classmethod
    def parse(cls, text: str) -> list[Rare]:
        """Read periods USER or USER:BEGIN:END, with commas between: ``374,31:200:215``.

        Times are days of the log. Raises :class:`UsageError` for anything else.
        """
        return [cls._one(part.strip()) for part in text.split(",") if part.strip()]

    @classmethod
    def _one(cls, text: str) -> Rare:
        user, *days = text.split(":")
        try:
            begin, end = (float(day) * DAY for day in days) if days else (-inf, inf)
            if begin < end:
                return cls(user, begin, end)
        except (ValueError, TypeError):
            pass
        raise UsageError(
            f"rare={text}: expected USER, or USER:BEGIN:END with BEGIN < END in days of the log"
        )


def make_pools(
    jobs: Sequence[WorkloadJob],
    sessions: Delimitation,
    tie: str = JOINS,
    *,
    rare: Sequence[Rare] = (),
    long_weeks: float = LONG_WEEKS,
    edge_weeks: float = EDGE_WEEKS,
) -> Pools:
    """Split the users of a log into long-term and temporary ones, and set rare behaviour apart.

    Users who submit for more than ``long_weeks``, from the first job to the last, are long-term.
    The others are temporary, and discarded if all their jobs are in the first or in the last
    ``edge_weeks``. First, the jobs of ``rare`` behaviour are taken out of their users' traces.

    Raises :class:`UsageError` for jobs without user or recorded finish, and for rare behaviour
    without jobs.
    """
    if not jobs:
        raise UsageError("resampling needs a log with jobs; this one has none")
    edge = edge_weeks * WEEK
    start = min(job.submit_time for job in jobs)
    end = max(job.submit_time for job in jobs)
    kept, apart = _set_apart(jobs, rare)
    pools = Pools([], [], [], [], start, end, edge_weeks)
    pools.rare = [
        trace for jobs_apart in apart for trace in traces(jobs_apart, sessions, tie).values()
    ]
    for trace in traces(kept, sessions, tie).values():
        if trace.last - trace.start > long_weeks * WEEK:
            pools.long_term.append(trace)
        elif trace.last <= start + edge or trace.start >= end - edge:
            pools.discarded.append(trace)
        else:
            pools.temporary.append(trace)
    return pools


_KEPT: dict[Any, tuple[Sequence[WorkloadJob], Pools]] = {}
_MOST_KEPT = 2


def reuse_pools(
    jobs: Sequence[WorkloadJob], sessions: Delimitation, tie: str, **options: Any
) -> Pools:
    """Return the pools of :func:`make_pools`, from a cache if the jobs and options are equal.

    Each run of a campaign has a copy of the log, whose pools may take longer than a simulation.
    Callers must not change the pools.
    """
    key = (sessions, tie, *(tuple(v) if isinstance(v, list) else v for v in options.values()))
    before = _KEPT.get(key)
    if before is not None and before[0] == jobs:
        return before[1]
    pools = make_pools(jobs, sessions, tie, **options)
    _KEPT.pop(key, None)
    if len(_KEPT) >= _MOST_KEPT:
        del _KEPT[next(iter(_KEPT))]
    _KEPT[key] = jobs, pools
    return pools


def count_active_weeks(trace: Trace, calendar: Calendar) -> int:
    """Count the calendar weeks from a user's first submission to the last, both included."""
    return calendar.week(trace.batches[-1].start) - calendar.week(trace.start) + 1


def _set_apart(
    jobs: Iterable[WorkloadJob], rare: Sequence[Rare]
) -> tuple[list[WorkloadJob], list[list[WorkloadJob]]]:
    """Return the jobs without rare behaviour, and the jobs of each rare period."""
    kept: list[WorkloadJob] = []
    apart: list[list[WorkloadJob]] = [[] for _ in rare]
    for job in jobs:
        for rule, its_jobs in zip(rare, apart, strict=True):
            if job.user == rule.user and rule.begin <= job.submit_time < rule.end:
                its_jobs.append(job)
                break
        else:
            kept.append(job)
    for rule, its_jobs in zip(rare, apart, strict=True):
        if not its_jobs:
            days = "" if rule.begin < 0 else f" from day {rule.begin / DAY:g} to {rule.end / DAY:g}"
            raise UsageError(f"rare: user {rule.user} has no job{days} in the log")
    return kept, apart
