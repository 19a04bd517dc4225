"""The measures of the study: work by state of the energy supply, and what users do.

Energy of equal hosts follows from the processor-seconds (:class:`batsched_py.metrics.EqualHosts`).
"""

from __future__ import annotations

import numpy as np

from batsched_py import Result
from batsched_py.metrics import busy_within
from batsched_py.units import DAY, HOUR, WEEK
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.energy_signal import RED, Span, read_signal
from batsched_users.behaviour.levers import LEVERS, split_levers


def measure(result: Result) -> dict[str, float]:
    """Return processor-seconds in red times, after them, by hour and in total; jobs by lever.

    All measures are about the weeks for which users are drawn. ``busy_after`` covers as much time
    after each red time as it lasted, unless that is red again. ``work_of_red`` is the work of jobs
    submitted in red times, ``half_of_red`` what these lose on half of the processors, ``work_all``
    the work of all jobs. ``wait_from_wish`` is the time from the wished submission of a job to its
    start. A job that was delayed and then changed counts as both.
    """
    settings = result.settings
    options = settings["run"]["user_options"]
    calendar = Calendar.of_clock(settings["unix_start_time"], settings["time_zone"])
    limits = {name: options.get(name) for name in ("yellow_from", "red_from")}
    repeats = options.get("repeats", False)
    signal = read_signal(options["signal"], calendar, **limits, repeats=repeats)
    begin = calendar.first_week  # when the users who are drawn begin
    end = begin + options["weeks"] * WEEK
    red = signal.spans(RED, begin, end)
    after = find_following_spans(red, end)
    table = result.table
    hours = {
        f"busy_at_{hour:02d}": busy_within(table, _each_day(hour, begin, end)) for hour in range(24)
    }
    jobs = result.jobs
    levers = [split_levers(column) for column in jobs.get("lever", ())]
    wish = jobs["submission_time"]
    if "wished_submission_time" in jobs:
        wish = jobs["wished_submission_time"].fillna(wish)
    size, area = table.size, np.nan_to_num(table.area)
    in_red = np.array([signal.state(time) == RED for time in table.submit])
    smaller = area * (1 - np.ceil(size / 2) / np.maximum(size, 1))
    waits = (jobs["starting_time"] - wish)[np.isfinite(jobs["finish_time"])]
    return {
        "busy_red": busy_within(table, red),
        "busy_after": busy_within(table, after),
        "busy_all": busy_within(table, [(begin, end)]),
        "work_all": float(area.sum()),
        "work_of_red": float(area[in_red].sum()),
        "half_of_red": float(smaller[in_red].sum()),
        "seconds_red": sum(last - first for first, last in red),
        "seconds_all": end - begin,
        "processors": float(table.nb_processors or float("nan")),
        **hours,
        **{f"jobs_{name}": float(sum(name in done for done in levers)) for name in LEVERS[:-1]},
        "wait_from_wish": float(waits.mean()) if len(waits) else float("nan"),
    }


def find_following_spans(spans: list[Span], end: float) -> list[Span]:
    """Return as much time after each span as it lasts, until the next one or the end."""
    begins = [*(begin for begin, _ in spans[1:]), end]
    return [
        (last, max(last, min(2 * last - first, begin)))
        for (first, last), begin in zip(spans, begins, strict=False)
    ]


def _each_day(hour: int, begin: float, end: float) -> list[Span]:
    """Return the span of an hour on each day, from one midnight to another."""
    midnights = np.arange(begin, end, DAY)
    return [(at + hour * HOUR, at + (hour + 1) * HOUR) for at in midnights]
