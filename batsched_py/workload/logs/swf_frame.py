"""Make a log of a pandas DataFrame: one row per job, columns of the Standard Workload Format."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.errors import LogError, UsageError, parameter
from batsched_py.support.json_values import did_you_mean, quote
from batsched_py.workload.logs.swf import (
    FIELDS,
    NAMED,
    UNKNOWN,
    Column,
    LeftOut,
    SwfLog,
    describe_expected,
    find_bad,
    find_bursts,
    log_from_rows,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "DataFrame"
"""What a log that was no file is called, in messages and in what is stored of a run."""
_OTHER_NAMES = {
    "job_number": "job, job_id, id",
    "submit_time": "submit, submission_time",
    "wait_time": "wait, waiting_time",
    "run_time": "execution_time",
    "allocated_processors": "number_of_allocated_processors, proc_alloc",
    "average_cpu_time": "average_cpu_time_used, cpu_used",
    "used_memory": "mem_used",
    "requested_processors": (
        "requested_number_of_processors, proc_req, requested_number_of_resources"
    ),
    "requested_time": "user_est, time_req",
    "requested_memory": "mem_req",
    "user": "user_id, user_number, uid",
    "group": "group_id, group_number, gid",
    "executable": "executable_number, executable_application_number, exe_num",
    "queue": "queue_id, queue_number",
    "partition": "partition_id, partition_number",
    "preceding_job": "preceding_job_number, prev_jobs",
    "think_time": "think_time_from_preceding_job",
}
"""What the fields are called elsewhere: in the archive's definition, in evalys, by Batsim."""


def log_from_frame(frame: pd.DataFrame, *, skip_bad_lines: bool = False) -> SwfLog:
    """Return the log in a data frame, as :func:`~batsched_py.workload.logs.swf.read_swf` does.

    Columns are :data:`~batsched_py.workload.logs.swf.FIELDS`, or have the names that the archive,
    evalys or Batsim give them, in any case and with any signs between words; the index counts as
    a column if it has such a name. Times are in seconds. ``submit_time``, ``run_time`` and the
    requested or the allocated processors must be there; what else is missing is unknown, as are
    empty cells, and jobs without numbers get 1, 2, ... by row. Columns of other names are not read,
    which is noted. ``frame.attrs`` is the header: ``MaxProcs``, ``UnixStartTime`` and so on.

    With ``skip_bad_lines`` rows that make no sense are left out and counted in the notes. Raises
    :class:`LogError` for them else, and :class:`UsageError` for anything else.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise UsageError(
            f"{quote(frame)} is not an input: expected a log's name, the path of a file, a "
            "Workload or a pandas DataFrame"
        )
    if frame.index.name is not None and _field_of(frame.index.name) is not None:
        frame = frame.reset_index()
    columns, notes = _columns(frame)
    data = np.full((len(frame), len(FIELDS)), float(UNKNOWN))
    data[:, 0] = np.arange(1, len(frame) + 1)
    for field, series in columns.items():
        data[:, FIELDS.index(field)] = _read_numbers(field, series)
    parts = find_bursts(data)
    wrong = find_bad(data, parts)
    bad = np.logical_or.reduce([*wrong.values()])
    for field, series in columns.items():
        if wrong[field].any() and not skip_bad_lines:
            _raise(field, series, int(np.argmax(wrong[field])))
    if (bad | parts).all():
        raise LogError(f"{NAME}: none of its {len(frame)} rows is a job")
    left_out = None
    if bad.any():
        labels = [str(label) for label in frame.index[bad]]
        left_out = LeftOut("rows", np.flatnonzero(bad).tolist(), labels)
    header = [f"; {key}: {' '.join(str(value).split())}" for key, value in frame.attrs.items()]
    rows = np.flatnonzero(~bad)
    lines = rows.astype(np.int64)
    return log_from_rows(Path(NAME), header, data[rows], lines, notes, parts[rows], left_out)


def digest(log: SwfLog) -> str:
    """Return the SHA-256 of the content of a log, in hexadecimal."""
    content = hashlib.sha256("\n".join(log.header_lines).encode())
    content.update(np.ascontiguousarray(log.data, dtype="<f8").tobytes())
    return content.hexdigest()


def _plain(name: object) -> str:
    return re.sub(r"[\W_]", "", str(name)).lower()


_FIELD_OF = {_plain(field): field for field in FIELDS} | {
    _plain(other): field for field, others in _OTHER_NAMES.items() for other in others.split(",")
}


def _field_of(name: object) -> str | None:
    return _FIELD_OF.get(_plain(name))


def _columns(frame: pd.DataFrame) -> tuple[dict[str, pd.Series[Any]], list[str]]:
    """Return the columns by field, and a note on others; raises :class:`UsageError`."""
    places: dict[str, int] = {}
    others: list[str] = []
    for place, name in enumerate(frame.columns):
        field = _field_of(name)
        if field is None:
            others.append(str(name))
        elif field in places:
            raise UsageError(
                f"{NAME}: the columns {frame.columns[places[field]]!r} and {name!r} are both "
                f"{field}: leave one of them out"
            )
        else:
            places[field] = place
    sizes = ("requested_processors", "allocated_processors")
    needed = ["submit_time", "run_time", *([] if {*sizes} & {*places} else sizes[:1])]
    if missing := [field for field in needed if field not in places]:
        found = ", ".join(map(str, frame.columns)) or "none"
        hint = did_you_mean(missing[0], others)
        raise UsageError(
            f"{NAME}: no column {', '.join(missing)}{hint}; found {found[:200]}; expected some of "
            f"{', '.join(FIELDS)}"
        )
    notes = [f"columns that SWF does not have were not read: {', '.join(others)}"] if others else []
    return {field: frame.iloc[:, place] for field, place in places.items()}, notes


def _read_numbers(field: str, series: pd.Series[Any]) -> Column:
    """Return the numbers of a column: -1 where it is empty, nan where there is no number."""
    import pandas as pd

    if series.dtype.kind in "mM":
        raise UsageError(
            f"{NAME}: column {series.name!r} has {series.dtype}: expected seconds as numbers, such "
            "as (times - times.min()).dt.total_seconds()"
        )
    numbers = pd.to_numeric(series.astype(object), errors="coerce")
    empty = np.nan if field == "job_number" else UNKNOWN
    return np.where(series.isna().to_numpy(), empty, numbers.to_numpy(np.float64, na_value=np.nan))


def _raise(field: str, series: pd.Series[Any], row: int) -> None:
    """Raise :class:`LogError` for the first cell of a column that makes no sense."""
    value = series.astype(object).iloc[row]
    expected = describe_expected(field)
    if field in NAMED and isinstance(value, str):
        expected += f" (frame[{series.name!r}].factorize()[0] numbers names)"
    raise LogError(
        f"{NAME}, row {series.index[row]}, column {series.name}: found {quote(value)}, expected "
        f"{expected}; {parameter('skip_bad_lines')} leaves such rows out"
    )
