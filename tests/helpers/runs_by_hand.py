"""Runs made by hand, as files of Batsim's columns and ours."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS
from helpers.sealed_runs import seal

_HEADER = ",".join(BATSIM_COLUMNS)
_OURS = "," + ",".join(ADDED_COLUMNS)


class Row(NamedTuple):
    """A job that ran, or one that was rejected (start None).

    It came when it was recorded unless that is said; nan: it never was.
    """

    id: str
    submit: float
    start: float | None
    run: float = 10.0
    size: int = 1
    user: str = "ann"
    recorded: float | None = None
    workload: str = "w0"
    profile: str = "p"
    first: int = 0
    measured: bool = True


def write_run(
    prefix: Path, rows: Iterable[Row], settings: dict[str, Any] | None = None, ours: bool = True
) -> None:
    """Write ``PREFIX_jobs.csv``, and ``PREFIX_run.json`` if there are settings."""
    rows = list(rows)
    lines = [_HEADER + (_OURS if ours else ""), *(_line(row, ours) for row in rows)]
    if not all(row.measured for row in rows):
        marks = ["measured", *(str(int(row.measured)) for row in rows)]
        lines = [f"{line},{mark}" for line, mark in zip(lines, marks, strict=True)]
    prefix.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{prefix}_jobs.csv").write_text("\n".join(lines) + "\n")
    if settings is not None:
        seal(Path(f"{prefix}_run.json"), settings)


def settings(scheduler: str = "easy", nb: int = 8, seed: int = 0, **run: Any) -> dict[str, Any]:
    """What ``PREFIX_run.json`` holds, as far as it matters here."""
    return {
        "input": {"name": "log.swf", "sha256": "12" * 32},
        "run": {"scheduler": scheduler, "users": "rigid", "seed": seed, **run},
        "rules": {"size": "requested"},
        "nb_processors": nb,
        "versions": {"batsched_py": "1"},
        "wall_time": 0.1,
    }


def _line(row: Row, ours: bool) -> str:
    head = f"{row.id},{row.workload},{row.profile},{row.submit:.6f},{row.size},100.0"
    if row.start is None:
        text = f'{head},0,REJECTED,,,,,,,,,""'
    else:
        end, wait = row.start + row.run, row.start - row.submit
        processors = to_text(ProcessorSet.interval(row.first, row.size))
        text = (
            f"{head},1,COMPLETED_SUCCESSFULLY,{row.start:.6f},{row.run:.6f},{end:.6f},{wait:.6f},"
            f'{end - row.submit:.6f},{(end - row.submit) / row.run:.6f},{processors},-1.0,""'
        )
    recorded = row.submit if row.recorded is None else row.recorded
    late = "," if isnan(recorded) else f"{recorded:.6f},{row.submit - recorded:.6f}"
    return text + (f",{row.user},1,{late}" if ours else "")
