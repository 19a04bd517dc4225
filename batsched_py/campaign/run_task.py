"""One run as a task for a worker, from its settings to its files.

A task goes to a worker as a value and comes back as the content of files, which the worker writes
into the campaign's folder (:mod:`batsched_py.campaign.workers.runner`).
"""

from __future__ import annotations

import io
import platform as python_platform
import time
import traceback
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.campaign.finished_runs import LOG, PREFIX, RUN_JSON
from batsched_py.campaign.planned_runs import COLUMNS, KEYS
from batsched_py.campaign.run_identity import digest_code
from batsched_py.errors import BatschedError, InputError, InvariantError, PluginError
from batsched_py.files.digests import Version, digest, version
from batsched_py.plugins.code_places import describe_exception
from batsched_py.plugins.isolated_run import isolate
from batsched_py.plugins.plugin_files import load_file
from batsched_py.plugins.plugins import EXTERNAL
from batsched_py.results.whole_run import TABLES
from batsched_py.run.resolved_run import Input, Reading, read_input, resolve_run
from batsched_py.run.result import Result
from batsched_py.run.settings import Settings
from batsched_py.run.simulate import execute, verify
from batsched_py.run.stored_values import EMBEDDED
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.logs.swf import SwfLog, read_swf

Files = dict[str, bytes]
"""The files of a run: name to content."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a campaign with the path of its input, ready for a worker."""

    settings: Settings
    """``node_factor`` is resolved: it is in ``nodes``."""
    log: str
    """Path of the input."""
    files: dict[str, str] = {}
    """Absolute path to SHA-256 of all files that it reads."""
    code: str = ""
    """Digest of the code that must simulate it; "": any code."""
    verify: bool = False
    """Whether it is simulated twice, with and without messages."""
    measure: str | None = None
    """``file.py:function``: from a result to further columns."""
    keep: str = "jobs"
    taken: list[str] = []
    """Labels of the run, which what is measured must not be called."""
    folder: str | None = None
    """Where another process as back end leaves its logs; None: in a temporary folder."""
    provenance: dict[str, Any] = {}
    """Provenance that the worker does not know and that is stored with the run."""


class RunFailed(Exception):  # noqa: N818 - it is not the program that failed
    """A run failed; the exception has its error message and its printed output."""

    def __init__(self, message: str, log: str = "", tables: Files | None = None) -> None:
        super().__init__(message, log, tables)
        self.message = message
        self.log = log
        self.tables: Files = tables or {}
        """Those of a simulation that ended well, before its counters or measures failed."""


def perform(task: Task) -> Files:
    """Simulate and return the files of the run; raises :class:`RunFailed`."""
    output = io.StringIO()
    begin = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    files: Files = {}
    try:
        with redirect_stdout(output), redirect_stderr(output):  # of plug-ins, and warnings
            result = _simulate(task)
            files = _tables(result) if task.keep == "jobs" else {}
            if result.fault is not None:
                raise InvariantError(result.fault)
            measured = {} if task.measure is None else _measured(task, task.measure, result)
            _check_unchanged(task)
    except BatschedError as error:
        raise RunFailed(_one_line(str(error)), f"{output.getvalue()}{error}\n", files) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plug-in may raise SystemExit too: the other runs go on
        text = f"{output.getvalue()}{traceback.format_exc()}"
        raise RunFailed(_one_line(describe_exception(error)), text, files) from None
    result.measured["study"] = measured
    provenance = {
        **task.provenance,
        "host": python_platform.node(),
        "started": started,
        "seconds": time.perf_counter() - begin,
    }
    files[RUN_JSON] = result.run_json({"provenance": provenance})
    notes = "".join(f"note: {note}\n" for note in result.settings["notes"])
    files[LOG] = (output.getvalue() + notes).encode(errors="backslashreplace")
    return files


def _simulate(task: Task) -> Result:
    seen = version(Path(task.log).stat())
    resolved = resolve_run(
        task.settings.run(), task.log, load=lambda log, reading: _loaded(task.log, seen, reading)
    )
    root = None
    outside = resolved.run.backend != EMBEDDED or resolved.run.scheduler == EXTERNAL
    if outside and task.folder is not None:
        root = Path(task.folder) / f"{PREFIX}_{resolved.run.backend}"
    result = execute(resolved, root, progress=False)
    if task.verify:
        verify(resolved, result)
    return result


@lru_cache(maxsize=2)
def _loaded(path: str, seen: Version, reading: Reading) -> Input:
    """Make jobs once for the runs that have the same ones."""
    if is_batsim_json(path):
        return read_input(path, reading)
    return read_input(_log(path, seen, reading.skip_bad_lines), reading)


@lru_cache(maxsize=1)
def _log(path: str, seen: Version, skip_bad_lines: bool) -> SwfLog:
    """Read a log once for all runs of it."""
    return read_swf(path, skip_bad_lines=skip_bad_lines)


def _tables(result: Result) -> Files:
    tables = {TABLES[0]: result.jobs_csv()} | result.further_tables()
    return {f"{PREFIX}{name}": text.encode() for name, text in tables.items()}


def _check_unchanged(task: Task) -> None:
    """Raise :class:`InputError` if the code or an input of the run has changed.

    Of the code it is seen once in a worker, which goes on with what it has loaded.
    """
    if task.code and task.code != digest_code():
        raise InputError("the code has changed since the campaign began: start it again")
    for path, expected in task.files.items():
        if digest(Path(path)) != expected:
            raise InputError(f"{path} has changed since the campaign began: start it again")


def _measured(task: Task, place: str, result: Result) -> dict[str, float | None]:
    """Return the checked values of the study's own function."""
    with isolate(task.settings.seed) as notes:
        function = load_file(place)
        if not callable(function):
            raise PluginError(f"{place} is not a function: expected measure(result) -> dict")
        given = function(result)
    result.settings["notes"] += notes
    if not isinstance(given, Mapping):
        raise InputError(f"{place} gave {given!r}: expected a dict of names and numbers")
    measured: dict[str, float | None] = {}
    taken = {*KEYS, *COLUMNS, *result.measured["overall"], *task.taken}
    for name, value in given.items():
        if name in taken:
            raise InputError(f"{place} gave {name!r}, which is another column: choose another name")
        try:
            number = None if value is None else float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"{place} gave {name!r}: {value!r}: expected a number or None"
            ) from None
        measured[str(name)] = number if number is not None and isfinite(number) else None
    return measured


def _one_line(text: str) -> str:
    return " ".join(text.split())
