"""Running a campaign: each run in a folder of its own, what is done stays done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Executor, Future, as_completed

import msgspec

from batsched_py.campaign.finished_runs import LOG, write_run
from batsched_py.campaign.preparation import PreparedRun
from batsched_py.campaign.run_task import Files, RunFailed, perform
from batsched_py.campaign.worker_processes import WorkerLost
from batsched_py.errors import BatschedError
from batsched_py.support.signals import stop_signals


class Failure(msgspec.Struct):
    """A run that did not end well, and why."""

    run: PreparedRun
    message: str


def whole_logs_first(runs: Iterable[PreparedRun]) -> list[PreparedRun]:
    """Return the runs with those last that are of a part of their log, or of some weeks.

    Among others these take least, and what takes longest must not be left alone at the end.
    """
    return sorted(runs, key=_is_of_a_part)


def _is_of_a_part(run: PreparedRun) -> bool:
    settings = run.task.settings
    parts = settings.first, settings.job_numbers, settings.user_options.get("weeks")
    return any(part is not None for part in parts)


def execute(
    runs: Iterable[PreparedRun],
    executor: Executor,
    ended: Callable[[PreparedRun], None] = lambda run: None,
) -> list[Failure]:
    """Run all of ``runs`` anew by an executor; return the failures.

    ``ended`` is called as each ends. On Ctrl-C the running ones are stopped, the executor is shut
    down and KeyboardInterrupt goes on; what was done stays done.
    """
    failures = []
    with stop_signals():
        try:
            futures: dict[Future[str | None], PreparedRun] = {}
            for run in runs:
                futures[executor.submit(run_in_folder, run)] = run
            for future in as_completed(futures):
                run = futures[future]
                message = _outcome(run, future)
                if message is not None:
                    failures.append(Failure(run, message))
                ended(run)
        except (KeyboardInterrupt, CancelledError, BatschedError):
            executor.shutdown(wait=True, cancel_futures=True)
            raise
    return failures


def run_in_folder(run: PreparedRun) -> str | None:
    """Perform a run and write its folder; return None, or why it failed.

    Called in a worker: on this machine, or on a node that sees the folder.
    """
    try:
        files, message = perform(run.task), None
    except RunFailed as failed:
        log = {LOG: failed.log.encode(errors="backslashreplace")}
        message, files = failed.message, failed.tables | log
    return _written(run, files, message)


def _outcome(run: PreparedRun, future: Future[str | None]) -> str | None:
    """Return why a run failed, None if it did not; write what its worker could not."""
    try:
        return future.result()
    except WorkerLost as lost:
        message = str(lost)
    except (BatschedError, CancelledError):  # nothing more can be run
        raise
    except Exception as error:  # of one task: the others go on
        message = f"{type(error).__name__}: {error}"
    return _written(run, {}, message)


def _written(run: PreparedRun, files: Files, error: str | None) -> str | None:
    """Write what a run gave; return ``error``, or why that cannot be written."""
    settings = msgspec.json.format(msgspec.json.encode(run.planned), indent=1)
    told = {
        "command.txt": f"{shlex.join(run.command)}\n".encode(),
        "settings.json": settings + b"\n",
    }
    try:
        write_run(run.folder, {**told, **files}, error)
    except OSError as refused:  # the disk is full: the next call tries again
        return f"its files cannot be written: {refused}"
    return error
