"""Finds the jobs of a log that were submitted in a span of time."""

from __future__ import annotations

from math import inf

from batsched_py.errors import UsageError, parameter
from batsched_py.options.durations import format_exact_duration
from batsched_py.workload.conversion_rules import SPAN, Rules, parse_moment
from batsched_py.workload.logs.clock import find_second, make_date_writer
from batsched_py.workload.logs.swf import Mask, SwfLog


def find_jobs_in_span(
    log: SwfLog, rules: Rules, unix_start_time: float | None, time_zone: str
) -> Mask:
    """Return the jobs submitted from ``span_from`` on and before ``span_until``, shape (n,).

    Raises :class:`UsageError` for a date if the start time is None, and for a span without
    submissions.
    """
    submit, defaults = log.column("submit_time"), Rules()
    bounds, span, problem = {"span_from": -inf, "span_until": inf}, [], ""
    for name in SPAN:
        if (value := getattr(rules, name)) == getattr(defaults, name):
            continue
        value = parse_moment(name, value)
        if not isinstance(value, str):
            bounds[name] = float(submit[0] + value)
            value = format_exact_duration(value)
        elif unix_start_time is None:
            problem = "is a date, but the log has no usable UnixStartTime: give a time"
        else:
            bounds[name] = find_second(value, unix_start_time, time_zone)
        span.append(f"{parameter(name)} {value}")
    begin, end = bounds.values()
    in_span: Mask = (begin <= submit) & (submit < end)
    if not problem and not in_span.any():
        problem = "leaves no job" if begin < end else "does not end after it begins"
    if problem:
        show, (first, last) = make_date_writer(log), submit[[0, -1]].tolist()
        raise UsageError(
            f"{' '.join(span)} {problem}; the jobs of {log.path} were submitted from {show(first)} "
            f"to {show(last)}, over {format_exact_duration(last - first)}"
        )
    return in_span
