"""The people of a simulation, as the options of a model say."""

from __future__ import annotations

from typing import Any

from batsched_py.support.option_values import number
from batsched_py.units import WEEK
from batsched_py.workload import Workload
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.resampling.drawn_users import RARE, Arrival, Crowd, Size
from batsched_users.resampling.user_pools import Rare, make_pools
from batsched_users.sessions.batches import JOINS
from batsched_users.sessions.delimitation import Delimitation
from batsched_users.sessions.feedback_engine import SESSIONS


class People:
    """A crowd drawn from a log, as its options say, and how its users are called."""

    def __init__(
        self,
        workload: Workload,
        size: Size,
        *,
        rare: str,
        long_weeks: float,
        edge_weeks: float,
        weeks: float | None,
        seed: Seed,
        sessions: str = SESSIONS,
        tie: str = JOINS,
    ) -> None:
        """See :class:`batsched_users.models.resampled.Resampled` for the options.

        Raises :class:`batsched_py.errors.UsageError` for those that make no sense.
        """
        self.calendar = Calendar.of(workload)
        self.chance = Chance(seed)
        pools = make_pools(
            workload.jobs,
            Delimitation.parse(str(sessions)),
            tie,
            rare=Rare.parse(str(rare)),
            long_weeks=number("long_weeks", long_weeks, 0),
            edge_weeks=number("edge_weeks", edge_weeks, 0),
        )
        length = pools.weeks if weeks is None else number("weeks", weeks, 1 / WEEK)
        self.until = self.calendar.first_week + length * WEEK
        self.crowd = Crowd(pools, self.calendar, self.chance, size, self.until)

    def name(self, start: Arrival) -> str:
        """Return who it is: the user of the log, and which of those who are like him."""
        return f"{start.trace.user}.{start.person}"

    def notes(self, start: Arrival) -> dict[str, Any]:
        """Return what all jobs of a user carry."""
        return {"behaviour": RARE} if start.kind == RARE else {}
