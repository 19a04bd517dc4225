"""Rules of a site for when jobs may start: wide ones at night, long ones at the weekend, ..."""

from __future__ import annotations

import re
from math import floor, inf
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.support.option_values import number
from batsched_py.units import DAY, HOUR, MINUTE, WEEK

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_KEYS = ("days", "from", "to", "max_size", "max_share", "max_estimate")
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")


class _Limit:
    """On some days from one time of day to another, no job beyond a size or an estimate starts."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        if not isinstance(rule, dict):
            raise UsageError(f"limits: {rule!r} is not an object with {', '.join(_KEYS)}")
        for key in rule:
            if key not in _KEYS:
                raise UsageError(f"limits: there is no {key!r}: expected {', '.join(_KEYS)}")
        self.max_size = number("limits: max_size", rule.get("max_size", 1 << 60), 0)
        self.max_share = number("limits: max_share", rule.get("max_share", 1), 0, 1)
        self.max_estimate = rule.get("max_estimate", inf)
        if self.max_estimate != inf:
            number("limits: max_estimate", self.max_estimate, 0)
        begin, end = _clock(rule.get("from", "00:00")), _clock(rule.get("to", "24:00"))
        if begin == end:
            raise UsageError(
                f"limits: from and to are both {rule.get('from')}: a window of no length"
            )
        length = end - begin if end > begin else end - begin + DAY  # over midnight
        self.windows = [(day * DAY + begin, length) for day in _days(rule.get("days", "mon-sun"))]
        if not any(key.startswith("max_") for key in rule):
            raise UsageError(
                f"limits: {rule!r} limits nothing: give max_size, max_share or max_estimate"
            )

    def forbids(self, job: Job, nb_processors: int) -> bool:
        """Tell whether ``job`` may not start in the windows."""
        return (
            job.size > self.max_size
            or job.size > floor(self.max_share * nb_processors + 1e-9)
            or job.estimate > self.max_estimate
        )

    def end_of_window(self, second: float) -> float:
        """Return how many seconds after ``second`` of the week the window ends; 0 outside."""
        for begin, length in self.windows:
            inside = (second - begin) % WEEK
            if inside < length:
                return length - inside
        return 0.0


class Limits:
    """All rules of a site. ``begins`` is the weekday and time of day at time 0: ``"tue 08:15"``.

    A job that runs already when a window begins goes on.
    """

    def __init__(self, rules: Any, begins: str) -> None:
        if not isinstance(rules, list):
            raise UsageError(f"limits={rules!r}: expected a list of objects")
        self._limits = [_Limit(rule) for rule in rules]
        day, _, clock = str(begins).strip().lower().partition(" ")
        if day not in DAYS:
            raise UsageError(f"begins={begins}: expected such as 'tue 08:15'")
        self._begins = DAYS.index(day) * DAY + _clock(clock.strip() or "00:00")

    def why(self, job: Job, time: float, nb_processors: int) -> str:
        """Return the rule that forbids ``job`` to start at ``time``; empty if none does."""
        second = (self._begins + time) % WEEK
        for limit in self._limits:
            if limit.forbids(job, nb_processors) and limit.end_of_window(second):
                return ", ".join(f"{key} {value}" for key, value in limit.rule.items())
        return ""

    def next_allowed(self, job: Job, time: float, nb_processors: int) -> float:
        """Return the first moment from ``time`` on at which ``job`` may start, inf if never."""
        limits = [limit for limit in self._limits if limit.forbids(job, nb_processors)]
        begin = time
        while limits and time < inf:
            second = (self._begins + time) % WEEK
            wait = max(limit.end_of_window(second) for limit in limits)
            later = time + wait
            if later == time:  # no window is open; or so far ahead seconds are below the last digit
                break
            time = later if later - begin <= WEEK else inf
        return time


def _clock(text: Any) -> float:
    match = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise UsageError(f"limits: {text!r} is not a time of day such as 06:00")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    clock = hours * HOUR + minutes * MINUTE + seconds
    if clock > DAY:
        raise UsageError(f"limits: {text!r} is after 24:00")
    return clock


def _days(text: Any) -> list[int]:
    days: list[int] = []
    for part in str(text).lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise UsageError(f"limits: days {text!r}: expected such as 'mon-fri' or 'sat,sun'")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        days += [day % 7 for day in range(begin, end + 1 if end >= begin else end + 8)]
    return days
