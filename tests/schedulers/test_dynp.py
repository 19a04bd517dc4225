"""dynP: the worked examples, the whole truth table of the deciders, and the properties.

Numbers in the names of tests are those of the list of properties in the specification of dynP.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.model.job import Job
from batsched_py.schedulers.dynp.bounds import DynpBounds
from batsched_py.schedulers.dynp.clock import DynpClock
from batsched_py.schedulers.dynp.deciders import DECIDERS, apply_slackness, find_case
from batsched_py.schedulers.dynp.dynp_policy import Dynp, SelfTuningStep
from batsched_py.schedulers.dynp.order_switching import POLICIES
from batsched_py.schedulers.dynp.self_tuning_metrics import PLAN_METRICS, make_plan_metric
from batsched_py.schedulers.planning.plan import Plan
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import starts, workload
from batsched_py.workload import Workload
from helpers.streit_schedules import (
    FIVE,
    SIX,
    SORTED,
    Watch,
    load_of,
    measured,
    place_of,
    random_jobs,
    run_watched,
    slow_plan,
)


class Observed(NamedTuple):
    """A run under dynP."""

    outcome: Outcome
    policy: Dynp
    steps: list[SelfTuningStep]
    watch: Watch

    def at(self, now: float) -> SelfTuningStep:
        """Return the last step at a time (seconds)."""
        return [step for step in self.steps if step.now == now][-1]


def observed(load: Workload | list[J], active: str = "fcfs", **options: Any) -> Observed:
    """Run jobs (a list: on 8 processors) under dynP."""
    policy = Dynp(**options)
    policy.active = active
    steps: list[SelfTuningStep] = []
    policy.observer = steps.append
    outcome, watch = run_watched(load_of(load) if isinstance(load, list) else load, policy)
    return Observed(outcome, policy, steps, watch)


def values_of(steps: list[SelfTuningStep]) -> list[tuple[float, ...]]:
    return [(step.now, *(step.values[policy] for policy in POLICIES)) for step in steps]


def cases_of(steps: list[SelfTuningStep], slackness: float = 0) -> list[str]:
    return [
        find_case(apply_slackness(step.values, step.old, slackness), step.old) for step in steps
    ]


# Worked examples -------------------------------------------------------------------------------


@pytest.mark.parametrize("decider", ["simple", "advanced"])
def test_five_jobs(decider: str) -> None:
    seen = observed(FIVE, decider=decider)
    assert starts(seen.outcome) == [0, 50, 20, 90, 90]
    assert seen.at(50).values == {"fcfs": 1800, "sjf": 1840, "ljf": 3160}
    assert seen.at(30).values == {"fcfs": 2280, "sjf": 2280, "ljf": 3720}
    assert cases_of([seen.at(50), seen.at(30)]) == ["3", "6a"]
    assert {step.new for step in seen.steps} == {"fcfs"}
    counts = seen.policy.statistics()
    assert counts["no_switch"] == counts["steps"] == len(seen.steps)


# time, values of FCFS, SJF and LJF, case, what the simple and the advanced decider take
SIX_STEPS = [
    (0, 800, 800, 800, "1", "fcfs", "fcfs"),
    (5, 1290, 1290, 1290, "1", "fcfs", "fcfs"),
    (6, 2278, 2278, 2278, "1", "fcfs", "fcfs"),
    (7, 3250, 2950, 3250, "2", "sjf", "sjf"),
    (8, 7346, 4086, 7346, "2", "sjf", "sjf"),
    (9, 8968, 5208, 9608, "2", "sjf", "sjf"),
    (60, 8088, 4328, 8728, "2", "sjf", "sjf"),
    (70, 3852, 3612, 4932, "2", "sjf", "sjf"),
    (90, 2438, 2438, 3878, "6b", "fcfs", "sjf"),
    (170, 1128, 1128, 1128, "1", "fcfs", "sjf"),
]


@pytest.mark.parametrize("when", ["full", "half"])
@pytest.mark.parametrize("decider", ["simple", "advanced"])
def test_six_jobs(decider: str, when: str) -> None:
    outcome, policy, steps, _ = observed(SIX, decider=decider, when=when)
    assert starts(outcome) == [0, 90, 170, 70, 60, 70]
    art, artww, sldwa, util = measured(outcome, ["ART", "ARTwW", "SLDwA", "UTIL"])
    assert art == pytest.approx(155.8333, abs=5e-5)
    assert artww == pytest.approx(114.2667, abs=5e-5)
    assert sldwa == pytest.approx(1.904444, abs=5e-7)
    assert util == pytest.approx(0.608108, abs=5e-7)
    expected = SIX_STEPS if when == "full" else SIX_STEPS[:6]
    assert values_of(steps) == [row[:4] for row in expected]
    assert [step.new for step in steps] == [
        row[5 if decider == "simple" else 6] for row in expected
    ]
    if decider == "advanced" or when == "half":
        assert cases_of(steps) == [row[4] for row in expected]
    if when == "full" and decider == "simple":  # its old policy at 170 is FCFS, the case the same
        assert cases_of(steps)[-2:] == ["6b", "1"]
        assert policy.statistics()["started"] == {"fcfs": 3, "sjf": 3, "ljf": 0}


def test_steps_after_starts() -> None:
    """At 10 job 1 starts and leaves two that wait; when job 1 ends at 13, it leaves one."""
    jobs = [J(0, 4, 10), J(1, 4, 3), J(2, 4, 8), J(2, 4, 9)]
    seen = {
        when: [
            (step.now, len(step.plans["fcfs"]))
            for step in observed(workload(jobs, 4), when=when).steps
        ]
        for when in ("full", "starts")
    }
    both = [(0, 1), (1, 1), (2, 3), (10, 3), (13, 2), (21, 1)]
    assert seen["full"] == both
    assert seen["starts"] == sorted([*both, (10, 2), (13, 1)], key=lambda step: (step[0], -step[1]))


@given(random_jobs(), st.sampled_from([0, 1, 3]), st.sampled_from([0, 3, 10]))
def test_steps_at_intervals(jobs: list[J], every_jobs: int, seconds: int) -> None:
    """Between two steps, at least this time passes, and this number of jobs is submitted."""
    seen = observed(jobs, every_jobs=every_jobs, every_hours=seconds / 3600)
    times = [step.now for step in seen.steps]
    for before, after in pairwise(times):
        assert after - before >= seconds - 1e-9
        assert sum(before < job.submit <= after for job in jobs) >= every_jobs


# Bounds ----------------------------------------------------------------------------------------


@given(random_jobs(), st.integers(0, 20), st.integers(0, 20))
def test_bounds_equal_their_slow_twin(jobs: list[J], lower: int, more: int) -> None:
    _, watch = run_watched(load_of(jobs), DynpBounds(lower=lower, upper=lower + more))
    active = "fcfs"
    for seen in watch.passes:
        if seen.waiting:
            mean = Fraction(sum(int(job.estimate) for job in seen.waiting), len(seen.waiting))
            active = "sjf" if mean <= lower else "fcfs" if mean <= lower + more else "ljf"
        assert seen.active == active
        ordered = sorted(seen.waiting, key=SORTED[active])
        assert seen.plan == slow_plan(seen.now, 8, seen.running, ordered)


# The clock -------------------------------------------------------------------------------------

HOUR, DAY = 3600, 86_400


@given(random_jobs(), st.integers(0, 6), st.sampled_from([0, 6, 12, 20]), st.integers(0, 60))
def test_the_clock_equals_its_slow_twin(jobs: list[J], day: int, hour: int, before: int) -> None:
    """Up to a minute before an hour of a day, at most of which the order changes."""
    second = (day * DAY + hour * HOUR - before) % (7 * DAY)
    first, rest = divmod(second, DAY)
    name = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")[first]
    begins = f"{name} {rest // HOUR:02}:{rest % HOUR // 60:02}:{rest % 60:02}"
    _, watch = run_watched(load_of(jobs), DynpClock(begins=begins))
    for seen in watch.passes:
        at_day, at = divmod(int(second + seen.now), DAY)
        prime = 6 * HOUR <= at < 20 * HOUR
        assert seen.active == ("ljf" if at_day % 7 > 4 else "fcfs" if prime else "sjf")
        ordered = sorted(seen.waiting, key=SORTED[seen.active])
        assert seen.plan == slow_plan(seen.now, 8, seen.running, ordered)


# Deciders --------------------------------------------------------------------------------------

# The order of the values; case by old policy FCFS, SJF, LJF; then what is taken for these three
# old policies by: simple, advanced, FCFS-, SJF-, LJF-preferred (reading "minimum").
TRUTH = """
F=S=L | 1 1 1     | F F F | F S L | F F F | S S S | L L L
S<F=L | 2 2 2     | S S S | S S S | S S S | S S S | S S S
S<F<L | 2 2 2     | S S S | S S S | S S S | S S S | S S S
S<L<F | 2 2 2     | S S S | S S S | S S S | S S S | S S S
F<S=L | 3 3 3     | F F F | F F F | F F F | F F F | F F F
F<S<L | 3 3 3     | F F F | F F F | F F F | F F F | F F F
F<L<S | 3 3 3     | F F F | F F F | F F F | F F F | F F F
L<F<S | 4a 4a 4a  | L L L | L L L | L L L | L L L | L L L
L<F=S | 4b 4b 4b  | L L L | L L L | L L L | L L L | L L L
L<S<F | 4c 4c 4c  | L L L | L L L | L L L | L L L | L L L
F=S<L | 6a 6b 6c  | F F F | F S F | F F F | S S S | F S F
F=L<S | 8a 8b 8c  | F F F | F F L | F F F | F F L | L L L
S=L<F | 10a 10b 10c | S S S | S S L | S S L | S S S | L L L
"""
COLUMNS = ("simple", "advanced", "fcfs-preferred", "sjf-preferred", "ljf-preferred")

# Where the reading "old" takes the preferred policy, which is not the best there, but not worse
# than the old one: order and old policy.
OLD_READING = {
    "fcfs-preferred": {"S<F=L ljf", "S<F<L ljf", "L<F=S sjf", "L<F<S sjf"},
    "sjf-preferred": {"F<S=L ljf", "F<S<L ljf", "L<F=S fcfs", "L<S<F fcfs"},
    "ljf-preferred": {"F<S=L sjf", "F<L<S sjf", "S<F=L fcfs", "S<L<F fcfs"},
}
LETTERS = {"F": "fcfs", "S": "sjf", "L": "ljf"}


def values_in_order(order: str) -> dict[str, float]:
    """Return values of which the order is as written, such as ``S<F=L``."""
    values, value = {}, 7.0
    for letter in order:
        if letter == "<":
            value += 5
        elif letter != "=":
            values[LETTERS[letter]] = value
    return {policy: values[policy] for policy in POLICIES}


def truth() -> list[tuple[str, str, str, str, str]]:
    """Return (order, old policy, decider, what is taken, case) of all rows."""
    rows = []
    for line in TRUTH.strip().splitlines():
        order, cases, *columns = (part.strip() for part in line.split("|"))
        for decider, column in zip(COLUMNS, columns, strict=True):
            for old, new, case in zip(POLICIES, column.split(), cases.split(), strict=True):
                rows.append((order, old, decider, LETTERS[new], case))
    return rows


def test_property_9_truth_table() -> None:
    assert len(truth()) == 13 * 3 * 5
    differ = set()
    for order, old, decider, new, case in truth():
        values = values_in_order(order)
        assert DECIDERS[decider]("minimum")(values, old) == new, (order, old, decider)
        assert find_case(values, old) == case, (order, old)
        goes_back = f"{order} {old}" in OLD_READING.get(decider, ())
        other = decider.removesuffix("-preferred") if goes_back else new
        assert DECIDERS[decider]("old")(values, old) == other, (order, old, decider)
        if decider == "advanced" and DECIDERS["simple"]("minimum")(values, old) != new:
            differ.add(case if case != "1" else f"1 with {old}")
    assert differ == {"1 with sjf", "1 with ljf", "6b", "8c", "10c"}


three = st.tuples(*[st.integers(1, 12)] * 3).map(lambda row: dict(zip(POLICIES, row, strict=True)))


@given(three, st.sampled_from(POLICIES), st.integers(0, 50), st.integers(0, 50))
def test_property_11_slackness(values: dict[str, float], old: str, some: int, others: int) -> None:
    less, more = sorted((some, others))
    plain = DECIDERS["advanced"]("minimum")
    assert apply_slackness(values, old, 0) is values
    compared = apply_slackness(values, old, more)
    if more and compared[old] not in [compared[new] for new in POLICIES if new != old]:
        assert plain(compared, old) == DECIDERS["simple"]("minimum")(compared, old)
    if plain(compared, old) != old:  # what is enough for the larger one is for the smaller
        assert plain(apply_slackness(values, old, less), old) != old
    better = [new for new in POLICIES if 100 * values[new] < (100 - more) * values[old]]
    assert (plain(compared, old) != old) == bool(better)


# Properties of simulations -----------------------------------------------------------------------

OPTIONS = st.fixed_dictionaries(
    {
        "decider": st.sampled_from(list(DECIDERS)),
        "when": st.sampled_from(["full", "half"]),
        "every_jobs": st.sampled_from([0, 0, 2]),
        "every_hours": st.sampled_from([0, 0, 0.002]),
        "metric": st.sampled_from(list(PLAN_METRICS)),
        "slackness": st.sampled_from([0, 0, 2, 10]),
        "preferred_reading": st.sampled_from(["minimum", "old"]),
    }
)


@given(random_jobs(), OPTIONS)
def test_property_4_plans_do_not_depend_on_the_active_policy(
    jobs: list[J], options: dict[str, Any]
) -> None:
    """All plans of all steps, made again from running and waiting jobs only."""
    _, _, steps, watch = observed(jobs, **options)
    passes = {seen.now: seen for seen in watch.passes if seen.waiting}
    for step in steps:
        seen = passes[step.now]
        for name in POLICIES:
            plan = {place_of(job): start for job, start in step.plans[name]}
            ordered = sorted(seen.waiting, key=SORTED[name])
            assert plan == slow_plan(seen.now, 8, seen.running, ordered)
            assert [job for job, _ in step.plans[name]] == ordered
        assert seen.plan == {place_of(job): start for job, start in step.plans[step.new]}
    active = {step.now: step.new for step in steps}
    now_active = "fcfs"
    for seen in watch.passes:
        now_active = active.get(seen.now, now_active)
        assert seen.active == now_active


# The list as the thesis's program may have kept it -----------------------------------------------


def test_legacy_fcfs_follows_the_list_as_it_is() -> None:
    """N = 4; jobs 1 (3 s) and 2 (8 s) are of full width, job 0 runs until 10.

    At 2 FCFS is evaluated on the list 1, 2, then SJF on 1, 2, then LJF on 2, 1: the values are
    21, 21, 26 (divided by the width), FCFS stays, but the list is left as 2, 1, and that is
    carried out. At 10 it is evaluated first, on 2, 1: 26 for FCFS, 21 for SJF, which wins.
    """
    load = workload([J(0, 4, 10), J(1, 4, 3), J(2, 4, 8)], 4)
    outcome, _, steps, watch = observed(load, legacy_fcfs_list_order=True)
    assert watch.plans[2] == {2: 10, 1: 18}
    at_2, at_10 = steps  # none while one job waits alone
    assert (at_2.values, at_2.new) == ({"fcfs": 124, "sjf": 124, "ljf": 144}, "fcfs")
    assert (at_10.values, at_10.new) == ({"fcfs": 144, "sjf": 124, "ljf": 144}, "sjf")
    assert starts(outcome) == [0, 10, 13]
    plain = {place_of(job): start for job, start in at_10.plans["fcfs"]}
    assert plain == {2: 10, 1: 18}  # property 4 does not hold: FCFS would be {1: 10, 2: 13}


def test_legacy_orders_of_evaluation() -> None:
    """With LJF active, SJF is evaluated before FCFS, which then has SJF's value.

    Of the four jobs that come together each but the first makes a step; the first step sees the
    two with the estimates 10 and 8.
    """
    jobs = [J(0, 4, 10), J(0, 4, 8), J(0, 1, 9), J(0, 4, 1)]
    for old, orders in (
        ("fcfs", {"fcfs": [0, 1], "sjf": [1, 0], "ljf": [0, 1]}),
        ("sjf", {"sjf": [1, 0], "fcfs": [1, 0], "ljf": [0, 1]}),
        ("ljf", {"ljf": [0, 1], "sjf": [1, 0], "fcfs": [1, 0]}),
    ):
        steps = observed(workload(jobs, 4), old, legacy_fcfs_list_order=True).steps
        plans = steps[0].plans
        assert steps[0].old == old
        assert {name: [place_of(job) for job, _ in plans[name]] for name in plans} == orders
        assert list(plans) == list(orders)
        at_0 = [len(step.plans["sjf"]) for step in steps if step.now == 0]
        assert at_0 == [2, 3, 4]


# What counts: metrics of plans, first jobs, time until the start --------------------------------


def job(number: int, size: int, estimate: float, submit: float) -> Job:
    return Job(f"w0!{number}", number, size, estimate, estimate, submit, {})


# At 100, with responses of 110, 80 and 220 seconds.
PLAN = Plan([job(0, 2, 50, 40), job(1, 4, 20, 90), job(2, 1, 200, 100)], [100.0, 150.0, 120.0])


def test_metrics_of_a_plan() -> None:
    values = {name: metric(PLAN, 100) for name, metric in PLAN_METRICS.items()}
    assert values == {
        "ART": 110 + 80 + 220,
        "ARTwW": 2 * 110 + 4 * 80 + 1 * 220,
        "ARTwA": 100 * 110 + 80 * 80 + 200 * 220,
        "ARTwA_32bit": 100 * 110 + 80 * 80 + 200 * 220,
        "SLDwA": 2 * 110 + 4 * 80 + 1 * 220,
        "SLD": pytest.approx(110 / 50 + 80 / 20 + 220 / 200),
        "SLDwW": pytest.approx(2 * 110 / 50 + 4 * 80 / 20 + 220 / 200),
        "ppSLD_60": pytest.approx(1 + 1 + 220 / 200),
        "ppSLD_unbounded": pytest.approx(110 / 120 + 80 / 240 + 220 / 200),
        "makespan": 320 - 100,
        "UTIL": pytest.approx(-(100 + 80 + 200) / (320 - 100)),
    }
    empty = {name: metric(Plan([], []), 100) for name, metric in PLAN_METRICS.items()}
    assert set(empty.values()) == {0}


def test_products_of_more_than_32_bits_lose_the_upper_ones() -> None:
    plan = Plan([job(0, 128, 60_000, 0), job(1, 1, 1, 0)], [10_000.0, 0.0])
    assert 128 * 60_000 * 70_000 == 125 * 2**32 + 729_088_000
    assert PLAN_METRICS["ARTwA_32bit"](plan, 0) == 729_088_000 + 1


def test_what_counts() -> None:
    """Plans that count different jobs are compared by means; with no job a plan is the worst."""
    assert make_plan_metric("ART")(PLAN, 100) == 110 + 80 + 220
    assert make_plan_metric("ART", 2)(PLAN, 100) == (110 + 80) / 2
    assert make_plan_metric("ART", within=0.01)(PLAN, 100) == (110 + 220) / 2  # until 136
    assert make_plan_metric("ARTwW", within=0.01)(PLAN, 100) == (2 * 110 + 220) / 3
    assert make_plan_metric("SLDwA", within=0.01)(PLAN, 100) == (2 * 110 + 220) / 300
    assert make_plan_metric("makespan", within=0.01)(PLAN, 100) == 220
    assert make_plan_metric("ART", 1, 0.01)(PLAN, 100) == 110
    assert make_plan_metric("ART", sizes=(2, None))(PLAN, 100) == (110 + 80) / 2
    assert make_plan_metric("ARTwW", 1, sizes=(1, 2), estimates=(60, 200))(PLAN, 100) == 220
    assert make_plan_metric("ART", estimates=(0, 50))(PLAN, 100) == (110 + 80) / 2
    assert make_plan_metric("ART", within=0)(Plan([job(1, 4, 20, 90)], [150.0]), 100) == inf


@pytest.mark.parametrize("metric", list(PLAN_METRICS))
def test_jobs_that_are_never_allowed_do_not_count(metric: str) -> None:
    """Job 2 is never allowed. When it comes SJF is better by ARTwW, as it is without job 2."""
    load = workload([J(0, 4, 10), J(1, 4, 30), J(2, 3, 20, 200), J(2, 4, 3)], 4)
    limits = [{"max_estimate": 100}]
    outcome, _, steps, _ = observed(load, limits=limits, metric=metric, slackness=2)
    assert starts(outcome)[2] is None
    for step in steps:
        assert all(-inf < value < inf for value in step.values.values())
    if metric == "ARTwW":
        assert starts(outcome) == [0, 13, None, 10]
