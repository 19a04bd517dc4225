"""Workers: what they give, what becomes of the others when one is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.finished_runs import RUN_JSON
from batsched_py.campaign.run_identity import code_digest, digest
from batsched_py.campaign.run_task import RunFailed, Task, perform
from batsched_py.campaign.worker_processes import LocalWorkers, Worker, WorkerLost
from batsched_py.run.settings import Settings
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


def test_what_a_function_raises_comes_back() -> None:
    with LocalWorkers(1) as workers:
        with pytest.raises(ValueError, match="invalid literal"):
            workers.submit(int, "x").result()
        assert workers.submit(int, "3").result() == 3  # and the worker goes on


def test_what_is_printed_does_not_get_between_the_replies() -> None:
    with LocalWorkers(1) as workers:
        assert workers.submit(print, "hello").result() is None
        assert workers.submit(os.write, 1, b"hello").result() == 5


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


class _Local(Exception):  # noqa: N818
    """Of a module that a worker does not have."""


def test_what_a_worker_cannot_load_is_an_error() -> None:
    with LocalWorkers(1) as workers:
        with pytest.raises(ModuleNotFoundError):
            workers.submit(_Local).result(LIMIT)
        assert workers.submit(int, "3").result(LIMIT) == 3


def test_running_tasks_can_be_stopped() -> None:
    workers = LocalWorkers(1)
    slow = workers.submit(time.sleep, 600)
    waiting = workers.submit(time.sleep, 600)
    wait_until(lambda: workers._workers and workers._workers[0]._process)
    stopper = threading.Thread(target=workers.shutdown, kwargs={"cancel_futures": True})
    stopper.start()
    with pytest.raises(WorkerLost):
        slow.result(LIMIT)
    stopper.join(LIMIT)
    assert waiting.cancelled()


def test_a_run_in_a_worker_is_the_run_here() -> None:
    with LocalWorkers(1) as workers:
        there = workers.submit(perform, task()).result()
    here = perform(task())
    assert here.keys() == there.keys()
    assert all(here[name] == there[name] for name in here if name != RUN_JSON)


def test_a_run_after_another_is_as_if_it_were_the_first() -> None:
    """The log is read once for both; neither changes what the other sees."""
    alone = perform(task())
    perform(Task(settings=Settings(first=50, scheduler="fcfs", shake=1), log=SAMPLE))
    again = perform(task())
    assert alone["out_jobs.csv"] == again["out_jobs.csv"]


def test_what_is_kept_and_measured(tmp_path: Path) -> None:
    (tmp_path / "measures.py").write_text(
        "def measure(result):\n"
        " print('measuring')\n"
        " return {'jobs': len(result.table.submit), 'nothing': float('nan')}\n"
    )
    files = perform(task(keep="metrics", measure=f"{tmp_path}/measures.py:measure"))
    assert sorted(files) == ["log.txt", RUN_JSON]
    assert b'"jobs": 50.0' in files[RUN_JSON]
    assert b'"nothing": null' in files[RUN_JSON]
    assert b"measuring" in files["log.txt"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def measure(result):\n raise ValueError('no')\n", "ValueError: no"),
        ("def measure(result):\n return 3\n", "expected a dict"),
        ("measure = 3\n", "is not a function"),
        ("def measure(result):\n return {'a': 'b'}\n", "could not convert"),
        ("def measure(result):\n return {'nodes': 1}\n", "'nodes', which is another column"),
        ("def measure(result):\n return {'system': 1}\n", "'system', which is another column"),
        ("def measure(result):\n return {'nb_jobs': 1}\n", "'nb_jobs', which is another column"),
    ],
)
def test_measures_that_go_wrong_fail_the_run(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "measures.py"
    path.write_text(text)
    with pytest.raises(RunFailed, match=said):
        perform(task(measure=f"{path}:measure", taken=["system"]))


def test_an_input_that_changes_meanwhile_fails_the_run(tmp_path: Path) -> None:
    """What comes out would be filed under the name of something else."""
    path = tmp_path / "measures.py"
    known = "def measure(result):\n return {}\n"
    path.write_text(known)
    given = {"measure": f"{path}:measure", "files": {str(path): digest(path)}}
    assert perform(task(**given, code=code_digest()))
    with pytest.raises(RunFailed, match="code has changed since the campaign began"):
        perform(task(**given, code="other"))
    path.write_text(f"{known}\n")
    with pytest.raises(RunFailed, match=r"measures.py has changed since the campaign began"):
        perform(task(**given))


def test_what_cannot_be_written_as_utf8_is_written_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "measures.py"
    path.write_text("def measure(result):\n print(chr(0xdcff))\n return {}\n")
    assert b"\\udcff" in perform(task(measure=f"{path}:measure"))["log.txt"]


def test_a_worker_that_comes_after_the_stop_is_stopped() -> None:
    """Ctrl-C in the first moment: a thread may begin when all workers were told to stop."""
    workers = LocalWorkers(1)
    workers._stopped = True  # and there was none yet to be told
    with pytest.raises(WorkerLost, match="stopped"):
        workers._threads.submit(workers._call, time.sleep, 600).result(LIMIT)
    workers.shutdown()
