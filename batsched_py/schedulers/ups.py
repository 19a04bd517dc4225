"""UPS: user-prioritised scheduling, EASY backfilling that ranks users rather than jobs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from batsched_py.model.queue.job_arrays import Floats, JobArrays
from batsched_py.model.queue.orders import ClockOrder
from batsched_py.options.option_values import number, one_of
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import ExtraNodes, easy_reservation
from batsched_py.units import HOUR

AGEING = 4 * HOUR
"""Seconds of waiting that weigh as much as being the first user."""


class Ups(Backfilling):
    """EASY backfilling that ranks the users with waiting jobs, and serves the best ones first.

    The priority of a job is ``a_user / rank of its user + (1 - a_user) * wait / 4 h``. It decides
    which job gets EASY's reservation. Behind that job, backfilling goes user by user, and within a
    user by time waited. Ties go by the user's id. Jobs of unknown users count as those of one user.

    Source: N. Zakay's thesis (Hebrew University of Jerusalem, with D. Feitelson), section 5.3.

    Args:
        a_user: Weight of the user's rank against the time waited; below 1, no job starves. Allowed:
            a number from 0 to 1.
        rank: Which user is the first: the one with the least waiting work (``load``: estimate times
            processors), or the one who submitted last (``recency``).
    """

    packs_nodes = True

    def __init__(
        self,
        *,
        a_user: float = 0.5,
        rank: Literal["load", "recency"] = "load",
        extra_nodes: ExtraNodes = "first",
    ) -> None:
        orders = ClockOrder(self._job_priority), ClockOrder(self._user_priority)
        super().__init__(easy_reservation(extra_nodes), *orders)
        self._a_user = number("a_user", a_user, 0, 1)
        self._by_load = one_of("rank", rank, ("load", "recency")) == "load"
        self._arrivals: list[float] = []
        """The time (seconds) of each user's last submission so far."""
        self._by_id: Any = ()  # of ints; an array once there are users
        self._of_rows: Floats

    def _job_priority(self, now: float, columns: JobArrays) -> Floats:
        scores = compute_loads(columns) if self._by_load else -self._last_arrivals(columns)
        self._of_rows = self._rank_users(scores, columns)[columns.user]
        a_user = self._a_user
        return a_user * self._of_rows + (1 - a_user) * (now - columns.submit_time) / AGEING

    def _user_priority(self, now: float, columns: JobArrays) -> Floats:
        return self._of_rows  # the ranks hold for the whole pass, which begins with the job order

    def _last_arrivals(self, columns: JobArrays) -> Floats:
        """Return the time (seconds) of each user's last submission, of a waiting job or not."""
        last = np.zeros(columns.nb_users)
        last[: len(self._arrivals)] = self._arrivals
        last[columns.user] = columns.submit_time  # in submission order: the last one counts
        self._arrivals = last.tolist()
        return last

    def _rank_users(self, scores: Floats, columns: JobArrays) -> Floats:
        """Return 1 / rank of each user with waiting jobs, least score first; 0 for the others."""
        if len(self._by_id) != columns.nb_users:
            self._by_id = np.asarray(_places(columns.users))
        waits = np.bincount(columns.user, columns.waiting, columns.nb_users) > 0
        users = np.flatnonzero(waits)
        best_first = users[np.lexsort((self._by_id[users], scores[users]))]
        priorities = np.zeros(columns.nb_users)
        priorities[best_first] = 1 / np.arange(1, len(users) + 1)
        return priorities


def compute_loads(columns: JobArrays) -> Floats:
    """Return the waiting work of each user, in processor-seconds by estimates."""
    work = np.where(columns.waiting, columns.estimate * columns.size, 0.0)
    return np.bincount(columns.user, work, columns.nb_users).astype(np.float64)


def _places(users: list[str]) -> list[int]:
    """Return the place of each user by id: numbers as numbers, before all other texts."""

    def key(code: int) -> tuple[bool, int, str, str]:
        name = users[code]
        digits = name.lstrip("0") if name.isdecimal() else ""  # of any number: no int takes more
        return not name.isdecimal(), len(digits), digits, name

    places = [0] * len(users)
    for place, code in enumerate(sorted(range(len(users)), key=key)):
        places[code] = place
    return places
