"""Rules of a site for when jobs may start: nothing happens at their ends but the policy's calls."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.schedulers.dynp.bounds import DynpBounds
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.planning.start_limits import Limits
from batsched_py.schedulers.planning.week_clock import DAYS
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, starts, workload
from helpers.streit_schedules import run_watched, with_fields

HOUR, DAY = 3600, 86_400
PRIME = {"days": "mon-fri", "from": "06:00", "to": "20:00"}
WEEK_DAYS = {"days": "mon-fri"}


class Case(NamedTuple):
    """Rules of a site of 4 processors, the moment at second 0, jobs, and when they start."""

    limits: list[dict[str, Any]]
    begins: str
    jobs: list[J]
    expected: list[Any]


BY_DAY = [{**PRIME, "max_size": 2}]
CASES = {
    "a wide job waits for the night on an empty machine, a narrow one does not": Case(
        BY_DAY, "mon 18:00", [J(0, 3, 60), J(0, 2, 60)], [2 * HOUR, 0]
    ),
    "a job that is never allowed is rejected, and those behind it go on": Case(
        [{**WEEK_DAYS, "max_size": 3}, {"days": "sat,sun", "max_size": 2}],
        "mon 00:00",
        [J(0, 4, 60), J(0, 3, 60)],
        [None, 0],
    ),
    "allowed between two windows, but only as long as nobody else is there": Case(
        [{"to": "12:00", "max_size": 2}, {"from": "12:01", "max_size": 2}],
        "mon 11:00",
        [J(0, 3, 120), J(0, 3, 60)],
        [HOUR, DAY + HOUR],
    ),
    "a wide job waits for the night; a short one uses the time before": Case(
        BY_DAY,
        "mon 19:00",
        [J(0, 4, 60), J(0, 2, HOUR), J(0, 2, HOUR), J(1, 1, 30)],
        [HOUR, 0, 0, HOUR + 60],
    ),
}


@pytest.mark.parametrize("sentence", CASES)
@pytest.mark.parametrize("make", [Planning, Dynp, partial(DynpBounds, lower=0, upper=None)])
def test_by_hand(make: Any, sentence: str) -> None:
    limits, begins, jobs, expected = CASES[sentence]
    outcome, watch = run_watched(workload(jobs, 4), make(limits=limits, begins=begins))
    assert starts(outcome) == expected
    assert len(watch.passes) < 20


def test_shares_are_not_rounded_away() -> None:
    """0.29 x 100 is 28.999...; 29 of 100 processors are not more than a share of 0.29."""
    load = workload([J(0, 29, 60), J(0, 30, 60)], 100)
    assert starts(run(load, Planning(limits=[{"max_share": 0.29}]))) == [0, None]


def test_one_call_is_enough() -> None:
    """The calls are not repeated at each pass before."""
    jobs = [J(0, 3, 60), *(J(at, 1, 1) for at in range(5, 50, 5))]
    outcome, watch = run_watched(workload(jobs, 4), Planning(limits=BY_DAY, begins="mon 18:00"))
    assert starts(outcome)[0] == 2 * HOUR
    assert len([seen for seen in watch.passes if seen.now == 2 * HOUR]) == 1


DAY_NUMBERS = {"mon-fri": range(5), "sat,sun": (5, 6), "sun-tue": (6, 0, 1), "wed": (2,)}
DAY_NUMBERS["mon-sun"] = range(7)
rules = st.lists(
    st.fixed_dictionaries(
        {
            "days": st.sampled_from(list(DAY_NUMBERS)),
            "from": st.sampled_from(["00:00", "06:00", "22:30", "12:00:20"]),
            "to": st.sampled_from(["24:00", "06:00", "07:15", "00:00"]),
        },
        optional={
            "max_size": st.integers(0, 8),
            "max_share": st.sampled_from([0.5, 0.75, 1]),
            "max_estimate": st.integers(0, 60),
        },
    ).filter(lambda rule: len(rule) > 3 and rule["from"] != rule["to"]),
    max_size=3,
)


def forbidden(rule: dict[str, Any], job: Job, week_minute: int) -> bool:
    """Look the minute up: does this rule forbid the job then?"""
    day, minute = divmod(week_minute, 24 * 60)

    def clock(text: str) -> float:
        hours, minutes, *seconds = map(int, text.split(":"))
        return hours * 60 + minutes + (seconds[0] / 60 if seconds else 0)

    begin, end = clock(rule["from"]), clock(rule["to"])
    days = DAY_NUMBERS[rule["days"]]
    inside = day in days and begin <= minute and (minute < end or end <= begin)
    inside |= (day - 1) % 7 in days and end <= begin and minute < end
    return inside and (
        job.size > rule.get("max_size", 8)
        or job.size > rule.get("max_share", 1) * 8
        or job.estimate > rule.get("max_estimate", inf)
    )


@given(rules, st.integers(1, 8), st.integers(1, 90), st.integers(0, 671), st.sampled_from(DAYS))
def test_next_moment_equals_a_search(
    limits: list[dict[str, Any]], size: int, estimate: int, quarter: int, first: str
) -> None:
    """By quarters of an hour, at which all windows here end; for a week."""
    job = Job("w0!0", 0, size, estimate, estimate, 0, {})
    minute, begin = quarter * 15, DAYS.index(first) * 1440
    allowed = (
        at * 60
        for at in range(minute, minute + 10081, 15)
        if not any(forbidden(rule, job, (begin + at) % 10080) for rule in limits)
    )
    moment = Limits(limits, f"{first} 00:00").find_next_allowed(job, minute * 60, 8)
    assert moment == next(allowed, inf)


def test_wrong_limits() -> None:
    for limits, words in (
        ({"max_size": 3}, "^limits=.*expected a list"),
        (["night"], "^limits: 'night' is not an object"),
        ([{"max_width": 3}], "^limits: there is no 'max_width'"),
        ([{"max_size": -1}], "^limits: max_size=-1"),
        ([{"max_share": 2}], "^limits: max_share=2"),
        ([{"max_estimate": "2 h"}], "^limits: max_estimate=2 h"),
        ([{"from": "6"}], "^limits: '6' is not a time of day"),
        ([{"days": "weekend"}], "^limits: days 'weekend'"),
        ([{"days": "mon"}], "limits nothing"),
        (
            [{"from": "06:00", "to": "06:00", "max_size": 3}],
            "from 06:00 to 06:00 is a zero-length window",
        ),
        ([{"to": "24:30", "max_size": 3}], "'24:30' is after 24:00"),
    ):
        with pytest.raises(UsageError, match=words):
            Planning(limits=limits)  # type: ignore[arg-type]
    for begins in ("monday", "mon 6", 5):
        with pytest.raises(UsageError, match=r"^begins(=|: )"):
            Planning(limits=[{"max_size": 3}], begins=begins)  # type: ignore[arg-type]


def test_a_reservation_keeps_to_the_limits() -> None:
    load = with_fields(workload([J(0, 2, 60)], 4), {0: {"reserved_start": 0.0}})
    assert starts(run(load, Planning(limits=[{"max_size": 1}]))) == [None]
    assert starts(run(load, Planning(limits=[{"max_size": 2}]))) == [0]
