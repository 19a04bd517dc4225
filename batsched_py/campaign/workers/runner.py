"""Performs the runs of a campaign on workers, each in its own folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Executor, as_completed

import msgspec

from batsched_py.campaign.finished_runs import LOG, write_run
from batsched_py.campaign.preparation import PreparedRun
from batsched_py.campaign.run_task import Files, RunFailed, perform
from batsched_py.errors import BatschedError
from batsched_py.support.signals import stop_signals

_NO_MORE = (BatschedError, CancelledError)
"""Errors of an executor after which nothing more can be run."""


class Failure(msgspec.Struct):
    """A failed run with its error."""

    run: PreparedRun
    message: str


def sort_whole_logs_first(runs: Iterable[PreparedRun]) -> list[PreparedRun]:
    """Return the runs sorted: runs of a part of their log, or of a few weeks, come last.

    Among others these take least, and what takes longest must not be left alone at the end.
    """
    return sorted(runs, key=_is_of_a_part)


def _is_of_a_part(run: PreparedRun) -> bool:
    settings = run.task.settings
    parts = settings.first, settings.job_numbers, settings.span_from, settings.span_until
    return any(part is not None for part in (*parts, settings.user_options.get("weeks")))


def execute(
    runs: Iterable[PreparedRun],
    executor: Executor,
    ended: Callable[[PreparedRun], None] = lambda run: None,
) -> list[Failure]:
    """Perform all ``runs`` anew by an executor; return the failures.

    A run whose worker was lost is tried once more, alone. ``ended`` is called as each ends. On
    Ctrl-C the running ones are stopped, the executor is shut down and KeyboardInterrupt goes on;
    what was done stays done.
    """
    failures = []

    def end(run: PreparedRun, message: str | None) -> None:
        if message is not None:
            failures.append(Failure(run, message))
        ended(run)

    with stop_signals():
        try:
            lost = []
            futures = {executor.submit(run_in_folder, run): run for run in runs}
            for future in as_completed(futures):
                if isinstance(future.exception(), _NO_MORE):
                    future.result()
                elif future.exception() is not None:
                    lost.append(futures[future])
                else:
                    end(futures[future], future.result())
            for run in lost:
                end(run, _again(run, executor))
        except (KeyboardInterrupt, *_NO_MORE):
            executor.shutdown(wait=True, cancel_futures=True)
            raise
    return failures


def run_in_folder(run: PreparedRun) -> str | None:
    """Perform a run and write its folder; return None, or its error message.

    Called in a worker: on this machine, or on a node that sees the folder.
    """
    try:
        files, message = perform(run.task), None
    except RunFailed as failed:
        log = {LOG: failed.log.encode(errors="backslashreplace")}
        message, files = failed.message, failed.tables | log
    return _written(run, files, message)


def _again(run: PreparedRun, executor: Executor) -> str | None:
    """Run one alone whose worker was lost: another run may have been at fault; return as above."""
    try:
        return executor.submit(run_in_folder, run).result()
    except _NO_MORE:
        raise
    except Exception as error:
        return _written(run, {}, f"lost twice: {type(error).__name__}: {error}")


def _written(run: PreparedRun, files: Files, error: str | None) -> str | None:
    """Write what a run gave; return ``error``, or why that cannot be written."""
    settings = msgspec.json.format(msgspec.json.encode(run.planned), indent=1)
    described = {
        "command.txt": f"{shlex.join(run.command)}\n".encode(),
        "settings.json": settings + b"\n",
    }
    try:
        write_run(run.folder, {**described, **files}, error)
    except OSError as refused:  # the disk is full: the next call tries again
        return f"its files cannot be written: {refused}"
    return error
