"""The jobs of a simulation as an SWF log, so that others can use what simulated users submitted.

Source of the format: Chapin et al., JSSPP 1999, version 2.2 of the archive's definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.protocol.batsim_jobs_columns import LEAST_EXECUTION_TIME
from batsched_py.results.job_table import JobTable
from batsched_py.workload.swf import FIELDS, UNKNOWN, write_swf
from batsched_py.workload.swf_header import header_lines

_COMPLETED, _FAILED, _CANCELLED = 1, 0, 5
_NUMBER = re.compile(r"[1-9]\d{0,14}")
_USER = re.compile(r"-1|0|[1-9]\d{0,14}")


def write_result_log(table: JobTable, settings: dict[str, Any], path: str | Path) -> None:
    """Write the jobs of a simulation as an SWF log, gzipped if ``path`` ends with ``.gz``.

    ``table`` is as it was read or is written, ``settings`` are those of ``PREFIX_run.json``.
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
    lines, users = _lines(table)
    header = header_lines(
        nb_jobs=len(lines),
        nb_processors=settings["nb_processors"],
        unix_start_time=settings["unix_start_time"],
        time_zone=settings["time_zone"],
        notes=_notes(settings, users),
    )
    write_swf(path, header, (line.tolist() for line in lines))


def _lines(table: JobTable) -> tuple[NDArray[np.float64], dict[str, int]]:
    """Return the lines in order of submission, shape (n, 18), and the number of each user.

    Jobs of one instant are in order of their ids, numbers in them by value.
    """
    ids, submit = table.text_column("job_id"), table.submit.tolist()
    order = sorted(range(len(ids)), key=lambda row: (submit[row], *_natural(ids[row])))
    number_of = _numbers((ids[row] for row in order), _NUMBER)
    user_of = _numbers((table.user[row] for row in order), _USER)
    walltime, estimate = map(table.number_column, ("requested_time", "estimate"))
    run_time = np.where(table.execution > LEAST_EXECUTION_TIME, table.execution, 0)
    status = np.where(table.number_column("success") == 1, _COMPLETED, _FAILED)
    fields = {
        "job_number": [number_of[name] for name in ids],
        "submit_time": table.submit,
        "wait_time": np.where(table.ran, table.number_column("waiting_time"), UNKNOWN),
        "run_time": np.where(table.ran, run_time, UNKNOWN),
        "allocated_processors": np.where(table.ran, table.size, UNKNOWN),
        "requested_processors": table.number_column("requested_number_of_resources"),
        "requested_time": np.where(walltime >= 0, walltime, np.nan_to_num(estimate, nan=UNKNOWN)),
        "status": np.where(table.ran, status, _CANCELLED),
        "user": [user_of[user] for user in table.user],
    }
    lines = np.full((len(ids), len(FIELDS)), float(UNKNOWN))
    for name, column in fields.items():
        lines[:, FIELDS.index(name)] = column
    return lines[order], user_of


def _natural(name: str) -> tuple[str | tuple[int, str], ...]:
    """Return the text and the numbers of a name in turn, so that ``job10`` is after ``job9``."""
    parts = re.split(r"0*(\d+)", name, flags=re.ASCII)
    return tuple((len(part), part) if place % 2 else part for place, part in enumerate(parts))


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
