"""Writes the jobs of a simulation as an SWF log, for use in other programs.

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
from batsched_py.results.swf_losses import find_losses
from batsched_py.support.natural_order import natural_key
from batsched_py.workload.grid_sites import HOME
from batsched_py.workload.logs.swf import CANCELLED, FIELDS, UNKNOWN, SwfLog, write_swf
from batsched_py.workload.logs.swf_header import SYNTHETIC, make_header_lines
from batsched_py.workload.machine_description import PARTITION, MachineDescription

_COMPLETED, _FAILED = 1, 0
_NAMED = ("group", "queue", PARTITION)
"""Fields of a job that policies may see."""
_PLURALS = {"job_number": "jobs", "user": "users", "group": "groups", "queue": "queues"}
_NUMBER = re.compile(r"[1-9]\d{0,14}")
_USER = re.compile(r"-1|0|[1-9]\d{0,14}")


def write_result_log(
    table: JobTable,
    settings: dict[str, Any],
    path: str | Path,
    machine: MachineDescription | None = None,
    exact: JobTable | None = None,
    fields: Iterable[str] = (),
) -> list[str]:
    """Write the jobs of a simulation as an SWF log, gzipped if ``path`` ends with ``.gz``.

    ``table`` is as it was read or is written, ``settings`` are those of ``PREFIX_run.json``, and
    ``machine`` is the content of the machine file, if there was one. ``exact`` has the times with
    all digits, in the same rows; ``fields`` are the names of the further fields of the jobs. A
    replay with the same options gives the same schedule, but for what the returned sentences
    name, see :func:`~batsched_py.results.swf_losses.find_losses`; they are in the header too.

    The lines are in order of submission. Times are those of ``PREFIX_jobs.csv``, so they are exact
    to the microsecond; waits are the simulated system's, and run times what the jobs took on the
    simulated processors. The requested time is the walltime, else the estimate that policies saw,
    else unknown (-1). Group, queue and partition are those that policies saw. Where a machine file
    made nodes of the processors of a job, its size is in processors again.
    The status is 1 for jobs that went well and 0 for those that failed or were killed. A job that
    never began has the status 5 (cancelled), and its run time and allocation are unknown. The wait
    of a withdrawn job ends at its withdrawal, that of a rejected job is unknown.

    Job numbers are the jobs' ids where these are all numbers, so that both files name a job alike
    and replay breaks ties in the same way; else jobs are numbered from 1 in the order of
    the lines. So are users, by their first job. Jobs of rare behaviour are among the lines, for
    they load the machine.

    Raises :class:`~batsched_py.errors.OutputError` if the file cannot be written; then nothing is
    left behind.
    """
    cores = _cores(table, machine)
    lines, order, names = _lines(table, machine, cores)
    notes = _lost_names(names)
    if lost := sorted({*fields} - {*_NAMED, HOME}):
        notes.append(f"further fields of the jobs were lost: {', '.join(lost)}")
    data, rows = lines[order], np.arange(len(lines))
    log = SwfLog(Path(path), [], data, rows, [])
    numbers = [names["job_number"][name] for name in table.text_column("job_id")]
    simulated = (
        table
        if exact is None
        else msgspec.structs.replace(table, submit=exact.submit, execution=exact.execution)
    )
    if len(lines):
        notes += find_losses(simulated, numbers, log, settings["run"], machine)
    header = make_header_lines(
        nb_jobs=len(lines),
        nb_processors=settings["nb_processors"] * int(cores.max(initial=1)),
        unix_start_time=settings["unix_start_time"],
        time_zone=settings["time_zone"],
        notes=[SYNTHETIC, *_notes(settings), *notes],
    )
    write_swf(path, header, (line.tolist() for line in data))
    return notes


def _cores(table: JobTable, machine: MachineDescription | None) -> NDArray[np.float64]:
    """Return how many processors of a log a processor of the simulation is, for each job."""
    if machine is None:
        return np.ones(len(table.submit))
    places = map(machine.find_place, table.text_column(PARTITION))
    parts = (machine.partitions[place] for place in places)
    return np.array([part.cores / part.unit for part in parts], dtype=np.float64)


def _lines(
    table: JobTable, machine: MachineDescription | None, cores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[int], dict[str, dict[str, int]]]:
    """Return the lines, shape (n, 18), their order, and the number of each name by field.

    The order is that of submission. Jobs of one instant are in order of their ids, numbers in them
    by value.
    """
    ids, submit = table.text_column("job_id"), table.submit.tolist()
    order = sorted(range(len(ids)), key=lambda row: (submit[row], natural_key(ids[row])))
    texts = {"user": table.user} | {name: table.text_column(name) for name in _NAMED}
    names = {"job_number": _numbers((ids[row] for row in order), _NUMBER)} | {
        field: _numbers((column[row] for row in order), _USER) for field, column in texts.items()
    }
    if machine is not None:
        numbers = {part.name: part.number for part in machine.partitions}
        names[PARTITION] = {
            name: UNKNOWN if (number := numbers.get(name)) is None else number
            for name in texts[PARTITION]
        }
    walltime, estimate = map(table.number_column, ("requested_time", "estimate"))
    run_time = np.where(table.execution > LEAST_EXECUTION_TIME, table.execution, 0)
    status = np.where(table.number_column("success") == 1, _COMPLETED, _FAILED)
    fields = {
        "job_number": [names["job_number"][name] for name in ids],
        "submit_time": table.submit,
        "wait_time": np.where(
            table.ran | table.withdrawn, table.number_column("waiting_time"), UNKNOWN
        ),
        "run_time": np.where(table.ran, run_time, UNKNOWN),
        "allocated_processors": np.where(table.ran, table.size * cores, UNKNOWN),
        "requested_processors": table.number_column("requested_number_of_resources") * cores,
        "requested_time": np.where(walltime >= 0, walltime, np.nan_to_num(estimate, nan=UNKNOWN)),
        "status": np.where(table.ran, status, CANCELLED),
        **{field: [names[field][text] for text in column] for field, column in texts.items()},
    }
    lines = np.full((len(ids), len(FIELDS)), float(UNKNOWN))
    for name, column in fields.items():
        lines[:, FIELDS.index(name)] = column
    return lines, order, names


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


def _lost_names(names: dict[str, dict[str, int]]) -> list[str]:
    """Return notes on names that became numbers."""
    return [
        f"{plural} are numbered by their first job in this log; their names were lost"
        for field, plural in _PLURALS.items()
        if any(name and name != str(number) for name, number in names[field].items())
    ]


def _notes(settings: dict[str, Any]) -> list[str]:
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
    return notes


def _options(options: dict[str, Any]) -> str:
    return f" {_json(options)}" if options else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()
