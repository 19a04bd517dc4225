"""Draws users from the pools of a log, who arrive in some week of a simulation.

Source: N. Zakay, PhD thesis, chapter 3. Every shift of a trace is a whole number of weeks, so that
each job keeps its weekday and its time of day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import count
from math import ceil, inf
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from batsched_py.errors import UsageError
from batsched_py.options.option_values import (
    MOST_USERS,
    MOST_WEEKS,
    number,
    one_of,
    whole_number,
)
from batsched_py.units import WEEK
from batsched_py.workload import Workload
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.resampling.user_pools import Pools, Rare, count_active_weeks, reuse_pools
from batsched_users.sessions.batches import JOINS, Trace
from batsched_users.sessions.delimitation import Delimitation
from batsched_users.sessions.feedback_engine import SESSIONS

LONG_TERM, TEMPORARY, RARE = "long_term", "temporary", "rare"


Weeks = Annotated[float, Meta(ge=0, title="Weeks in which users submit (null: as the log).")]
Load = Annotated[float, Meta(ge=0, title="Factor of the numbers of users, and so of the load.")]
NumberOfLongTerm = Annotated[float, Meta(ge=0, title="Long-term users (null: as the log).")]
NumberOfTemporary = Annotated[
    float, Meta(ge=0, title="Temporary users at first (null: as the log).")
]
Rate = Annotated[float, Meta(ge=0, title="Temporary users who arrive per week (null: as the log).")]
RareText = Annotated[
    str,
    Meta(
        title="Rare behaviour to leave out, by user and days (empty: none).",
        description="USER or USER:BEGIN:END, with commas",
    ),
]
RarePerWeek = Annotated[float, Meta(ge=0, title="Users with rare behaviour per week.")]
RateOver = Annotated[
    Literal["inner", "all"],
    Meta(title="Weeks that give the default rate: without the edges, or all."),
]
Begin = Annotated[
    Literal["active", "anywhere"],
    Meta(title="When long-term users begin: while active, or in any week."),
]
LongWeeks = Annotated[float, Meta(ge=0, title="Weeks of activity after which a user is long-term.")]
EdgeWeeks = Annotated[
    float, Meta(ge=0, title="Weeks at both ends of the log without temporary users.")
]
"""The types of options of models that draw users from a log, with their help."""


class Size(msgspec.Struct, frozen=True):
    """The numbers of users to draw, which also set the load; None stands for the log's number.

    Raises :class:`UsageError` for invalid numbers.
    """

    load: float = 1.0
    """Factor of the three numbers below, and so roughly of the load."""
    n_long: float | None = None
    """Number of long-term users, which is constant; in the log, all of them."""
    n_temporary: float | None = None
    """Temporary users at the beginning; in the log, the average number present in a week."""
    rate: float | None = None
    """Temporary users who arrive per week; in the log, their number divided by its weeks."""
    rare_per_week: float = 0.0
    """Number of these arrivals per week that are drawn from the pool of rare behaviour."""
    rate_over: RateOver = "inner"
    """Weeks of the log in which temporary users are counted: ``inner`` (without the edges, whose
    users are discarded) or ``all``."""
    begin: Begin = "active"
    """Where in their trace long-term users begin: while ``active``, or ``anywhere`` in a round."""

    def __post_init__(self) -> None:
        for name in ("load", "rare_per_week"):
            number(name, getattr(self, name), 0, MOST_USERS)
        for name in ("n_long", "n_temporary", "rate"):
            value = getattr(self, name)
            if value is not None and number(name, value, 0, MOST_USERS) % 1 and name != "rate":
                raise UsageError(f"{name}={value}: expected a whole number of users")
        one_of("rate_over", self.rate_over, RateOver)
        one_of("begin", self.begin, Begin)


class Arrival(msgspec.Struct, eq=False):
    """The arrival of a drawn user: the trace, its first batch, and the shift in time."""

    kind: str
    number: int
    """Number of the drawn user, which stays the same if the user begins anew."""
    trace: Trace
    first: int
    """Place of the batch with which the user begins."""
    shift: float
    """Seconds from recorded to simulated times, whole weeks."""
    sessions_before: int = 0

    @property
    def user(self) -> str:
        """Name of the drawn user: the user of the log, and the number of this copy."""
        return f"{self.trace.user}.{self.number}"

    @property
    def notes(self) -> dict[str, Any]:
        """Columns that all jobs of the user carry."""
        return {"behaviour": RARE} if self.kind == RARE else {}


class DrawnUsers:
    """Users drawn from the pools of a log, who arrive week by week.

    In week 0 there are long-term users, each drawn once before any is drawn twice, and temporary
    users, drawn in proportion to their active weeks. All begin in one of their weeks, as if they
    had been present before. In each later week every user of the temporary pool arrives with the
    same probability, beginning with the first job: the number is binomial, and no user arrives
    twice in a week. Long-term users begin anew after their last job.

    Weeks are counted from the first Monday 0:00 of the simulation.
    """

    def __init__(
        self, pools: Pools, calendar: Calendar, chance: Chance, size: Size, until: float
    ) -> None:
        """Draw the users of week 0; from ``until`` on (seconds), no user arrives.

        Raises :class:`UsageError` if the pools have no users to draw, or none is wanted.
        """
        self._pools = pools
        self.calendar = calendar
        self.chance = chance
        self.until = until
        self._random = chance.stream("crowd")
        self._size = size
        self._numbers = count(1)
        self._rare, self._common = self._probabilities()
        self._first = [*self._long_term(), *self._temporary()]
        self._week = 0
        self.next_week = calendar.week_start(0)
        """Begin of the next week with arrivals in seconds; inf if no user arrives any more."""
        if not self._first and not self._rare and not self._common:
            raise UsageError(
                "nobody would ever come: load, n_long, n_temporary and rate leave no user to draw"
            )

    def next_arrivals(self) -> list[Arrival]:
        """Return the users who arrive in the week of :attr:`next_week`, and advance by a week."""
        starts = self._first if not self._week else list(self._newcomers(self._week))
        self._first = []
        self._week += 1
        self.next_week += WEEK
        if self.next_week >= self.until or not (self._rare or self._common):
            self.next_week = inf
        return starts

    def is_week_due(self, time: float) -> bool:
        """Return whether the next week with arrivals begins by ``time`` (seconds)."""
        return self.next_week < inf and self.next_week <= time

    def begin_anew(
        self, start: Arrival, since: float | None = None, *, gap: bool = True
    ) -> Arrival:
        """Return the next arrival of a long-term user after the last job, with the whole trace.

        The gap is the time from the user's last job to the end of the log, plus the time from the
        begin of the log to the first job. So a user begins anew after the length of the log,
        rounded to weeks. With ``since`` (seconds) the gap begins then, and ends in the nearest
        week after it; without ``gap`` the user begins in the first week possible.
        """
        pools, trace = self._pools, start.trace
        sessions = start.sessions_before + len(trace.sessions)
        if since is None:
            shift = start.shift + self._round_weeks(trace) * WEEK
        else:
            length = (trace.start - pools.start) + (pools.end - trace.last) if gap else 0.0
            shift = _weeks_after(since, length, trace.start)
        return Arrival(start.kind, start.number, trace, 0, shift, sessions)

    # Drawing -------------------------------------------------------------------------------------

    def _long_term(self) -> Iterator[Arrival]:
        pool, random = self._pools.long_term, self._random
        wanted = self._wanted("n_long", len(pool), pool)
        rounds, rest = divmod(wanted, max(1, len(pool)))
        chosen = set(random.sample(range(len(pool)), rest))
        for place, trace in enumerate(pool):
            replicas = rounds + (place in chosen)
            weeks = count_active_weeks(trace, self.calendar)
            if self._size.begin != "active":
                weeks = max(weeks, self._round_weeks(trace))
            begin = random.randrange(weeks)
            for replica in range(replicas):  # as far from each other as possible
                week = (begin + replica * weeks // replicas) % weeks
                yield self._in_week(week, weeks, LONG_TERM, trace)

    def _temporary(self) -> Iterator[Arrival]:
        """Draw temporary users by their weeks, each once (Efraimidis and Spirakis 2006)."""
        pool, random = self._pools.temporary, self._random
        there = 0.0 if self._size.n_temporary is not None else self._there()
        wanted = self._wanted("n_temporary", there, pool)
        if wanted > len(pool):
            raise UsageError(
                f"n_temporary: {wanted} temporary users are to be there at first, but nobody is "
                f"there twice, and there are {len(pool)} to draw from"
            )
        weeks = [count_active_weeks(trace, self.calendar) for trace in pool]
        keys = [random.random() ** (1 / weeks_there) for weeks_there in weeks]
        for place in sorted(range(len(pool)), key=lambda place: -keys[place])[:wanted]:
            week = random.randrange(weeks[place])
            yield self._in_week(week, weeks[place], TEMPORARY, pool[place])

    def _newcomers(self, week: int) -> Iterator[Arrival]:
        random = self._random
        pools = self._pools
        for pool, probability, kind in (
            (pools.temporary, self._common, TEMPORARY),
            (pools.rare, self._rare, RARE),
        ):
            for trace in pool:
                if random.random() < probability:
                    shift = (week - self.calendar.week(trace.start)) * WEEK
                    yield Arrival(kind, next(self._numbers), trace, 0, shift)

    def _in_week(self, week: int, weeks: int, kind: str, trace: Trace) -> Arrival:
        """Let a user arrive in week 0, with the batches from ``week`` of the active ``weeks`` on.

        If that is after the last batch, the user begins with the first job of the next round.
        """
        number = self.calendar.week(trace.start) + week
        first = bisect_left(
            trace.batches, self.calendar.week_start(number), key=attrgetter("start")
        )
        if first == len(trace.batches):
            first, number = 0, number - weeks
        return Arrival(kind, next(self._numbers), trace, first, -number * WEEK)

    # Numbers -------------------------------------------------------------------------------------

    def _round_weeks(self, trace: Trace) -> int:
        """Return the weeks of a round: the length of the log, or of the trace if that is longer."""
        return max(int((trace.last - trace.start) // WEEK) + 1, round(self._pools.weeks))

    def _wanted(self, name: str, of_the_log: float, pool: Sequence[Trace]) -> int:
        given = getattr(self._size, name)
        wanted = round(self._size.load * (of_the_log if given is None else given))
        whole_number(f"load={self._size.load:g}: {name}", wanted, 0, MOST_USERS)
        if wanted and not pool:
            raise UsageError(
                f"{name}={given}: there are no such users in the log (long-term ones are active "
                "for more than long_weeks, temporary ones for less, and not at its edges only)"
            )
        return wanted

    def _inner_weeks(self) -> tuple[float, float]:
        """Return begin and end of the span in which temporary users are counted, in seconds."""
        pools = self._pools
        edge = pools.edge_weeks * WEEK if self._size.rate_over == "inner" else 0.0
        if pools.end - pools.start < 2 * edge + WEEK:
            without = (
                f" without {pools.edge_weeks:g} weeks at each end (edge_weeks)" if edge else ""
            )
            raise UsageError(
                f"the log has {pools.weeks:.1f} weeks, and{without} that is too short to count the "
                "temporary users of a week: for a log of two months set edge_weeks=1 and "
                "long_weeks=3, or set n_temporary and rate"
            )
        return pools.start + edge, pools.end - edge

    def _there(self) -> float:
        """Return the average number of temporary users who are present in a week of the log."""
        if not (self._pools.temporary or self._pools.discarded):
            return 0.0
        begin, end = self._inner_weeks()
        spans = [min(trace.last, end) - max(trace.start, begin) for trace in self._pools.temporary]
        # A user who arrives at any time of a week and stays d weeks is seen in 1 + d on average.
        return sum(1 + span / WEEK for span in spans if span >= 0) / ((end - begin) / WEEK)

    def _come_in_a_week(self) -> float:
        """Return the average number of temporary users who arrive in a week of the log."""
        if not (self._pools.temporary or self._pools.discarded):
            return 0.0
        begin, end = self._inner_weeks()
        come = sum(begin <= trace.start < end for trace in self._pools.temporary)
        return come / ((end - begin) / WEEK)

    def _probabilities(self) -> tuple[float, float]:
        """Return the probabilities that a user of the rare and of the temporary pool arrives."""
        size, pools = self._size, self._pools
        rate = size.load * (self._come_in_a_week() if size.rate is None else size.rate)
        rare = size.rare_per_week
        if rare > rate:
            raise UsageError(
                f"rare_per_week={rare:g}: expected at most the {rate:g} temporary users who come "
                "in a week"
            )
        return (
            _probability("rare_per_week", rare, pools.rare),
            _probability("rate", rate - rare, pools.temporary),
        )


def draw_users(
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
) -> DrawnUsers:
    """Draw users from a log, with the options of the user model ``resampled``.

    Raises :class:`UsageError` for invalid options.
    """
    calendar = Calendar.of(workload)
    pools = reuse_pools(
        workload.jobs,
        Delimitation.parse(str(sessions)),
        tie,
        rare=Rare.parse(str(rare)),
        long_weeks=number("long_weeks", long_weeks, 0, MOST_WEEKS),
        edge_weeks=number("edge_weeks", edge_weeks, 0, MOST_WEEKS),
    )
    length = pools.weeks if weeks is None else number("weeks", weeks, 1 / WEEK, MOST_WEEKS)
    return DrawnUsers(pools, calendar, Chance(seed), size, calendar.first_week + length * WEEK)


def _probability(name: str, rate: float, pool: Sequence[Trace]) -> float:
    if rate > len(pool):
        raise UsageError(
            f"{name}: {rate:g} users are to come in a week, but nobody comes twice in one, and "
            f"there are {len(pool)} to draw from"
        )
    return rate / len(pool) if pool else 0.0


def _weeks_after(since: float, gap: float, recorded: float) -> float:
    """Return the whole weeks, in seconds, that shift ``recorded`` nearest to ``since + gap``."""
    weeks = round((since + gap - recorded) / WEEK)
    return max(weeks, ceil((since - recorded) / WEEK)) * WEEK
