"""Hazards of withdrawals: rates that change in steps, and their integrals.

Time passes until the integral of the rate, the cumulative hazard, reaches a threshold with the
exponential distribution of mean 1. Thresholds are drawn once, so that the same user has the same
patience under every policy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from batsched_py.units import DAY, WEEK
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.weekly_activity import WEEKEND
from batsched_users.behaviour.withdrawal_habits import EVENING, MORNING


class AgeHazard:
    """A rate by the age of a waiting job, constant in steps.

    ``begins`` are the begins of the steps (seconds, the first 0), ``rates`` are per second.

    >>> hazard = AgeHazard((0.0, 60.0), (0.01, 0.001))
    >>> hazard.find_age(0.5), round(hazard.find_age(0.7))
    (50.0, 160)
    """

    def __init__(self, begins: Sequence[float], rates: Sequence[float]) -> None:
        self._begins, self._rates = list(begins), list(rates)
        steps = zip(pairwise(self._begins), self._rates, strict=False)
        self._up_to = list(accumulate(((b - a) * rate for (a, b), rate in steps), initial=0.0))

    def find_age(self, threshold: float) -> float:
        """Return the age (seconds) at which the cumulative hazard is ``threshold``; inf if never.

        ``threshold`` is at least 0.
        """
        step = bisect_right(self._up_to, threshold) - 1
        if not self._rates[step]:  # only possible in the last step, which ends never
            return inf
        return self._begins[step] + (threshold - self._up_to[step]) / self._rates[step]


class WeekClock:
    """The time of a clock that runs slower at night and at weekends: an integral over the week.

    It runs as fast as time from 8 to 20 h on days of the week, at other times with the factors
    ``night`` and ``weekend`` (their product in nights of a weekend).
    """

    def __init__(self, calendar: Calendar, night: float, weekend: float) -> None:
        self._origin = calendar.at_origin
        parts = ((0.0, night), (MORNING, 1.0), (EVENING, night))
        self._begins = [day * DAY + begin for day in range(7) for begin, _ in parts]
        of_day = [weekend if day in WEEKEND else 1.0 for day in range(7)]
        self._set_speeds([of_day[day] * speed for day in range(7) for _, speed in parts])

    def _set_speeds(self, speeds: list[float]) -> None:
        self._speeds = speeds
        spans = zip(pairwise([*self._begins, WEEK]), speeds, strict=True)
        *self._read, self._week = accumulate(((b - a) * v for (a, b), v in spans), initial=0.0)

    @classmethod
    def of_times(cls, calendar: Calendar, *, night: bool, weekend: bool) -> WeekClock:
        """Return a clock that runs as fast as time, but only by day or by night, and only on days
        of the week or on weekends.
        """
        clock = cls(calendar, 0.0, 0.0)
        is_night = [begin % DAY != MORNING for begin in clock._begins]
        is_weekend = [begin // DAY in WEEKEND for begin in clock._begins]
        clock._set_speeds(
            [
                float(at_night == night and at_weekend == weekend)
                for at_night, at_weekend in zip(is_night, is_weekend, strict=True)
            ]
        )
        return clock

    def read_all(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what :meth:`read` does for each of the times, shape (n,)."""
        weeks, local = np.divmod(times + self._origin, WEEK)
        at = np.searchsorted(self._begins, local, side="right") - 1
        read, begins, speeds = map(np.array, (self._read, self._begins, self._speeds))
        shown: NDArray[np.float64]
        shown = weeks * self._week + read[at] + (local - begins[at]) * speeds[at]
        return shown

    def read(self, time: float) -> float:
        """Return what the clock shows at a time of the simulation; both in seconds."""
        weeks, local = divmod(time + self._origin, WEEK)
        at = bisect_right(self._begins, local) - 1
        return weeks * self._week + self._read[at] + (local - self._begins[at]) * self._speeds[at]

    def find_time(self, shown: float) -> float:
        """Return a time at which the clock shows ``shown`` (seconds); inf if it stands still."""
        if not self._week:
            return inf
        weeks, rest = divmod(shown, self._week)
        at = bisect_right(self._read, rest) - 1
        ahead = (rest - self._read[at]) / self._speeds[at] if rest > self._read[at] else 0.0
        return weeks * WEEK + self._begins[at] + ahead - self._origin


class PresenceHazard:
    """A rate by the time since the last visible act of a user, by day and night, and weekend.

    ``begins`` are the begins of the steps (seconds, the first 0), ``rates`` are per second of the
    ``clock``.
    """

    def __init__(self, clock: WeekClock, begins: Sequence[float], rates: Sequence[float]) -> None:
        self._clock = clock
        self._ends = [*begins[1:], inf]
        self._rates = list(rates)

    def integrate(self, acted: float, begin: float, end: float) -> float:
        """Return the cumulative hazard from ``begin`` to ``end`` of a user who acted at ``acted``.

        Times are in seconds, ``acted <= begin``.
        """
        total, step, read = 0.0, bisect_right(self._ends, begin - acted), self._clock.read
        shown = read(begin)
        while begin < end:
            begin = min(end, acted + self._ends[step])
            then = read(begin)
            total += self._rates[step] * (then - shown)
            shown, step = then, step + 1
        return total

    def find_time(self, acted: float, begin: float, threshold: float) -> float:
        """Return when the hazard from ``begin`` on reaches ``threshold``, seconds; inf if never."""
        step, read = bisect_right(self._ends, begin - acted), self._clock.read
        shown = read(begin)
        for end, rate in zip(self._ends[step:], self._rates[step:], strict=True):
            if end == inf:
                break
            then = read(acted + end)
            if rate and rate * (then - shown) >= threshold:
                return max(begin, self._clock.find_time(shown + threshold / rate))
            threshold -= rate * (then - shown)
            shown, begin = then, acted + end
        return max(begin, self._clock.find_time(shown + threshold / rate)) if rate else inf
