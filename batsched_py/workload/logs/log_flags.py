"""Flags unusual features of a log, such as those that the archive cleans by hand.

Nothing is removed here. Flurries, jobs from before the log began, impossible and doubtful values,
more in use than there is, and gaps: see D. Feitelson, D. Tsafrir, D. Krakov, "Experience with using
the Parallel Workloads Archive", J. Parallel Distrib. Comput. 74(10), 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.logs.clock import make_date_writer
from batsched_py.workload.logs.flurries import count_ordinary_week, find_flurries
from batsched_py.workload.logs.log_gaps import (
    Gap,
    Rhythm,
    count_thin_beginning,
    find_gaps_in_running,
    find_gaps_in_submission,
)
from batsched_py.workload.logs.recorded_schedule import RecordedSchedule, recorded_schedule
from batsched_py.workload.logs.swf import CANCELLED, SHOWN_LINES, UNKNOWN, SwfLog

SHOWN = 5
"""Most flurries and gaps of a kind that have a flag each; a further flag counts the others."""


class Flag(msgspec.Struct, frozen=True):
    """A flag for an unusual feature of a log."""

    kind: str
    """``flurry``, ``wider than the machine``, ...: flags of one kind come one after another."""
    text: str
    """What was seen: numbers, dates, jobs."""
    jobs: int | None = None
    """How many jobs it is about; None if it is about none."""
    filter: str | None = None
    """What selects these jobs, as the headers of the archive's cleaned logs have it."""
    job_numbers: list[int] = []
    """Of the first few jobs."""
    lines: list[int] = []
    """Where these are in the file."""
    begin: float | None = None
    """Seconds of the log, as is ``end``; None if it is about no stretch of time."""
    end: float | None = None


def find_flags(log: SwfLog, schedule: RecordedSchedule | None = None) -> list[Flag]:
    """Return the flags of a log; an empty list if it has no unusual feature.

    ``schedule`` is what :func:`~batsched_py.workload.logs.recorded_schedule.recorded_schedule`
    returns for the log, if it is known already.
    """
    schedule = recorded_schedule(log) if schedule is None else schedule
    rhythm = Rhythm(log)
    show = make_date_writer(log)
    return [
        *_flurries(log, show),
        *_beginning(log, show),
        *_values(log),
        *_over_subscription(log, schedule, show),
        *_repeated(log),
        *_gaps("nothing submitted", find_gaps_in_submission(log, rhythm), show),
        *_gaps("nothing ran", find_gaps_in_running(schedule, rhythm), show),
    ]


def _flurries(log: SwfLog, show: Callable[[float], str]) -> list[Flag]:
    found = find_flurries(log)
    flags = []
    for one in found[:SHOWN]:
        text = (
            f"{one.filter}: {_jobs(log, one.jobs)}, {_percent(one.jobs, one.jobs_of_all)} of what "
            f"was submitted from {show(one.begin)} to {show(one.end)} (seconds {one.begin:.15g} "
            f"to {one.end:.15g}), {_percent(one.alike, one.jobs)} of one size"
        )
        flags.append(Flag("flurry", text, one.jobs, one.filter, begin=one.begin, end=one.end))
    if others := found[SHOWN:]:
        most, total = others[0].jobs, sum(one.jobs for one in others)
        text = f"{len(others)} more, of {total} jobs together and of at most {most}"
        flags.append(Flag("flurry", text, jobs=total))
    return flags


def _beginning(log: SwfLog, show: Callable[[float], str]) -> list[Flag]:
    submit, numbers = log.column("submit_time"), log.column("job_number")
    week = count_ordinary_week(submit)
    nb = 0 if week is None else count_thin_beginning(submit, week)
    if not nb:
        return []
    begin, end = float(submit[0]), float(submit[nb])
    last = numbers[:nb].max()
    selects = f"job<={last:.0f}" if last < numbers[nb:].min() else None
    text = (
        f"{_jobs(log, nb)} in the first {(end - begin) / DAY:.1f} days, until {show(end)}; an "
        f"ordinary week has {week:g}{f': {selects}' if selects else ''}"
    )
    return [Flag("thin beginning", text, jobs=nb, filter=selects, begin=begin, end=end)]


def _values(log: SwfLog) -> list[Flag]:
    """Return the jobs whose values cannot be, or mean something else than they seem to."""
    run, wait, request = map(log.column, ("run_time", "wait_time", "requested_time"))
    size, status = log.sizes, log.column("status")
    longer = (request > 0) & (run > request)
    widest = f"up to {size.max():.0f} of {log.max_processors} processors"
    cancelled = int((status[run == 0] == CANCELLED).sum()) or "none"
    found = (
        ("wider than the machine", size > log.max_processors, widest),
        ("negative run time", (run < 0) & (run != UNKNOWN), "unknown would be -1"),
        ("negative wait", (wait < 0) & (wait != UNKNOWN), "unknown would be -1"),
        ("run time of 0", run == 0, f"{cancelled} of them cancelled"),
    )
    flags = [_of_jobs(log, kind, mask, text) for kind, mask, text in found if mask.any()]
    if longer.any():
        over = (run - request)[longer]
        beyond = f"half of them by more than {np.median(over):g} s, "
        beyond += f"{(over > MINUTE).sum()} by more than a minute, at most by {over.max():g} s"
        flags.append(_of_jobs(log, "longer than requested", longer, beyond))
    return flags


def _over_subscription(
    log: SwfLog, schedule: RecordedSchedule, show: Callable[[float], str]
) -> list[Flag]:
    if not schedule.is_known:
        return []
    processors, (peak, when) = log.max_processors, schedule.peak()
    if peak <= processors:
        return []
    above = schedule.seconds_above(processors)
    text = f"up to {peak:.0f} of {processors} processors in use at once, on {show(when)}; more "
    text += f"than there are for {above / HOUR:.4g} h in all"
    return [Flag("over-subscription", text, begin=when)]


def _repeated(log: SwfLog) -> list[Flag]:
    """Return the lines that are like the one before; short jobs are alike by rounding."""
    alike = (log.data[1:, 1:] == log.data[:-1, 1:]).all(axis=1)
    mask = np.append(False, alike) & (log.column("run_time") > MINUTE)
    if not mask.any():
        return []
    text = "ran for more than a minute, and equal the job before in all but the number"
    return [_of_jobs(log, "repeated lines", mask, text)]


def _gaps(kind: str, found: Sequence[Gap], show: Callable[[float], str]) -> list[Flag]:
    flags = []
    for gap in found[:SHOWN]:
        text = f"for {gap.length / HOUR:.1f} h from {show(gap.begin)} to {show(gap.end)}, in "
        text += f"which {gap.expected:.0f} user-hours of activity are usual"
        if gap.waited:
            text += "; 1 job waited" if gap.waited == 1 else f"; {gap.waited} jobs waited"
        flags.append(Flag(kind, text, begin=gap.begin, end=gap.end))
    if others := found[SHOWN:]:
        longest, total = others[0].length / HOUR, sum(gap.length for gap in others) / HOUR
        text = f"{len(others)} more times, {total:.0f} h together, for at most {longest:.1f} h"
        flags.append(Flag(kind, text))
    return flags


def _of_jobs(log: SwfLog, kind: str, mask: NDArray[np.bool_], text: str) -> Flag:
    """Return a flag on the jobs of a mask, shape (n,), that names the first few."""
    rows = np.flatnonzero(mask)
    numbers = log.column("job_number")[rows[:SHOWN_LINES]].astype(int).tolist()
    lines = log.lines[rows[:SHOWN_LINES]].tolist()
    which = [", ".join(map(str, some)) for some in (numbers, lines)]
    more = ", ..." if len(rows) > SHOWN_LINES else ""
    places = f"(jobs {which[0]}{more}; lines {which[1]}{more})"
    text = f"{_jobs(log, len(rows))}, {text} {places}"
    return Flag(kind, text, jobs=len(rows), job_numbers=numbers, lines=lines)


def _jobs(log: SwfLog, number: int) -> str:
    return f"{number} {'job' if number == 1 else 'jobs'} ({_percent(number, len(log), 1)})"


def _percent(number: int, of: int, digits: int = 0) -> str:
    return f"{100 * number / of:.{digits}f} %"
