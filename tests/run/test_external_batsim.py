"""Batsim as another process: good and bad ends, with a stand-in that says what was recorded."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from batsched_py.errors import SimulationError
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.backends.batsim_results import BatsimOutput
from batsched_py.run.backends.launchers import Launcher, RunFolder
from batsched_py.run.simulate import simulate
from batsched_py.run.stored_values import Timeouts
from batsched_py.support.installation import PROGRAM
from batsched_py.workload.batsim.batsim_workload import read_workload
from helpers.calling import Called, command
from helpers.logs import small_log
from helpers.waiting import LIMIT

pytestmark = pytest.mark.process
STAND_IN = Path(__file__).with_name("recorded_batsim.py")
DILATED = Path(__file__).with_name("dilated_jobs")
"""A workload, a policy and what Batsim 4.2.0 said and wrote of both."""
QUICK = Timeouts(ready=LIMIT, run=LIMIT, success=LIMIT, failure=0.5)
FCFS = "40_random300_batsched_fcfs"


FAILING = shlex.join(
    ["sh", "-c", '[ "$1" != --version ] || { echo v4.2.0; exit 0; }; exit 1', "batsim"]
)
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


def test_what_batsim_wrote_comes_back_with_our_columns(shared: Path, tmp_path: Path) -> None:
    """Batsim's fields to the digit, and the metrics that they give."""
    name = "40_random300_batsched_easy_bf"
    result = run(shared, name, tmp_path, scheduler="easy")
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
    assert lines[-1].endswith("all 300 jobs are equal")
    assert {"simulator embedded:", "simulator batsim:"} <= set(lines)
    assert "stand-in" in (tmp_path / "out/x_batsim/batsim.log").read_text()


@pytest.mark.parametrize(
    ("column", "text", "kind", "code"),
    [
        ("starting_time", "1.000000", "times", 1),
        ("allocated_resources", "7", "processors", 0),
    ],
)
def test_only_a_job_at_another_time_is_a_failure(
    shared: Path, tmp_path: Path, column: str, text: str, kind: str, code: int
) -> None:
    """The stand-in answers FCFS's questions; in its outputs one job is altered."""
    folder = shutil.copytree(shared / "batsim_transcripts" / FCFS, tmp_path / "recording")
    jobs = folder / "out_jobs.csv"
    lines = jobs.read_text().splitlines()
    row = dict(zip(lines[0].split(","), lines[5].split(","), strict=True)) | {column: text}
    jobs.write_text("\n".join([*lines[:5], ",".join(row.values()), *lines[6:], ""]))
    job, done = f"w0!{row['job_id']}", checked(folder, tmp_path)
    assert done.returncode == code, done.stderr
    assert f": 1 job, first {job} ({column} " in done.stdout
    assert ("1 of 300 jobs" in done.stderr) == bool(code)
    (found,) = csv.DictReader((tmp_path / "out/x_differences.csv").open())
    assert (found["job"], found["kind"], found["column"]) == (job, kind, column)
    assert found["batsim"] == text != found["embedded"]


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (
            ("end=exit:0", "at=20", "says=[26186.000000] [ker_engine/CRITICAL] Oops! Deadlock"),
            "exited with 0: Oops! Deadlock; ",
        ),
        (("end=kill", "at=20"), "killed by SIGKILL"),
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
    with pytest.raises(SimulationError, match=r"SIMULATION_ENDS: \d+ jobs? wait"):
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
        ("jobs", lambda lines: [*lines, lines[-1]], "1 jobs are there twice"),
        ("jobs", lambda lines: lines[1:], "expected those"),
        ("jobs", lambda lines: [lines[0], b"x,y\n"], ":2: 2 fields"),
        ("jobs", lambda lines: None, "there is no file"),
        ("jobs", lambda lines: [bytes(range(128, 256))], "not a text in UTF-8"),
        ("jobs", lambda lines: [line.replace(b"SUCCESSFULLY,", b"X,x") for line in lines], ":2"),
        ("schedule", lambda lines: [], "a header and one row"),
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
    rows = list(csv.DictReader(outside.jobs_csv().splitlines()))
    dilations = {row["job_id"]: float(row["dilation"]) for row in rows if row["dilation"]}
    assert dilations == {"2": 2, "3": 1, "4": 2.6, "7": 2}
    assert {row["job_id"] for row in rows if row["transfer"]} == {"3"}
    assert {row["home"] for row in rows} == {"west", "east"}
    assert (tmp_path / "run/output/out_jobs.csv").read_bytes() == (
        DILATED / "out_jobs.csv"
    ).read_bytes()


def test_the_kept_commands_can_be_run_by_hand(tmp_path: Path) -> None:
    """In a folder of the user's, in which only what an earlier run wrote is replaced."""
    folder = tmp_path / "a run"
    note = folder / "input/notes.txt"
    note.parent.mkdir(parents=True)
    note.write_text("mine")
    result = simulate(small(tmp_path), backend="socket", users="feedback", folder=folder)
    (folder / "output/out_jobs.csv").unlink()
    # Which fails if another user made the folder.
    assert re.search(r"mkdir -m 700 \S+", (folder / "commands.sh").read_text())
    done = subprocess.run(["sh", str(folder / "commands.sh")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    again = (folder / "output/out_jobs.csv").read_text().splitlines()
    assert again == [line.rsplit(",", 4)[0] for line in result.jobs_csv().splitlines()]
    assert note.read_text() == "mine"


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


# Batsim 5: how it is known, started and read -----------------------------------------------------


OURS = shlex.join([*PROGRAM, "simulator", "--protocol", "5"])
"""Our simulator in the place of Batsim 5."""


class Answering(Launcher):
    """A Batsim that prints something when it is asked for its version."""

    def __init__(self, said: str, code: int | None) -> None:
        self._said, self._code = said, code

    @contextmanager
    def started(self, arguments: Any, folder: RunFolder, log: Path, group: Any) -> Iterator[Any]:
        log.write_text(self._said)
        yield SimpleNamespace(poll=lambda: self._code)


def asked(root: Path, said: str, code: int | None = 0) -> bool:
    """Return whether it is taken for Batsim 5."""
    folder = RunFolder(root, root, dynamic=False, registers=False)
    return Answering(said, code).is_batsim5(folder, 0.05)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("v4.2.0\n", False),
        ("batsched-py 0.1.0 (in place of Batsim v5.0.0-rc2)\n", True),
        ("v5.0.0-rc2\n", True),
        ("[0.1] [xbt/INFO] SimGrid 4.0 was found\nv5.1.2-12-gabc123\n", True),
    ],
)
def test_the_version_is_what_it_says(tmp_path: Path, said: str, expected: bool) -> None:
    assert asked(tmp_path, said) is expected
    assert not (tmp_path / "version.log").exists()
    assert asked(tmp_path, said, code=1) is expected  # whatever else it complains of


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        ("", 0, "it said ''"),
        ("v3.1.0", 0, "it said 'v3.1.0'"),
        ("", -9, "SIGKILL: its log is empty"),
        ("batsim: error while loading x.so\n", 127, "127: batsim: error"),
    ],
)
def test_any_other_version_is_refused(tmp_path: Path, said: str, code: int, message: str) -> None:
    with pytest.raises(SimulationError) as error:
        asked(tmp_path, said, code)
    assert message in str(error.value)
    assert str(error.value).endswith(f"all is in {tmp_path / 'version.log'}")
    assert (tmp_path / "version.log").read_text() == said


ARGUMENTS: dict[str, Any] = {
    "platform": "p",
    "workloads": ["w"],
    "endpoint": "e",
    "prefix": "out/x",
}


@pytest.mark.parametrize("registers", [False, True])
def test_batsim_5_has_other_arguments(registers: bool) -> None:
    """Init text and underscore; what was switched on or off by options is not any more."""
    given = batsim_arguments(**ARGUMENTS, registers=registers, batsim5=True)
    assert given == ["-p", "p", "-w", "w", "-s", "e", "", "-e", "out/x_"]
    quiet = batsim_arguments(**ARGUMENTS, registers=registers, batsim5=True, quiet=True)
    assert quiet == [*given, "-q"]


def test_what_it_reads_and_leaves(tmp_path: Path) -> None:
    log = small(tmp_path)
    embedded = simulate(log)
    outside = simulate(log, backend="batsim", batsim=OURS, folder=tmp_path / "run", timeouts=QUICK)
    assert outside.jobs_csv() == embedded.jobs_csv()
    assert outside.measured == embedded.measured
    assert "v5.0.0" in outside.settings["backend"]["batsim_version"]
    workload = tmp_path / "run/input/workload.json"
    types = {profile["type"] for profile in json.loads(workload.read_text())["profiles"].values()}
    assert types == {"ParallelTaskHomogeneousProfile"}
    assert len(read_workload(workload).jobs) == len(embedded.table.submit)


@pytest.mark.parametrize(
    "name", ["external_events", "fcfs_basic", "job_too_big", "parallel_tasks", "walltime_edges"]
)
def test_what_was_recorded_comes_back_with_our_columns(
    shared: Path, tmp_path: Path, name: str
) -> None:
    """What Batsim 5.0.0-rc2 said and wrote: as the embedded simulator has it, to the byte."""
    recorded = shared / "batsim5_recordings" / name
    if not recorded.is_dir():
        pytest.skip(f"no {recorded}")
    settings: dict[str, Any] = {"platform": recorded / "platform.xml", "scheduler": "fcfs"}
    outside = simulate(
        recorded / "workload.json",
        backend="batsim",
        batsim=stand_in(recorded),
        folder=tmp_path / "run",
        timeouts=QUICK,
        **settings,
    )
    embedded = simulate(recorded / "workload.json", **settings)
    assert outside.jobs_csv() == embedded.jobs_csv()
    for path in (recorded / "out").iterdir():
        kept = tmp_path / f"run/output/out_{path.name}"
        assert kept.read_bytes() == path.read_bytes()


def test_a_program_that_does_not_tell_is_ended(tmp_path: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(SimulationError, match=r"within 0\.5 s"):
        simulate(
            small(tmp_path),
            backend="batsim",
            batsim=f"sh -c 'echo {tmp_path}; sleep 611'",
            folder=tmp_path / "run",
            timeouts=Timeouts(ready=0.5),
        )
    assert time.monotonic() - begin < LIMIT
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""
