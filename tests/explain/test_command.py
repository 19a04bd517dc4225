"""``batsched-py explain`` as a user runs it, and the data of its picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batsched_py.explain.gantt import EXPLAINED, OTHER, OVERTOOK, RESERVED, draw_job
from batsched_py.explain.waiting_lines import explain_job
from batsched_py.explain.wording import describe
from batsched_py.figures.chart_files import render_chart
from batsched_py.schedulers.easy import Easy
from batsched_py.testing import workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from helpers.calling import command
from helpers.explained import JOBS, record, watched
from helpers.sealed_runs import seal, unsealed

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the sample log: ``users``, ``rigid``, and ``silent`` without a log."""
    made = tmp_path_factory.mktemp("runs")
    log = SAMPLE_LOG
    for prefix, *options in (
        ("users", "--users", "feedback", "--record"),
        ("rigid", "--scheduler", "easy", "-O", "backfill_order=sjf", "--first", 800, "--record"),
        ("silent", "--users", "feedback"),
    ):
        done = command(made, "simulate", log, "-e", prefix, *options)
        assert done.returncode == 0, done.stderr
    return made


def test_recording_changes_no_result(folder: Path) -> None:
    for name in ("jobs.csv", "schedule.csv"):
        assert (folder / f"users_{name}").read_bytes() == (folder / f"silent_{name}").read_bytes()
    recorded, silent = (unsealed(folder / f"{run}_run.json") for run in ("users", "silent"))
    del recorded["wall_time"], silent["wall_time"]
    assert recorded == silent


def test_words_and_picture(folder: Path) -> None:
    done = command(folder, "explain", "users", "--job", "150", "--gantt", "deep/150.png")
    assert done.returncode == 0, done.stderr
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("dyn!150 (32 processors")
    assert "4 later jobs" in second
    assert "wrote deep/150.png" in done.stdout
    assert (folder / "deep" / "150.png").read_bytes().startswith(PNG)


def test_words_and_json_of_a_policy_with_options(folder: Path) -> None:
    """The path of the exchange is as good as the prefix; the policy's options are found."""
    options = ("--scheduler", "easy", "-O", "backfill_order=sjf")
    by_run, by_options = (
        command(folder, "explain", "rigid", "--job", "150", *more) for more in ((), options)
    )
    assert by_options.stdout == by_run.stdout
    assert "Thu 2026-01-08 06:11:27" in by_run.stdout.splitlines()[-1]
    done = command(folder, "explain", "rigid_exchange.jsonl", "--job", "w0!150", "--json")
    told = json.loads(done.stdout)
    assert (told["job"], told["policy"]) == ("w0!150", "easy")
    assert told["waited"] == told["start"] - told["submitted"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["users", "--job", "99999"], 2, "dyn!1 to dyn!"),
        (["rigid", "--job", "w0!15O"], 2, "'w0!15"),
        (["silent", "--job", "15"], 2, "--record"),
        (["users", "--job", "15", "--scheduler", "fcfs"], 1, "not of this policy"),
        (["users", "--job", "15", "-O", "order=sjf"], 2, "-O needs --scheduler"),
        (["mixed", "--job", "15"], 1, "to another run"),
        (["alone_exchange.jsonl", "--job", "15"], 2, "give --scheduler"),
        (["damaged", "--job", "15"], 1, "damaged_exchange.jsonl:3"),
        (["headless", "--job", "15"], 1, "beginning is missing"),
        (["broken", "--job", "15"], 1, "broken_run.json"),
    ],
)
def test_errors_are_one_line(folder: Path, arguments: list[str], code: int, message: str) -> None:
    exchange, run = (folder / "users_exchange.jsonl").read_bytes(), folder / "users_run.json"
    lines = exchange.splitlines(keepends=True)
    (folder / "mixed_exchange.jsonl").write_bytes(lines[0])
    seal(folder / "mixed_run.json", unsealed(folder / "rigid_run.json"))
    (folder / "mixed_exchange.jsonl").write_bytes(exchange)
    (folder / "alone_exchange.jsonl").write_bytes(exchange)
    (folder / "damaged_exchange.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:50])
    seal(folder / "damaged_run.json", unsealed(run))
    (folder / "headless_exchange.jsonl").write_bytes(b"".join(lines[2:]))
    seal(folder / "headless_run.json", unsealed(run))
    (folder / "broken_exchange.jsonl").write_bytes(exchange)
    (folder / "broken_run.json").write_bytes(run.read_bytes()[:90])
    done = command(folder, "explain", *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_a_policy_that_only_the_run_names_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    policy = tmp_path / "mine.py"
    policy.write_text(
        f"from batsched_py.schedulers.easy import Easy\nopen({str(ran)!r}, 'w')\n"
        "class Mine(Easy):\n pass\n"
    )
    named = ("--scheduler", f"{policy}:Mine", "-O", "backfill_order=sjf")
    line = ("simulate", SAMPLE_LOG, "--first", 50, "-e", "run", "--record", *named)
    assert command(tmp_path, *line).returncode == 0
    ran.unlink()
    explain = ("explain", "run", "--job", 26)
    done = command(tmp_path, *explain)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(" ".join(named))
    assert not ran.exists()
    assert command(tmp_path, *explain, *named).returncode == 0


def test_the_rectangles(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    record(path, workload([JOBS[0], JOBS[1], JOBS[3], JOBS[4], JOBS[5]], 8), Easy())
    chart = draw_job(watched(path, "w0!0002", Easy(), 0.1), 0.1)
    # submitted at 14, started at 150 and ended at 450: 43.6 s more on both sides
    assert shown_minutes(chart) == pytest.approx([(14 - 43.6) / 60, (450 + 43.6) / 60])
    bars = chart.layer[0].data
    columns = bars[["job_id", "colour", "time", "until", "first_processor", "last_processor"]]
    minutes = columns.assign(time=columns["time"] * 60, until=columns["until"] * 60).round(6)
    assert minutes.values.tolist() == [
        ["w0!0000", OTHER, 0, 100, 0, 5],
        ["w0!0004", OVERTOOK, 16, 36, 6, 6],
        ["w0!0001", RESERVED, 100, 150, 0, 7],
        ["w0!0002", EXPLAINED, 150, 450, 0, 1],
        ["w0!0003", OTHER, 150, 210, 2, 5],
    ]
    svg = render_chart("svg", chart.to_dict()).decode()
    assert all(name in svg for name in (EXPLAINED, RESERVED, OVERTOOK, OTHER))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:8]))
    watch = watched(path, "w0!0001", Easy(), 0.5)
    chart = draw_job(watch, 0.5)  # a job that has not ended goes to the edge
    assert (chart.layer[0].data["until"] == shown_minutes(chart)[1]).all()
    told = explain_job(watch, "easy", 30)
    assert (told.start, "ends at t=" in next(describe(told))) == (None, True)


def shown_minutes(chart: Any) -> list[float]:
    """Return the ends of the axis of time."""
    ends: list[float] = chart.layer[0].to_dict()["encoding"]["x"]["scale"]["domain"]
    return ends
