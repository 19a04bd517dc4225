"""Fluid feedback: work flows from one recorded session window to the next (Zakay)."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import accumulate
from math import ceil, floor, inf
from random import Random
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from batsched_py.options.option_values import one_of
from batsched_py.units import WEEK
from batsched_py.workload import Workload
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.random_streams import Chance, Seed
from batsched_users.models.adjusted import recorded_gap
from batsched_users.sessions.batch_gaps import Gaps
from batsched_users.sessions.batches import JOINS, Batch, Tie, Trace
from batsched_users.sessions.delimitation import Sessions
from batsched_users.sessions.feedback_engine import SESSIONS, BatchFeedback, Reason, Visit

Check = Annotated[
    Literal["release", "arrival"],
    Meta(title="What moves to the next window: only late releases, or also late arrivals."),
]
"""The types of options of the fluid model on its windows, with their help."""
Recycle = Annotated[
    Literal["after_last", "next_week"],
    Meta(title="When windows recur: all after the last one, or an unused one a week later."),
]
WindowEnd = Annotated[
    Literal["last_arrival", "last_end"],
    Meta(title="End of a window: the last submission of the session, or the end of its last job."),
]


class Fluid(BatchFeedback):
    """Users who submit in their recorded hours of work: later jobs move to the next session.

    The recorded sessions of a user are windows of time. A batch that is released in an open window
    arrives after a gap drawn from the user's gaps inside sessions; else it arrives when the next
    window opens. So days, nights and holidays stay. After the last window, all windows recur some
    whole weeks later.

    Source: Zakay, PhD thesis, section 4.3 (model C, "fluid"). The defaults of ``check`` and
    ``recycle`` are those of chapter 4; chapter 5 also has the others.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        sessions: Sessions = SESSIONS,
        tie: Tie = JOINS,
        check: Check = "release",
        recycle: Recycle = "after_last",
        window_end: WindowEnd = "last_arrival",
        seed: Seed = 0,
    ) -> None:
        super().__init__(workload.profiles)
        windows = WindowRules(Calendar.of(workload), check, recycle, window_end)
        chance = Chance(seed)
        self.replay(
            workload,
            sessions,
            tie,
            lambda trace: InWindows(windows, trace, 0.0, chance.stream("user", trace.user)),
        )


class WindowRules(msgspec.Struct, frozen=True):
    """Options of the fluid model on its windows; raises :class:`UsageError` for unknown values."""

    calendar: Calendar
    check: Check = "release"
    recycle: Recycle = "after_last"
    window_end: WindowEnd = "last_arrival"

    def __post_init__(self) -> None:
        one_of("check", self.check, Check)
        one_of("recycle", self.recycle, Recycle)
        one_of("window_end", self.window_end, WindowEnd)


class InWindows:
    """The reaction of a user with session windows: a random gap inside, else the next window."""

    def __init__(
        self,
        rules: WindowRules,
        trace: Trace,
        shift: float,
        random: Random,
        first: int = 0,
    ) -> None:
        """Make windows from the sessions of ``trace``; the visit begins with batch ``first``."""
        self._gaps = Gaps.collect(trace, opening_sessions=False)
        self._random = random
        self._also_at_arrival = rules.check == "arrival"
        last = rules.window_end == "last_end"
        spans = [
            (s.start + shift, (s.finish if last else s.jobs[-1].submit_time) + shift)
            for s in trace.sessions
        ]
        self._windows: Recycled | Reinserted = (
            Recycled(spans, rules.calendar)
            if rules.recycle == "after_last"
            else Reinserted(spans, rules.calendar, trace.batches[first].session - 1)
        )

    def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
        """Return ``now`` plus a random gap if a window is open, else the start of the next one."""
        end = self._windows.open_until(now)
        if end is not None:
            gap = self._gaps.draw(reason, self._random)
            # Without two batches in any session there is no such gap: take the batch's own.
            arrival = now + (recorded_gap(batch, reason) if gap is None else gap)
            if not (self._also_at_arrival and arrival > end):
                return arrival
        return self._windows.next_start(now)


class Recycled:
    """Session windows that all recur together, from the week after the last one on."""

    def __init__(self, spans: list[tuple[float, float]], calendar: Calendar) -> None:
        self._starts = [start for start, _ in spans]
        # Windows may overlap: one is open if the latest end of the begun ones has not passed.
        self._ends = list(accumulate((end for _, end in spans), max))
        self._period = measure_period(spans, calendar)
        self._origin = calendar.week_start(calendar.week(self._starts[0]))

    def open_until(self, now: float) -> float | None:
        """Return when the window that is open at ``now`` closes (seconds), None if none is open."""
        shift, local = self._local(now)
        begun = bisect_right(self._starts, local)
        ends = [self._ends[begun - 1] + shift] if begun else []
        if shift:  # a window of the round before may still be open
            ends.append(self._ends[-1] + shift - self._period)
        latest = max(ends, default=-inf)
        return latest if latest >= now else None

    def next_start(self, now: float) -> float:
        """Return when the next window opens after ``now`` (seconds)."""
        shift, local = self._local(now)
        place = bisect_right(self._starts, local)
        if place == len(self._starts):
            return self._starts[0] + shift + self._period
        return self._starts[place] + shift

    def _local(self, now: float) -> tuple[float, float]:
        """Return the shift of the round of ``now``, and ``now`` in the first round."""
        shift = max(0.0, floor((now - self._origin) / self._period) * self._period)
        return shift, now - shift


class Reinserted:
    """Session windows that recur after a week if they were not used; if none is left, all recur."""

    def __init__(
        self, spans: list[tuple[float, float]], calendar: Calendar, first: int = 0
    ) -> None:
        """``first`` is the window in which a visit begins; times of later calls never decrease."""
        self._spans = spans
        self._period = measure_period(spans, calendar)
        self._rounds = 0
        self._left = sorted(spans[first:])
        self._used = {spans[first]}

    def open_until(self, now: float) -> float | None:
        """Return when the window that is open at ``now`` closes (seconds), None if none is open."""
        begun = self._pass(now)
        self._used.update(begun)
        return max((end for _, end in begun), default=None)

    def next_start(self, now: float) -> float:
        """Return when the next window opens after ``now`` (seconds)."""
        begun = self._pass(now)
        while len(begun) == len(self._left):
            self._refill()
            begun = self._pass(now)
        span = self._left[len(begun)]
        self._used.add(span)
        return span[0]

    def _pass(self, now: float) -> list[tuple[float, float]]:
        """Return the open windows; closed ones are dropped, or moved to a later week if unused."""
        passed = self._left[: self._begun(now)]
        self._left[: len(passed)] = [span for span in passed if span[1] >= now]
        for span in passed:
            start, end = span
            if end < now and span not in self._used:
                shift = ceil((now - start) / WEEK) * WEEK
                insort(self._left, (start + shift, end + shift))
            elif end < now:
                self._used.discard(span)
        if not self._left:
            self._refill()
            return self._pass(now)
        return self._left[: self._begun(now)]

    def _begun(self, now: float) -> int:
        return bisect_right(self._left, (now, inf))

    def _refill(self) -> None:
        self._rounds += 1
        shift = self._rounds * self._period
        for start, end in self._spans:
            insort(self._left, (start + shift, end + shift))


def measure_period(spans: list[tuple[float, float]], calendar: Calendar) -> float:
    """Return the period of the windows in seconds: whole weeks that contain all of them."""
    return (calendar.week(spans[-1][0]) - calendar.week(spans[0][0]) + 1) * WEEK
