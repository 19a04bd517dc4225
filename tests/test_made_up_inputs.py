"""Inputs and results that somebody made up: refused with the name of the file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py.errors import InputError, OutputError, UsageError, WorkloadError
from batsched_py.files.writers import locked
from batsched_py.results.whole_run import add_seal, check_whole
from batsched_py.transport.recording import Recorder
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_py.workload.logs.swf import read_swf

JOB = "1 0 -1 10 2 -1 -1 2 20 -1 1 1 1 -1 -1 -1 -1 -1\n"


def test_a_lock_and_a_recording_follow_no_link(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "out" / ".lock").symlink_to(elsewhere)
    with pytest.raises(OutputError, match="link"), locked(tmp_path / "out"):
        pass
    exchange = tmp_path / "out" / "out_exchange.jsonl"
    exchange.symlink_to(elsewhere)
    with Recorder(exchange) as recorder:
        recorder.add("batsim", b"{}")
    assert not elsewhere.exists()
    assert exchange.read_text().startswith("{")


@pytest.mark.parametrize(
    "member",
    [
        {"metrics": {"overall": {"makespan": 1e308}}},
        {"time_zone": "../../../etc/passwd"},
        {"nb_processors": 10**18},
        {"run": "x"},
    ],
)
def test_a_value_that_no_run_has_is_told_with_its_file(tmp_path: Path, member: object) -> None:
    path = tmp_path / "out_run.json"
    path.write_bytes(add_seal(json.dumps(member).encode(), {}))
    with pytest.raises(InputError, match="out_run"):
        check_whole(path)


def test_a_name_that_comes_twice_in_a_workload_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text('{"nb_res": 4, "nb_res": 8, "jobs": [], "profiles": {}}')
    with pytest.raises(WorkloadError, match="twice"):
        read_workload(path)


def test_a_machine_of_a_header_is_one_that_can_be(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: 99999999999999999999\n{JOB}")
    log = read_swf(path)
    assert log.max_processors == 2
    assert any("too large" in note for note in log.notes)


@pytest.mark.process
def test_a_log_comes_through_a_pipe() -> None:
    script = (
        "from batsched_py.workload.logs.log_archive import find_log as f;"
        "a, b = f('/dev/stdin'), f('/dev/stdin'); print(a == b, a.read_text(), end='')"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script], input=JOB, capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"True {JOB}"


def test_a_fifo_as_a_log_is_called_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f.swf")
    with pytest.raises(UsageError, match="FIFO"):
        find_log(tmp_path / "f.swf")
