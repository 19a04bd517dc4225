"""The embedded simulator driven by schedulers that are not ours: those of pybatsim 3.2.1."""

from __future__ import annotations

import csv
import json
import random
import signal
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from batsched_py.simulator.platform.platform_writer import homogeneous_xml
from batsched_py.support.processor_sets import from_text
from helpers.other_programs import CannotInstallError, play, pybatsim_in

pytestmark = pytest.mark.process

# pybatsim's fillerSched goes through the waiting jobs in the order of a set, which is that of
# their places in memory: another one in every run. With this hash, small sets are in order of
# submission, which is what it happened to be in the recorded run.
IN_ORDER = """
from batsim.batsim import Job
from schedulers.fillerSched import FillerSched

Job.__hash__ = lambda job: int(job.id.partition("!")[2])


class InOrder(FillerSched):
    pass
"""
DIES = """
import os
import signal

from schedulers.fillerSched import FillerSched


class Dies(FillerSched):
    def onJobCompletion(self, job):
        os.kill(os.getpid(), signal.SIGKILL)
"""
FAILS = """
from schedulers.fillerSched import FillerSched


class Fails(FillerSched):
    def onJobCompletion(self, job):
        raise RuntimeError("a bug of its own")
"""
NODES = 8
TOO_WIDE = "30"
"""The job that no scheduler can run."""


@pytest.fixture(scope="session")
def pybatsim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``pybatsim``, installed once for a checkout, into pytest's cache."""
    if request.config.pluginmanager.has_plugin("cacheprovider"):
        folder = request.config.cache.mkdir("pybatsim")
    else:
        folder = tmp_path_factory.mktemp("pybatsim")
    try:
        return pybatsim_in(folder)
    except CannotInstallError as error:
        pytest.skip(f"pybatsim cannot be installed: {error}")


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def made_up(seed: int) -> dict[str, Any]:
    """Return a workload of 30 jobs that run, some of them into their walltime, and a wide one."""
    rng = random.Random(seed)
    jobs, profiles, now = [], {}, 0
    for number in range(30):
        delay = rng.choice([1, 5, 20, 60, 200])
        walltime = rng.choice([delay + 1, 2 * delay + 3, 10 * delay, (delay + 1) / 2.5])
        profiles[f"d{delay}"] = {"type": "delay", "delay": delay}
        jobs.append(
            {
                "id": str(number),
                "subtime": now,
                "res": rng.choice([1, 1, 2, 3, NODES]),
                "walltime": walltime,
                "profile": f"d{delay}",
            }
        )
        now += rng.choice([0, 0, 1, 20])
    jobs.append({**jobs[-1], "id": TOO_WIDE, "res": NODES + 1})
    return {"nb_res": NODES, "jobs": jobs, "profiles": profiles}


@pytest.mark.parametrize(
    ("recording", "scheduler"),
    [
        ("31_pybatsim_easyBackfill_small", "easyBackfill"),
        ("31_pybatsim_fillerSched_small", "in order"),
        ("40_random300_pybatsim_easyBackfill", "easyBackfill"),
    ],
)
def test_pybatsim_schedules_as_with_batsim(
    recording: str, scheduler: str, shared: Path, pybatsim: Path, tmp_path: Path
) -> None:
    """The same program with the same inputs: the files that Batsim 4.2.0 wrote."""
    folder = shared / "batsim_transcripts" / recording
    (platform,) = folder.glob("ideal_*.xml")
    if scheduler == "in order":
        scheduler = str(written(tmp_path, "inOrder.py", IN_ORDER))
    played = play(pybatsim, scheduler, tmp_path, platform, folder / "workload0.json")
    assert (played.simulator, played.scheduler) == (0, 0), played.said
    for name in ("jobs.csv", "machine_states.csv"):
        ours, theirs = played.output(name), (folder / f"out_{name}").read_bytes()
        assert ours.splitlines() == theirs.splitlines()  # says which line, if one differs
        assert ours == theirs
    assert summary(played.output("schedule.csv")) == summary(
        (folder / "out_schedule.csv").read_bytes()
    )


def summary(content: bytes) -> list[tuple[str, str]]:
    """Return the columns of ``_schedule.csv`` in order, without those of the wall clock."""
    (row,) = rows(content)
    return [item for item in row.items() if item[0] not in ("scheduling_time", "simulation_time")]


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(content.decode().splitlines()))


@pytest.mark.parametrize("scheduler", ["fillerSched", "easyBackfill"])
def test_pybatsim_runs_every_job_once(scheduler: str, pybatsim: Path, tmp_path: Path) -> None:
    """Without recordings: what holds for every schedule, and both sides end well."""
    workload = made_up(seed=1)
    played = play(
        pybatsim,
        scheduler,
        tmp_path,
        written(tmp_path, "platform.xml", homogeneous_xml(NODES)),
        written(tmp_path, "workload.json", json.dumps(workload)),
    )
    assert (played.simulator, played.scheduler) == (0, 0), played.said
    ended = rows(played.output("jobs.csv"))
    asked = {job["id"]: job for job in workload["jobs"]}
    assert sorted(row["job_id"] for row in ended) == sorted(asked)
    ran = [row for row in ended if row["job_id"] != TOO_WIDE]
    (wide,) = (row for row in ended if row["job_id"] == TOO_WIDE)
    assert wide["final_state"] == "REJECTED"
    assert {row["final_state"] for row in ran} == {
        "COMPLETED_SUCCESSFULLY",
        "COMPLETED_WALLTIME_REACHED",
    }
    for row in ran:
        assert_as_asked(row, asked[row["job_id"]])
    for one, other in combinations(ran, 2):
        assert not (together(one, other) and alloc(one) & alloc(other)), (one, other)


def assert_as_asked(row: dict[str, str], job: dict[str, Any]) -> None:
    """A job had its processors for the time that it needs or may take, after its submission."""
    delay, walltime = float(job["profile"][1:]), job["walltime"]
    assert float(row["starting_time"]) >= job["subtime"]
    assert float(row["execution_time"]) == min(delay, walltime)
    assert (row["final_state"] == "COMPLETED_SUCCESSFULLY") == (delay < walltime)
    assert alloc(row).bit_count() == job["res"]
    assert alloc(row) < 1 << NODES


def together(one: dict[str, str], other: dict[str, str]) -> bool:
    """Return whether two jobs ran at the same time."""
    begin = max(float(row["starting_time"]) for row in (one, other))
    return begin < min(float(row["finish_time"]) for row in (one, other))


def alloc(row: dict[str, str]) -> int:
    return from_text(row["allocated_resources"])


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [("dies.py", DIES, -signal.SIGKILL), ("fails.py", FAILS, 1)],
)
def test_a_scheduler_that_goes_away_is_an_error(
    name: str, text: str, code: int, pybatsim: Path, tmp_path: Path
) -> None:
    """Killed, or ended by an error of its own, while the simulator waits: one line says when."""
    jobs = [{"id": str(n), "subtime": n, "res": 1, "walltime": 9, "profile": "p"} for n in (1, 2)]
    workload = {
        "nb_res": NODES,
        "jobs": jobs,
        "profiles": {"p": {"type": "delay", "delay": 4}},
    }
    played = play(
        pybatsim,
        str(written(tmp_path, name, text)),
        tmp_path,
        written(tmp_path, "platform.xml", homogeneous_xml(NODES)),
        written(tmp_path, "workload.json", json.dumps(workload)),
    )
    assert (played.simulator, played.scheduler) == (1, code), played.said
    (line,) = played.simulator_said.splitlines()
    # It started the first job at 1.005 s: it says that it needs 5 ms for a decision.
    assert line.endswith("went away at 5.005000 s without a reply"), line
    assert not list(tmp_path.glob("out_*")), "files of a run that did not end"
