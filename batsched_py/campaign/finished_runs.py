"""When a run of a campaign counts as done: what is in its folder, and how it gets there.

A run is done if ``out_run.json`` is there and whole, which is written last, and so are the tables
that are to be kept. Of a run that failed ``error.txt`` tells why, until it is tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.support.atomic_files import write_whole

PREFIX = "out"
RUN_JSON = f"{PREFIX}_run.json"
TABLES = (f"{PREFIX}_jobs.csv", f"{PREFIX}_schedule.csv")
LOG = "log.txt"
ERROR = "error.txt"


class FinishedRun(msgspec.Struct):
    """What a table of results needs of ``RUN_JSON``."""

    run: dict[str, Any]
    nb_processors: int
    wall_time: float
    metrics: FinishedMetrics
    provenance: dict[str, Any]


class FinishedMetrics(msgspec.Struct):
    """The metrics of a whole run."""

    overall: dict[str, Any]
    study: dict[str, float | None] = {}


_DECODER = msgspec.json.Decoder(FinishedRun)


def finished_run(folder: Path) -> FinishedRun | None:
    """Return what a run left in its folder, None if it is not done or its file is broken."""
    try:
        return _DECODER.decode((folder / RUN_JSON).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def is_finished(folder: Path, keep: str) -> bool:
    """Tell whether the run of a folder ended well, and its files are still there and whole."""
    needed = TABLES if keep == "jobs" else ()
    try:
        if not all((folder / name).stat().st_size for name in needed):
            return False
    except OSError:
        return False
    return finished_run(folder) is not None


def write_run(folder: Path, files: Mapping[str, str | bytes], error: str | None) -> None:
    """Write what a run gave, or why it failed, in place of what an attempt before left.

    Raises :class:`OSError` for what the system refuses.
    """
    _clear(folder)
    if error is not None:
        write_whole(folder / ERROR, f"{error}\n".encode(errors="backslashreplace"))
    # The last file says that all are there.
    for name in sorted(files, key=lambda name: name == RUN_JSON):
        write_whole(folder / name, files[name])


def _clear(folder: Path) -> None:
    """Remove what an attempt before left, only now: until then it is known that it failed.

    What another process as back end left is in a folder of its own, which it clears itself.
    """
    if folder.is_dir():
        for path in folder.iterdir():
            if not path.is_dir():
                path.unlink()
