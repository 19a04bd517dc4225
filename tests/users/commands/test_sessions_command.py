"""The command ``sessions`` from log to files and tables, and the numbers behind its tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.graph_summary import summarise_graphs
from batsched_users.sessions.session_graph import build_graph
from helpers.calling import Called, command
from helpers.drawn_sessions import LOG, jobs_of


def run(folder: Path, *arguments: str) -> Called:
    (folder / "log.swf").write_text(LOG)
    return command(folder, "sessions", *arguments)


def sessions_of_user_5(folder: Path) -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads((folder / "out/user5.SABjson").read_text())
    return content["sessions"]  # type: ignore[no-any-return]


def test_log_in_files_and_tables_out(tmp_path: Path) -> None:
    done = run(tmp_path, "-a", "60", "log.swf", "out", "--summary", "table.csv")
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["user5.SABjson", "user7.SABjson"]
    earlier, later = sessions_of_user_5(tmp_path)
    assert [[job["id"] for job in session["jobs"]] for session in (earlier, later)] == [
        ["1"],
        ["3", "4"],
    ]
    assert later["preceding_sessions"] == [earlier["id"]]
    assert later["thinking_time_after_preceding_session"] == [3550]
    first, second = csv.DictReader((tmp_path / "table.csv").open())
    assert (first["user"], first["jobs"], first["sessions"]) == ("5", "3", "2")
    assert (second["user"], second["edges"], second["think_time_median"]) == ("7", "0", "")


@pytest.mark.parametrize(
    ("options", "nb_sessions"),
    [
        (["-a", "60", "--boundary", ">"], 1),  # 3600 s do not cut with >
        (["-l", "59"], 2),  # 3550 s after the end of job 1
        (["-m", "60"], 1),  # less than an hour after the end of job 1
    ],
)
def test_delimitations(tmp_path: Path, options: list[str], nb_sessions: int) -> None:
    assert run(tmp_path, *options, "log.swf", "out").returncode == 0
    assert len(sessions_of_user_5(tmp_path)) == nb_sessions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["log.swf"], "got none"),
        (["-a", "60", "-m", "20", "log.swf"], "--arrival and --max"),
        (["-a", "60", "gone.swf"], "gone.swf"),
    ],
)
def test_wrong_usage_writes_nothing(tmp_path: Path, options: list[str], message: str) -> None:
    done = run(tmp_path, *options, "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "out").exists()


def test_summary_of_drawn_sessions() -> None:
    """Two chained sessions of 2 and 1 jobs and one that overlaps them."""
    jobs = jobs_of((0, 5), (10, 20), (4_000, 30_000), (20_020, 20_030))
    graph = build_graph(partition(jobs, Delimitation("arrival", 60))["u"])
    assert graph.predecessors == [[], [(0, 3_980)], [(0, 20_000)]]
    numbers = summarise_graphs([graph, graph])
    assert (numbers.users, numbers.jobs, numbers.sessions, numbers.edges) == (2, 8, 6, 4)
    assert (numbers.jobs_per_session_max, numbers.longest_path, numbers.arity) == (2, 2, 1)
    assert numbers.jobs_per_session_mean == pytest.approx(4 / 3)
    assert numbers.single_job_share == pytest.approx(2 / 3)
    assert (numbers.think_time_below_1h, numbers.think_time_below_10h) == (0, 1)
    assert (numbers.think_time_median, numbers.think_time_max) == (11_990, 20_000)
