"""Logs whose recorded waits are known: made by a policy, or by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from batsched_py import simulate
from batsched_py.results.job_table import JobTable
from batsched_py.results.swf_export import write_result_log
from batsched_py.units import WEEK
from batsched_py.workload.logs.swf import FIELDS, SwfLog, read_swf, write_swf

PROCESSORS = 16
RULES = "predictsim"


def log_of(waits: Sequence[float], weeks: int = 6, **fields: Any) -> SwfLog:
    """Return a log of jobs over so many weeks that recorded these waits; further fields by name."""
    nb = len(waits)
    columns: dict[str, Any] = {
        "job_number": np.arange(1, nb + 1),
        "submit_time": np.floor(np.arange(nb) * weeks * WEEK / nb),
        "wait_time": waits,
        "run_time": 100,
        "allocated_processors": 1,
        "requested_processors": 1,
        "requested_time": 600,
        "status": 1,
        "user": 1,
    } | fields
    data = np.full((nb, len(FIELDS)), -1.0)
    for name, column in columns.items():
        data[:, FIELDS.index(name)] = column
    return SwfLog(Path("hand.swf"), [f"; MaxProcs: {PROCESSORS}"], data, np.arange(nb), [])


def table_of(log: SwfLog, waits: Sequence[float], **columns: Any) -> JobTable:
    """Return the table of a run of a log in which jobs waited so long; nan: it was refused."""
    submit, run = log.column("submit_time"), log.column("run_time")
    start = submit + np.asarray(waits, dtype=float)
    ids = [str(int(number)) for number in log.column("job_number")]
    given: dict[str, Any] = {
        "submit": submit,
        "start": start,
        "finish": start + run,
        "execution": np.where(np.isnan(start), nan, run),
        "size": log.column("requested_processors"),
        "original_submit": submit,
        "user": [str(int(user)) for user in log.column("user")],
        "nb_processors": PROCESSORS,
        "texts": {"job_id": ids},
    }
    return JobTable(**given | columns)


def busy_log(seed: int = 0, nb: int = 900, weeks: int = 8) -> SwfLog:
    """Return a log of a machine that is busy enough for queues; its waits are 0."""
    rng = np.random.default_rng(seed)
    size = 2 ** rng.integers(0, 5, nb)
    return log_of(
        np.zeros(nb).tolist(),
        weeks,
        submit_time=np.sort(rng.integers(0, int(weeks * WEEK), nb)),
        run_time=rng.integers(600, 22_000, nb),
        requested_time=30_000,
        requested_processors=size,
        allocated_processors=size,
        user=rng.integers(1, 15, nb),
    )


def write_log(log: SwfLog, path: Path) -> Path:
    """Write a log; return its path."""
    write_swf(path, log.header_lines, log.data.tolist())
    return path


def under(policy: str, log: SwfLog, **settings: Any) -> JobTable:
    """Return the jobs of a rigid run of a log, by the rules of :func:`recorded_by`."""
    with TemporaryDirectory() as folder:
        path = write_log(log, Path(folder) / "log.swf")
        return simulate(path, scheduler=policy, rules=RULES, **settings).table_as_written()


def recorded_by(policy: str, log: SwfLog, path: Path) -> SwfLog:
    """Write a log whose waits are those under a policy; return it as it is read."""
    source = write_log(log, path.with_name("source.swf"))
    result = simulate(source, scheduler=policy, rules=RULES)
    write_result_log(result.table_as_written(), result.settings, path)
    return read_swf(path)
