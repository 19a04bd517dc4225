"""Users of whom some request advance reservations, and measures of the other users."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, nan
from typing import Any

import msgspec
import numpy as np

from batsched_py import Result, Workload, WorkloadJob
from batsched_py.errors import UsageError
from batsched_py.model.user_model import EndedJob
from batsched_py.options.option_values import boolean, number
from batsched_users import Chance
from batsched_users.behaviour.random_streams import Seed

RESERVING, REFUSED = "reserving", "refused"
"""The users of the jobs that ask for a reservation, and of these jobs once they are refused one."""
WIDE = 0.25
"""Jobs of more than this share of the machine are wide."""


class Reserving:
    """The jobs of the log at their recorded times, a ``share`` of which are advance reservations.

    Who is drawn does not depend on the other options. Each of them asks, when it is submitted, for
    ``width`` of the machine (a share of it) from ``lead`` seconds later on, for as long as the
    estimate of the job; it runs as long as recorded. Who is refused submits the job at once as any
    other. With ``ask=false`` the same jobs, as wide, are submitted as any others: what reservations
    cost is the difference between the two.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        share: float = 0.02,
        width: float = 0.25,
        lead: float = 3600.0,
        ask: bool = True,
        seed: Seed = 0,
    ) -> None:
        """Raises :class:`UsageError` for options that are none."""
        random = Chance(seed).stream("reservations").random
        share, width = number("share", share, 0, 1), number("width", width, 0, 1)
        self.profiles = workload.profiles
        self._size = max(1, round(width * workload.nb_res))
        self._lead = number("lead", lead, 0)
        self._ask = boolean("ask", ask)
        self._jobs = [(job, random() < share) for job in workload.jobs]
        if any(drawn and job.walltime is None for job, drawn in self._jobs):
            raise UsageError("reservations need walltimes: use the rules of dynp")
        self._next = 0
        self._refused: list[WorkloadJob] = []
        self._again = inf

    def next_submission(self) -> float:
        """Return when the next job is due, of the log or refused a reservation (seconds)."""
        recorded = self._jobs[self._next][0].submit_time if self._next < len(self._jobs) else inf
        return min(recorded, self._again)

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, refused jobs first."""
        due, self._refused, self._again = self._refused, [], inf
        while self.next_submission() <= now:
            job, drawn = self._jobs[self._next]
            self._next += 1
            due.append(self._as_reservation(job) if drawn else job)
        return due

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Submit a job without reservation again if its reservation was refused."""
        if job.start_time is None and "reserved_start" in job.extra:
            again = msgspec.structs.replace(
                job.submitted, id=f"{job.id}.refused", user=REFUSED, extra={}
            )
            self._refused.append(again)
            self._again = now

    def _as_reservation(self, job: WorkloadJob) -> WorkloadJob:
        asked = {"reserved_start": job.submit_time + self._lead} if self._ask else {}
        return msgspec.structs.replace(
            job, size=self._size, user=RESERVING, extra={**job.extra, **asked}
        )


def measure(result: Result) -> dict[str, float]:
    """Return the waiting times with and without reservation (s), and the admitted share.

    A reservation waits from its request to its start, a refused one as what it became. Wide jobs
    have more than :data:`WIDE` of the machine.
    """
    table = result.table
    user = np.array(table.user, dtype=object)
    ran, asked = table.ran, user == RESERVING
    others = ran & ~asked & (user != REFUSED)
    wide = table.size > WIDE * (table.nb_processors or inf)
    return {
        "others_wait": _mean(table.waiting[others]),
        "wide_others_wait": _mean(table.waiting[others & wide]),
        "narrow_others_wait": _mean(table.waiting[others & ~wide]),
        "reserving_wait": _mean(table.waiting[ran & ~others]),
        "admitted_share": float(ran[asked].mean()) if asked.any() else nan,
        "nb_asked": int(asked.sum()),
    }


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else nan
