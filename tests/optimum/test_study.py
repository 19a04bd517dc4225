"""The command: which steps it takes, what it writes, how it ends."""

from __future__ import annotations

import csv
import io
import threading
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from batsched_py.commands.optimum import optimum
from batsched_py.errors import BatschedError
from batsched_py.optimum import step_study as study
from batsched_py.optimum.step_study import (
    Selection,
    collect_steps,
    compare_steps,
)
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG

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
    real, calls = study.solve, []

    def second_hangs(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(study, "solve", second_hangs)
    done = run("sample", "--rules", "dynp", "--most-waiting", 5, "-e", tmp_path / "out")
    assert done.exit_code != 0
    assert len((tmp_path / "out_optimum.csv").read_text().splitlines()) == 2


def test_an_interruption_does_not_wait_for_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
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
