"""Distribution-based feedback: random gaps and hours of work (Zakay, after Shmueli)."""

from __future__ import annotations

from random import Random

from batsched_py.units import DAY, MINUTE
from batsched_py.workload import Workload
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.behaviour.think_times import continuation
from batsched_users.behaviour.weekly_activity import LONGEST_BREAK, ActivityCycle
from batsched_users.models.adjusted import recorded_gap
from batsched_users.sessions.batch_gaps import Gaps
from batsched_users.sessions.batches import JOINS, Batch, Tie, Trace
from batsched_users.sessions.delimitation import Sessions
from batsched_users.sessions.feedback_engine import SESSIONS, BatchFeedback, Reason, Visit


class Distribution(BatchFeedback):
    """Users who work at certain hours, and continue or rest depending on their last response.

    Each user works by day or by night, on weekdays or at weekends. A batch that is released outside
    these hours arrives when they begin. Inside, the user continues with probability 0.8 / (0.05 R +
    1), where R is the response time in minutes of the job that ended last. The gap is then drawn
    from the user's gaps inside sessions. Otherwise the user takes a break, drawn from the gaps
    between sessions below 8 hours and extended to the next hours of work. A user without such gaps
    keeps the recorded gap, or rests until the next hours of work.

    Source: Zakay, PhD thesis, section 4.3 (model B), adapted from Shmueli and Feitelson 2009.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        sessions: Sessions = SESSIONS,
        tie: Tie = JOINS,
        seed: Seed = 0,
    ) -> None:
        super().__init__(workload.profiles)
        calendar, chance = Calendar.of(workload), Chance(seed)

        def react(trace: Trace) -> InHours:
            random = chance.stream("user", trace.user)
            return InHours(calendar, ActivityCycle.draw(random), trace, random)

        self.replay(workload, sessions, tie, react)


class InHours:
    """The reaction of a user who works in the hours of an activity cycle and draws gaps."""

    def __init__(
        self, calendar: Calendar, cycle: ActivityCycle, trace: Trace, random: Random
    ) -> None:
        self._calendar = calendar
        self._random = random
        self._cycle = cycle
        self._inside = Gaps.collect(trace, opening_sessions=False)
        self._between = Gaps.collect(trace, opening_sessions=True, below=LONGEST_BREAK)

    def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
        """Return when a batch arrives in seconds, by the rules of :class:`Distribution`."""
        calendar, cycle = self._calendar, self._cycle
        if not cycle.is_open(calendar, now):
            return cycle.next_opening(calendar, now)
        if self._random.random() < continuation(visit.response / MINUTE):
            gap = self._inside.draw(reason, self._random)
            return now + (recorded_gap(batch, reason) if gap is None else gap)
        gap = self._between.draw(reason, self._random)
        if gap is None:
            gap = (cycle.closes - calendar.time_of_day(now)) % DAY  # until these hours are over
        return cycle.next_opening(calendar, now + gap)
