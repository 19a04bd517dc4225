"""A user model in which some jobs request advance reservations, and measures of all jobs."""

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
"""The users of jobs that request a reservation, and of these jobs after a refusal."""
WIDE = 0.25
"""Jobs of more than this share of the machine are wide."""


class Reserving:
    """The jobs of a log at their recorded times; a ``share`` of them are advance reservations.

    The drawn jobs do not depend on the other options. At its submission, a drawn job requests the
    share ``width`` of the machine from ``lead`` seconds later, for the length of its estimate; it
    runs as long as recorded. A refused job is submitted at once without a reservation. With
    ``ask=false`` the same jobs, equally wide, request no reservations: the difference between both
    is the cost of reservations.
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
        """Raises :class:`UsageError` for invalid options."""
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
        """Return when the next job is due (seconds), of the log or after a refused reservation."""
        recorded = self._jobs[self._next][0].submit_time if self._next < len(self._jobs) else inf
        return min(recorded, self._again)

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, those refused a reservation first."""
        due, self._refused, self._again = self._refused, [], inf
        while self.next_submission() <= now:
            job, drawn = self._jobs[self._next]
            self._next += 1
            due.append(self._as_reservation(job) if drawn else job)
        return due

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Submit a job again, without a reservation, if its reservation was refused."""
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
    """Return mean waits of jobs with and without reservation (s), and the admitted share.

    A reservation waits from its request to its start, a refused one as an ordinary job. Wide jobs
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
