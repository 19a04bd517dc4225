"""The embedded simulator driven by schedulers that are not ours: those of pybatsim 3.2.1."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import pytest

from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml
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
    assert (played.simulator, played.scheduler) == (0, 0), played.logs
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
        written(tmp_path, "platform.xml", make_homogeneous_xml(NODES)),
        written(tmp_path, "workload.json", json.dumps(workload)),
    )
    assert (played.simulator, played.scheduler) == (1, code), played.logs
    (line,) = played.simulator_said.splitlines()
    # It started the first job at 1.005 s: it says that it needs 5 ms for a decision.
    assert line.endswith("went away at 5.005000 s without a reply"), line
    assert not list(tmp_path.glob("out_*")), "files of a run that did not end"
