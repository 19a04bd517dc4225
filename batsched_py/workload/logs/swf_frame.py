"""Make a log of a pandas DataFrame: one row per job, columns of the Standard Workload Format."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from batsched_py.errors import LogError, UsageError, parameter
from batsched_py.support.json_values import did_you_mean, is_number, quote, to_python
from batsched_py.workload.logs.field_names import check_field_names, field_of
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


def log_from_frame(
    frame: pd.DataFrame, *, skip_bad_lines: bool = False, keep: Collection[str] = ()
) -> SwfLog:
    """Return the log in a data frame, as :func:`~batsched_py.workload.logs.swf.read_swf` does.

    Columns are :data:`~batsched_py.workload.logs.swf.FIELDS`, or have the names that the archive,
    evalys or Batsim give them, in any case and with any signs between words; the index counts as
    a column if it has such a name. Times are in seconds. ``submit_time``, ``run_time`` and the
    requested or the allocated processors must be there; what else is missing is unknown, as are
    empty cells, and jobs without numbers get 1, 2, ... by row. Columns of other names are read only
    if ``keep`` has them; a note lists the rest. ``frame.attrs`` is the header: ``MaxProcs``,
    ``UnixStartTime`` and so on.

    With ``skip_bad_lines`` rows that make no sense are left out and counted in the notes. Raises
    :class:`LogError` for them else, and :class:`UsageError` for anything else.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise UsageError(
            f"{quote(frame)} is not an input: expected a log's name, the path of a file, a "
            "Workload or a pandas DataFrame"
        )
    if frame.index.name is not None and field_of(frame.index.name) is not None:
        frame = frame.reset_index()
    columns, others = _columns(frame)
    check_field_names(NAME, keep, others)
    further = {name: _read_values(series) for name, series in others.items() if name in keep}
    ignored = ", ".join(name for name in others if name not in keep)
    notes = [f"columns that SWF does not have were not read: {ignored}"] if ignored else []
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
    log = log_from_rows(Path(NAME), header, data[rows], lines, notes, parts[rows], left_out)
    log.further = {name: [of[row] for row in log.lines.tolist()] for name, of in further.items()}
    return log


def digest(log: SwfLog) -> str:
    """Return the SHA-256 of the content of a log, in hexadecimal."""
    content = hashlib.sha256("\n".join(log.header_lines).encode())
    content.update(np.ascontiguousarray(log.data, dtype="<f8").tobytes())
    if log.further:
        content.update(msgspec.json.encode(log.further))
    return content.hexdigest()


def _columns(
    frame: pd.DataFrame,
) -> tuple[dict[str, pd.Series[Any]], dict[str, pd.Series[Any]]]:
    """Return the columns by field, and others by name; raises :class:`UsageError`."""
    places: dict[str, int] = {}
    others: dict[str, pd.Series[Any]] = {}
    for place, name in enumerate(frame.columns):
        field = field_of(name)
        if field is None:
            others[str(name)] = frame.iloc[:, place]
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
    return {field: frame.iloc[:, place] for field, place in places.items()}, others


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


def _read_values(series: pd.Series[Any]) -> list[Any]:
    """Return the values of a column that SWF does not have, None where a cell is empty."""
    cells = zip(series.index, series.astype(object), series.isna(), strict=True)
    values: list[Any] = []
    for row, cell, is_empty in cells:
        value = None if is_empty else to_python(cell)
        if not (is_empty or isinstance(value, str | bool) or is_number(value)):
            raise UsageError(
                f"{NAME}, row {row}, column {series.name}: found {quote(value)}, expected a text, "
                "a finite number or a boolean, since the column is kept"
            )
        values.append(value)
    return values


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
