"""TBUOS, trace-based user-oriented simulation: users drawn from a log who react (Zakay)."""

from __future__ import annotations

from itertools import count

from batsched_py.options.option_values import one_of
from batsched_py.workload import Workload
from batsched_users.behaviour.random_streams import Seed
from batsched_users.behaviour.weekly_activity import ActivityCycle
from batsched_users.models.adjusted import AsRecorded
from batsched_users.models.distribution import InHours
from batsched_users.models.fluid import InWindows, WindowRules
from batsched_users.resampling.drawn_users import LONG_TERM, Arrival, Size, draw_users
from batsched_users.resampling.user_pools import EDGE_WEEKS, LONG_WEEKS
from batsched_users.sessions.batches import JOINS
from batsched_users.sessions.feedback_engine import (
    SESSIONS,
    BatchFeedback,
    Reaction,
    Visit,
    rank_jobs,
)


class Tbuos(BatchFeedback):
    """Trace-based user-oriented simulation: users drawn from a log, who react to the system.

    Users are drawn as in ``resampled``, and react as in ``fluid`` (or ``adjusted``,
    ``distribution``). Temporary users arrive whatever happens and leave when their last job has
    ended. Long-term users never leave: they begin anew after their last job has ended. So the
    throughput, the work submitted in a given time, depends on how well the system serves users.

    ``regeneration`` is the time until they begin anew: the ``gap`` of a resampled user, or ``none``
    (the first week possible). The other options are those of ``resampled`` and of ``fluid``.

    Source: Zakay, PhD thesis, chapter 5.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        reaction: str = "fluid",
        sessions: str = SESSIONS,
        tie: str = JOINS,
        weeks: float | None = None,
        load: float = 1.0,
        n_long: float | None = None,
        n_temporary: float | None = None,
        rate: float | None = None,
        rare: str = "",
        rare_per_week: float = 0.0,
        rate_over: str = "inner",
        begin: str = "active",
        long_weeks: float = LONG_WEEKS,
        edge_weeks: float = EDGE_WEEKS,
        regeneration: str = "gap",
        check: str = "release",
        recycle: str = "after_last",
        window_end: str = "last_arrival",
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
