"""Batsim as another process: good and bad ends, with a stand-in that says what was recorded."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from batsched_py.errors import BatschedError, PlatformError, SimulationError, UsageError
from batsched_py.run import progress
from batsched_py.run.backends.batsim_results import BatsimOutput
from batsched_py.run.simulate import simulate
from batsched_py.run.stored_values import Timeouts
from batsched_py.support.installation import PROGRAM
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from helpers.calling import Called, command
from helpers.logs import small_log
from helpers.waiting import LIMIT, wait_until

pytestmark = pytest.mark.process
STAND_IN = Path(__file__).with_name("recorded_batsim.py")
DILATED = Path(__file__).with_name("dilated_jobs")
"""A workload, a policy and what Batsim 4.2.0 said and wrote of both."""
QUICK = Timeouts(ready=LIMIT, run=LIMIT, success=LIMIT, failure=0.5)
FCFS = "40_random300_batsched_fcfs"


VERSION = """[ "$1" != --version ] || { echo v4.2.0; exit 0; }\n"""
"""The begin of a shell script in Batsim's place."""
FAILING = shlex.join(["sh", "-c", f"{VERSION} exit 1", "batsim"])
IDLE = """
from batsched_py import Start
class Idle:
    def schedule(self, now, queue, machine):
        for job in list(queue):
            if now == 5 and job.size == 1:
                yield Start(job, [2])
"""


def stand_in(folder: Path, *wishes: str) -> str:
    return shlex.join([sys.executable, str(STAND_IN), str(folder), *wishes])


def run(shared: Path, name: str, tmp_path: Path, *wishes: str, **settings: Any) -> Any:
    folder = shared / "batsim_transcripts" / name
    (platform,) = folder.glob("ideal_*.xml")
    return simulate(
        folder / "workload0.json",
        platform=platform,
        backend="batsim",
        batsim=stand_in(folder, *wishes),
        folder=tmp_path / "run",
        **{"scheduler": "fcfs", "timeouts": QUICK, **settings},
    )


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [
        (FCFS, "fcfs"),
        ("40_random300_batsched_fcfs_fast", "fcfs"),
        ("40_random300_batsched_easy_bf", "easy"),
    ],
)
def test_what_batsim_wrote_comes_back_with_our_columns(
    shared: Path, tmp_path: Path, name: str, scheduler: str
) -> None:
    """Batsim's fields to the digit, and the metrics that they give."""
    result = run(shared, name, tmp_path, scheduler=scheduler)
    theirs = (shared / "batsim_transcripts" / name / "out_jobs.csv").read_text().splitlines()
    ours = result.jobs_csv().splitlines()
    assert [line.rsplit(",", 4)[0] for line in ours] == theirs
    assert ours[0].endswith(",user,session,original_submission_time,lateness")
    schedule = next(csv.DictReader(result.output.schedule_csv().splitlines()))
    overall = result.measured["overall"]
    waiting = float(schedule["mean_waiting_time"])
    assert overall["mean_waiting_time"] == pytest.approx(waiting, abs=1e-4)
    assert result.settings["backend"]["batsim_version"] == "v4.2.0"


def checked(folder: Path, tmp_path: Path) -> Called:
    """Call for a simulation here beside one by the stand-in."""
    line = ["simulate", folder / "workload0.json", "--scheduler", "fcfs", "-e", "out/x"]
    line += ["-p", folder / "ideal_16.xml", "--check-against", "batsim"]
    return command(tmp_path, *line, "--batsim", stand_in(folder))


def test_the_embedded_simulator_gives_what_batsim_gave(shared: Path, tmp_path: Path) -> None:
    """--check-against with recorded outputs of the real program: every job is equal."""
    folder = shared / "batsim_transcripts" / FCFS
    done = checked(folder, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "embedded and batsim: all 300 jobs are equal"
    heads = [lines.index(f"back end {name}:") for name in ("embedded", "batsim")]
    assert heads == [0, lines.index("for a page with figures: batsched-py report out/x") + 1]
    assert [line for line in lines if line != line.rstrip()] == []
    log = (tmp_path / "out/x_batsim/batsim.log").read_text()
    assert "stand-in for Batsim" in log


def altered(shared: Path, tmp_path: Path, column: str, text: str) -> tuple[str, Called]:
    """Call so beside a recording in which a column of one job is another; return the job too."""
    folder = tmp_path / "recording"
    folder.mkdir()
    for path in (shared / "batsim_transcripts" / FCFS).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    jobs = folder / "out_jobs.csv"
    lines = jobs.read_text().splitlines()
    row = dict(zip(lines[0].split(","), lines[5].split(","), strict=True)) | {column: text}
    lines[5] = ",".join(row.values())
    jobs.write_text("\n".join(lines) + "\n")
    return f"w0!{row['job_id']}", checked(folder, tmp_path)


def test_a_job_at_another_time_is_a_failure(shared: Path, tmp_path: Path) -> None:
    """The stand-in answers FCFS's questions; its outputs are altered: one job a second later."""
    job, done = altered(shared, tmp_path, "starting_time", "1.000000")
    assert done.returncode == 1
    assert f"other times: 1 job, first {job} (starting_time " in done.stdout
    assert "1 of 300 jobs differ between embedded and batsim in times, request" in done.stderr
    (row,) = csv.DictReader((tmp_path / "out/x_differences.csv").open())
    assert (row["job"], row["kind"], row["column"]) == (job, "times", "starting_time")
    assert row["batsim"] == "1.000000" != row["embedded"]


@pytest.mark.parametrize(
    ("column", "text", "kind"),
    [
        ("allocated_resources", "7", "processors"),
        ("stretch", "0.500000", "derived"),
    ],
)
def test_a_job_at_the_same_time_is_none(
    shared: Path, tmp_path: Path, column: str, text: str, kind: str
) -> None:
    job, done = altered(shared, tmp_path, column, text)
    assert done.returncode == 0, done.stderr
    assert f": 1 job, first {job} ({column} " in done.stdout
    assert "embedded and batsim: the same schedule of all 300 jobs" in done.stdout
    (row,) = csv.DictReader((tmp_path / "out/x_differences.csv").open())
    assert (row["job"], row["kind"], row["batsim"]) == (job, kind, text)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (("end=exit:0", "at=20"), "Batsim exited with 0; the scheduler exited with 1: .*deadlock"),
        (
            ("end=exit:0", "at=20", "says=[26186.000000] [ker_engine/CRITICAL] Oops! Deadlock"),
            "Batsim exited with 0: Oops! Deadlock; the scheduler exited with 1: ",
        ),
        (("end=exit:3", "at=20"), "Batsim exited with 3: stand-in"),
        (("end=kill", "at=20"), "Batsim was killed by SIGKILL"),
        (("end=exit:134", "at=0"), "Batsim exited with 134 .SIGABRT."),
        (("end=hang", "at=20"), "did not end within 3 s .run."),
    ],
)
def test_exit_code_0_of_batsim_proves_nothing(
    shared: Path, tmp_path: Path, wishes: tuple[str, ...], message: str
) -> None:
    """Only a simulation that went to its end succeeds; commands and logs are kept."""
    limits = msgspec.structs.replace(QUICK, run=3) if "end=hang" in wishes else QUICK
    with pytest.raises(SimulationError, match=message):
        run(shared, FCFS, tmp_path, *wishes, timeouts=limits)
    kept = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"commands.sh", "batsim.log", "scheduler.log", "input", "output"} <= kept
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""


def test_a_recorded_deadlock_is_a_failure(shared: Path, tmp_path: Path) -> None:
    """The real Batsim exited with 0 there; only the missing SIMULATION_ENDS tells."""
    (tmp_path / "idle.py").write_text(IDLE)
    with pytest.raises(SimulationError, match=r"exited with 1: .* SIMULATION_ENDS: \d+ jobs? wait"):
        run(shared, "17_err_noop_stall", tmp_path, scheduler=f"{tmp_path}/idle.py:Idle")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what Batsim and the scheduler wrote."""
    folder = tmp_path_factory.mktemp("whole")
    simulate(small(folder), backend="socket", folder=folder / "run")
    return folder / "run/output"


@pytest.mark.parametrize(
    ("name", "alter", "message"),
    [
        ("jobs", lambda lines: lines[:-3], "3 jobs are missing"),
        ("jobs", lambda lines: lines[:1], "jobs are missing"),
        ("jobs", lambda lines: [*lines, lines[-1]], "1 jobs are there twice"),
        ("jobs", lambda lines: lines[1:], "expected those of Batsim 4.2"),
        ("jobs", lambda lines: [lines[0], b"x,y\n"], ":2: 2 fields"),
        ("jobs", lambda lines: None, "there is no file"),
        ("jobs", lambda lines: [bytes(range(128, 256))], "no text in UTF-8"),
        ("jobs", lambda lines: [line.replace(b"SUCCESSFULLY,", b"X,x") for line in lines], ":2"),
        ("schedule", lambda lines: [], "a header and one row"),
        ("schedule", lambda lines: [b"a,b\n", b"1,2\n"], "a header and one row"),
    ],
)
def test_outputs_that_are_not_whole_are_refused(
    outputs: Path, tmp_path: Path, name: str, alter: Any, message: str
) -> None:
    BatsimOutput(shutil.copytree(outputs, tmp_path / "output"))
    path = tmp_path / f"output/out_{name}.csv"
    lines = alter(path.read_bytes().splitlines(keepends=True))
    if lines is None:
        path.unlink()
    else:
        path.write_bytes(b"".join(lines))
    with pytest.raises(SimulationError, match=message):
        BatsimOutput(path.parent)


def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(small_log())
    return path


@pytest.mark.parametrize(
    ("users", "speed_factor", "shake"),
    [("rigid", 0.7, None), ("feedback", 1.0, 3)],
)
def test_our_simulator_behind_its_own_socket_is_equal(
    tmp_path: Path, users: str, speed_factor: float, shake: int | None
) -> None:
    settings: dict[str, Any] = {"users": users, "speed_factor": speed_factor, "shake": shake}
    log = small(tmp_path)
    embedded = simulate(log, **settings)
    socket = simulate(log, backend="socket", **settings)
    assert socket.jobs_csv() == embedded.jobs_csv()
    assert socket.output.schedule_csv() == embedded.output.schedule_csv()
    if speed_factor == 1:  # else the files, with their six decimals, are coarser
        assert socket.measured == embedded.measured


SITES: dict[str, Any] = {"sites": "west:3,east:3@0.5", "scheduler": f"{DILATED}/policy.py:Grid"}


def test_dilated_jobs_give_what_batsim_gave(tmp_path: Path) -> None:
    """Recorded with Batsim 4.2.0: each job is there once, by its own name, to the byte."""
    embedded = simulate(DILATED / "workload.json", **SITES)
    outside = simulate(
        DILATED / "workload.json",
        backend="batsim",
        batsim=stand_in(DILATED),
        folder=tmp_path / "run",
        timeouts=QUICK,
        **SITES,
    )
    assert outside.jobs_csv() == embedded.jobs_csv()
    assert outside.measured == embedded.measured
    rows = {row["job_id"]: row for row in csv.DictReader(outside.jobs_csv().splitlines())}
    assert {name: row["dilation"] for name, row in rows.items()} == {
        **dict.fromkeys(("1", "5", "6:a", "8", "9"), ""),
        "2": "2.0",
        "3": "1.0",
        "4": "2.6",
        "7": "2.0",
    }
    assert {name for name, row in rows.items() if row["transfer"]} == {"3"}
    assert {row["home"] for row in rows.values()} == {"west", "east"}
    assert (tmp_path / "run/output/out_jobs.csv").read_bytes() == (
        DILATED / "out_jobs.csv"
    ).read_bytes()


@pytest.mark.parametrize(
    ("speed_factor", "settings"),
    [
        (1.0, {}),
        (0.7, {}),
        (0.7, {"sites": None, "scheduler": f"{DILATED}/policy.py:Longer"}),
        (1.0, {"users": "feedback"}),
        (1.0, {"users": "feedback", "shake": 3}),
    ],
)
def test_dilated_jobs_behind_a_socket_are_equal(
    speed_factor: float, settings: dict[str, Any]
) -> None:
    wanted = {**SITES, "speed_factor": speed_factor, **settings}
    workload = load_workload(DILATED / "workload.json", make_rules())
    if "users" in settings:  # they cannot register a composed profile
        del workload.jobs[-1]
    for job in workload.jobs:
        job.size = min(job.size, 6)
        job.user, job.finish_time = "u", job.submit_time + 10
        if wanted["sites"] is None:
            job.extra = {}
    embedded = simulate(workload, **wanted)
    socket = simulate(workload, backend="socket", **wanted)
    assert "dilation" in embedded.jobs_csv().splitlines()[0]
    assert socket.jobs_csv() == embedded.jobs_csv()
    assert socket.output.schedule_csv() == embedded.output.schedule_csv()


def test_runs_at_once_do_not_collide(tmp_path: Path) -> None:
    log = small(tmp_path)
    lines = [
        [*PROGRAM, "simulate", str(log), "--backend", "socket", "-e", str(tmp_path / f"{i}/out")]
        for i in range(2)
    ]
    processes = [
        subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for line in lines
    ]
    for process in processes:
        _, stderr = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, stderr
    tables = {(tmp_path / f"{i}/out_jobs.csv").read_text() for i in range(2)}
    assert len(tables) == 1


def test_it_is_told_how_far_the_other_process_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where more is told, until the scheduler has told it."""
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "from batsched_py.run import progress\n"
        "from batsched_py.schedulers.fcfs import Fcfs\n"
        "progress._LOOK = progress._PATIENCE_ELSEWHERE = 0.3\n"
        "class Slow(Fcfs):\n"
        "    def schedule(self, now, queue, machine):\n"
        "        time.sleep(0 if machine.nb_ended else 0.7)\n"
        "        return super().schedule(now, queue, machine)\n"
    )
    monkeypatch.setattr(progress, "_LOOK", 0.1)
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.1)
    # The policy is imported here, too, and what it sets must not stay.
    monkeypatch.setattr(progress, "_PATIENCE_ELSEWHERE", progress._PATIENCE_ELSEWHERE)
    slow = f"{tmp_path}/slow.py:Slow"
    for asked in (True, False):
        simulate(small(tmp_path), backend="socket", scheduler=slow, progress=asked)
        told = capfd.readouterr().err
        assert ("s: Batsim simulates (logs in " in told) is asked
        assert ("s: Batsim simulates; at 0 s: simulated 0.0 days, " in told) is asked


def test_the_kept_commands_can_be_run_by_hand(tmp_path: Path) -> None:
    """In a folder of the user's, in which only what an earlier run wrote is replaced."""
    folder = tmp_path / "a run"
    note = folder / "input/notes.txt"
    note.parent.mkdir(parents=True)
    note.write_text("mine")
    result = simulate(small(tmp_path), backend="socket", users="feedback", folder=folder)
    (folder / "output/out_jobs.csv").unlink()
    done = subprocess.run(["sh", str(folder / "commands.sh")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = (folder / "output/out_jobs.csv").read_text().splitlines()
    assert again == [line.rsplit(",", 4)[0] for line in result.jobs_csv().splitlines()]
    assert note.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the folder of another user")
def test_the_kept_commands_do_not_meet_in_the_folder_of_another_user(tmp_path: Path) -> None:
    simulate(small(tmp_path), backend="socket", folder=tmp_path / "run")
    commands = tmp_path / "run/commands.sh"
    made = re.search(r"mkdir -m 700 (\S+)", commands.read_text())
    assert made is not None
    sockets = Path(made[1])
    sockets.mkdir()
    try:
        os.chown(sockets, 65534, 65534)
        done = subprocess.run(["sh", commands], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode != 0
        assert "File exists" in done.stderr
        assert [*sockets.iterdir()] == []
        os.chown(sockets, 0, 0)  # left behind by a call that was killed
        assert subprocess.run(["sh", commands], timeout=LIMIT).returncode == 0
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


def test_the_kept_commands_end_if_our_process_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They run where the first run did, and Batsim does not wait for a process that is gone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("from batsched_py.schedulers.fcfs import Fcfs\n")
    log = small(tmp_path)
    simulate(log, backend="socket", scheduler="mine.py:Fcfs", folder="run")
    again = ["sh", tmp_path / "run/commands.sh"]
    assert subprocess.run(again, cwd="/", timeout=LIMIT).returncode == 0
    (tmp_path / "mine.py").unlink()
    done = subprocess.run(again, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2
    assert "there is no file 'mine.py'" in done.stderr


@pytest.mark.parametrize("sites", [None, "4"])
def test_a_platform_that_is_not_xml_is_told_at_once(tmp_path: Path, sites: str | None) -> None:
    """By its own name, with the words of the embedded simulator."""
    path = tmp_path / "broken.xml"
    path.write_text("<platform>")
    for backend, batsim in (("embedded", None), ("batsim", "false")):
        with pytest.raises(PlatformError, match=f"^{path}: not a well-formed XML file: no element"):
            simulate(small(tmp_path), platform=path, sites=sites, backend=backend, batsim=batsim)


def test_without_a_folder_only_a_failure_leaves_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    simulate(small(tmp_path), backend="socket")
    assert not list(place.iterdir())
    with pytest.raises(SimulationError, match=str(place)):
        simulate(small(tmp_path), backend="batsim", batsim=FAILING, timeouts=QUICK)
    (left,) = place.iterdir()
    assert (left / "scheduler.log").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "batzim"}, "did you mean 'batsim'"),
        ({"backend": "batsim", "batsim": "/no/such/batsim"}, "there is no program"),
        ({"backend": "batsim", "batsim": "'"}, "No closing quotation"),
        ({"backend": "batsim", "batsim": ""}, "there is no program"),
        ({"backend": "socket", "batsim": "batsim"}, "means nothing"),
        ({"backend": "batsim", "shake": 1}, "nothing else to shake"),
        ({"backend": "socket", "timeouts": Timeouts(run=0)}, "run = 0: expected a number, above 0"),
        ({"backend": "socket", "scheduler": "esay"}, "did you mean 'easy'"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(small(tmp_path), **settings)


def test_a_policy_that_fails_is_told_before_what_batsim_says(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    def schedule(self, now, queue, machine):\n        return None\n"
    )
    told = r"^the scheduler .*Bad.schedule returned None.*; Batsim "
    with pytest.raises(BatschedError, match=told):
        simulate(
            small(tmp_path),
            backend="socket",
            scheduler=f"{tmp_path}/bad.py:Bad",
            timeouts=QUICK,
            folder=tmp_path / "run",
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_end_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    """Even a Batsim that does not want to end, and what it started."""
    stubborn = tmp_path / "stubborn"
    stubborn.write_text(
        f"#!/bin/sh\n{VERSION}trap 'touch {tmp_path}/asked' TERM INT\n"
        f"(trap '' TERM INT; sleep 611; echo {tmp_path}) &\n"
        f"touch {tmp_path}/began\nwhile :; do sleep 612 & wait; done\n"
    )
    stubborn.chmod(0o755)
    line = [*PROGRAM, "simulate", str(small(tmp_path)), "--backend", "batsim"]
    line += ["--batsim", str(stubborn), "-e", str(tmp_path / "out")]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until((tmp_path / "began").exists)
    os.kill(process.pid, number)
    wait_until((tmp_path / "asked").exists)
    os.kill(process.pid, number)  # again, while it cleans up
    _, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""


def test_a_platform_that_only_batsim_understands_is_left_to_batsim(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text('<platform version="4.1"><what-is-this/></platform>')
    settings: dict[str, Any] = {"platform": tmp_path / "p.xml", "timeouts": QUICK}
    with pytest.raises(PlatformError, match="what-is-this"):
        simulate(small(tmp_path), **settings)
    with pytest.raises(SimulationError, match="Batsim exited with 1"):
        simulate(
            small(tmp_path), backend="batsim", batsim=FAILING, folder=tmp_path / "run", **settings
        )
