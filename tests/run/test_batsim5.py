"""Batsim 5 as another process: how it is known, started and read. What is said: elsewhere."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from batsched_py.errors import SimulationError
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.backends.launchers import Launcher, RunFolder
from batsched_py.run.simulate import simulate
from batsched_py.run.stored_values import Timeouts
from batsched_py.support.installation import PROGRAM
from batsched_py.workload.batsim.batsim_workload import read_workload
from helpers.logs import small_log
from helpers.waiting import LIMIT

OURS = shlex.join([*PROGRAM, "simulator", "--protocol", "5"])
"""Our simulator in the place of Batsim 5."""
QUICK = Timeouts(ready=LIMIT, run=LIMIT, success=LIMIT, failure=0.5)


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
        ("batsched-py 0.1.0 (stand-in for Batsim v5.0.0-rc2)\n", True),
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


def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swf"
    path.write_text(small_log())
    return path


@pytest.mark.process
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


@pytest.mark.process
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
    program = [sys.executable, str(Path(__file__).with_name("recorded_batsim5.py")), str(recorded)]
    outside = simulate(
        recorded / "workload.json",
        backend="batsim",
        batsim=shlex.join(program),
        folder=tmp_path / "run",
        timeouts=QUICK,
        **settings,
    )
    embedded = simulate(recorded / "workload.json", **settings)
    assert outside.jobs_csv() == embedded.jobs_csv()
    for path in (recorded / "out").iterdir():
        kept = tmp_path / f"run/output/out_{path.name}"
        assert kept.read_bytes() == path.read_bytes()


@pytest.mark.process
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
