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

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options import number, one_of
from users.batches import Trace
from users.calendar import WEEK, Calendar
from users.chance import Chance
from users.resampling.pools import Pools, weeks_active

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
    """Which weeks that is: ``inner`` (without the edges whose users are discarded) or ``all``."""

    def __post_init__(self) -> None:
        for name in ("load", "n_long", "n_temporary", "rate", "rare_per_week"):
            value = getattr(self, name)
            if value is not None:
                number(name, value, 0)
        one_of("rate_over", self.rate_over, ("inner", "all"))


class Start(msgspec.Struct, eq=False):
    """A user who begins: with which batch, and how much later than recorded."""

    kind: str
    person: int
    """Number of the person; who comes again is the same."""
    trace: Trace
    first: int
    """Place of the first batch."""
    shift: float
    """Seconds, whole weeks."""
    sessions_before: int = 0


class Crowd:
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
        """``until`` is when nobody comes any more (seconds); a crowd without users is refused."""
        self._pools = pools
        self._calendar = calendar
        self._random = chance.stream("crowd")
        self._until = until
        self._size = size
        self._persons = count(1)
        self._rare, self._common = self._probabilities()
        self._starts = self._weeks()
        self.next_week = calendar.week_start(0)
        """When the week begins whose users come next; inf if nobody comes any more."""

    def come(self) -> list[Start]:
        """Return who begins in the week of :attr:`next_week`, which moves on."""
        starts = next(self._starts)
        self.next_week += WEEK
        if self.next_week >= self._until:
            self.next_week = inf
        return starts

    def again(self, start: Start, since: float | None) -> Start:
        """Return a long-term user who is through, from his first job on.

        The gap is that between his last job and the end of the log, and between its beginning and
        his first job: each comes again after the length of the log, rounded to weeks. With
        ``since`` (seconds) the gap begins then, in the nearest week after it.
        """
        pools, trace = self._pools, start.trace
        sessions = start.sessions_before + len(trace.sessions)
        if since is None:
            least = int((trace.last - trace.start) // WEEK) + 1
            shift = start.shift + max(least, round(pools.weeks)) * WEEK
        else:
            gap = (trace.start - pools.start) + (pools.end - trace.last)
            shift = _weeks_after(since, gap, trace.start)
        return Start(start.kind, start.person, trace, 0, shift, sessions)

    def at_once(self, start: Start, since: float) -> Start:
        """Return a long-term user who comes again without a gap, in the first week possible."""
        sessions = start.sessions_before + len(start.trace.sessions)
        shift = _weeks_after(since, 0.0, start.trace.start)
        return Start(start.kind, start.person, start.trace, 0, shift, sessions)

    # Drawing -------------------------------------------------------------------------------------

    def _weeks(self) -> Iterator[list[Start]]:
        yield [*self._long_term(), *self._temporary()]
        for week in count(1):
            yield [*self._newcomers(week)]

    def _long_term(self) -> Iterator[Start]:
        pool, random = self._pools.long_term, self._random
        wanted = self._wanted(self._size.n_long, len(pool))
        if wanted and not pool:
            raise UsageError(
                "no user of the log is active for so many weeks (long_weeks), so there are no "
                "long-term users to draw; use a longer log, a lower long_weeks, or n_long=0"
            )
        rounds, rest = divmod(wanted, max(1, len(pool)))
        chosen = set(random.sample(range(len(pool)), rest))
        for place, trace in enumerate(pool):
            replicas = rounds + (place in chosen)
            weeks = weeks_active(trace, self._calendar)
            begin = random.randrange(weeks)
            for replica in range(replicas):  # as far from each other as can be
                yield self._in_week((begin + replica * weeks // replicas) % weeks, LONG_TERM, trace)

    def _temporary(self) -> Iterator[Start]:
        pool, random = self._pools.temporary, self._random
        weeks = [weeks_active(trace, self._calendar) for trace in pool]
        there = sum(weeks) / self._weeks_of_log()
        wanted = self._wanted(self._size.n_temporary, there)
        for trace in random.choices(pool, weeks, k=wanted) if pool else ():
            active = weeks_active(trace, self._calendar)
            yield self._in_week(random.randrange(active), TEMPORARY, trace)

    def _newcomers(self, week: int) -> Iterator[Start]:
        random = self._random
        pools = self._pools
        for pool, probability, kind in (
            (pools.temporary, self._common, TEMPORARY),
            (pools.rare, self._rare, RARE),
        ):
            for trace in pool:
                if random.random() < probability:
                    shift = (week - self._calendar.week(trace.start)) * WEEK
                    yield Start(kind, next(self._persons), trace, 0, shift)

    def _in_week(self, week: int, kind: str, trace: Trace) -> Start:
        """Let a user begin in week 0 with what he did from ``week`` of his activity on."""
        number = self._calendar.week(trace.start) + week
        begin = self._calendar.week_start(number)
        first = bisect_left(trace.batches, begin, key=attrgetter("start"))
        return Start(kind, next(self._persons), trace, first, -number * WEEK)

    # Numbers -------------------------------------------------------------------------------------

    def _wanted(self, given: float | None, of_the_log: float) -> int:
        return round(self._size.load * (of_the_log if given is None else given))

    def _weeks_of_log(self) -> float:
        """Weeks of the log over which temporary users are counted."""
        edges = 2 * self._pools.edge_weeks if self._size.rate_over == "inner" else 0.0
        weeks = self._pools.weeks - edges
        if weeks <= 0:
            raise UsageError(
                f"the log is {self._pools.weeks:.1f} weeks long, of which {edges:g} are edges: "
                "too short to count who comes in a week; give edge_weeks or rate_over=all"
            )
        return weeks

    def _probabilities(self) -> tuple[float, float]:
        """Return how likely each of the rare pool, and of the temporary one, comes in a week."""
        size, pools = self._size, self._pools
        rate = size.rate
        if rate is None:
            rate = len(pools.temporary) / self._weeks_of_log() if pools.temporary else 0.0
        rate *= size.load
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
