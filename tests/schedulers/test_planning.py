"""Planning: schedules by hand, against slow twins, with reservations and limits of a site.

Numbers in the names of tests are those of the list of properties in the specification of dynP.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.model.decisions import Decision
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.dynp.bounds import DynpBounds
from batsched_py.schedulers.dynp.clock import DynpClock
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.planning.start_limits import Limits
from batsched_py.schedulers.planning.week_windows import DAYS, parse_begins
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from helpers.streit_schedules import (
    FIVE,
    PC2_2001,
    SORTED,
    Seconds,
    SlowPlanning,
    Watch,
    load_of,
    measured,
    place_of,
    random_jobs,
    run_watched,
    shrunk,
    slow_plan,
    with_fields,
)

ORDERS = ("fcfs", "sjf", "ljf")
PLANNERS = (Planning, Dynp, DynpBounds, DynpClock)


# Worked examples -------------------------------------------------------------------------------


# policy, starts, then ART, AWT, ARTwW, SLDwA, UTIL, makespan
FIVE_RESULTS = [
    ("fcfs", [0, 50, 20, 90, 90], 76, 30, 80.0, 1.6, 0.723684, 190),
    ("sjf", [0, 60, 20, 100, 50], 72, 26, 81.8182, 1.636364, 0.6875, 200),
    ("ljf", [0, 150, 20, 50, 50], 80, 34, 105.4545, 2.109091, 0.723684, 190),
]


@pytest.mark.parametrize("row", FIVE_RESULTS, ids=ORDERS)
def test_five_jobs(row: tuple[Any, ...]) -> None:
    order, expected, *values = row
    outcome = run(workload(FIVE, 8), Planning(order=order))
    assert starts(outcome) == expected
    names = ["ART", "AWT", "ARTwW", "SLDwA", "UTIL", "makespan"]
    assert measured(outcome, names) == pytest.approx(values, rel=1e-6)
    if order == "fcfs":  # 2 processors are free for 10 s while job 1 waits
        assert measured(outcome, ["LOC"]) == [20 / (8 * 190)]


# Of each order: starts; ART, ARTwW, SLDwA, UTIL, makespan
PC2_RESULTS: dict[str, tuple[list[float], list[float]]] = {
    "fcfs": (
        [0, 80, 0, 243, 243, 243, 0, 0, 0, 22, 243],
        [32131.7273, 24637.0986, 1.003942, 0.419541, 173043],
    ),
    "sjf": (
        [231, 10, 0, 310, 173, 173, 173, 173, 173, 173, 173],
        [32194.2727, 24697.3380, 1.006396, 0.419710, 172973],
    ),
    "ljf": (
        [86400, 172800, 47, 0, 0, 0, 0, 0, 25, 61, 0],
        [55609.8182, 102427.1690, 4.173824, 0.419735, 172963],
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_pc2_all_submitted_at_0(order: str) -> None:
    expected, printed = PC2_RESULTS[order]
    outcome = run(workload(shrunk(PC2_2001, 0), 96), Planning(order=order))
    assert starts(outcome) == expected
    values = measured(outcome, ["ART", "ARTwW", "SLDwA", "UTIL", "makespan"])
    assert values[:2] == pytest.approx(printed[:2], abs=5e-5, rel=0)
    assert values[2:4] == pytest.approx(printed[2:4], abs=5e-7, rel=0)
    assert values[4] == printed[4]


# Properties --------------------------------------------------------------------------------------

orders = st.sampled_from(ORDERS)


@given(random_jobs(), orders, st.booleans())
def test_property_1_and_2_as_early_as_possible(
    jobs: list[J], order: str, backfilling: bool
) -> None:
    """Every plan is that of the twin, which tries second by second; and so is the schedule."""
    policy = Planning(order=order, backfilling=backfilling)
    outcome, watch = run_watched(load_of(jobs), policy)
    for seen in watch.passes:
        ordered = sorted(seen.waiting, key=SORTED[order])
        assert seen.plan == slow_plan(seen.now, 8, seen.running, ordered, (), backfilling)
    check_machine(outcome)
    assert len(outcome.jobs) == len(jobs)
    for job in outcome.jobs:
        assert job.finish_time - job.start_time == jobs[int(job.description.id[-4:])].run
    assert starts(outcome) == starts(run(load_of(jobs), SlowPlanning(order, backfilling)))


# Reservations ----------------------------------------------------------------------------------


@st.composite
def with_reservations(draw: st.DrawFn) -> tuple[list[J], dict[int, dict[str, Any]]]:
    jobs = draw(random_jobs(12).filter(bool))
    jobs = [job._replace(size=9) if draw(st.integers(0, 9)) == 0 else job for job in jobs]
    fields: dict[int, dict[str, Any]] = {}
    for at, job in enumerate(jobs):
        kind = draw(st.sampled_from(["", "", "reserved_start", "reserved_end"]))
        if kind:
            later = draw(st.integers(-5, 90)) + (kind == "reserved_end") * job.walltime
            fields[at] = {kind: job.submit + later}
    return jobs, fields


@given(with_reservations(), orders, st.booleans())
def test_property_16_reservations(
    case: tuple[list[J], dict[int, dict[str, Any]]], order: str, full: bool
) -> None:
    jobs, fields = case
    load = with_fields(load_of(jobs), fields)
    admission = "against_full_plan" if full else "against_running_and_reserved"
    planning = Planning(order=order, admission=admission)
    assert starts(run(load, planning)) == starts(run(load, SlowPlanning(order, True, full)))
    for policy in (
        Planning(order=order, admission=admission),
        Dynp(admission=admission),
        DynpBounds(admission=admission, lower=9, upper=12),
        DynpClock(admission=admission),
        Dynp(admission=admission, legacy_fcfs_list_order=True),
    ):
        check_reservations(jobs, fields, *run_watched(load, policy))


def check_reservations(
    jobs: list[J], fields: dict[int, dict[str, Any]], outcome: Outcome, watch: Watch
) -> None:
    """What was accepted starts when it should; nothing planned is ever in its way."""
    check_machine(outcome)
    actual = starts(outcome)
    for at, more in fields.items():
        asked = more.get("reserved_start", more.get("reserved_end", 0) - jobs[at].walltime)
        assert actual[at] in (None, asked)
    for seen in watch.passes:
        line = Seconds(8, seen.now)
        for end, size in seen.running:
            line.take(seen.now, end, size)
        planned = dict(seen.plan)
        for at in fields:
            start = actual[at]
            if start is not None and any(place_of(job) == at for job in seen.waiting):
                planned[at] = start
        for at, start in planned.items():
            assert start >= seen.now
            line.take(start, start + jobs[at].walltime, jobs[at].size)
        assert line.free.min() >= 0


# Odd cases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", PLANNERS)
@pytest.mark.parametrize("limits", [None, [{"max_size": 3, "from": "06:00", "to": "20:00"}]])
def test_jobs_that_outlive_their_estimates(make: Any, limits: Any) -> None:
    """Job 0 was estimated to end at 5 and ends at 5000: no storm of calls meanwhile."""
    load = with_fields(
        workload([J(0, 3, 5000, None), J(1, 2, 10, None), J(2, 1, 7, None), J(60, 1, 1, None)], 4),
        {0: {"estimate": 5}, 1: {"estimate": 4}, 2: {"estimate": 1}, 3: {"estimate": 1}},
    )
    outcome, watch = run_watched(load, make(limits=limits))
    assert starts(outcome) == [0, 5000, 2, 60]
    assert len(watch.passes) < 2000


def test_reservation_behind_a_job_that_outlives_its_estimate() -> None:
    """Job 0 is still there at 10, when the reservation should start: it starts at 30, and nobody
    goes before it meanwhile."""
    load = with_fields(
        workload([J(0, 4, 30, None), J(1, 4, 5), J(12, 1, 2)], 4),
        {0: {"estimate": 8}, 1: {"reserved_start": 10}},
    )
    outcome, watch = run_watched(load, Planning())
    assert starts(outcome) == [0, 30, 35]
    assert len(watch.passes) < 30


def test_held() -> None:
    notes = []

    class Asking(Watch):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            for job in queue:
                held = self.policy.held(job, now, queue, machine)
                notes.append((now, job.number, held.why, held.place, held.until, held.note))

    load = with_fields(
        workload([J(0, 4, 10), J(1, 4, 5), J(2, 2, 3)], 4), {1: {"reserved_start": 20}}
    )
    run(load, Asking(Planning(order="sjf")))
    assert notes[:3] == [
        (1, 1, "plan", None, 20, "an advance reservation"),
        (2, 1, "plan", None, 20, "an advance reservation"),
        (2, 2, "plan", 1, 10, "planned in the order sjf"),
    ]
    for policy in (Dynp(), DynpBounds(), DynpClock()):
        notes.clear()
        run(load, Asking(policy))
        assert notes[-1][:5] in ((2, 2, "plan", 1, 10), (13, 1, "plan", None, 20)), notes
        assert notes[2][5].startswith("planned in the order ")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reserved_start": "soon"}, "reserved_start is 'soon'"),
        ({"reserved_end": True}, "reserved_end is True"),
        ({"reserved_start": 5, "reserved_end": 10}, "give one"),
    ],
)
def test_wrong_requests_for_reservations(fields: dict[str, Any], message: str) -> None:
    load = workload([J(3, 1, 5)], 4)
    load.jobs[0].extra.update(fields)
    with pytest.raises(UsageError, match=message):
        run(load, Planning())


# Limits of a site --------------------------------------------------------------------------------


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
    rules = Limits(limits)
    rules.clock = parse_begins(f"{first} 00:00")
    moment = rules.find_next_allowed(job, minute * 60, 8)
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
