"""Reads and writes the folder of a campaign's run, and decides whether the run is done.

A run is done if ``out_run.json`` is there, which is written last, and it is whole as
:mod:`batsched_py.results.whole_run` decides it. ``error.txt`` has the error of a failed run, until
it is tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import BatschedError, InputError
from batsched_py.files.readers import is_file, read_log
from batsched_py.files.writers import write_whole
from batsched_py.results import whole_run
from batsched_py.results.whole_run import NamedFile, add_seal, read_run
from batsched_py.run.named_files import HASH
from batsched_py.run.stored_run import check_counts
from batsched_py.support.json_values import is_number

PREFIX = "out"
RUN_JSON = f"{PREFIX}{whole_run.RUN_JSON}"
LOG = "log.txt"
ERROR = "error.txt"
REMEDY = "run the campaign again to repeat this run"


class FinishedRun(msgspec.Struct):
    """The part of ``out_run.json`` that a table of results needs."""

    run: dict[str, Any]
    nb_processors: int
    wall_time: float
    metrics: FinishedMetrics
    provenance: dict[str, Any]
    users_react: bool | None = None


class FinishedMetrics(msgspec.Struct):
    """The metrics of a whole run."""

    overall: dict[str, Any]
    study: dict[str, float | None] = {}


class RunState(msgspec.Struct, frozen=True):
    """The state of a run by the files in its folder: done, damaged or failed."""

    done: bool = False
    """Whether it ended well, and its files are still there and whole."""
    damage: str | None = None
    """What is wrong with the files of a run that ended well."""
    failure: str | None = None
    """The error message of a run that failed."""
    seconds: float | None = None
    """How long a finished run took in all, if it is recorded."""


def read_state(folder: Path) -> RunState:
    """Return whether a run is done, damaged or failed; reads all its files."""
    try:
        run = read_finished_run(folder)
    except InputError as error:
        return RunState(damage=str(error))
    if run is None:
        return RunState(failure=read_failure(folder))
    seconds = run.provenance.get("seconds")
    return RunState(done=True, seconds=float(seconds) if is_number(seconds) else None)


def read_finished_run(folder: Path) -> FinishedRun | None:
    """Return the results in the folder of a run, None if it is not done.

    Raises :class:`InputError` if it is damaged, or of another folder.
    """
    path = folder / RUN_JSON
    if not is_file(path):
        return None
    run = read_run(path, FinishedRun, REMEDY)
    check_counts(run.metrics.overall, path)
    if run.provenance.get("hash") != read_hash(folder):
        raise InputError(f"{path} belongs to another run, {run.provenance.get('hash')}; {REMEDY}")
    return run


def read_hash(folder: Path) -> str:
    """Return the hash that identifies a run, from the name of its folder."""
    return folder.name[-HASH:]


def read_failure(folder: Path) -> str | None:
    """Return the error message of a run that failed, else None."""
    try:
        return None if is_file(folder / RUN_JSON) else read_log(folder / ERROR).strip()
    except BatschedError:
        return None


def write_run(folder: Path, files: Mapping[str, bytes], error: str | None) -> None:
    """Write the files of a run, or its error, in place of the files of an earlier attempt.

    Nothing waits for the disk: what a crash of the machine takes is not whole, and is run again.
    Raises :class:`OSError` for what the system refuses.
    """
    _clear(folder)
    if error is not None:
        write_whole(folder / ERROR, f"{error}\n", sync=False)
    others = {name: content for name, content in files.items() if name != RUN_JSON}
    for name, content in others.items():
        write_whole(folder / name, content, sync=False)
    if RUN_JSON in files:  # it is written after all others
        named = {
            name.removeprefix(PREFIX): NamedFile.of(content) for name, content in others.items()
        }
        write_whole(folder / RUN_JSON, add_seal(files[RUN_JSON], named), sync=False)


def _clear(folder: Path) -> None:
    """Remove what an attempt before left, only now: until then it is known that it failed.

    Files of another process as back end are in a separate folder, which it clears itself.
    """
    (folder / RUN_JSON).unlink(missing_ok=True)  # first: without the others it would be damaged
    if folder.is_dir():
        for path in folder.iterdir():
            if not path.is_dir():
                path.unlink()
