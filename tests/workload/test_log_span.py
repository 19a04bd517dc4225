"""A span of a log: the jobs that were submitted in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload.batsim.batsim_workload import write_workload
from batsched_py.workload.conversion_rules import Rules, as_dict, make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.logs.swf_frame import log_from_frame


def a_log(submissions: Sequence[float], **columns: Any) -> SwfLog:
    """Return a log of jobs 1, 2, ... in order of their submissions (seconds)."""
    usual = {"submit_time": submissions, "run_time": 10, "requested_processors": 1}
    return log_from_frame(pd.DataFrame({**usual, **columns}))


def numbers(log: SwfLog, **rules: Any) -> list[int]:
    return [int(job.id) for job in convert_log(log, make_rules(**rules)).jobs]


# At the borders -----------------------------------------------------------------------------------


weeks = st.integers(0, 6)


@given(
    st.lists(st.tuples(st.integers(3, 8), st.sampled_from([10, -1])), min_size=1, max_size=12),
    weeks,
    st.none() | weeks,
    st.none() | st.integers(1, 4),
    st.integers(1, 12),
)
def test_the_jobs_of_a_span(
    jobs: list[tuple[int, int]], begin: int, end: int | None, first: int | None, last: int
) -> None:
    """Many are submitted at its borders; other rules apply to the jobs in it."""
    jobs.sort()  # by the week of submission; a run time of -1 is dropped
    log = a_log([at * WEEK for at, _ in jobs], run_time=[run for _, run in jobs])
    rules = make_rules(
        span_from=f"{begin} weeks",
        span_until=None if end is None else end * WEEK,
        first=first,
        job_numbers=f"1-{last}",
    )
    there = [
        (number, run)
        for number, (at, run) in enumerate(jobs, 1)
        if begin <= at - jobs[0][0] < (inf if end is None else end) and number <= last
    ]
    kept = [number for number, run in there if run > 0]
    if first is not None and len(kept) > first:
        kept = kept[:first]
        there = [(number, run) for number, run in there if number <= kept[-1]]
    if not kept:
        with pytest.raises(UsageError, match=r"leaves? no job|does not end"):
            convert_log(log, rules)
        return
    workload = convert_log(log, rules)
    assert [int(job.id) for job in workload.jobs] == kept
    assert [job.submit_time / WEEK for job in workload.jobs] == [jobs[n - 1][0] for n in kept]
    noted = [int(note.split()[0]) for note in workload.notes if "dropped" in note]
    assert sum(noted) == len(there) - len(kept)


# Dates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "date", "hours"),
    [
        # From Saturday, 1996-10-26, 0:00; in the night to Sunday summer time ends.
        (846_280_800, "1996-10-27", 24),
        (846_280_800, "1996-10-27 02:30", 26.5),  # the first of two
        (846_280_800, "1996-10-27T03:00", 28),
        (846_280_800, "1996-10-28 00:00:00", 49),
        # From Sunday, 1997-03-30, 0:00; summer time begins at 2:00.
        (859_676_400, "1997-03-30 02:30", 2.5),  # there is none: 3:30 in its place
        (859_676_400, "1997-03-30 03:30", 2.5),
        (859_676_400, "1997-03-31", 23),
    ],
)
def test_dates_are_by_the_clock_of_the_log(start: int, date: str, hours: float) -> None:
    times = [HOUR * half / 2 for half in range(1, 110)]
    log = a_log(times)
    log.header_lines += [f"; UnixStartTime: {start}", "; TimeZoneString: Europe/Stockholm"]
    kept = numbers(log, span_from=date)
    assert times[kept[0] - 1] == hours * HOUR
    assert numbers(log, span_until=date) + kept == list(range(1, 110))
    later = f"{(hours + 2) * HOUR - times[0]}"
    assert numbers(log, span_from=date, span_until=later) == kept[:4]


# Errors and what is stored ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "rules", "message"),
    [
        ([], {"span_from": "1996-10-27"}, "span_from 1996-10-27 .* no usable UnixStartTime"),
        (["; UnixStartTime: 1e12"], {"span_until": "1996-10-27"}, "no usable UnixStartTime"),
        ([], {"span_from": "2 weeks", "span_until": "14 days"}, "does not end after it begins"),
        ([], {"span_from": "8 days", "span_until": "13 days"}, "leaves no job"),  # a gap
        ([], {"span_from": "2 weeks 1"}, "expected a time .* or a date"),
        ([], {"span_from": "15 days"}, "span_from 15 d .* leaves no job"),
        ([], {"span_until": 0}, "span_until 0 s leaves no job"),
        (["; UnixStartTime: 0"], {"span_until": "1969-07-20"}, "from 1970-01-01 00:01:40 to 1970"),
    ],
)
def test_errors_show_the_span_of_the_log(
    header: list[str], rules: dict[str, Any], message: str
) -> None:
    log = a_log([100, 100 + WEEK, 100 + 2 * WEEK])
    log.header_lines += header
    with pytest.raises(UsageError, match=message) as error:
        numbers(log, **rules)
    if "expected" not in message:
        assert re.search(r" were submitted from .*, over 14 d \(1209600 s\)", str(error.value))


@pytest.mark.parametrize(
    "value", ["2001-02-30", "2001-03", "2001-03-05 08:00+01:00", "1 month", "-5", -5, 1e11, True]
)
def test_values_that_are_neither_time_nor_date(value: Any) -> None:
    with pytest.raises(UsageError, match=r"span_until .*expected"):
        make_rules(span_until=value)


def test_the_rules_are_stored_only_where_they_change_something() -> None:
    assert {"span_from", "span_until"}.isdisjoint(as_dict(make_rules(span_from="0 weeks")))
    rules = make_rules(span_from="2 weeks", span_until="2001-03-05T08:00")
    stored = as_dict(rules)
    assert (stored["span_from"], stored["span_until"]) == (2 * WEEK, "2001-03-05 08:00:00")
    assert make_rules(span_from=14 * DAY, span_until="2001-03-05 08:00") == rules
    assert msgspec.convert(stored, Rules) == rules


def test_a_batsim_workload_has_no_span(tmp_path: Path) -> None:
    write_workload(convert_log(a_log([0, DAY]), make_rules()), tmp_path / "w.json")
    workload = load_workload(tmp_path / "w.json", make_rules(span_from="1 day"))
    assert len(workload.jobs) == 2
    assert "a Batsim workload: conversion rules do not apply" in workload.notes
