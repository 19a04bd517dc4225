"""The floors of the benchmarks give our schedules; the program runs and keeps its history."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import campaign_rows
import environment_rows
import floor_plan
import history
import loop_rows
import process_rows
import pytest
import site_rows
import socket_rows
from floor import Columns, Scanned, easy, read
from floor_queue import Blocks
from hypothesis import given
from hypothesis import strategies as st
from planning_rows import FREE, NOW, busy_machine, usual_jobs

from batsched_py import load_workload, simulate
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import find_fixed_key
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.workload.conversion_rules import Rules
from helpers.examples import few_examples
from helpers.logs import swf_text

KINDS = [Scanned, Blocks]
# job, submission, run time, processors, requested time
HAND_DRAWN = [
    (1, 0, 10, 3, 12),
    (2, 1, 10, 4, 10),  # the head: shadow time 20, no extra nodes
    (3, 2, 30, 1, 30),  # too long
    (4, 3, 5, 1, 6),  # backfilled
    (5, 4, 0, 1, 1),  # no run time: ends when it starts, at 8
]


def log_of(folder: Path, jobs: Sequence[tuple[int, int, int, int, int]]) -> Path:
    """Write a log for a machine of four processors."""
    rest = "-1 1 3 1 -1 1 -1 -1 -1"
    lines = [
        f"{job} {submit} 0 {run} {size} -1 -1 {size} {asked} {rest}"
        for job, submit, run, size, asked in jobs
    ]
    path = folder / "log.swf"
    path.write_text(swf_text(*lines))
    return path


def ours(path: Path, gaps: float = 1.0) -> dict[str, float]:
    load = load_workload(path, Rules())
    for job in load.jobs:
        job.submit_time *= gaps
    jobs = simulate(load).jobs
    return dict(zip(jobs["job_id"].astype(str), jobs["starting_time"], strict=True))


def floors(jobs: Columns, kind: type[Scanned] | type[Blocks]) -> dict[str, float]:
    return dict(zip(jobs.names, easy(jobs, kind(jobs)), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_by_hand(tmp_path: Path, kind: type[Scanned] | type[Blocks]) -> None:
    path = log_of(tmp_path, HAND_DRAWN)
    expected = {"1": 0, "2": 10, "3": 20, "4": 3, "5": 8}
    assert floors(read(path), kind) == expected == ours(path)


times, sizes = st.integers(0, 40), st.integers(1, 4)


@few_examples
@given(st.lists(st.tuples(times, times, sizes, st.integers(-1, 60)), min_size=1, max_size=80))
def test_logs_that_nobody_drew(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[int, int, int, int]]
) -> None:
    jobs.sort(key=lambda job: job[0])
    numbered = [(number, *job) for number, job in enumerate(jobs, 1)]
    path = log_of(tmp_path_factory.mktemp("log"), numbered)
    expected = ours(path)
    for kind in KINDS:
        assert floors(read(path), kind) == expected


@pytest.mark.parametrize("order", ["fcfs", "sjf", "ljf"])
def test_plans_are_ours(order: str) -> None:
    machine, queue, policy = busy_machine(), WaitingQueue(), Planning(order=order)
    jobs = usual_jobs(200)
    releases = [(end, size) for end, size, _, _ in machine.expected_releases()]
    for job in jobs:
        queue.append(job)
    ordered = list(queue.ranked(find_fixed_key(order)))
    list(policy.schedule(NOW, queue, machine))
    line = floor_plan.FreeProcessors(NOW, FREE, releases)
    starts = floor_plan.plan([(j.size, j.estimate, j.submit_time) for j in ordered], line)
    assert [start for _, start in policy.planner.plan] == starts
    assert min(starts) == NOW < max(starts)


# The program of the benchmarks runs, and its history says what became slower ---------------------


assert all(
    (campaign_rows, environment_rows, loop_rows, process_rows, site_rows, socket_rows)
)  # these make the rows

NAME = history.TABLE
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGE = BENCHMARKS.parent / "docs" / "validation" / "performance.md"


def benchmarks(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.process
def test_the_rows_are_measured_kept_and_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n<!-- {NAME} -->\nold\n<!-- end of {NAME} -->\nafter\n")
    kept = tmp_path / "history.jsonl"
    wanted = ["floor-loop", "output", "campaign-sample", "campaign-bootstrap"]
    wanted += ["env-order-feedback", "env-reset-feedback"]
    run = benchmarks("--quick", "--rounds", "1", "--keep", kept, "--page", page, *wanted, "curie")
    assert run.returncode == 0, run.stderr
    (entry,) = history.read_entries(kept)
    assert entry.rows.keys() == set(wanted)
    assert all(measured.ratio > 0 for measured in entry.rows.values())
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| EASY, the loop, against the floor's loop |" in text
    data = (tmp_path / "data" / "performance.csv").read_text().splitlines()[1:]
    assert {line.partition(",")[0] for line in data} == set(wanted)  # curie was skipped
    assert "skipped: " in run.stdout


def test_the_page_has_what_was_measured_last(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_bytes(PAGE.read_bytes())
    runs = history.read_entries()
    history.write_table(page, runs, runs[-1].log)
    for file in ("performance.md", "data/performance.csv"):
        assert (tmp_path / file).read_text() == (PAGE.parent / file).read_text()
