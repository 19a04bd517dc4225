"""Finds the jobs of a log that were submitted in a span of time."""

from __future__ import annotations

from math import inf

from batsched_py.errors import UsageError, parameter
from batsched_py.options.durations import format_exact_duration
from batsched_py.workload.conversion_rules import SPAN, Moment, Rules, parse_moment
from batsched_py.workload.logs.clock import find_second, make_date_writer
from batsched_py.workload.logs.swf import Mask, SwfLog


def find_jobs_in_span(
    log: SwfLog, rules: Rules, unix_start_time: float | None, time_zone: str
) -> Mask:
    """Return the jobs submitted from ``span_from`` on and before ``span_until``, shape (n,).

    Raises :class:`UsageError` for a date if the start time is None, and for a span without
    submissions.
    """
    submit = log.column("submit_time")

    def find(name: str, value: Moment) -> float:
        value = parse_moment(name, value)
        if not isinstance(value, str):
            return float(submit[0] + value)
        if unix_start_time is None:
            problem = "is a date, but the log has no usable UnixStartTime: give a time"
            raise _error(log, {name: value}, problem)
        return find_second(value, unix_start_time, time_zone)

    values = [(name, getattr(rules, name), getattr(Rules(), name)) for name in SPAN]
    given = {name: value for name, value, default in values if value != default}
    seconds = {name: find(name, value) for name, value in given.items()}
    begin, end = seconds.get("span_from", -inf), seconds.get("span_until", inf)
    in_span: Mask = (begin <= submit) & (submit < end)
    if not in_span.any():
        raise _error(log, given, "leaves no job" if begin < end else "does not end after it begins")
    return in_span


def _error(log: SwfLog, given: dict[str, Moment], problem: str) -> UsageError:
    span = " ".join(
        f"{parameter(name)} {value if isinstance(value, str) else format_exact_duration(value)}"
        for name, value in given.items()
    )
    show = make_date_writer(log)
    first, last = log.column("submit_time")[[0, -1]].tolist()
    return UsageError(
        f"{span} {problem}; the jobs of {log.path} were submitted from {show(first)} to "
        f"{show(last)}, over {format_exact_duration(last - first)}"
    )
