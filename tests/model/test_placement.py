"""Many jobs placed at once: the plain timeline one by one, with bounds, and compiled by numba."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batsched_py.model.compiled
from batsched_py.model import timeline
from batsched_py.model.compiled import switch as placement
from batsched_py.model.compiled.switch import Placement
from batsched_py.model.timeline import Timeline
from batsched_py.schedulers import conservative
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.planning import planner
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.workload import Workload

if TYPE_CHECKING:
    from batsched_py.model.compiled.switch import Line

COMPILED = "compiled"
KINDS = ["by Python", COMPILED]

times = st.one_of(
    st.integers(0, 40).map(float), st.floats(0, 50), st.sampled_from([1e17, 1e300, 1.7e308])
)
bases = st.lists(st.tuples(times, st.integers(-4, 9)), min_size=1, max_size=12)
jobs = st.lists(st.tuples(st.integers(1, 9), st.one_of(st.just(0.0), times)), max_size=60)


def line_of(base: list[tuple[float, int]]) -> Timeline:
    line = Timeline(0, 0.0)
    steps = dict(base)
    line.times, line.free = sorted(steps), [steps[time] for time in sorted(steps)]
    return line


def one_by_one(line: Timeline, sizes: list[int], durations: list[float]) -> list[float]:
    line = line.copy()
    return [line.place(size, time) for size, time in zip(sizes, durations, strict=True)]


def way(kind: str) -> Placement:
    """Return a new one that places as the parameter of a test says."""
    made = Placement()
    if kind == COMPILED:
        pytest.importorskip("numba", reason="the extra fast is not installed")
        made._compiled = placement._compiled_module()
        assert made._compiled is not None
    return made


def check(kind: str, base: list[tuple[float, int]], jobs: list[tuple[int, float]]) -> None:
    made = way(kind)
    line = line_of(base)
    before = line.copy()
    sizes, durations = [size for size, _ in jobs], [duration for _, duration in jobs]
    expected = one_by_one(line, sizes, durations)
    arrays = np.array(sizes, np.int64), np.array(durations, np.float64)
    expected_now = [job for job, start in enumerate(expected) if start == line.times[0]]
    for bounds_pay in (0, timeline.BOUNDS_PAY):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(timeline, "BOUNDS_PAY", bounds_pay)
            assert made.place_all(line, *arrays).tolist() == expected
            assert made.find_starting(line, *arrays).tolist() == expected_now
    assert (line.times, line.free) == (before.times, before.free)


@pytest.mark.parametrize("kind", KINDS)
@given(bases, jobs)
def test_starts_are_those_of_one_by_one(
    kind: str, base: list[tuple[float, int]], jobs: list[tuple[int, float]]
) -> None:
    check(kind, base, jobs)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_may_be_larger_than_machines(kind: str) -> None:
    check(kind, [(0.0, 3), (9.0, 1 << 40)], [(1 << 39, 5.0), (1 << 40, 5.0), (2, 20.0)])


def replaced(line: Timeline, jobs: list[tuple[int, float]], starts: list[float]) -> list[float]:
    """Take each job back and place it anew, one by one."""
    new_starts = []
    for (size, duration), start in zip(jobs, starts, strict=True):
        line.release(start, start + duration, size)
        new_starts.append(line.place(size, duration))
    line.advance(line.times[0])
    return new_starts


@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_length_job_loses_its_place_for_ever(kind: str) -> None:
    line = Timeline(2, 0.0)
    for begin, end, size in ((3.0, inf, 2), (0.0, 2.0, 2), (2.0, 3.0, 1)):
        line.occupy(begin, end, size)
    arrays = np.array([2]), np.array([0.0]), np.array([2.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "MANY", 1)
        _, starts = way(kind).replace_all(line, *arrays)
    assert starts.tolist() == [inf]


@pytest.mark.parametrize("kind", KINDS)
@given(bases, st.booleans(), jobs)
def test_jobs_are_replaced_as_one_by_one(
    kind: str, base: list[tuple[float, int]], short: bool, jobs: list[tuple[int, float]]
) -> None:
    """Some jobs were given back before, so that others can move; more may be promised than there
    is."""
    line = line_of(base if short else [(time, abs(free)) for time, free in base])
    sizes, durations = [size for size, _ in jobs], [duration for _, duration in jobs]
    arrays = np.array(sizes, np.int64), np.array(durations, np.float64)
    other = line.copy()
    expected = replaced(other, jobs, [inf] * len(jobs))
    made = way(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "MANY", 1)
        line, new_starts = made.replace_all(line, *arrays, np.full(len(jobs), inf))
        starts = new_starts.tolist()
        assert starts == expected
        waiting = range(len(jobs))
        for _ in range(4):
            for gone in waiting[::3]:
                for some in (line, other):
                    some.release(starts[gone], starts[gone] + durations[gone], sizes[gone])
            later = line.times[0] + 1.5
            line.advance(later)
            other.advance(later)
            assert steps_of(line) == steps_of(other)
            waiting = [n for at, n in enumerate(waiting) if at % 3 and starts[n] > later]
            left = np.array(waiting, np.intp)
            expected = replaced(other, [jobs[n] for n in waiting], [starts[n] for n in waiting])
            columns = *arrays, new_starts
            line, new_starts[left] = made.replace_all(line, *(column[left] for column in columns))
            starts = new_starts.tolist()
            assert new_starts[left].tolist() == expected
            line.advance(later)
            assert steps_of(line) == steps_of(other)


@given(st.integers(0, 1 << 30))
def test_bounds_hold_while_jobs_leave_and_are_late(seed: int) -> None:
    """Six passes; late jobs may take more than there is for a while."""
    random, made = Random(seed), way(COMPILED)
    most, nb_jobs = random.choice([4, 9, 30]), random.choice([5, 20, 60])
    jobs = [
        (random.randint(1, most), random.choice([0.0, random.randint(1, 8), random.random() * 20]))
        for _ in range(nb_jobs)
    ]
    base = [(float(time), random.randint(0, most)) for time in range(random.randint(1, 20))]
    line: Line = line_of([*base, (40.0, most)])
    other = line_of([*base, (40.0, most)])
    sizes = np.array([size for size, _ in jobs], np.int64)
    durations = np.array([duration for _, duration in jobs], np.float64)
    starts = np.full(nb_jobs, inf)
    waiting = list(range(nb_jobs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "MANY", 1)
        for _ in range(6):
            expected = replaced(other, [jobs[n] for n in waiting], starts[waiting].tolist())
            columns = sizes[waiting], durations[waiting], starts[waiting]
            line, starts[waiting] = made.replace_all(line, *columns)
            assert starts[waiting].tolist() == expected
            now = other.times[0]
            late = (now, now + random.random() * 3, random.choice([0, 1, most]))
            gone = [n for n in waiting if random.random() < 0.12]
            later = now + random.choice([0.0, 1.0, random.random()])
            for some in (line, other):
                some.occupy(*late)
                for job in gone:
                    some.release(starts[job], starts[job] + durations[job], int(sizes[job]))
                some.advance(later)
            assert steps_of(line) == steps_of(other)
            waiting = [n for n in waiting if n not in gone and starts[n] > later]


def steps_of(line: Line) -> tuple[list[float], list[int]]:
    return list(line.times), list(line.free)


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(0, 1000))
def test_many_jobs(kind: str, seed: int) -> None:
    """More sizes and durations than classes, and many of each."""
    random = np.random.default_rng(seed)
    most = int(random.choice([3, 30, 128]))
    durations = random.choice([random.exponential(3600, 400), random.integers(1, 9, 400) * 600.0])
    sizes = np.minimum(random.geometric(1 / most, 400), 128)
    base = [(300.0 * step, 4 * step) for step in range(33)]
    check(kind, base, list(zip(sizes.tolist(), durations.tolist(), strict=True)))


@given(bases, jobs, st.integers(0, 1000))
def test_plans_that_do_not_reach_far_enough(
    base: list[tuple[float, int]], jobs: list[tuple[int, float]], seed: int
) -> None:
    """What is put off may put off others."""
    compiled = way(COMPILED)._compiled
    with pytest.MonkeyPatch.context() as patch:
        for reaches in ((0.25, 1.0), (0.5,), (1.0,)):
            patch.setattr(compiled, "REACHES", reaches)
            check(COMPILED, base, jobs)
        test_many_jobs.hypothesis.inner_test(COMPILED, seed)


@given(bases, jobs, st.floats(0.5, 1.5))
def test_plans_are_left_out_only_if_jobs_wait_too_long(
    base: list[tuple[float, int]], jobs: list[tuple[int, float]], part: float
) -> None:
    """Some processors may be taken for ever at first, and there may be more than there are."""
    made = way(COMPILED)
    line = line_of([*base, (2e300, 9)])
    sizes = np.array([size for size, _ in jobs], np.int64)
    durations = np.array([duration for _, duration in jobs], np.float64).clip(0, 1e290)
    starts = np.array(line.copy().place_all(sizes.tolist(), durations.tolist()))
    waits = float(sizes @ (starts - line.times[0]))
    found = made.place_below(line, sizes, durations, part * waits)
    rounding = 1e-9 * sizes.sum() * (starts + durations).max(initial=0.0)
    assert found is not None or part * waits < waits + rounding
    assert found is None or found.tolist() == starts.tolist()


def test_a_plan_that_is_much_worse_is_left_out() -> None:
    """The longest jobs first, beside the shortest first."""
    made, line = way(COMPILED), line_of([(5.0, 4)])
    sizes, durations = np.full(100, 3), np.arange(1.0, 101.0)
    least = float(3 * (np.cumsum(durations) - durations).sum())
    assert made.place_below(line, sizes, durations, least) is not None
    assert made.place_below(line, sizes, durations[::-1].copy(), 1.2 * least) is None


@given(
    st.sampled_from(["simple", "advanced", "fcfs-preferred", "ljf-preferred"]),
    st.sampled_from([0.0, 20.0]),
    st.integers(0, 10**6),
)
def test_dynp_decides_the_same_if_it_makes_all_plans(
    decider: str, slackness: float, seed: int
) -> None:
    """With an observer, no plan is left out."""
    outcomes = []
    with pytest.MonkeyPatch.context() as patch:
        for module in (planner, placement):
            patch.setattr(module, "MANY", 2)
        patch.setattr(placement, "placement", way(COMPILED))
        for watched in (False, True):
            policy = Dynp(decider=decider, slackness=slackness)
            policy.observer = (lambda step: None) if watched else None
            outcomes.append((outputs(run(many_jobs(seed), policy)), policy.statistics()))
    assert outcomes[0] == outcomes[1]


POLICIES: dict[str, Callable[[], Any]] = {
    "largest area": lambda: Planning(order="largest_area"),
    "dynp": Dynp,
    "slowdowns": lambda: Dynp(metric="SLD", within=1.0, first_jobs=9),
    "one list": lambda: Dynp(legacy_fcfs_list_order=True, when="half"),
    "conservative": Conservative,
    "limits": lambda: Dynp(limits=[{"max_size": 6, "to": "00:10"}]),
    "no backfilling": lambda: Planning(backfilling=False),
}


def many_jobs(seed: int) -> Workload:
    """Return jobs of which up to a hundred wait for eight processors, some of no length."""
    random = Random(seed)
    jobs = []
    for number in range(120):
        length = random.choice([0.0, 1.5, random.random() * 40, random.randint(1, 60)])
        estimate = length * random.choice([1, 1, 3]) + random.choice([0.25, 1])
        jobs.append(J(number // 3, random.choice([1, 1, 2, 3, 8]), length, estimate))
    return workload(jobs, 8)


@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize("kind", KINDS)
def test_simulations_are_the_same(policy: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = outputs(run(many_jobs(5), POLICIES[policy]()))
    if kind == COMPILED:
        pytest.importorskip("numba", reason="the extra fast is not installed")
    monkeypatch.setattr(timeline, "BOUNDS_PAY", 0)
    monkeypatch.setattr(planner, "MANY", 2)
    monkeypatch.setattr(placement, "MANY", 2)
    monkeypatch.setattr(placement, "IMPORT_PAYS", 100 if kind == COMPILED else inf)
    monkeypatch.setattr(placement, "placement", chosen := Placement())
    monkeypatch.setattr(conservative, "placement", chosen)
    assert outputs(run(many_jobs(5), POLICIES[policy]())) == expected
    assert (chosen._compiled is not None) == (
        kind == COMPILED and policy not in ("limits", "no backfilling")
    )


def outputs(outcome: Outcome) -> list[Any]:
    return [(job.description.id, job.start_time, job.finish_time) for job in outcome.jobs]


@pytest.mark.parametrize("error", [ImportError, SystemError, RuntimeError])
def test_without_a_numba_that_works_python_places(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A numba that is not there, does not go with this numpy, or cannot compile."""

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise error("no")

    monkeypatch.setitem(sys.modules, "numba", Broken() if error is not ImportError else None)
    monkeypatch.delitem(sys.modules, "batsched_py.model.compiled.timeline", raising=False)
    monkeypatch.delattr(batsched_py.model.compiled, "timeline", raising=False)
    monkeypatch.setattr(placement, "IMPORT_PAYS", 0)
    made = Placement()
    for _ in range(2):
        starts = made.place_all(
            line_of([(0.0, 4), (10.0, 8)]), np.array([8, 2]), np.array([5.0, 10.0])
        )
        assert starts.tolist() == [10, 0]
    assert made._compiled is None


def test_what_was_kept_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is compiled, and not kept."""
    dispatcher = pytest.importorskip("numba.core.dispatcher", reason="fast is not installed")

    def fail(self: Any) -> None:
        raise EOFError("Ran out of input")

    monkeypatch.setattr(dispatcher.Dispatcher, "enable_caching", fail)
    check(COMPILED, [(0.0, 4), (10.0, 8)], [(8, 5.0), (2, 10.0)])
