"""The commands ``users`` and ``sessions``, as a user types them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from batsched_py.plugins import plugins
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.logs.swf import read_swf
from batsched_users.behaviour.withdrawal_habits import read_habits
from batsched_users.models.weekly import read_parameters
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.graph_summary import summarise_graphs
from batsched_users.sessions.session_graph import build_graph
from helpers.calling import Called, command
from helpers.drawn_sessions import LOG, jobs_of


def run(folder: Path, *arguments: str) -> Called:
    return command(folder, "users", *arguments)


def test_every_model_is_listed_and_shown_with_its_options(tmp_path: Path) -> None:
    listed = run(tmp_path, "list").stdout
    for name in plugins.list_names(plugins.USERS):
        assert f"\n{name} " in f"\n{listed}"
    shown = run(tmp_path, "list", "tbuos").stdout
    assert not re.search(":class:|code-block|``", shown)
    for option in plugins.find_accepted_options(plugins.load(plugins.USERS, "tbuos")) or ():
        assert f"\n  {option}\n" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("users list fluide", 2, "'fluid'"),
        ("users learn think-times nowhere.swf", 2, "nowhere.swf"),
        ("users compare empty.swf", 1, "empty.swf"),
        ("users sample sample out.swf -U week=3", 2, "'week'"),
        ("sessions sample out", 2, "got none"),
        ("sessions -a 60 -m 20 sample out", 2, "--arrival and --max"),
        ("sessions -a 60 gone.swf out", 2, "gone.swf"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, arguments: str, code: int, message: str
) -> None:
    (tmp_path / "empty.swf").write_text("")
    done = command(tmp_path, *arguments.split())
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["empty.swf"]


def test_learn_site_writes_a_set_that_the_model_reads(tmp_path: Path) -> None:
    done = run(tmp_path, "learn", "site", "sample", "-o", "site")
    assert done.returncode == 0, done.stderr
    assert "69.2% negative" in done.stdout
    options = ("-U", "distributions=site", "-U", "nb_users=3", "-U", "weeks=1")
    simulated = command(tmp_path, "simulate", "sample", "--users", "site", *options)
    assert simulated.returncode == 0, simulated.stderr
    largest = msgspec.json.decode((tmp_path / "site/sizes.json").read_bytes())
    assert "sample-v1.swf" in str(largest["sources"])


def test_learn_weekly_writes_parameters_that_the_model_reads(tmp_path: Path) -> None:
    done = run(tmp_path, "learn", "weekly", "sample", "-o", "w.json", "--per", "user")
    assert done.returncode == 0, done.stderr
    assert len(read_parameters(tmp_path / "w.json").classes) == 46


def test_learn_withdrawals_of_a_simulated_log(tmp_path: Path) -> None:
    """Withdrawn jobs go into a log with their waits, from which habits are learned."""
    options = ("--users", "withdraws", "-U", "rate=5", "--swf", "out.swf", "-e", "x")
    simulated = command(tmp_path, "simulate", "sample", "--scheduler", "fcfs", *options)
    assert simulated.returncode == 0, simulated.stderr
    done = run(tmp_path, "learn", "withdrawals", "out.swf", "-o", "habits.json")
    assert done.returncode == 0, done.stderr
    assert "withdrawn by 1 h" in done.stdout
    assert "-U habits=habits.json" in done.stderr
    habits = read_habits(tmp_path / "habits.json")
    withdrawn = int(habits.source.split()[1])
    log = read_swf(tmp_path / "out.swf")
    assert log.withdrawn.sum() == (tmp_path / "x_jobs.csv").read_text().count(",WITHDRAWN,")
    assert withdrawn == (log.withdrawn & (log.column("user") >= 0)).sum() > 500
    done = run(tmp_path, "learn", "withdrawals", "sample", "-o", "none.json")
    assert done.returncode == 1
    assert "no withdrawn job" in done.stderr


def test_learn_think_times_prints_both_fits_and_the_published_one(tmp_path: Path) -> None:
    lines = run(tmp_path, "learn", "think-times", "sample").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        *("sample-v1", "sample-v1", "pooled", "pooled", "Schlagkamp"),
    ]
    assert lines[1].split()[1:] == lines[3].split()[1:]  # the pool of one log is the log
    assert "0.4826" in lines[-1]


def test_compare_measures_a_log_like_itself(tmp_path: Path) -> None:
    lines = run(tmp_path, "compare", "sample", "sample").stdout.splitlines()[1:]
    assert lines[0].split() == ["jobs", "3430", "3430"]
    assert len(lines) > 15
    assert all(line.split()[-1] == line.split()[-2] for line in lines)


def test_no_command_writes_over_its_input(tmp_path: Path) -> None:
    content = SAMPLE_LOG.read_bytes()
    (tmp_path / "log.swf").write_bytes(content)
    for arguments in (
        ["learn", "weekly", "log.swf", "-o", "log.swf"],
        ["sample", "log.swf", "log.swf", "--users", "fluid"],
        ["sample", "sample", "log.swf", "--users", "population", "-U", "file=log.swf"],
    ):
        done = run(tmp_path, *arguments)
        assert done.returncode == 2
        assert "the input" in done.stderr
    assert (tmp_path / "log.swf").read_bytes() == content


def test_sample_writes_a_log_that_can_be_read_and_simulated(tmp_path: Path) -> None:
    """As many jobs as resampled users submit; the requests are those of the log."""
    options = ("-U", "long_weeks=3", "-U", "edge_weeks=1", "-U", "weeks=12", "--seed", "3")
    done = run(tmp_path, "sample", "sample", "made.swf.gz", *options)
    assert done.returncode == 0, done.stderr
    made, log = read_swf(tmp_path / "made.swf.gz"), read_swf(SAMPLE_LOG)
    assert f"wrote {len(made)} jobs" in done.stderr
    assert set(made.column("requested_time")) <= set(log.column("requested_time"))
    assert set(made.column("run_time")) <= set(log.column("run_time"))
    assert made.header_field("TimeZoneString") == "Europe/Paris"
    assert any("SYNTHETIC" in line for line in made.header_lines)
    assert any("seed 3" in line and "sample" in line for line in made.header_lines)
    run(tmp_path, "sample", "sample", "again.swf.gz", *options)
    assert (tmp_path / "made.swf.gz").read_bytes() == (tmp_path / "again.swf.gz").read_bytes()


# Sessions ----------------------------------------------------------------------------------------


def sessions(folder: Path, *arguments: str) -> Called:
    (folder / "log.swf").write_text(LOG)
    return command(folder, "sessions", *arguments)


def sessions_of_user_5(folder: Path) -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads((folder / "out/user5.SABjson").read_text())
    return content["sessions"]  # type: ignore[no-any-return]


def test_log_in_files_and_tables_out(tmp_path: Path) -> None:
    done = sessions(tmp_path, "-a", "60", "log.swf", "out", "--summary", "table.csv")
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["user5.SABjson", "user7.SABjson"]
    assert ["sessions", "3"] in [line.split() for line in done.stdout.splitlines()]
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
    assert sessions(tmp_path, *options, "log.swf", "out").returncode == 0
    assert len(sessions_of_user_5(tmp_path)) == nb_sessions


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
