"""The jobs of a simulation as an SWF log, so that others can use what simulated users submitted.

Source of the format: Chapin et al., JSSPP 1999, version 2.2 of the archive's definition.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.files.output_files import LEAST_EXECUTION_TIME
from batsched_py.support.processor_sets import from_text
from batsched_py.workload.swf import FIELDS, UNKNOWN, fields_in_order, write_swf
from batsched_py.workload.swf_header import header_lines

if TYPE_CHECKING:
    from batsched_py.results.result import Result

_COMPLETED, _FAILED, _CANCELLED = 1, 0, 5
_NUMBER = re.compile(r"[1-9]\d{0,14}")
_USER = re.compile(r"-1|0|[1-9]\d{0,14}")


def write_result_log(result: Result, path: str | Path) -> None:
    """Write the jobs of ``result`` as an SWF log, gzipped if ``path`` ends with ``.gz``.

    The lines are in order of submission. Times are those of ``PREFIX_jobs.csv``, so they are exact
    to the microsecond; waits are the simulated system's, and run times what the jobs took on the
    simulated processors. The requested time is the walltime, else the estimate that policies were
    told, else unknown (-1).
    The status is 1 for jobs that went well and 0 for those that failed or were killed. A rejected
    job never began: its status is 5 (cancelled), its wait, run time and allocation are unknown.

    Job numbers are the jobs' ids where these are all numbers, so that jobs can be told in both
    files, and replay breaks ties in the same way; else jobs are numbered from 1 in the order of
    the lines. So are users, by their first job. Jobs of rare behaviour are among the lines, for
    they load the machine.

    Raises :class:`~batsched_py.errors.OutputError` if the file cannot be written; then nothing is
    left behind.
    """
    jobs = _Jobs()
    for row in csv.DictReader(result.output.jobs_lines()):
        jobs.add(row)
    lines, users = jobs.in_order()
    settings = result.settings
    header = header_lines(
        nb_jobs=len(lines),
        nb_processors=settings["nb_processors"],
        unix_start_time=settings["unix_start_time"],
        time_zone=settings["time_zone"],
        notes=_notes(settings, users),
    )
    write_swf(path, header, (line.tolist() for line in lines))


class _Jobs:
    """The lines of the log while they are collected, 144 bytes each beside the names."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._users: list[str] = []
        self._fields = array("d")

    def add(self, row: dict[str, str]) -> None:
        """Take a row of ``PREFIX_jobs.csv``."""
        self._ids.append(row["job_id"])
        self._users.append(intern(row["user"]))
        self._fields.extend(_fields(row))

    def in_order(self) -> tuple[NDArray[np.float64], dict[str, int]]:
        """Return the lines in order of submission, shape (n, 18), and the number of each user.

        Jobs of one instant are in order of their ids, numbers in them by value.
        """
        lines = np.array(self._fields).reshape(-1, len(FIELDS))
        submit = lines[:, FIELDS.index("submit_time")].tolist()
        ids, users = self._ids, self._users
        order = sorted(range(len(ids)), key=lambda at: (submit[at], *_natural(ids[at])))
        lines = lines[order]
        number_of = _numbers((ids[at] for at in order), _NUMBER)
        lines[:, FIELDS.index("job_number")] = [number_of[ids[at]] for at in order]
        user_of = _numbers((users[at] for at in order), _USER)
        lines[:, FIELDS.index("user")] = [user_of[users[at]] for at in order]
        return lines, user_of


def _natural(name: str) -> tuple[int | str, ...]:
    """Return the text and the numbers of a name in turn, so that ``job10`` is after ``job9``."""
    parts = re.split(r"(\d+)", name, flags=re.ASCII)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts))


def _numbers(texts: Iterable[str], form: re.Pattern[str]) -> dict[str, int]:
    """Return a number for each text: its own if all are numbers, else by first appearance.

    The empty text is what is unknown.
    """
    there = dict.fromkeys(text for text in texts if text)
    if all(map(form.fullmatch, there)):
        numbers = {text: int(text) for text in there}
    else:
        numbers = {text: number for number, text in enumerate(there, start=1)}
    return numbers | {"": UNKNOWN}


def _fields(row: dict[str, str]) -> list[float]:
    """Return the 18 fields of a job, without its number and its user."""
    fields: dict[str, float] = {
        "submit_time": float(row["submission_time"]),
        "requested_processors": int(row["requested_number_of_resources"]),
        "requested_time": _requested_time(row),
        "status": _CANCELLED,
    }
    if row["final_state"] != REJECTED:
        run_time = float(row["execution_time"])
        fields |= {
            "wait_time": float(row["waiting_time"]),
            "run_time": run_time if run_time > LEAST_EXECUTION_TIME else 0,
            "allocated_processors": from_text(row["allocated_resources"]).bit_count(),
            "status": _COMPLETED if row["success"] == "1" else _FAILED,
        }
    return fields_in_order(fields)


def _requested_time(row: dict[str, str]) -> float:
    """Return the walltime, else the run time that policies were told, else -1."""
    walltime = float(row["requested_time"])
    if walltime >= 0:
        return walltime
    return float(row.get("estimate") or UNKNOWN)


def _notes(settings: dict[str, Any], users: dict[str, int]) -> list[str]:
    run, source = settings["run"], settings["input"]
    digest = f" (SHA-256 {source['sha256']})" if source["sha256"] else ""
    notes = [
        f"users: {run['users']}{_options(run['user_options'])}, seed {run['seed']}",
        f"policy: {run['scheduler']}{_options(run['scheduler_options'])}, "
        f"speed factor {run['speed_factor']:g}, back end {run['backend']}",
    ]
    if run["shake"] is not None:
        notes.append(f"simultaneous events in random order, seed {run['shake']}")
    if source["nb_jobs"]:
        notes += [
            f"derived from {source['name']}{digest}, {source['nb_jobs']} jobs: cite that log too, "
            "and acknowledge its providers as its own header asks",
            f"rules by which it became jobs: {_json(settings['rules'])}",
        ]
    if any(name and name != str(number) for name, number in users.items()):
        notes.append("users are numbered by their first job in this log; their names were lost")
    return notes


def _options(options: dict[str, Any]) -> str:
    return f" {_json(options)}" if options else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()
