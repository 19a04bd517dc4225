"""Workers: what they give, what becomes of the others when one is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.finished_runs import RUN_JSON
from batsched_py.campaign.run_identity import digest_code
from batsched_py.campaign.run_task import RunFailed, Task, perform
from batsched_py.campaign.workers.worker_processes import LocalWorkers, WorkerLost
from batsched_py.files.digests import digest
from batsched_py.run.settings import Settings
from batsched_py.workload.logs.log_archive import find_log
from helpers.waiting import LIMIT, is_alive, wait_until

SAMPLE = str(find_log("sample"))


def task(**options: Any) -> Task:
    return Task(settings=Settings(first=50), log=SAMPLE, **options)


class _Local(Exception):  # noqa: N818
    """Of a module that a worker does not have."""


def test_what_a_function_raises_or_prints_does_not_end_its_worker() -> None:
    with LocalWorkers(1) as workers:
        first = workers.submit(os.getpid).result()
        assert first != os.getpid()
        with pytest.raises(ValueError, match="invalid literal"):
            workers.submit(int, "x").result()
        with pytest.raises(ModuleNotFoundError):
            workers.submit(_Local).result(LIMIT)
        assert workers.submit(print, "hello").result() is None
        assert workers.submit(os.write, 1, b"hello").result() == 5
        assert workers.submit(os.getpid).result() == first
    assert not is_alive(first)


def test_a_worker_that_dies_costs_only_its_task() -> None:
    """What waits, what runs beside it and what comes later is done."""
    with LocalWorkers(2) as workers:
        lost = workers.submit(os._exit, 7)
        others = [workers.submit(os.getpid) for _ in range(6)]
        assert os.getpid() not in {future.result(LIMIT) for future in others}
        with pytest.raises(WorkerLost, match="exited with 7"):
            lost.result(LIMIT)
        assert workers.submit(int, "3").result(LIMIT) == 3
    with LocalWorkers(1) as workers:
        os.kill(workers.submit(os.getpid).result(LIMIT), signal.SIGKILL)  # while it is idle
        with pytest.raises(WorkerLost, match="killed by SIGKILL"):
            workers.submit(os.getpid).result(LIMIT)
        assert workers.submit(int, "3").result(LIMIT) == 3


def test_a_worker_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(
        "import os, pathlib, signal, time\n"
        "def measure(result):\n"
        " signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f" part = pathlib.Path({str(tmp_path)!r}, 'part')\n"
        " part.write_text(str(os.getpid()))\n"
        " part.rename(part.with_name('pid'))\n"
        " time.sleep(600)\n"
    )
    workers = LocalWorkers(1)
    workers.submit(perform, task(measure=f"{tmp_path}/deaf.py:measure"))
    later = workers.submit(int, "3")
    wait_until((tmp_path / "pid").exists)
    workers.shutdown(cancel_futures=True)
    assert later.cancelled()
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_block_that_fails_waits_for_no_worker() -> None:
    with suppress(ZeroDivisionError), LocalWorkers(1) as workers:
        first = workers.submit(os.getpid).result(LIMIT)
        later = [workers.submit(time.sleep, 600) for _ in range(2)]
        raise ZeroDivisionError
    assert not is_alive(first)
    with pytest.raises(CancelledError):
        later[1].result(LIMIT)


SCRIPT = """
import os
from batsched_py.campaign.workers.worker_processes import LocalWorkers
print("once", flush=True)
with LocalWorkers(1) as workers:
    print(workers.submit(os.getcwd).result())
"""


@pytest.mark.process
def test_neither_the_script_nor_what_lies_beside_it_runs_in_a_worker(tmp_path: Path) -> None:
    """A script needs no guard, and a folder with other people's files is no place of modules."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "script.py").write_text(SCRIPT)
    (tmp_path / "random.py").write_text("open('ran', 'w')\n")
    (tmp_path / "pickle.py").write_text("open('ran', 'w')\n")
    command = [sys.executable, tmp_path / "elsewhere" / "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.splitlines() == ["once", str(tmp_path)], done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_run_in_a_worker_is_the_run_here() -> None:
    """After another run too, for which the log is read once: neither changes what it sees."""
    other = Task(settings=Settings(first=50, scheduler="fcfs", shake=1), log=SAMPLE)
    with LocalWorkers(1) as workers:
        there = [workers.submit(perform, run).result() for run in (task(), other, task())]
    here = perform(task())
    for files in (there[0], there[2]):
        assert files.keys() == here.keys()
        assert all(here[name] == files[name] for name in here if name != RUN_JSON)


@pytest.fixture
def measures(tmp_path: Path) -> Callable[[str], str]:
    """Write a file with a function of these lines, and return its name as a task has it."""

    def write(lines: str) -> str:
        (tmp_path / "measures.py").write_text(lines)
        return f"{tmp_path}/measures.py:measure"

    return write


DEF = "def measure(result):\n "


def test_what_is_kept_and_measured(measures: Callable[[str], str]) -> None:
    given = "print('measuring' + chr(0xdcff)); return {'jobs': 50, 'nothing': float('nan')}\n"
    files = perform(task(keep="metrics", measure=measures(DEF + given)))
    assert sorted(files) == ["log.txt", RUN_JSON]
    assert b'"jobs": 50.0' in files[RUN_JSON]
    assert b'"nothing": null' in files[RUN_JSON]
    assert b"measuring\\udcff" in files["log.txt"]  # what is no UTF-8 is written all the same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{DEF}raise ValueError('no')\n", "ValueError: no"),
        (f"{DEF}raise SystemExit(0)\n", "SystemExit: 0"),
        (f"{DEF}return 3\n", "expected a dict"),
        ("measure = 3\n", "is not a function"),
        (f"{DEF}return {{'a': 'b'}}\n", r"measures\.py:measure gave 'a': 'b': expected a number"),
        (f"{DEF}return {{'system': 1}}\n", "'system', which is another column"),
        (f"{DEF}return {{'nodes': 1}}\n", "'nodes', which is another column"),
    ],
)
def test_measures_that_go_wrong_fail_the_run(
    measures: Callable[[str], str], text: str, message: str
) -> None:
    with pytest.raises(RunFailed, match=message):
        perform(task(measure=measures(text), taken=["system"]))


def test_an_input_that_changes_meanwhile_fails_the_run(measures: Callable[[str], str]) -> None:
    """What comes out would be filed under the name of something else."""
    measure = measures(f"{DEF}return {{}}\n")
    path = measure.removesuffix(":measure")
    given = {"measure": measure, "files": {path: digest(Path(path))}}
    assert perform(task(**given, code=digest_code()))
    with pytest.raises(RunFailed, match="code has changed"):
        perform(task(**given, code="other"))
    measures(f"{DEF}return {{}}\n\n")
    with pytest.raises(RunFailed, match=r"measures\.py has changed"):
        perform(task(**given))
