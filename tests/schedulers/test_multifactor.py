"""The policy multifactor: who starts when and why, by hand, beside other policies, and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import inf, nextafter
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Job, Machine, Start, WaitingQueue, simulate
from batsched_py.model.timeline import BOUNDS_PAY, Timeline
from batsched_py.schedulers.multifactor import backfill_plan, region_plan
from batsched_py.schedulers.multifactor.backfill_pass import BackfillPass
from batsched_py.schedulers.multifactor.backfill_plan import Grid
from batsched_py.schedulers.multifactor.decayed_usage import UsageOfJobs
from batsched_py.schedulers.multifactor.fair_share import FairShare
from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.schedulers.multifactor.overlapping import Group, make_groups
from batsched_py.schedulers.multifactor.region_plan import RegionPlan
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import assert_drawing, check_machine, run, starts, workload
from helpers.partitions import entry, machine_of, over, partition, run_on
from helpers.region_twin import Placed, SecondBySecond

AGE_ONLY: dict[str, Any] = {
    "weight_fairshare": 0,
    "weight_jobsize": 0,
    "weight_partition": 0,
    "weight_qos": 0,
}
EXACT: dict[str, Any] = {
    **AGE_ONLY,
    "bf_interval": 0,
    "bf_resolution": 0,
    "bf_window": None,
    "bf_max_job_test": None,
}
"""Backfilling at each event, to the second, as far as there are jobs."""


# By hand -----------------------------------------------------------------------------------------


class Case(NamedTuple):
    """Options, processors, jobs (submission, size, run time, ...), and when they start."""

    options: dict[str, Any]
    processors: int
    jobs: list[J]
    expected: list[float]


BLOCKED = [J(0, 3, 100), J(1, 4, 50)]
"""Three of four processors are busy until 100, then the second job wants all."""
TWO_FREE = [J(0, 3, 100), J(1, 5, 50)]
"""The same on five processors."""

CASES = {
    "at most every 30 s: the first short job starts at once, the second 30 s later": Case(
        {}, 5, [*TWO_FREE, J(2, 1, 20), J(3, 1, 20)], [0, 100, 2, 32]
    ),
    "no backfilling: in the order of the priorities": Case(
        {**AGE_ONLY, "backfill": "none"}, 4, [*BLOCKED, J(2, 1, 20)], [0, 100, 150]
    ),
    "fair share: at 10 the second user's job goes before that of the one who has run": Case(
        {**EXACT, "weight_age": 0, "weight_fairshare": 1},
        4,
        [J(0, 4, 10, user="u"), J(1, 4, 10, user="u"), J(2, 4, 10, user="v")],
        [0, 20, 10],
    ),
    "only the first is planned: the fourth job delays but the third": Case(
        {**EXACT, "bf_job_part_count_reserve": 1},
        4,
        [J(0, 3, 10), J(1, 2, 10), J(2, 4, 10), J(3, 1, 18)],
        [0, 10, 21, 3],
    ),
    "a window of 5 s: nobody is planned for 10, and the last one delays the second": Case(
        {**EXACT, "bf_window": 5}, 4, [J(0, 3, 10), J(1, 4, 10), J(2, 1, 30)], [0, 32, 2]
    ),
    "a queue depth of 1: of three that came together one is started, and backfilling is off": Case(
        {**EXACT, "queue_depth": 1, "backfill": "none"},
        4,
        [J(0, 1, 10), J(0, 1, 10), J(0, 1, 10)],
        [0, 10, 20],
    ),
    "without walltimes nothing is known of ends: nobody is planned, and what fits starts": Case(
        {**EXACT, "bf_window": 1e6},
        4,
        [J(0, 3, 10, None), J(1, 4, 9, None), J(2, 1, 20)],
        [0, 22, 2],
    ),
    "one of each user: u's short job is not looked at, v's is": Case(
        {**EXACT, "bf_max_job_user": 1},
        4,
        [J(0, 2, 10, user="u"), J(1, 4, 10, user="u"), J(2, 1, 5, user="u"), J(3, 1, 5, user="v")],
        [0, 10, 20, 3],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_by_hand(case: Case) -> None:
    policy = Multifactor(**case.options)
    outcome = run(workload(case.jobs, case.processors), policy)
    assert starts(outcome) == case.expected


def test_an_early_end_is_noticed_at_once() -> None:
    """A ends at 5 of 9: B starts at once; D at 7, as backfilling, every 4 s, was at 3 for E."""
    assert_drawing(
        Multifactor(**{**EXACT, "bf_interval": 4}),
        """
            |0    5    10   15
        A 2 |#####----
        B 2 | ....#####
        C 3 |  ........#####
        D 1 |     ..##
        E 1 |   #
        """,
        processors=3,
    )


# How often it works ------------------------------------------------------------------------------


def test_nothing_is_done_while_nothing_happens() -> None:
    """A full machine for ten days: no call at all until it ends, though four jobs wait."""
    jobs = [J(0, 4, 864_000), *(J(at, 2, 10) for at in (100, 200, 300, 400))]
    policy = Multifactor()
    outcome = run(workload(jobs, 4), policy)
    assert starts(outcome) == [0, 864_000, 864_000, 864_010, 864_010]
    assert policy.statistics()["calls"] == 0
    assert policy.statistics()["backfill_passes"] == 0


# Beside other policies ---------------------------------------------------------------------------


@cache
def sample_starts(scheduler: str, **options: Any) -> list[float]:
    result = simulate(
        "sample", scheduler=scheduler, scheduler_options=options, first=1500, progress=False
    )
    return list(result.jobs.sort_values("job_id")["starting_time"])


def test_it_is_easy_if_one_job_is_planned() -> None:
    """EASY with all extra nodes at the shadow time: a timeline knows all ends of that instant."""
    easy = sample_starts("easy", extra_nodes="instant")
    assert sample_starts("multifactor", **EXACT, bf_job_part_count_reserve=1) == easy


def test_it_is_planning_if_all_jobs_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of the jobs are placed at once."""
    monkeypatch.setattr(backfill_plan, "COMPILED_PAYS", 2)
    assert sample_starts("multifactor", **EXACT) == sample_starts("planning")


def test_it_is_fcfs_if_one_job_is_looked_at() -> None:
    """So ``bf_max_job_test=1`` is no EASY: nobody behind the first is looked at."""
    fcfs = sample_starts("fcfs")
    assert sample_starts("multifactor", **{**EXACT, "bf_max_job_test": 1}) == fcfs
    assert sample_starts("multifactor", **EXACT, backfill="none") == fcfs


# Drawn -------------------------------------------------------------------------------------------


PASSES = st.tuples(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 300)), max_size=6),
    st.lists(st.tuples(st.integers(1, 16), st.integers(1, 300)), min_size=1, max_size=30),
    st.floats(0, 100),
    st.sampled_from([0.0, 1.0, 60.0]),
    st.sampled_from([inf, 150.0]),
)
"""Running jobs (size, expected end), waiting ones (size, estimate), now, resolution, window."""


def a_machine(running: Sequence[tuple[int, int]]) -> Machine:
    machine = Machine(16)
    for number, (size, end) in enumerate(running):
        if size <= machine.free:
            machine.start(Job(f"r{number}", number, size, None, end, 0.0, {}), 0.0)
    return machine


@given(PASSES)
def test_a_pass_delays_nobody_whom_it_has_planned(drawn: Any) -> None:
    """Plan all one after another; start those of now; plan the others anew: none is later."""
    running, waiting, now, resolution, window = drawn
    machine, grid = a_machine(running), Grid(resolution, window)
    jobs = [
        Job(f"w{at}", 100 + at, size, None, float(estimate), 0.0, {})
        for at, (size, estimate) in enumerate(waiting)
    ]
    (group,) = make_groups(machine.partitions)

    def plan() -> dict[str, float]:
        line = grid.make_timeline(machine, now)
        rest = [job for job in jobs if job.state.value == "waiting"]
        lengths = grid.round_durations([job.estimate for job in rest], now)
        planned = line.place_all([job.size for job in rest], lengths)
        return dict(zip([job.id for job in rest], planned, strict=True))

    before = plan()
    started = set()
    for start in BackfillPass(grid).find_starts(now, jobs, group, machine):
        machine.start(start.job, now)  # which fails where too few are free
        started.add(start.job.id)
    assert started == {job for job, time in before.items() if time == grid.begin(now)}
    after = plan()
    assert all(after[job] <= time for job, time in before.items() if job in after)


def test_steps_begin_and_end_outside() -> None:
    """At 70 in steps of 60: the plan begins at 60, ends are rounded up, and so are lengths."""
    machine = a_machine([(4, 121), (4, 180), (2, 65)])  # the last one outlives its estimate
    grid = Grid(60.0)
    line = grid.make_timeline(machine, 70.0)
    assert isinstance(line, Timeline)
    assert (line.times, line.free) == ([60, 120, 180], [6, 8, 16])
    assert grid.round_durations([1.0, 50.0, 51.0, inf], 70.0) == [60, 60, 120, inf]
    to_the_second = Grid(0.0).make_timeline(a_machine([(2, 65)]), 70.0)
    assert to_the_second.times == [70, nextafter(70, inf)]


# Partitions --------------------------------------------------------------------------------------

TWO = entry("nodes", count=8) + partition("left", "0-3") + partition("right", "4-7")
CHAIN = entry("nodes", count=12) + partition("a", "0-7") + partition("b", "4-11")
WHOLE = (
    entry("nodes", count=4, cores=4)
    + partition("whole", whole_nodes=True)
    + partition("other", "2-3", whole_nodes=True)
)

PARTITIONED: dict[str, tuple[str, dict[str, Any], list[tuple[str, J]], list[float]]] = {
    "a job of all takes what only all has: the few stay free for their own": (
        over(tier=1),
        EXACT,
        [("all", J(0, 4, 10)), ("few", J(1, 4, 10))],
        [0, 1],
    ),
    "a higher tier goes first": (
        over(tier=2),
        EXACT,
        [("all", J(0, 8, 10)), ("all", J(1, 8, 5)), ("few", J(2, 4, 7))],
        [0, 17, 10],
    ),
    "the main pass stops at the first that waits, of its partition": (
        TWO,
        {**EXACT, "backfill": "none"},
        [("left", J(0, 3, 10)), ("left", J(1, 4, 10)), ("left", J(2, 1, 5)), ("right", J(2, 1, 5))],
        [0, 10, 20, 2],
    ),
}


@pytest.mark.parametrize("case", PARTITIONED.values(), ids=PARTITIONED)
def test_partitions_by_hand(
    case: tuple[str, dict[str, Any], list[tuple[str, J]], list[float]],
) -> None:
    text, options, jobs, expected = case
    outcome = run_on(machine_of(text), lambda: Multifactor(**options), jobs)
    check_machine(outcome)
    assert starts(outcome) == expected


RUNNING = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 50)), max_size=4)
"""Multiples of the unit, and the expected end."""
WAITING = st.lists(
    st.tuples(st.integers(0, 1), st.integers(1, 8), st.integers(1, 50)), min_size=1, max_size=12
)
"""Partition, multiples of the unit, and estimate."""


class RegionCase(NamedTuple):
    """A machine with overlapping partitions, what waits, and the slow twin of its plans."""

    machine: Machine
    group: Group
    jobs: list[Job]
    slow: SecondBySecond
    unit: int

    def planned(self, reserved: int, latest: int) -> list[Placed | None]:
        """Return where the twin places the jobs; a job behind the reserved of its partition
        starts now or is not planned."""
        seen, placed = [0, 0], []
        for job in self.jobs:
            seen[job.partition] += 1
            by = 0 if 0 < reserved < seen[job.partition] else latest
            regions = self.group.of[job.partition]
            placed.append(self.slow.place(regions, job.size, int(job.estimate), self.unit, by))
        return placed


def region_case(text: str, running: Any, waiting: Any) -> RegionCase:
    """Return a case in which what runs lies on the lowest processors."""
    described = machine_of(text)
    machine = Machine(described.nb_processors, description=described)
    (group,) = make_groups(machine.partitions)
    unit = machine.rules[0].unit
    slow = SecondBySecond([len(part) for part in group.parts], 60)
    for number, (size, end) in enumerate(running):
        if size * unit <= machine.free:
            machine.start(Job(f"r{number}", number, size * unit, None, end, 0.0, {}), 0.0)
    for job in machine.releases():
        for region, part in enumerate(group.parts):
            slow.take(region, len(job.processors & part), 0, int(job.expected_end))
    jobs = []
    for number, (place, size, estimate) in enumerate(waiting):
        if size * unit <= machine.partitions[place].nb_processors:
            jobs.append(Job(f"w{number}", 9 + number, size * unit, None, estimate, 0.0, {}))
            jobs[-1].partition = place
    return RegionCase(machine, group, jobs, slow, unit)


@pytest.fixture(params=[1, BOUNDS_PAY], ids=["with bounds of starts", "without"])
def _bounds(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region_plan, "BOUNDS_PAY", request.param)
        yield


@pytest.mark.usefixtures("_bounds")
@given(st.sampled_from([CHAIN, WHOLE]), RUNNING, WAITING)
def test_plans_of_regions_against_a_slow_twin(text: str, running: Any, waiting: Any) -> None:
    """Regions of a, of both, of b; and whole nodes, of both and of one partition."""
    case = region_case(text, running, waiting)
    plan = RegionPlan(case.group, case.machine, Grid(0.0), 0.0)
    wants = [(job.partition, job.size, job.estimate, case.unit) for job in case.jobs]
    assert list(plan.place_all(wants, 0)) == case.planned(0, 10**6)


@pytest.mark.usefixtures("_bounds")
@given(
    st.sampled_from([CHAIN, WHOLE]),
    RUNNING,
    WAITING,
    st.integers(0, 3),
    st.sampled_from([1, 20, 10**6]),
)
def test_a_pass_on_regions_starts_what_the_twin_plans_for_now(
    text: str, running: Any, waiting: Any, reserved: int, window: int
) -> None:
    """It looks at no more jobs than it needs to, the twin at all."""
    case = region_case(text, running, waiting)
    planned = zip(case.jobs, case.planned(reserved, window - 1), strict=True)
    now = [job.id for job, placed in planned if placed and not placed[0]]
    backfill = BackfillPass(Grid(0.0, window), reserve=reserved)
    started = []
    for start in backfill.find_starts(0.0, case.jobs, case.group, case.machine):
        case.machine.start(start.job, 0.0, start.processors)
        started.append(start.job.id)
    assert started == now


def test_jobs_that_outages_hold_back_are_not_charged() -> None:
    """From 100 to 200 nodes 0-1 are down. u's first job runs on node 2, so v's, of two nodes until
    101 at least, is held back until 150; u's second one ends before. So u uses 190
    processor-seconds and v 200."""
    text = entry("nodes", count=4) + entry("outages", begin=100, end=200, nodes="0-1")
    jobs = [J(0, 1, 150, user="u"), J(1, 2, 100, user="v"), J(2, 2, 20, user="u")]

    def check(policy: Multifactor | FairShare, usage: UsageOfJobs) -> None:
        outcome = run_on(machine_of(text), lambda: policy, [(None, job) for job in jobs])
        check_machine(outcome)
        assert starts(outcome) == [0, 150, 2]
        assert usage.decayed.at(250.0, 2).tolist() == [190, 200]

    policy, fair_share = Multifactor(half_life=0, bf_interval=0), FairShare(half_life=0)
    check(policy, policy._priority.usage)
    check(fair_share, fair_share._usage)
    counted = policy.statistics()
    assert counted["main_starts"] + counted["backfill_starts"] == len(jobs)


# What is said of it ------------------------------------------------------------------------------


def test_why_a_job_waits() -> None:
    """After a pass at 2: B is first, C is planned, D does not fit, E is not looked at."""
    queue, machine = WaitingQueue(), Machine(4)
    policy = Multifactor(**{**EXACT, "bf_max_job_test": 3, "bf_window": 100})

    def submit(name: str, number: int, size: int, estimate: float) -> Job:
        job = Job(name, number, size, estimate, estimate, float(number), {})
        queue.append(job)
        return job

    def do_pass(now: float) -> None:
        for decision in policy.schedule(now, queue, machine):
            assert isinstance(decision, Start)
            queue.remove(decision.job)
            machine.start(decision.job, now)

    submit("A", 0, 3, 90)
    do_pass(0.0)
    jobs = [
        submit("B", 1, 4, 5),
        submit("C", 2, 1, 95),
        submit("D", 3, 2, 99),
        submit("E", 4, 1, 99),
    ]
    do_pass(4.0)
    said = [policy.held(job, 4.0, queue, machine) for job in jobs]
    assert [(each.why, each.place, each.by, each.until) for each in said] == [
        ("head", 1, None, 90),
        ("plan", 2, "B", 95),
        ("processors", 3, "B", 95),
        ("behind", 4, "B", inf),
    ]
    assert "backfilling" in said[3].note
    before = [entry[-1].id for entry in policy._order.entries]
    do_pass(5.0)
    assert [entry[-1].id for entry in policy._order.entries] == before
