"""Crowds: users drawn from the pools of a log, who begin in some week of a simulation.

Source: N. Zakay, PhD thesis, chapter 3. Every shift of a trace is a whole number of weeks, so that
each job keeps its weekday and its time of day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import count
from math import ceil, inf
from operator import attrgetter
from typing import Any

import msgspec

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


class Size(msgspec.Struct, frozen=True):
    """How many users a crowd has; None means: as many as the log.

    Raises :class:`UsageError` for numbers that make no sense.
    """

    load: float = 1.0
    """Multiplies the three numbers below, and with them the load, more or less."""
    n_long: float | None = None
    """Long-term users, always that many; of the log: all of them."""
    n_temporary: float | None = None
    """Temporary users at the beginning; of the log: how many are there in a week, on average."""
    rate: float | None = None
    """Temporary users who come in a week; of the log: all, over the weeks that they come in."""
    rare_per_week: float = 0.0
    """Of those who come, how many come from the pool of rare behaviour instead."""
    rate_over: str = "inner"
    """Over which weeks of the log temporary users are counted who come, or are there: ``inner``
    (without the edges, whose users are discarded) or ``all``."""
    begin: str = "active"
    """Where long-term users begin: while they are ``active``, or ``anywhere`` in their round."""

    def __post_init__(self) -> None:
        for name in ("load", "rare_per_week"):
            number(name, getattr(self, name), 0, MOST_USERS)
        for name in ("n_long", "n_temporary", "rate"):
            value = getattr(self, name)
            if value is not None and number(name, value, 0, MOST_USERS) % 1 and name != "rate":
                raise UsageError(f"{name}={value}: expected a whole number of users")
        one_of("rate_over", self.rate_over, ("inner", "all"))
        one_of("begin", self.begin, ("active", "anywhere"))


class Arrival(msgspec.Struct, eq=False):
    """A user who begins: with which batch, and how much later than recorded."""

    kind: str
    number: int
    """Number of the person; who comes again is the same."""
    trace: Trace
    first: int
    """Place of the first batch."""
    shift: float
    """Seconds, whole weeks."""
    sessions_before: int = 0

    @property
    def user(self) -> str:
        """The user of the log, and the number of this copy."""
        return f"{self.trace.user}.{self.number}"

    @property
    def notes(self) -> dict[str, Any]:
        """Fields that all jobs of the user carry."""
        return {"behaviour": RARE} if self.kind == RARE else {}


class DrawnUsers:
    """The users of a simulation, week by week.

    At the beginning there are long-term users, each drawn once before any is drawn twice, and
    temporary ones, drawn in proportion to the weeks that they were active; all begin in any of
    their weeks, as if they had been there for some time. In each further week every user of the
    temporary pool comes with the same probability, with his first job: the number is binomial,
    and nobody comes twice in a week. Long-term users begin again when they are through.

    Weeks are counted from the first Monday 0:00 of the simulation.
    """

    def __init__(
        self, pools: Pools, calendar: Calendar, chance: Chance, size: Size, until: float
    ) -> None:
        """``until`` is when nobody comes any more (seconds).

        Raises :class:`UsageError` if there are no users to draw, or nobody is wanted.
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
        """When the week begins whose users come next; inf if nobody comes any more."""
        if not self._first and not self._rare and not self._common:
            raise UsageError(
                "nobody would ever come: load, n_long, n_temporary and rate leave no user to draw"
            )

    def next_arrivals(self) -> list[Arrival]:
        """Return who begins in the week of :attr:`next_week`, which moves on."""
        starts = self._first if not self._week else list(self._newcomers(self._week))
        self._first = []
        self._week += 1
        self.next_week += WEEK
        if self.next_week >= self.until or not (self._rare or self._common):
            self.next_week = inf
        return starts

    def is_week_due(self, time: float) -> bool:
        """Tell whether a week whose users have not come yet begins by ``time``."""
        return self.next_week < inf and self.next_week <= time

    def begin_anew(
        self, start: Arrival, since: float | None = None, *, gap: bool = True
    ) -> Arrival:
        """Return a long-term user who is through, from his first job on.

        The gap is that between his last job and the end of the log, and between its beginning and
        his first job: each comes again after the length of the log, rounded to weeks. With
        ``since`` (seconds) the gap begins then, in the nearest week after it; without ``gap`` he
        comes in the first week possible.
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
            weeks = self._weeks_to_begin_in(trace)
            begin = random.randrange(weeks)
            for replica in range(replicas):  # as far from each other as can be
                week = (begin + replica * weeks // replicas) % weeks
                yield self._in_week(week, weeks, LONG_TERM, trace)

    def _weeks_to_begin_in(self, trace: Trace) -> int:
        weeks = count_active_weeks(trace, self.calendar)
        return weeks if self._size.begin == "active" else max(weeks, self._round_weeks(trace))

    def _temporary(self) -> Iterator[Arrival]:
        """Draw users in proportion to their weeks, each once (Efraimidis and Spirakis 2006)."""
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
        """Let a user begin in week 0 with what he did from ``week`` of his ``weeks`` on.

        In weeks after his last one, with his first job when the round begins anew.
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
        """Weeks after which a long-term user begins anew: the length of the log, at least his."""
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
        """Return the span of the log over which temporary users are counted, in seconds."""
        pools = self._pools
        edge = pools.edge_weeks * WEEK if self._size.rate_over == "inner" else 0.0
        if pools.end - pools.start < 2 * edge + WEEK:
            edges = f", twice {pools.edge_weeks:g} of them edges (edge_weeks)" if edge else ""
            raise UsageError(
                f"the log has {pools.weeks:.1f} weeks{edges}: too short to count the temporary "
                "users of a week; a log of two months takes edge_weeks=1 and long_weeks=3, or give "
                "n_temporary and rate"
            )
        return pools.start + edge, pools.end - edge

    def _there(self) -> float:
        """Return how many temporary users are there in a week of the log, on average."""
        if not (self._pools.temporary or self._pools.discarded):
            return 0.0
        begin, end = self._inner_weeks()
        spans = [min(trace.last, end) - max(trace.start, begin) for trace in self._pools.temporary]
        # Who comes at any time of a week and stays d weeks is seen in 1 + d weeks on average.
        return sum(1 + span / WEEK for span in spans if span >= 0) / ((end - begin) / WEEK)

    def _come_in_a_week(self) -> float:
        """Return how many temporary users come in a week of the log, on average."""
        if not (self._pools.temporary or self._pools.discarded):
            return 0.0
        begin, end = self._inner_weeks()
        come = sum(begin <= trace.start < end for trace in self._pools.temporary)
        return come / ((end - begin) / WEEK)

    def _probabilities(self) -> tuple[float, float]:
        """Return how likely each of the rare pool, and of the temporary one, comes in a week."""
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
    """Return a crowd drawn from a log; :class:`batsched_users.models.resampled.Resampled` has the
    options. Raises :class:`UsageError` for those that make no sense.
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
    """Return the shift of ``recorded`` by whole weeks nearest to a ``gap`` after ``since``."""
    weeks = round((since + gap - recorded) / WEEK)
    return max(weeks, ceil((since - recorded) / WEEK)) * WEEK
