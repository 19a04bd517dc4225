"""Workers: what they give, what becomes of the others when one is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.finished_runs import RUN_JSON
from batsched_py.campaign.run_identity import code_digest
from batsched_py.campaign.run_task import RunFailed, Task, perform
from batsched_py.campaign.worker_processes import LocalWorkers, Worker, WorkerLost
from batsched_py.run.settings import Settings
from batsched_py.support.file_digest import digest
from batsched_py.workload.log_archive import find_log
from helpers.waiting import LIMIT, wait_until

SAMPLE = str(find_log("sample"))


def task(**options: Any) -> Task:
    return Task(settings=Settings(first=50), log=SAMPLE, **options)


def test_a_function_is_called_in_another_process_which_stays() -> None:
    worker = Worker()
    first = worker.call(os.getpid)
    assert first != os.getpid()
    assert worker.call(os.getpid) == first
    worker.close()
    assert not Path(f"/proc/{first}").exists()


def test_an_idle_process_ends_and_the_next_task_starts_another() -> None:
    worker = Worker(idle=0.1)
    first = worker.call(os.getpid)
    process = worker._process
    assert process is not None
    process.wait(LIMIT)
    assert worker.call(os.getpid) != first
    worker.close()


def test_a_process_that_is_killed_while_idle_costs_one_task_at_most() -> None:
    with LocalWorkers(1) as workers:
        os.kill(workers.submit(os.getpid).result(LIMIT), signal.SIGKILL)
        with pytest.raises(WorkerLost, match="killed by SIGKILL"):
            workers.submit(os.getpid).result(LIMIT)
        assert workers.submit(int, "3").result(LIMIT) == 3


class _Local(Exception):  # noqa: N818
    """Of a module that a worker does not have."""


def test_what_a_function_raises_or_prints_does_not_end_its_worker() -> None:
    with LocalWorkers(1) as workers:
        first = workers.submit(os.getpid).result()
        with pytest.raises(ValueError, match="invalid literal"):
            workers.submit(int, "x").result()
        with pytest.raises(ModuleNotFoundError):
            workers.submit(_Local).result(LIMIT)
        assert workers.submit(print, "hello").result() is None
        assert workers.submit(os.write, 1, b"hello").result() == 5
        assert workers.submit(os.getpid).result() == first


def test_a_lost_worker_costs_only_its_task(tmp_path: Path) -> None:
    """One of two is killed in the middle; what waits and what comes later is done."""
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, time\n"
        "def measure(result):\n"
        f" part = pathlib.Path({str(tmp_path)!r}, 'part')\n"
        " part.write_text(str(os.getpid()))\n"
        " part.rename(part.with_name('pid'))\n"
        " time.sleep(600)\n"
    )
    with LocalWorkers(2) as workers:
        slow = workers.submit(perform, task(measure=f"{tmp_path}/slow.py:measure"))
        wait_until((tmp_path / "pid").exists)
        others = [workers.submit(os.getpid) for _ in range(6)]
        kept = {future.result(LIMIT) for future in others}
        lost = int((tmp_path / "pid").read_text())
        os.kill(lost, signal.SIGKILL)
        with pytest.raises(WorkerLost, match="killed by SIGKILL"):
            slow.result(LIMIT)
        later = {workers.submit(os.getpid).result(LIMIT) for _ in range(4)}
    assert len(kept) == 1
    assert lost not in kept | later


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
        (f"{DEF}raise GeneratorExit\n", "GeneratorExit: "),
        (f"{DEF}return 3\n", "expected a dict"),
        ("measure = 3\n", "is not a function"),
        (f"{DEF}return {{'a': 'b'}}\n", r"measures\.py:measure gave 'a': 'b': expected a number"),
        (f"{DEF}return {{'a': [1]}}\n", r"gave 'a': \[1\]: expected a number"),
        (f"{DEF}return {{'nodes': 1}}\n", "'nodes', which is another column"),
        (f"{DEF}return {{'system': 1}}\n", "'system', which is another column"),
        (f"{DEF}return {{'nb_jobs': 1}}\n", "'nb_jobs', which is another column"),
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
    assert perform(task(**given, code=code_digest()))
    with pytest.raises(RunFailed, match="code has changed since the campaign began"):
        perform(task(**given, code="other"))
    measures(f"{DEF}return {{}}\n\n")
    with pytest.raises(RunFailed, match=r"measures.py has changed since the campaign began"):
        perform(task(**given))


def test_a_worker_that_comes_after_the_stop_is_stopped() -> None:
    """Ctrl-C in the first moment: a thread may begin when all workers were told to stop."""
    workers = LocalWorkers(1)
    workers._stopped = True  # and there was none yet to be told
    with pytest.raises(WorkerLost, match="stopped"):
        workers._threads.submit(workers._call, time.sleep, 600).result(LIMIT)
    workers.shutdown()
