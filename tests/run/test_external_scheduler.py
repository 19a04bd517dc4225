"""Schedulers of others, each in a program of its own: with and without users."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py import run_campaign, simulate
from batsched_py.errors import SimulationError, UsageError
from batsched_py.run.backends.started_scheduler import make_command
from batsched_py.run.result import Result
from batsched_py.run.settings import Settings
from batsched_py.support.installation import PROGRAM, platforms_folder
from helpers.calling import command
from helpers.logs import small_log
from helpers.other_programs import free_address
from helpers.waiting import is_alive, wait_until

pytestmark = pytest.mark.process

OURS = "batsched-py serve -v {} --verbosity silent"
USERS = {"users": "feedback", "sessions": "arrival:0"}
FLAGS = ["--users", "feedback", "--log", "log.swf", "--sessions", "arrival:0"]
BAD = """
import json, os, sys, time
import zmq
open("pid", "w").write(str(os.getpid()))
{before}
socket = zmq.Context().socket(zmq.REP)
socket.bind(sys.argv[1])
for number in range(10000):
    message = json.loads(socket.recv())
    {each}
    socket.send_string(json.dumps({{"now": message["now"], "events": []}}))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "log.swf").write_text(small_log())
    (tmp_path / "p.xml").write_text((platforms_folder() / "ideal_64.xml").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def write_bad(folder: Path, each: str = "pass", before: str = "pass") -> str:
    """Write a scheduler that goes wrong; return its command."""
    (folder / "bad.py").write_text(BAD.format(each=each, before=before))
    return f"{sys.executable} bad.py {{endpoint}}"


def jobs_of(path: str) -> dict[str, tuple[str, ...]]:
    """Return start, end and processors of each job in a table."""
    with open(path, newline="") as file:
        return {
            row["job_id"]: (row["starting_time"], row["finish_time"], row["allocated_resources"])
            for row in csv.DictReader(file)
        }


# The same as inside ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("users", [{}, USERS])
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_a_policy_outside_gives_the_same_schedule(
    protocol: int, users: dict[str, str], policy: str
) -> None:
    inside = simulate("log.swf", scheduler=policy, **users)
    outside = simulate(
        "log.swf",
        scheduler_command=OURS.format(policy),
        scheduler_protocol=protocol,
        progress=False,
        **users,
    )
    assert outside.jobs_csv() == inside.jobs_csv()
    assert outside.settings["run"]["scheduler"] == "external"
    assert outside.settings["run"]["scheduler_options"]["command"] == OURS.format(policy)


@pytest.mark.parametrize(("backend", "protocol"), [("socket", 4), ("socket5", 5)])
@pytest.mark.parametrize("users", [{}, USERS])
def test_another_simulator_gives_the_same_schedule(
    backend: str, protocol: int, users: dict[str, str]
) -> None:
    outside = simulate(
        "log.swf",
        scheduler_command=OURS.format("fcfs"),
        scheduler_protocol=protocol,
        backend=backend,
        progress=False,
        **users,
    )
    assert outside.jobs_csv() == simulate("log.swf", scheduler="fcfs", **users).jobs_csv()


@pytest.mark.parametrize("protocol", ["4", "5"])
def test_the_simulator_adds_users(folder: Path, protocol: str) -> None:
    address = free_address()
    end = [address, ""] if protocol == "5" else [address]
    ours = [*PROGRAM, "serve", "-v", "fcfs", "-s", address]
    with subprocess.Popen(ours, stdout=subprocess.DEVNULL) as scheduler:
        called = command(
            folder,
            *("simulator", "--protocol", protocol, "-p", "p.xml", "-s", *end, "-e", "o/out"),
            *FLAGS,
        )
        assert (called.returncode, scheduler.wait(60)) == (0, 0)
    inside = simulate("log.swf", scheduler="fcfs", nodes=64, **USERS)
    stored = Result.load("o/out")
    assert stored.jobs_csv() == inside.jobs_csv()
    assert stored.metrics["mean_lateness"] == inside.metrics["mean_lateness"]
    assert stored.settings["run"]["scheduler_options"] == {"endpoint": address}


@pytest.mark.parametrize("protocol", ["4", "5"])
def test_the_proxy_adds_users_under_another_simulator(folder: Path, protocol: str) -> None:
    address = free_address()
    end = [address, ""] if protocol == "5" else [address]
    prefix = "o/out_" if protocol == "5" else "o/out"
    options = [] if protocol == "5" else ["--enable-dynamic-jobs", "--enable-profile-reuse"]
    ours = OURS.format("easy")
    words = [*PROGRAM, "users-proxy", "--scheduler-command", ours, "-s", address, "-e", "o/out"]
    with subprocess.Popen([*words, *FLAGS], stdout=subprocess.DEVNULL) as proxy:
        called = command(
            folder,
            *("simulator", "--protocol", protocol, "-p", "p.xml", "-s", *end, "-e", prefix),
            *options,
        )
        assert (called.returncode, proxy.wait(60)) == (0, 0)
    simulate("log.swf", nodes=64, **USERS).write("o/in")
    assert jobs_of("o/out_jobs.csv") == jobs_of("o/in_jobs.csv")
    with open("o/out_users.csv", newline="") as file:
        assert {row["user"] for row in csv.DictReader(file)} == set(
            Result.load("o/in").jobs["user"].astype(str)
        )


def test_a_campaign_names_a_program(folder: Path) -> None:
    (folder / "c.toml").write_text(
        "[run]\n"
        'log = "log.swf"\n'
        'users = "feedback"\n'
        f'scheduler = ["fcfs", {{command = "{OURS.format("fcfs")}", protocol = 5}}]\n'
        "[[exclude]]\n"
        'scheduler = "fcfs"\n'
        'users = "nobody"\n'
    )
    called = command(folder, "campaign", "c.toml", "-e", "out", "-j", "1")
    assert called.returncode == 2
    text = (folder / "c.toml").read_text().partition("[[exclude]]")[0]
    (folder / "c.toml").write_text(text)
    called = command(folder, "campaign", "c.toml", "-e", "out", "-j", "1")
    assert called.returncode == 0, called.stderr
    (table,) = folder.glob("out/*.csv")
    with table.open(newline="") as file:
        rows = {row["scheduler"]: row for row in csv.DictReader(file)}
    ours, theirs = rows["fcfs"], rows[OURS.format("fcfs")]
    assert ours["mean_waiting_time"] == theirs["mean_waiting_time"]
    assert theirs["scheduler_protocol"] == "5"


def test_variants_that_are_programs_are_named_by_their_commands(folder: Path) -> None:
    lines = ('[run]\nlog = "log.swf"\nwhose = ["ours", "theirs"]', "[whose.ours]", "[whose.theirs]")
    text = "\n".join((*lines, f'scheduler = {{ command = "{OURS.format("fcfs")}" }}\n'))
    (folder / "c.toml").write_text(text)
    results = run_campaign("c.toml", "out", jobs=1, progress=False)
    assert list(results.runs["scheduler"]) == ["easy", OURS.format("fcfs")]


def test_a_campaign_needs_its_programs_before_it_begins(folder: Path) -> None:
    (folder / "c.toml").write_text(
        '[run]\nlog = "log.swf"\nscheduler = ["easy", {command = "no-such-program -x"}]\n'
    )
    with pytest.raises(UsageError, match="no program 'no-such-program' for scheduler_command"):
        run_campaign("c.toml", "out", jobs=1, progress=False)
    assert not list(folder.glob("out/runs/*"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{command = "x", protocols = 4}', "no key 'protocols' (did you mean 'protocol'?)"),
        ("{protocol = 4}", "command is missing: expected the command line"),
        ('[{command = "x", protocol = "4"}]', "scheduler_protocol = '4'"),
        ('[{command = "x"}, "easy", {command = "x", protocol = 5}]', "has 'x' twice"),
    ],
)
def test_mistakes_in_a_campaign_are_found_at_their_line(
    folder: Path, value: str, message: str
) -> None:
    (folder / "c.toml").write_text(f'[run]\nlog = "log.swf"\nscheduler = {value}\n')
    called = command(folder, "campaign", "c.toml", "-e", "out")
    assert called.returncode == 2
    assert "c.toml:3:" in called.stderr
    assert message in called.stderr


# Failures ----------------------------------------------------------------------------------------


def fail(folder: Path, scheduler: str, **options: str) -> str:
    """Simulate with a scheduler that goes wrong; return the error, and check that it is gone."""
    with pytest.raises(SimulationError) as caught:
        simulate(
            "log.swf", scheduler_command=scheduler, progress=False, folder=folder / "run", **options
        )
    if (folder / "pid").exists():
        assert not is_alive(int((folder / "pid").read_text()))
    return str(caught.value)


def test_a_scheduler_that_dies(folder: Path) -> None:
    bad = write_bad(folder, "if number == 1: raise SystemExit('no more')")
    message = fail(folder, bad)
    assert "went away" in message or "exited with 1" in message
    assert "exited with 1: no more" in message
    assert "scheduler.log" in message


def test_a_scheduler_that_dies_before_it_listens(folder: Path) -> None:
    message = fail(folder, write_bad(folder, before="raise SystemExit('not today')"))
    assert "the scheduler exited with 1: not today" in message
    assert "before it listened" in message


def test_a_scheduler_that_never_listens(folder: Path) -> None:
    bad = write_bad(folder, before="time.sleep(600)")
    assert "within 0.5 s (ready)" in fail(folder, bad, timeouts="ready=0.5")


def test_a_scheduler_that_never_answers(folder: Path) -> None:
    bad = write_bad(folder, "time.sleep(600)")
    assert "did not reply at 0.000000 s within 1 s" in fail(folder, bad, timeouts="run=1")


@pytest.mark.parametrize(
    ("end", "note"),
    [
        ("sleep 600", "the scheduler was ended 0.5 s after the simulation (success)"),
        ("echo sorry; exit 3", "after the simulation, the scheduler exited with 3: sorry"),
    ],
)
def test_a_bad_end_after_the_last_message_is_a_note(folder: Path, end: str, note: str) -> None:
    ours = Path(folder / "ours.sh")
    ours.write_text(f'#!/bin/sh\nbatsched-py serve -s "$1"; {end}\n')
    ours.chmod(0o755)
    result = simulate(
        "log.swf",
        scheduler_command=f"{ours} {{endpoint}}",
        timeouts="success=0.5",
        progress=False,
    )
    assert note in "\n".join(result.notes)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", ["simulate", "users-proxy"])
def test_a_request_to_end_ends_the_scheduler(
    folder: Path, what: str, number: signal.Signals
) -> None:
    bad = write_bad(folder, "time.sleep(600)")
    words = ["simulate", "log.swf"]
    if what == "users-proxy":
        words = [what, *FLAGS, "-s", "tcp://127.0.0.1:*"]
    process = subprocess.Popen(
        [*PROGRAM, *words, "--scheduler-command", bad, "-e", "o/out"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    pid = int(wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text()))
    process.send_signal(number)
    errors = process.stderr.read()
    assert process.wait(60) == 130
    assert errors.splitlines()[-1].endswith("interrupted")
    wait_until(lambda: not is_alive(pid))


# Mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheduler": "fcfs", "scheduler_command": "x"}, "give one of them"),
        ({"scheduler_command": "x", "scheduler_protocol": 3}, "expected 4 or 5"),
        ({"scheduler_protocol": 5}, "no effect without"),
        ({"scheduler_registers": True}, "no effect without"),
        ({"scheduler_command": "'x"}, "No closing quotation"),
        ({"scheduler_command": " "}, "expected a program"),
        ({"scheduler_command": "x", "sites": "2x32"}, "knows neither grid sites nor"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate("log.swf", progress=False, **options)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(SimulationError, match="no-such-program cannot be started: No such file"):
        simulate("log.swf", scheduler_command="no-such-program", progress=False)


def test_a_protocol_that_the_simulator_does_not_speak() -> None:
    with pytest.raises(UsageError, match="speaks the protocol of Batsim 5"):
        simulate(
            "log.swf", scheduler_command=OURS.format("fcfs"), backend="socket5", progress=False
        )


def test_users_and_a_workload_exclude_each_other(folder: Path) -> None:
    command(folder, "convert", "log.swf", "w.json")
    called = command(folder, "simulator", "-p", "p.xml", "-w", "w.json", *FLAGS)
    assert called.returncode == 2
    assert "leave -w out" in called.stderr


def test_one_scheduler_is_enough(folder: Path) -> None:
    words = ["--scheduler-command", "x", "--scheduler-socket", "tcp://localhost:28001"]
    called = command(folder, "users-proxy", *words, *FLAGS)
    assert (called.returncode, "give one of them" in called.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mine", ["mine", "-s", "tcp://127.0.0.1:9"]),
        ("mine -s {endpoint}", ["mine", "-s", "tcp://127.0.0.1:9"]),
        ("'my own' --bind=tcp://*:{port}", ["my own", "--bind=tcp://*:9"]),
    ],
)
def test_the_command_names_the_endpoint(text: str, words: list[str]) -> None:
    assert make_command(text, "tcp://127.0.0.1:9") == words


def test_the_command_is_stored() -> None:
    run = Settings(scheduler_command="mine -x", scheduler_protocol=5).run()
    assert run.scheduler_options == {"command": "mine -x", "protocol": 5}
