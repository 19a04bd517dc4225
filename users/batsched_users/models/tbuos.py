"""TBUOS, trace-based user-oriented simulation: users drawn from a log who react (Zakay)."""

from __future__ import annotations

from itertools import count
from typing import Literal

from batsched_py.options.option_values import one_of
from batsched_py.workload import Workload
from batsched_users.behaviour.random_streams import Seed
from batsched_users.behaviour.weekly_activity import ActivityCycle
from batsched_users.models.adjusted import AsRecorded
from batsched_users.models.distribution import InHours
from batsched_users.models.fluid import Check, InWindows, Recycle, WindowEnd, WindowRules
from batsched_users.resampling.drawn_users import (
    LONG_TERM,
    Arrival,
    Begin,
    EdgeWeeks,
    Load,
    LongWeeks,
    NumberOfLongTerm,
    NumberOfTemporary,
    RarePerWeek,
    RareText,
    Rate,
    RateOver,
    Size,
    Weeks,
    draw_users,
)
from batsched_users.resampling.user_pools import EDGE_WEEKS, LONG_WEEKS
from batsched_users.sessions.batches import JOINS, Tie
from batsched_users.sessions.delimitation import Sessions
from batsched_users.sessions.feedback_engine import (
    SESSIONS,
    BatchFeedback,
    Reaction,
    Visit,
    rank_jobs,
)


class Tbuos(BatchFeedback):
    """Users drawn from a log at random, who react to the system (TBUOS).

    Users are drawn as by ``resampled``, and react as in ``fluid`` (or ``adjusted``,
    ``distribution``). Temporary users arrive at fixed times and leave when their last job has
    ended. Long-term users begin anew after their last job. So the throughput, the work submitted in
    a given time, depends on how well the system serves users.

    Source: Zakay, PhD thesis, chapter 5.

    Args:
        reaction: User model of the reactions.
        regeneration: Time until long-term users begin anew: as long as in ``resampled`` (``gap``),
            or until the first week possible (``none``).
    """

    def __init__(
        self,
        workload: Workload,
        *,
        reaction: Literal["fluid", "adjusted", "distribution"] = "fluid",
        sessions: Sessions = SESSIONS,
        tie: Tie = JOINS,
        weeks: Weeks | None = None,
        load: Load = 1.0,
        n_long: NumberOfLongTerm | None = None,
        n_temporary: NumberOfTemporary | None = None,
        rate: Rate | None = None,
        rare: RareText = "",
        rare_per_week: RarePerWeek = 0.0,
        rate_over: RateOver = "inner",
        begin: Begin = "active",
        long_weeks: LongWeeks = LONG_WEEKS,
        edge_weeks: EdgeWeeks = EDGE_WEEKS,
        regeneration: Literal["gap", "none"] = "gap",
        check: Check = "release",
        recycle: Recycle = "after_last",
        window_end: WindowEnd = "last_arrival",
        seed: Seed = 0,
    ) -> None:
        size = Size(load, n_long, n_temporary, rate, rare_per_week, rate_over, begin)
        self._drawn_users = draw_users(
            workload,
            size,
            rare=rare,
            long_weeks=long_weeks,
            edge_weeks=edge_weeks,
            weeks=weeks,
            seed=seed,
            sessions=sessions,
            tie=tie,
        )
        super().__init__(workload.profiles, until=self._drawn_users.until)
        self._ranks = rank_jobs(workload)
        self._numbers = map(str, count(1))
        self._gap = one_of("regeneration", regeneration, ("gap", "none")) == "gap"
        self._windows = WindowRules(self._drawn_users.calendar, check, recycle, window_end)
        self._reaction = one_of("reaction", reaction, REACTIONS)

    def next_submission(self) -> float:
        """Return the time of the next planned submission, inf if none is planned."""
        while self._drawn_users.is_week_due(super().next_submission()):
            for start in self._drawn_users.next_arrivals():
                self._enter(start)
        return super().next_submission()

    def visit_ended(self, visit: Visit, now: float) -> None:
        """Let a long-term user begin anew after the last job; temporary users have left."""
        start = visit.origin
        if isinstance(start, Arrival) and start.kind == LONG_TERM:
            self._enter(self._drawn_users.begin_anew(start, now, gap=self._gap))

    def _enter(self, start: Arrival) -> None:
        self.enter(
            Visit(
                start.user,
                start.trace,
                self._react(start),
                start.first,
                start.shift,
                names=self._numbers.__next__,
                notes=start.notes,
                sessions_before=start.sessions_before,
                origin=start,
            )
        )

    def _react(self, start: Arrival) -> Reaction:
        if self._reaction == "adjusted":
            return AsRecorded()
        chance = self._drawn_users.chance
        random = chance.stream(start.number, start.shift)
        if self._reaction == "fluid":
            return InWindows(self._windows, start.trace, start.shift, random, start.first)
        # A user who begins anew keeps the hours of work, and draws other gaps.
        cycle = ActivityCycle.draw(chance.stream(start.number))
        return InHours(self._drawn_users.calendar, cycle, start.trace, random)


REACTIONS = ("fluid", "adjusted", "distribution")
