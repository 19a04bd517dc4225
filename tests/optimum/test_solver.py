"""The optimum of one step against all list orders, by hand, and its command."""

from __future__ import annotations

import csv
import io
import threading
from itertools import permutations
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from batsched_py.commands.optimum import optimum
from batsched_py.errors import BatschedError, InvariantError, UsageError
from batsched_py.optimum import step_study as study
from batsched_py.optimum.scheduling_step import (
    Instance,
    Plan,
    choose_scale,
    place_in_order,
    round_to_grid,
    sum_weighted_responses,
)
from batsched_py.optimum.scheduling_step import PlannedJob as Job
from batsched_py.optimum.solver import OPTIMAL, TIME_LIMIT, solve
from batsched_py.optimum.step_study import Selection, collect_steps, compare_steps
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG

TABLE_4_4 = [  # makespan [s], accumulated run time [s], time scale [min]; Streit 2003
    (189_559, 1_798_837, 7),
    (189_596, 1_862_437, 8),
    (190_899, 1_395_637, 7),
    (191_509, 1_395_937, 8),
    (194_121, 1_030_782, 6),
    (194_161, 1_095_582, 6),
    (259_141, 715_905, 6),
    (256_741, 723_405, 6),
    (256_741, 728_505, 6),
    (178_232, 1_617_937, 7),
    (201_983, 906_331, 6),
    (239_417, 519_300, 5),
]


def _slow_place(instance: Instance, jobs: list[Job]) -> list[float]:
    """Whole seconds only: try each second, count each second."""

    def free(second: int) -> int:
        there = [n for time, n in instance.history if time <= second][-1]
        return there - sum(
            job.width for job, start in placed if start <= second < start + job.duration
        )

    placed: list[tuple[Job, int]] = []
    for job in jobs:
        start = int(instance.now)
        while any(free(start + i) < job.width for i in range(int(job.duration))):
            start += 1
        placed.append((job, start))
    return [float(start) for _, start in placed]


def policies(instance: Instance) -> list[Plan]:
    keys = (attrgetter("submit"), attrgetter("duration"), lambda job: -job.duration)
    return [place_in_order(instance, sorted(instance.jobs, key=key)) for key in keys]


def one_by_one(instance: Instance) -> Plan:
    """A plan so long that its end as horizon excludes nothing."""
    start = max(instance.now, instance.history[-1][0])
    plan = []
    for job in instance.jobs:
        plan.append((job, start))
        start += job.duration
    return tuple(plan)


@st.composite
def instances(draw: st.DrawFn, most: int = 5) -> Instance:
    now = draw(st.integers(0, 20))
    gaps = draw(st.lists(st.integers(1, 6), max_size=3))
    free = [draw(st.integers(-1, 8)) for _ in gaps] + [8]
    history, time = [(float(now), free[0])], now
    for gap, processors in zip(gaps, free[1:], strict=True):
        time += gap
        history.append((float(time), processors))
    fields = st.tuples(st.integers(0, now), st.integers(1, 8), st.integers(1, 9))
    jobs = enumerate(draw(st.lists(fields, min_size=1, max_size=most)))
    planned = (Job(f"{i}", float(a), w, float(d)) for i, (a, w, d) in jobs)
    return Instance(float(now), tuple(history), tuple(planned))


def check(instance: Instance, plan: Plan) -> None:
    assert sorted(job.id for job, _ in plan) == sorted(job.id for job in instance.jobs)
    assert all(start >= instance.now for _, start in plan)
    for moment in {start for _, start in plan} | {time for time, _ in instance.history}:
        running = [job.width for job, s in plan if s <= moment < s + job.duration]
        free = [n for time, n in instance.history if time <= moment][-1]
        assert sum(running) <= max(free, 0)


@given(instances())
def test_list_plans_are_those_of_the_slow_twin(instance: Instance) -> None:
    plan = place_in_order(instance, instance.jobs)
    assert [start for _, start in plan] == _slow_place(instance, list(instance.jobs))
    check(instance, plan)


@given(instances(), st.sampled_from([None, 1]))
def test_the_optimum_is_the_best_of_all_orders(instance: Instance, axis: float | None) -> None:
    best = min(
        sum_weighted_responses(place_in_order(instance, order))
        for order in permutations(instance.jobs)
    )
    solution = solve(instance, [one_by_one(instance)], scale=axis)
    assert (solution.status, solution.gap) == (OPTIMAL, 0.0)
    assert solution.value == pytest.approx(best)
    check(instance, solution.plan)


@pytest.mark.parametrize("axis", [None, 1, 2])
def test_a_job_that_ends_at_t_frees_its_processors_at_t(axis: float | None) -> None:
    # The index printed in the thesis (t - d <= j) would start b at 5 and c at 12.
    jobs = (Job("a", 0, 2, 4), Job("b", 0, 2, 6), Job("c", 0, 2, 8))
    instance = Instance(0.0, ((0.0, 2),), jobs)
    solution = solve(instance, policies(instance), scale=axis)
    assert [(j.id, start) for j, start in solution.plan] == [("a", 0), ("b", 4), ("c", 10)]
    assert solution.value == 2 * (4 + 10 + 18)


def test_a_cell_has_what_is_free_all_through_it() -> None:
    history = ((-5.0, 1), (3.0, 4), (9.0, 2), (10.0, 6), (25.0, 8))
    grid = round_to_grid(Instance(0.0, history, (Job("a", -10, 1, 0), Job("b", 0, 1, 10.5))), 10)
    assert grid.history == ((0.0, 1), (1.0, 6), (3.0, 8))
    assert [(j.submit, j.duration) for j in grid.jobs] == [(-1, 1), (0, 2)]


def test_the_time_scale_is_that_of_table_4_4() -> None:
    minutes = [choose_scale(makespan, run_time) / 60 for makespan, run_time, _ in TABLE_4_4]
    printed = [row[2] for row in TABLE_4_4]
    assert minutes[3] == 7
    assert printed[3] == 8  # the one row that does not come out
    assert minutes[:3] + minutes[4:] == printed[:3] + printed[4:]
    assert choose_scale(0, 0) == choose_scale(1, 1) == 60
    assert choose_scale(190_000, 1_800_000, memory_mb=200) == 60 * 22


def test_a_time_limit_leaves_the_best_known_plan() -> None:
    jobs = tuple(Job(f"{i}", -i, 1 + i * 7 % 13, 100 + i * 37 % 91) for i in range(60))
    instance = Instance(0.0, ((0.0, 5), (40.0, 16)), jobs)
    plans = policies(instance)
    solution = solve(instance, plans, scale=5, time_limit=0.0)
    assert solution.status == TIME_LIMIT
    assert 0 < solution.gap <= 1
    assert solution.seconds < 60  # not the hours that an optimum takes
    check(instance, solution.plan)


def test_what_cannot_be_planned_is_said() -> None:
    assert solve(Instance(0.0, ((0.0, 5),), ()), []).value == 0  # no job
    with pytest.raises(UsageError, match="job x"):
        Instance(0.0, ((0.0, 5),), (Job("x", 0, 1, float("inf")),))
    with pytest.raises(UsageError, match="6 processors"):
        Instance(0.0, ((0.0, 5),), (Job("x", 0, 6, 1),))
    for history in ((), ((1.0, 5),), ((0.0, 5), (0.0, 6)), ((-1.0, 5), (-2.0, 6))):
        with pytest.raises(InvariantError, match="machine history"):
            Instance(0.0, history, ())
    jobs = tuple(Job(f"{i}", 0, 1, 1000 + 0.7**i) for i in range(30))
    instance = Instance(0.0, ((0.0, 2),), jobs)
    with pytest.raises(UsageError, match="too large"):
        solve(instance, policies(instance))


# The command: which steps it takes, what it writes, how it ends ----------------------------------


HALF = {"decider": "sjf-preferred", "when": "half", "slackness": 4}


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load_workload(SAMPLE_LOG, make_rules("dynp"))


def run(*arguments: object) -> Any:
    app = typer.Typer()
    app.command()(optimum)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_steps_are_those_that_were_asked_for(workload: Workload) -> None:
    every = collect_steps(workload, HALF, Selection(steps=9, least_waiting=4, most_waiting=6))
    assert {len(step.instance.jobs) for step in every} <= {4, 5, 6}
    third = collect_steps(
        workload, HALF, Selection(steps=3, least_waiting=4, most_waiting=6, every=3)
    )
    assert [step.instance.now for step in third] == [step.instance.now for step in every[:7:3]]
    later = collect_steps(workload, HALF, Selection(steps=2, from_time=every[4].instance.now))
    assert all(step.instance.now >= every[4].instance.now for step in later)


def test_a_step_is_what_dynp_saw(workload: Workload) -> None:
    for step in collect_steps(workload, {}, Selection(steps=20)):
        assert set(step.plans) == {"fcfs", "sjf", "ljf"}
        names = [job.id for job in step.instance.jobs]
        for plan in step.plans.values():
            assert sorted(names) == sorted(job.id for job, _ in plan)
            assert all(start >= step.instance.now for _, start in plan)


@pytest.mark.parametrize("scale", ["auto", "exact"])
def test_the_optimum_is_at_least_as_good_as_the_policies(workload: Workload, scale: str) -> None:
    steps = collect_steps(workload, HALF, Selection(steps=5, every=20, most_waiting=12))
    for row in compare_steps(steps, time_scale=scale):
        assert row.status == "optimal"
        assert row.scale is None if scale == "exact" else row.scale % 60 == 0
        if scale == "exact":
            assert row.optimum <= min(row.values.values()) + 1e-6
        assert row.quality == pytest.approx(row.optimum / row.values[row.chosen])
        assert row.loss_percent == pytest.approx(100 * (1 - row.quality))
        assert row.makespan > 0


def test_the_command_writes_a_row_for_each_step(tmp_path: Path) -> None:
    done = run(
        *("sample", "--rules", "dynp", "--steps", 3, "--most-waiting", 6, "--scale", "exact"),
        *("-O", "when=half", "-e", tmp_path / "deep" / "out"),
    )
    assert done.exit_code == 0, done.output
    text = (tmp_path / "deep" / "out_optimum.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 3
    for row in rows:
        assert row["scale"] == ""
        assert row["value_chosen"] == row[f"value_{row['chosen']}"]
        assert float(row["value_optimum"]) <= float(row["value_chosen"])
    assert "3 solved" in done.output


def test_what_is_solved_before_an_interruption_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = iter([solve])  # then it is interrupted
    monkeypatch.setattr(study, "solve", lambda *args, **kw: next(solved, interrupt)(*args, **kw))
    done = run("sample", "--rules", "dynp", "--most-waiting", 5, "-e", tmp_path / "out")
    assert done.exit_code != 0
    assert len((tmp_path / "out_optimum.csv").read_text().splitlines()) == 2


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_an_interruption_does_not_wait_for_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(threading.Thread, "join", interrupt)
    with pytest.raises(KeyboardInterrupt):
        study._interruptible(lambda: release.wait(30))
    release.set()


WRONG_USE = {
    "--scale fine": "auto, exact",
    "--scale -5": "auto, exact",
    "--scale inf": "scale inf",
    "--time-limit 0": "--time-limit 0",
    "--gap 1": "--gap 1",
    "--nodes 0": "--nodes 0",
    "--steps 0": "steps 0",
    "--every 0": "every 0",
    "--least-waiting 4 --most-waiting 3": "most_waiting 3",
    "-O colour=red": "'dynp'",
    '-O limits=[{"most_running":1}]': "limits",
    "--rules dynp --least-waiting 100000": "least_waiting (100000)",
}


@pytest.mark.parametrize("arguments", WRONG_USE)
def test_wrong_use_is_said_in_one_line(tmp_path: Path, arguments: str) -> None:
    log = tmp_path / "one_job.swf"
    log.write_text(f"; MaxProcs: 4\n1 0 0 10 4{' -1' * 2} 4 20 -1 1 3{' -1' * 6}\n")
    error = run(log, "-e", tmp_path / "out", *arguments.split()).exception
    assert isinstance(error, BatschedError)
    assert WRONG_USE[arguments] in str(error)
    assert "\n" not in str(error)
    assert list(tmp_path.iterdir()) == [log]
