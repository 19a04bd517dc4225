"""serve, batsim and replay as commands: what they say, write and exit with."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from batsched_py.protocol.own_job_fields import ADDED_COLUMNS
from batsched_py.support.installation import PROGRAM, platforms_folder
from helpers.calling import Called, command
from helpers.logs import small_log
from helpers.waiting import LIMIT
from helpers.wire import ask, begins, ends, peer, submitted

pytestmark = pytest.mark.process

USERS = ["--users", "feedback", "--log", "log.swf", "--sessions", "arrival:0"]
DYNAMIC = ["--enable-dynamic-jobs", "--enable-profile-reuse"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.swf").write_text(small_log())
    xml = (platforms_folder() / "ideal_64.xml").read_text()
    (tmp_path / "p.xml").write_text(xml)
    return tmp_path


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run serve on the ipc path s of the folder; it has ended when the block has."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", "-s", f"ipc://{folder}/s", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
        process.wait(30)
    finally:
        process.kill()
        process.wait()


def batsim(folder: Path, *arguments: str) -> Called:
    end = f"ipc://{folder}/s"
    return command(folder, "simulator", "-p", "p.xml", "-s", end, "-e", "o/b", *arguments)


def one_line(text: str) -> str:
    (line,) = [line for line in text.splitlines() if not line.startswith("note:")]
    return line


@pytest.mark.parametrize("users", [True, False])
def test_a_pair_of_processes_gives_what_one_gives(folder: Path, users: bool) -> None:
    """With users who react, and with a static workload, for which each message is shown."""
    command(folder, "convert", "log.swf", "w.json")
    debug = ["--verbosity", "debug"]
    ours, theirs = (USERS, DYNAMIC) if users else (debug, ["-w", "w.json"])
    with serving(folder, "-e", "o/b", "--record", "o/ex.jsonl", *ours) as process:
        done = batsim(folder, *theirs)
    assert (process.returncode, done.returncode) == (0, 0)
    assert process.stderr is not None
    assert ("ExecuteJob(" in process.stderr.read()) is not users
    options = ["--users", "feedback", "--sessions", "arrival:0"] if users else []
    embedded = command(folder, "simulate", "log.swf", "--nodes", "64", "-e", "o/e", *options)
    assert embedded.returncode == 0, embedded.stderr
    jobs = (folder / "o/e_jobs.csv").read_text().splitlines()
    assert [line.rsplit(",", 4)[0] for line in jobs] == (
        folder / "o/b_jobs.csv"
    ).read_text().splitlines()
    assert (folder / "o/e_schedule.csv").read_text() == (folder / "o/b_schedule.csv").read_text()
    rows = list(csv.DictReader((folder / "o/b_users.csv").open()))
    assert list(rows[0]) == ["job_id", "workload_name", *ADDED_COLUMNS]
    assert {row["job_id"] for row in rows} == {str(i + 1) for i in range(6)}
    replayed = command(folder, "replay", "o/ex.jsonl", *(USERS if users else []))
    assert replayed.returncode == 0, replayed.stderr
    assert "the same decisions" in replayed.stdout
    other = command(folder, "replay", "o/ex.jsonl", "--scheduler", "no.py:Such")
    assert other.returncode == 2


SITES = ["--sites", "west:40,east:24@0.5", "--speed-factor", "2"]
LONGER = """
from batsched_py import Start

class Longer:
    def dilates(self, sites):
        return True

    def schedule(self, now, queue, machine):
        while (job := queue.head) and job.size <= machine.free:
            yield Start(job, None, 1.5, 2 / 3)
"""


@pytest.mark.parametrize(("users", "exact"), [(True, False), (False, True)])
def test_a_pair_of_processes_with_dilated_jobs(folder: Path, users: bool, exact: bool) -> None:
    """The recording is answered alike, explained, and the same as in one process."""
    (folder / "longer.py").write_text(LONGER)
    command(folder, "convert", "log.swf", "w.json")
    xml = (folder / "p.xml").read_text().replace('speed="1Gf"', 'speed="2Gf"')
    (folder / "p.xml").write_text(xml)
    ours = ["-v", "longer.py:Longer", *SITES, *(USERS if users else [])]
    theirs = [*DYNAMIC, *([] if users else ["-w", "w.json"])]
    theirs += ["--exact-times"] if exact else []
    with serving(folder, "-e", "o/b", "--record", "o/ex.jsonl", *ours) as process:
        done = batsim(folder, *theirs)
    assert (process.returncode, done.returncode) == (0, 0), process.stderr
    replayed = command(folder, "replay", "o/ex.jsonl", *ours)
    assert replayed.returncode == 0, replayed.stdout
    policy = ["--scheduler", "longer.py:Longer"]
    told = command(folder, "explain", "o/ex.jsonl", "--job", "3", *policy, *SITES)
    assert "1.5 times as long" in told.stdout, told.stderr
    metrics = command(folder, "metrics", "o/b_jobs.csv", "--csv")
    assert "nb_jobs,6" in metrics.stdout
    assert "nb_rejected,0" in metrics.stdout


def test_replay_shows_the_first_difference_and_judges_a_recording(folder: Path) -> None:
    """A policy that starts nothing, against what EASY said; a switch that nobody asked for.

    The switch changes no decision, and cannot have been sent.
    """
    command(folder, "convert", "log.swf", "w.json")
    with serving(folder, "--record", "ex.jsonl"):
        batsim(folder, "-w", "w.json")
    (folder / "idle.py").write_text(
        "class Idle:\n    def schedule(self, now, queue, machine):\n        return ()\n"
    )
    done = command(folder, "replay", "ex.jsonl", "--scheduler", "idle.py:Idle")
    assert done.returncode == 1
    assert '["EXECUTE_JOB",{"alloc":"0","job_id":"w0!1"}]' in done.stdout
    assert "at message 2" in one_line(done.stderr)
    assert command(folder, "replay", "ex.jsonl", "--strict").returncode == 0
    records = [json.loads(line) for line in (folder / "ex.jsonl").read_text().splitlines()]
    said = json.loads(records[2]["raw"])
    data = {"resources": "0", "state": "1"}
    switched = {"timestamp": said["now"], "type": "RESOURCE_STATE_CHANGED", "data": data}
    said["events"].append(switched)
    records[2]["raw"] = json.dumps(said)
    (folder / "ex.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    assert command(folder, "replay", "ex.jsonl").returncode == 0
    done = command(folder, "replay", "ex.jsonl", "--strict")
    assert done.returncode == 1
    assert "SET_RESOURCE_STATE" in one_line(done.stderr)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "no message"),
        ('{"n":0,"from":"nobody","raw":""}\n', "ex.jsonl:1"),
        ('{"n":0,"from":"batsim","raw":"{}"}\n', "no message of"),
        ('{"n":0,"from":"batsim","raw":"{}"}\n' * 3, "take turns"),
    ],
)
def test_a_file_that_is_no_recording(folder: Path, lines: str, message: str) -> None:
    (folder / "ex.jsonl").write_text(lines)
    done = command(folder, "replay", "ex.jsonl")
    assert done.returncode == 1
    assert message in one_line(done.stderr)


def test_without_dynamic_jobs_the_command_line_to_use_is_said(folder: Path) -> None:
    with serving(folder, *USERS) as process:
        done = batsim(folder)
    stderr = process.stderr.read() if process.stderr else ""
    assert process.returncode == 1
    assert done.returncode == 1
    wanted = f"batsim -p PLATFORM.xml -s ipc://{folder}/s -e PREFIX --enable-dynamic-jobs"
    assert wanted in stderr
    assert wanted in done.stderr  # Batsim's user is told too


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"extra_nodes": "instant"}', None),
        ('{"extra_nodes": "never"}', "extra_nodes=never"),
        ("instant", "a JSON object"),
        ("[1]", "a JSON object"),
    ],
)
def test_batsims_sched_cfg_has_options_of_the_policy(
    folder: Path, config: str, message: str | None
) -> None:
    command(folder, "convert", "log.swf", "w.json")
    with serving(folder) as process:
        batsim(folder, "-w", "w.json", "--sched-cfg", config)
    errors = process.stderr.read() if process.stderr else ""
    assert process.returncode == (0 if message is None else 2)
    assert (message is None) == (errors == "")
    assert message is None or message in errors


def test_arguments_from_files(folder: Path) -> None:
    """@FILE stands for arguments; behind --variant_options for the JSON itself."""
    (folder / "args").write_text('-v easy  # the policy\n--variant_options "@o.json"\n')
    (folder / "o.json").write_text('{"extra_nodes": "nowhere"}')
    done = command(folder, "serve", "@args", "--first-timeout", "0.1")
    assert "extra_nodes=nowhere" in one_line(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-v", "esay"], "did you mean 'easy'"),
        (["--variant_options", "[]"], "a JSON object"),
        (["--variant_options_filepath", "no.json"], "'no.json'"),
        (["@no.args"], "'no.args'"),
        (["@quote"], "No closing quotation"),
        (["-v", "fcfs", "-o", "lcfs"], "option 'order'"),
        (["-o", "lcfs", "--variant_options", '{"order": "sjf"}'], "an order too"),
        (["--users", "feedback"], "needs --log"),
        (["--users", "feedback", "--log", "no.swf"], "no.swf"),
        (["--sessions", "arrival:0"], "no users"),
        (["--log", "log.swf"], "--users feedback"),
        (["-s", "ipc://log.swf"], "not a socket"),
        (["--shake", "1"], "of a user model"),
    ],
)
def test_wrong_usage_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "quote").write_text("-v 'easy")
    done = command(folder, "serve", *arguments)
    assert done.returncode == 2
    assert message in one_line(done.stderr)
    assert (folder / "log.swf").read_text() == small_log()


def test_a_time_out_leaves_an_earlier_recording_alone(folder: Path) -> None:
    (folder / "ex.jsonl").write_text("precious")
    end = f"ipc://{folder}/s"
    done = command(folder, "serve", "-s", end, "--record", "ex.jsonl", "--first-timeout", "0.1")
    assert done.returncode == 1
    assert f"start Batsim with -s {end}" in one_line(done.stderr)
    assert (folder / "ex.jsonl").read_text() == "precious"
    assert not (folder / "s").exists()


def test_output_that_cannot_be_written_is_said_before_the_simulation(folder: Path) -> None:
    (folder / "x_users.csv").mkdir()
    done = command(folder, "serve", "-e", "x", "--first-timeout", "0.1")
    assert "it is a folder" in one_line(done.stderr)
    (folder / "x_jobs.csv").mkdir()
    done = batsim(folder, "-e", "x", "--timeout", "0.1")
    assert "it is a folder" in one_line(done.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_scheduler_that_is_stopped_does_not_leave_batsim_waiting(
    folder: Path, number: int
) -> None:
    """Told, or, after SIGKILL, by the connection that broke."""
    with serving(folder) as process, peer(f"ipc://{folder}/s") as simulator:
        ask(simulator, begins())
        os.kill(process.pid, number)
        if number != signal.SIGKILL:
            assert ask(simulator, submitted("a")).startswith(b"batsched_py cannot answer")
    assert process.returncode == (130 if number != signal.SIGKILL else -9)
    assert "Traceback" not in (process.stderr.read() if process.stderr else "")


def test_a_second_request_to_end_waits_for_nobody(folder: Path) -> None:
    with serving(folder) as process, peer(f"ipc://{folder}/s") as simulator:
        ask(simulator, begins())
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert "Ctrl-C again" in process.stderr.readline()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(LIMIT) == 130
    assert not (folder / "s").exists()


def test_a_request_to_end_does_not_hide_why_it_leaves(folder: Path) -> None:
    """Batsim, told so, has aborted; Compose then asks the other container to end."""
    with serving(folder) as process, peer(f"ipc://{folder}/s") as simulator:
        ask(simulator, begins())
        assert ask(simulator, b"no JSON").startswith(b"batsched_py cannot answer")
        os.kill(process.pid, signal.SIGTERM)
    stderr = process.stderr.read() if process.stderr else ""
    assert process.returncode == 1, stderr
    assert "the protocol" in stderr


def test_a_request_to_end_after_the_simulation_comes_too_late(folder: Path) -> None:
    with serving(folder, "-e", "o/b") as process:
        with peer(f"ipc://{folder}/s") as simulator:
            ask(simulator, begins())
            ask(simulator, ends())
        assert process.stdout is not None
        assert any(line.startswith("the simulation ended") for line in process.stdout)
        os.kill(process.pid, signal.SIGTERM)
    assert process.returncode == 0
    assert (folder / "o" / "b_users.csv").is_file()


@pytest.mark.parametrize(
    ("beginning", "conversion"),
    [
        ("start Batsim 4 as: batsim ", []),
        ("or Batsim 5 as: batsim ", ["--batsim5"]),
    ],
)
def test_it_says_how_each_batsim_is_to_be_started(
    folder: Path, beginning: str, conversion: list[str]
) -> None:
    command(folder, "convert", "log.swf", "WORKLOAD.json", *conversion)
    (folder / "p.xml").rename(folder / "PLATFORM.xml")
    with serving(folder, "-e", "o/b") as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        (line,) = (line for line in said if line.startswith(beginning))
        done = command(folder, "simulator", *shlex.split(line.removeprefix(beginning)))
        assert done == Called(0, "", "")
    assert process.returncode == 0
    assert (folder / "o/b_jobs.csv").is_file()


def test_nohup_is_respected(folder: Path) -> None:
    """A signal that is ignored on purpose is not taken for a request to end."""
    process = subprocess.Popen(
        ["nohup", *PROGRAM, "serve", "-s", f"ipc://{folder}/s", "--first-timeout", "0.5"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("listening on ")
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(20) == 1  # its time-out


def test_a_text_of_batsim_5_that_is_no_options_is_told_to_both_sides(folder: Path) -> None:
    text, message = '{"oder": 1}', "called 'oder'"
    with serving(folder) as process:
        end = f"ipc://{folder}/s"
        done = command(folder, "simulator", "-p", "p.xml", "-s", end, text, "--protocol", "5")
        _, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode in (1, 2)
    assert message in stderr
    assert len(stderr.splitlines()) == 1
    assert done.returncode == 1
    assert message in done.stderr


def test_where_everybody_may_connect_batsim_is_given_a_name(folder: Path) -> None:
    done = command(folder, "serve", "-s", "tcp://*:*", "--first-timeout", "0.1")
    assert "tcp://THIS-MACHINE:" in done.stdout
    assert "tcp://THIS-MACHINE:" in one_line(done.stderr)
