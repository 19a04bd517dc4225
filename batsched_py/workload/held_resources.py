"""The table of what each job of a log held of its nodes besides processors, as import writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np

from batsched_py.errors import InputError, UsageError
from batsched_py.files.readers import is_file, numbered_csv_rows, read_text
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.node_shares import CHUNKS, EXCLUSIVE, GPUS, MEMORY, NODES
from batsched_py.workload.workload import RUN_AFTER

_NUMBERS = (NODES, GPUS, MEMORY)
_CORES, _FIRST = "cores", "first_run"
_NEEDED = ("job", *_NUMBERS)
RUN, ELIGIBLE = "run", "eligible_s"
REASON, RESERVATION, ENDED_BY = "reason", "reservation", "ended_by"
"""Columns about the wait and the end of a job that no simulation uses."""
ENDS = {"preempted": "preempted", "requeued": "requeued", "node": "lost to failed nodes"}
"""What ended a run, by the text in its table."""
_OF_JOBS = (*_NUMBERS, CHUNKS, EXCLUSIVE, RUN_AFTER)
_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("job", _CORES, _FIRST, *_NUMBERS, RUN, ELIGIBLE), int),
    **dict.fromkeys((CHUNKS, REASON, RESERVATION, ENDED_BY), intern),
    EXCLUSIVE: "1".__eq__,
}
Row = dict[str, Any]
"""The fields of a job that are known, by name."""


class HeldResources:
    """What the jobs of a log hold of nodes: the fields of each row of the log.

    Raises :class:`UsageError` if there is no such table, and :class:`InputError` for one that makes
    no sense or belongs to another log.
    """

    def __init__(self, path: str, log: SwfLog) -> None:
        if not is_file(Path(path)):
            raise UsageError(
                f"{path}: there is no such table of resources, which the machine file names; "
                "`batsched-py import` writes it beside the log"
            )
        by_job = _read(path)
        numbers = log.column("job_number").astype(np.int64).tolist()
        rows = [by_job.get(number) for number in numbers]
        allocated = log.column("allocated_processors").tolist()
        differ = sum(
            row is not None and row.get(_CORES, held) != held and held > 0
            for row, held in zip(rows, allocated, strict=True)
        )
        self.notes: list[str] = []
        if missing := rows.count(None):
            self.notes.append(f"{missing} jobs are not in {path}: they hold processors only")
        if missing == len(rows) or differ > len(rows) / 2:
            raise InputError(
                f"{path}: {differ} jobs have other cores than in {log.path}, and {missing} of "
                f"{len(rows)} are missing: expected the table that belongs to this log"
            )
        if differ:
            self.notes.append(f"{differ} jobs have other cores in {path} than in the log")
        run_of = {(row.get(_FIRST), row.get(RUN)): job for job, row in by_job.items()}
        for row in by_job.values():
            run, first = row.get(RUN, 1), row.get(_FIRST)
            if run > 1 and (first, run - 1) in run_of:
                row[RUN_AFTER] = str(run_of[first, run - 1])
        self.known = [row or {} for row in rows]
        """All that the table has of each job, by the names of its columns."""
        self.rows = [{name: row[name] for name in _OF_JOBS if name in row} for row in self.known]


def _read(path: str) -> dict[int, Row]:
    lines = numbered_csv_rows(read_text(path).splitlines(keepends=True), path)
    _, header = next(lines, (1, []))
    for name in _NEEDED:
        if name not in header:
            raise InputError(f"{path}:1: there is no column {name}: expected {', '.join(_NEEDED)}")
    parsers = [(at, name, _PARSERS[name]) for at, name in enumerate(header) if name in _PARSERS]
    rows: dict[int, Row] = {}
    for line, fields in lines:
        try:
            if len(fields) != len(header):
                raise ValueError(f"{len(fields)} fields, expected {len(header)}")
            row = {name: parse(fields[at]) for at, name, parse in parsers if fields[at]}
            if rows.setdefault(row.pop("job"), row) is not row:
                raise ValueError("its job has a row above")
        except (ValueError, KeyError) as error:
            expected = "expected one row for each job, with whole numbers or nothing"
            raise InputError(f"{path}:{line}: {error}: {expected}") from None
    return rows
