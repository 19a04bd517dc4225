"""Converts the tables of Batsim 5 to the format of Batsim 4.2, which all readers read.

Source: files written by Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from math import nan
from pathlib import Path

import numpy as np

from batsched_py.errors import InputError
from batsched_py.files.csv_text import make_csv_line, quote_field
from batsched_py.files.readers import csv_rows, read_text
from batsched_py.processors.last_times import LastTimes
from batsched_py.processors.sets import MOST_PROCESSORS, ProcessorSet, from_text
from batsched_py.protocol.batsim_jobs_columns import (
    BATSIM_COLUMNS,
    JOBS_COLUMNS,
    LEAST_EXECUTION_TIME,
)
from batsched_py.protocol.dilated_jobs import PLACED, RUNS_AS, find_original, make_placed_id
from batsched_py.results.job_table import JobTable
from batsched_py.results.run_files import SCHEDULE, SUFFIX, find_beside, parse_batsim5_summary
from batsched_py.support.json_values import quote

_FROM_SUBMISSION = ("waiting_time", "turnaround_time", "stretch")
_NO_ENERGY = "-1.000000"
"""Of a job where energy is not accounted for."""
_SUMMARY = (
    *("batsim_version", "consumed_joules", "makespan"),
    *("max_slowdown", "max_turnaround_time", "max_waiting_time"),
    *("mean_slowdown", "mean_turnaround_time", "mean_waiting_time"),
    *("nb_computing_machines", "nb_grouped_switches"),
    *("nb_jobs", "nb_jobs_finished", "nb_jobs_killed", "nb_jobs_rejected", "nb_jobs_success"),
    *("nb_machine_switches", "scheduling_time", "simulation_time", "success_rate"),
    *("time_computing", "time_idle", "time_sleeping"),
    *("time_switching_off", "time_switching_on", "time_unavailable"),
)
"""The columns of Batsim 4.2's ``_schedule.csv``."""
_TIMES = {"scheduling_time": "time_in_edc_seconds", "simulation_time": "time_in_simu_seconds"}
"""Names in the other file of Batsim 5 of the values in the summary of Batsim 4.2."""


def convert_jobs(text: str) -> str:
    """Return the text of a ``_jobs.csv`` in the form of Batsim 4.2; other texts are unchanged.

    Batsim 5 writes the workload before the name of each profile, has no metadata, and says of
    registered jobs that they consumed 0 joules where energy is not accounted for, and were
    submitted when they were registered. So a job that was refused since another form of it runs is
    known by that form, which gets its submission.
    """
    if not text.startswith(f"{JOBS_COLUMNS}\n") or not _is_batsim5(_second_line(text)):
        return text
    header, *lines = text.split("\n")
    rows = [_row(line) for line in lines]
    jobs = list(filter(None, rows))
    forms = {row["job_id"] for row in jobs if row["workload_name"] == PLACED}
    replaced = {find_original(PLACED, name) for name in forms}
    submissions = {(row["workload_name"], row["job_id"]): row["submission_time"] for row in jobs}
    accounted = {row["consumed_energy"] for row in jobs} - {"", "0.000000", _NO_ENERGY}
    written = [header]
    for line, row in zip(lines, rows, strict=True):
        if not row:  # as wrong as it is
            written.append(line)
            continue
        workload, name = row["workload_name"], row["job_id"]
        row["profile"] = row["profile"].removeprefix(f"{workload}!")
        if row["consumed_energy"] == "0.000000" and not accounted:
            row["consumed_energy"] = _NO_ENERGY
        if (workload, name) in replaced:
            row["metadata"] = f"{RUNS_AS}{make_placed_id(f'{workload}!{name}').partition('!')[2]}"
        if workload == PLACED and (submitted := submissions.get(find_original(workload, name))):
            _submit_at(row, submitted)
        metadata = row.pop("metadata").replace('"', "'")
        written.append(f'{",".join(map(quote_field, row.values()))},"{metadata}"')
    return "\n".join(written)


def _submit_at(row: dict[str, str], time: str) -> None:
    """Let a job have been submitted at another time, as far as its row has numbers."""
    try:
        # Of the 1e-5 s that a zero-length job counts with, a date of 64 bits keeps few digits.
        submit, start, execution, finish = (
            Decimal(text)
            for text in (time, row["starting_time"], row["execution_time"], row["finish_time"])
        )
        times = (start - submit, finish - submit, (finish - submit) / execution)
    except (InvalidOperation, ZeroDivisionError):  # of no job that ran
        return
    row["submission_time"] = time
    for column, value in zip(_FROM_SUBMISSION, times, strict=True):
        row[column] = f"{value:.6f}"


def _row(line: str) -> dict[str, str]:
    """Return the fields of a job by name, none for a row that is not a job."""
    try:
        (values,) = csv_rows([line], "") if '"' in line else [line.split(",")]
    except (InputError, ValueError):
        return {}
    if len(values) != len(BATSIM_COLUMNS):
        return {}
    return dict(zip(BATSIM_COLUMNS, values, strict=True))


def _second_line(text: str) -> str:
    begin = text.find("\n") + 1
    end = text.find("\n", begin)
    return text[begin:end] if end >= 0 else text[begin:]


def _is_batsim5(line: str) -> bool:
    row = _row(line)  # Batsim 4.2 ends it with two quotation marks at least
    return bool(row) and "!" in row["profile"] and line.endswith(",")


def make_schedule(jobs: Path, table: JobTable) -> str:
    """Return the text of a ``_schedule.csv`` for a run of Batsim 5, by its ``PREFIX_jobs.csv``.

    ``table`` has the jobs. Raises :class:`InputError`, and :class:`UsageError` if there is no
    ``PREFIX_schedule.json``.
    """
    prefix = jobs.name.removesuffix(SUFFIX)
    path = jobs.with_name(f"{prefix}_{SCHEDULE}")
    summary = parse_batsim5_summary(read_text(path), path)
    real = find_beside(jobs, "real_exec_info.json")
    real_times = {} if real is None else parse_batsim5_summary(read_text(real), real)
    times = {name: real_times[there] for name, there in _TIMES.items() if there in real_times}
    try:
        nb_jobs = float(summary.get("nb_jobs", nan))
    except ValueError:
        found = quote(summary["nb_jobs"])
        raise InputError(f"{path}: nb_jobs is {found}, expected a number") from None
    switched = summary.get("nb_machine_switches", "0") != "0"
    values = summary | times | _of_jobs(table, nb_jobs, switched=switched)
    row = {name: values.get(name, "nan") for name in _SUMMARY}
    return make_csv_line(row) + make_csv_line(row.values())


def _of_jobs(table: JobTable, nb_jobs: float, *, switched: bool) -> dict[str, str]:
    """Return the values of ``table`` that Batsim 5 writes in another way than Batsim 4.2.

    ``nb_jobs`` are counted with each form of a job, ``switched``: whether machines were switched.
    The makespan is the last end of a job; versions of Batsim count it from different times. The
    times of the machines are those of the jobs, and until the last of each machine: to Batsim
    5.0.0-rc2 a machine computes from its first job to the start of its last. Where machines were
    switched, it is not known how long they were idle.
    """
    ran = table.only_ran
    last = LastTimes(ProcessorSet.interval(0, MOST_PROCESSORS))
    for finish, alloc in zip(
        table.finish.tolist(), table.text_column("allocated_resources"), strict=True
    ):
        if alloc:
            last.note(finish, from_text(alloc))
    lasted = np.where(ran.execution > LEAST_EXECUTION_TIME, ran.execution, 0.0)
    computing = float((ran.size * lasted).sum())
    values = {"makespan": max(ran.finish.tolist(), default=0.0), "time_computing": computing}
    until = sum(time * machines.size for time, machines in last.all())
    values["time_idle"] = nan if switched else until - computing
    if nb_jobs > len(table.submit):
        # Some ran in another form, which to Batsim 5 were submitted when they started.
        for name, column in (
            ("waiting_time", ran.waiting),
            ("turnaround_time", ran.turnaround),
            ("slowdown", ran.stretch),
        ):
            values[f"max_{name}"] = max(column.tolist(), default=0.0)
            values[f"mean_{name}"] = float(column.sum()) / nb_jobs
    return {name: f"{value:.6f}" for name, value in values.items()}
