"""Rules of a site for when jobs may start, such as wide jobs at night only."""

from __future__ import annotations

from math import floor, inf
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.options.option_values import number
from batsched_py.schedulers.planning.week_windows import Windows
from batsched_py.units import WEEK
from batsched_py.workload.logs.clock import Clock

_KEYS = ("days", "from", "to", "max_size", "max_share", "max_estimate")


class _Limit:
    """A rule: in windows of the week, no job above a size or an estimate starts."""

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
        begin, end = rule.get("from", "00:00"), rule.get("to", "24:00")
        self.windows = Windows(rule.get("days", "mon-sun"), begin, end, "limits")
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


class Limits:
    """The rules of a site for starts.

    A job that already runs when a window begins keeps running.
    """

    def __init__(self, rules: Any) -> None:
        if not isinstance(rules, list):
            raise UsageError(f"limits={rules!r}: expected a list of objects")
        self._limits = [_Limit(rule) for rule in rules]
        self.clock = Clock()

    def find_rule(self, job: Job, time: float, nb_processors: int) -> str:
        """Return the text of the rule that forbids ``job`` to start at ``time``, or ``""``."""
        second = self.clock.time_of_week(time)
        for limit in self._limits:
            if limit.forbids(job, nb_processors) and limit.windows.seconds_left(second):
                return ", ".join(f"{key} {value}" for key, value in limit.rule.items())
        return ""

    def find_next_allowed(self, job: Job, time: float, nb_processors: int) -> float:
        """Return the first time (seconds) from ``time`` on when ``job`` may start, inf if never."""
        limits = [limit for limit in self._limits if limit.forbids(job, nb_processors)]
        begin = time
        while limits and time < inf:
            second = self.clock.time_of_week(time)
            later = time + max(limit.windows.seconds_left(second) for limit in limits)
            if later == time:  # outside all windows, or so late that floats have no seconds
                break
            time = later if later - begin <= WEEK else inf
        return time
