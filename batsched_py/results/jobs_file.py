"""Reads the ``_jobs.csv`` of batsched-py and of Batsim; :mod:`.job_table` has its columns."""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress, islice
from math import isfinite, nan
from pathlib import Path
from sys import intern

import numpy as np

from batsched_py.errors import BatschedError, InputError, ProtocolError, located
from batsched_py.files.readers import csv_rows, numbered_csv_rows, read_text
from batsched_py.options.setting_fields import parse_limits
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text
from batsched_py.protocol.batsim_jobs_columns import NEVER_RAN, SECONDS, TEXT, WITHDRAWN
from batsched_py.protocol.dilated_jobs import PLACED, find_original, is_replaced
from batsched_py.protocol.own_job_fields import WAKING, WITHDRAWAL
from batsched_py.results.batsim5_tables import convert_jobs
from batsched_py.results.job_table import (
    COLUMNS,
    MEASURED,
    RARE,
    Column,
    JobTable,
    SiteColumns,
    compute_requested_work,
    mark_on_time,
)
from batsched_py.results.machine_power import CHANGES, POWER, Change, MachinePower
from batsched_py.results.run_files import SUFFIX, find_beside, read_settings, read_sites_of_run
from batsched_py.results.whole_run import RUN_JSON, is_named
from batsched_py.support.old_names import hint_old_name
from batsched_py.workload.grid_sites import HOME, GridSites
from batsched_py.workload.processor_power import PowerGroup, PowerGroups, ProcessorPower
from batsched_py.workload.workload import ORIGINAL_SUBMISSION

_TIMES = ("starting_time", "execution_time", "finish_time")
NEEDED = ("submission_time", "final_state", *_TIMES, "allocated_resources")
_CLOCKS_DIFFER = 1e-3
"""Seconds by which Batsim's clock may be ahead of the time that a scheduler knows."""
_BATCH = 128  # rows at a time: so few stay in the cache, and that is twice as fast

Numbers = dict[str, Column]
Texts = dict[str, list[str]]
JobKey = tuple[str, str]


@lru_cache(1 << 16)
def count_processors(text: str) -> int:
    """Return the size of a set of processors, read by :func:`.sets.from_text`."""
    return len(from_text(text))


def read_jobs(
    path: str | Path,
    nb_processors: int | None = None,
    needed: Sequence[str] = NEEDED,
    sites: GridSites | None = None,
) -> JobTable:
    """Read a ``_jobs.csv`` of batsched-py, Batsim 4.2 or Batsim 5, in order of completion.

    Where it has no users, ``PREFIX_users.csv`` next to it has the added columns; else it is not
    known who submitted a job, nor when it was recorded. Where it does not say which jobs are
    measured, it follows from their behaviour. ``PREFIX_run.json`` has the ``sites`` unless they are
    given. Columns that are not ``needed`` may be missing, others may be there. Raises
    :class:`InputError`, which names file, line and column, for another file, and if the
    run is not whole (:mod:`.whole_run`).
    """
    path = Path(path)
    text = convert_jobs(read_text(path))
    users = find_beside(path, "users.csv")
    try:
        numbers, texts = read_columns(io.StringIO(text), where=path)
        if users is not None and "user" not in texts:
            _add_columns(users, numbers, texts)
        numbers, texts = _each_job_once(numbers, texts)
        _check_header(path, [*numbers, *texts], needed)
        sites = read_sites_of_run(path) if sites is None else sites
        table = _table(numbers, texts, nb_processors, needed, sites)
    except (ValueError, ProtocolError) as error:
        _raise_first_fault(path, text, [n for n in needed if n != "user" or users is None])
        raise InputError(f"{path}: {error}") from None
    return _add_stored_power(table, path)


def parse_jobs(
    lines: Iterable[str], nb_processors: int | None = None, sites: GridSites = ()
) -> JobTable:
    """Return the table of jobs in the lines of a ``_jobs.csv`` of batsched-py."""
    return _table(*read_columns(lines), nb_processors, sites=sites)


def read_columns(
    lines: Iterable[str], units: Mapping[str, str] = COLUMNS, where: object = SUFFIX
) -> tuple[Numbers, Texts]:
    """Return the columns of a CSV file by name: numbers (nan = none) where ``units`` has a unit.

    All others are texts. Raises :class:`ValueError`, or :class:`InputError` beginning with
    ``where``, for what is none.
    """
    reader = csv_rows(lines, where)
    header = next(reader, [])
    if not header or len(set(header)) < len(header):
        raise ValueError("expected a header, each column once")
    numbers = {name: array("d") for name in header if units.get(name, TEXT) != TEXT}
    texts: Texts = {name: [] for name in header if name not in numbers}
    while rows := list(islice(reader, _BATCH)):
        for name, *values in zip(header, *rows, strict=True):
            if name in texts:
                texts[name].extend(map(intern, values))
            else:
                numbers[name].extend([float(value) if value else nan for value in values])
    return {name: np.asarray(column) for name, column in numbers.items()}, texts


def make_job_keys(texts: Texts) -> list[JobKey]:
    """Return the key of each job: its workload and its name."""
    return list(zip(texts["workload_name"], texts["job_id"], strict=True))


def _table(
    numbers: Numbers,
    texts: Texts,
    nb_processors: int | None,
    needed: Sequence[str] = NEEDED,
    sites: GridSites = (),
) -> JobTable:
    """Return the table of columns; raises :class:`ValueError` for what :func:`_check_row` finds."""
    submit = numbers["submission_time"]
    none, unknown = np.full(len(submit), nan), [""] * len(submit)
    state, behaviour = texts.get("final_state", unknown), texts.get("behaviour", unknown)
    ran = np.array([name not in NEVER_RAN for name in state], dtype=np.bool_)
    start, execution, finish = (np.where(ran, numbers.get(name, none), nan) for name in _TIMES)
    original = numbers.get(ORIGINAL_SUBMISSION, none)
    recorded = original[~np.isnan(original)]
    times = [submit, recorded, *(numbers[name][ran] for name in _TIMES if name in needed)]
    if not all(np.isfinite(column).all() for column in times):
        raise ValueError("a time is not a number of seconds")
    if ((execution < 0) | (finish < start)).any():
        raise ValueError("a job ends before it starts")
    size = none
    if "allocated_resources" in texts:
        places = np.where(ran, np.array(texts["allocated_resources"], object), "").tolist()
        sizes = [count_processors(place) if place else 0 for place in places]
        size = np.array(sizes, dtype=np.float64)
    else:
        sites = ()  # it is not known where jobs ran
    table = JobTable(
        submit=submit,
        start=start,
        finish=finish,
        execution=execution,
        size=size,
        original_submit=original,
        user=texts.get("user", unknown),
        nb_processors=nb_processors,
        rare=np.array([name == RARE for name in behaviour], dtype=np.bool_),
        numbers=numbers,
        texts=texts,
    )
    if MEASURED in numbers:
        table.measured = numbers[MEASURED] == 1
    _add_withdrawals(table, state)
    if "deadline" in numbers:
        succeeded = table.number_column("success") == 1
        table.on_time = mark_on_time(numbers["deadline"], finish, succeeded)
    table.waking = np.nan_to_num(numbers.get(WAKING, np.zeros(len(submit))))
    return _with_sites(table, sites) if sites else table


def _add_withdrawals(table: JobTable, state: list[str]) -> None:
    """Complete the table with the withdrawals, which Batsim calls rejections."""
    numbers, texts = table.numbers, table.texts
    withdrawal = np.where(table.ran, nan, table.number_column(WITHDRAWAL))
    withdrawn = np.isfinite(withdrawal)
    if any(name == WITHDRAWN for name in compress(state, ~withdrawn)):
        raise ValueError(f"a job was {WITHDRAWN} at an unknown time")
    if not withdrawn.any():
        return
    if (withdrawal < table.submit - _CLOCKS_DIFFER).any():
        raise ValueError("a job was withdrawn before its submission")
    table.withdrawal = np.maximum(withdrawal, table.submit)
    table.requested = compute_requested_work(
        *map(table.number_column, ("requested_number_of_resources", "requested_time", "estimate"))
    )
    waits = table.withdrawal - table.submit
    numbers["waiting_time"] = np.where(withdrawn, waits, table.number_column("waiting_time"))
    names = zip(state, withdrawn.tolist(), strict=True)
    texts["final_state"] = [WITHDRAWN if gone else name for name, gone in names]


def _with_sites(table: JobTable, sites: GridSites) -> JobTable:
    columns = SiteColumns(sites)
    for home, processors in zip(table.text_column(HOME), _allocated(table), strict=True):
        columns.add(home, processors)
    return columns.added_to(table)


def _allocated(table: JobTable) -> list[ProcessorSet]:
    places, ran = table.text_column("allocated_resources"), table.ran.tolist()
    return [
        from_text(place) if did_run and place else NO_PROCESSORS
        for place, did_run in zip(places, ran, strict=True)
    ]


def add_power(table: JobTable, groups: PowerGroups, switches: Path | None) -> JobTable:
    """Return a table that was read with the power of the machine.

    ``switches`` is the ``PREFIX_power.csv``, None if there is none. Raises :class:`InputError`.
    """
    changes = () if switches is None else read_changes(switches)
    return table.with_power(MachinePower(groups, changes), partial(_allocated, table))


def _add_stored_power(table: JobTable, path: Path) -> JobTable:
    """Return the table with the power that ``PREFIX_run.json`` has, if it has any."""
    stored, run = read_settings(path).get("power"), find_beside(path, RUN_JSON[1:])
    if not stored or run is None:
        return table
    with located(run, BatschedError, InputError):
        groups = [
            (from_text(at), parse_limits(at, of, ProcessorPower)) for at, of in stored.items()
        ]
    switches = find_beside(path, POWER[1:])
    if switches is not None and not is_named(switches, run):  # of an earlier run
        switches = None
    return add_power(table, tuple(map(PowerGroup, *zip(*groups, strict=True))), switches)


def read_changes(path: Path) -> list[Change]:
    """Read a ``PREFIX_power.csv``; raises :class:`InputError`."""
    try:
        numbers, texts = read_columns(io.StringIO(read_text(path)), {"time": SECONDS}, path)
        times, states = numbers["time"], texts["state"]
        ascending = np.isfinite(times) & (np.diff(times, prepend=0.0) >= 0)
        if not ascending.all() or not CHANGES.keys() >= {*states}:
            raise ValueError(f"expected times that ascend, and states of {', '.join(CHANGES)}")
        return list(zip(times.tolist(), map(from_text, texts["processors"]), states, strict=True))
    except (ValueError, KeyError, ProtocolError) as error:
        raise InputError(f"{path}: {error}; expected time, processors and state") from None


def _add_columns(users: Path, numbers: Numbers, texts: Texts) -> None:
    """Add the columns of a ``PREFIX_users.csv`` to those of its jobs."""
    try:
        more_numbers, more_texts = read_columns(io.StringIO(read_text(users)), where=users)
        keys = make_job_keys(more_texts)
        rows = {key: row for row, key in enumerate(keys)}
        if len(rows) < len(keys):
            raise ValueError("a job appears twice")
        order = [rows.get(key, -1) for key in make_job_keys(texts)]
    except (ValueError, KeyError) as error:
        raise InputError(f"{users}: {error}; expected a row per job, with users") from None
    for name, column in more_numbers.items():
        numbers.setdefault(name, np.append(column, nan)[order])
    for name, values in more_texts.items():
        texts.setdefault(name, [values[row] if row >= 0 else "" for row in order])


def _each_job_once(numbers: Numbers, texts: Texts) -> tuple[Numbers, Texts]:
    """Return the columns with each job once, by its own name, in whichever form it ran."""
    if PLACED not in texts.get("workload_name", ()) or "metadata" not in texts:
        return numbers, texts
    if "job_id" not in texts:
        raise ValueError("no column job_id, expected one where jobs ran in another form")
    replaced = list(map(is_replaced, texts["metadata"]))
    rows = [row for row, other_ran in enumerate(replaced) if not other_ran]
    texts = {name: [values[row] for row in rows] for name, values in texts.items()}
    keys = [find_original(*key) for key in make_job_keys(texts)]
    texts["workload_name"], texts["job_id"] = map(list, zip(*keys, strict=True))
    return {name: column[rows] for name, column in numbers.items()}, texts


def _check_header(path: Path, there: Sequence[str], needed: Sequence[str]) -> None:
    if missing := [name for name in needed if name not in there]:
        hint = "; Batsim itself does not record users" if missing == ["user"] else ""
        hint = hint or hint_old_name(missing[0], there)
        raise InputError(
            f"{path}:1: no column {', '.join(missing)}; found {','.join(there)[:200]}: expected a "
            f"{SUFFIX} of batsched-py or Batsim{hint}"
        )


def _raise_first_fault(path: Path, text: str, needed: Sequence[str]) -> None:
    """Raise :class:`InputError` for the first line that is wrong."""
    rows = numbered_csv_rows(io.StringIO(text), path)
    _, header = next(rows, (1, []))
    if not header:
        raise InputError(f"{path} is empty, expected the header of a {SUFFIX}")
    _check_header(path, header, needed)
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise InputError(f"{path}:1: column {twice[0]} appears twice")
    for line, fields in rows:
        where = f"{path}:{line}"
        if len(fields) != len(header):
            raise InputError(f"{where}: {len(fields)} fields, but {len(header)} columns")
        _check_row(dict(zip(header, fields, strict=True)), where, needed)


def _check_row(row: Mapping[str, str], where: str, needed: Sequence[str]) -> None:
    """Raise :class:`InputError` for a job with impossible values."""
    ran = row.get("final_state") not in NEVER_RAN
    finite = {"submission_time", *(name for name in _TIMES if ran and name in needed)}
    values: dict[str, float] = {}
    for name, text in row.items():
        unit = COLUMNS.get(name, TEXT)
        if unit == TEXT:
            continue
        must_be_finite = name in finite or (name == ORIGINAL_SUBMISSION and text)
        try:
            values[name] = float(text) if text else nan
        except ValueError:
            values[name], must_be_finite = nan, True
        if must_be_finite and not isfinite(values[name]):
            raise InputError(f"{where}: {name} is {text[:40]!r}, expected {unit}")
    if not ran:
        withdrawal = values.get(WITHDRAWAL, nan)
        late = withdrawal < values["submission_time"] - _CLOCKS_DIFFER
        if late or (row["final_state"] == WITHDRAWN and not isfinite(withdrawal)):
            raise InputError(
                f"{where}: {WITHDRAWAL} is {row.get(WITHDRAWAL, '')!r}: expected the time of the "
                "withdrawal, not before the submission"
            )
        return
    start, execution, finish = (values.get(name, nan) for name in _TIMES)
    if execution < 0 or finish < start:
        raise InputError(
            f"{where}: starting_time {start:g}, finish_time {finish:g}, "
            f"execution_time {execution:g}: a job cannot end before it starts"
        )
    with located(f"{where}: allocated_resources", ProtocolError, InputError):
        from_text(row.get("allocated_resources", "0"))
