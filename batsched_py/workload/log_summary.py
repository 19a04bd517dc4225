"""The summary of a log or a workload: header, size, load, unknown values."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from batsched_py.errors import InputError
from batsched_py.units import DAY
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.logs.clock import find_clock, format_moment
from batsched_py.workload.logs.log_flags import Flag, find_flags
from batsched_py.workload.logs.log_months import LogMonth, log_months
from batsched_py.workload.logs.recorded_schedule import RecordedSchedule, recorded_schedule
from batsched_py.workload.logs.swf import SwfLog, read_swf


class LogSummary(msgspec.Struct, frozen=True):
    """The summary of a file that ``batsched-py info`` prints."""

    pairs: list[tuple[str, str]]
    """Names and values."""
    flags: list[Flag] | None = None
    """What is unusual in a log, None for a Batsim workload."""
    months: list[LogMonth] = []
    """Of a log."""


def log_summary(path: Path, *, skip_bad_lines: bool = False) -> LogSummary:
    """Return the summary of a log or a Batsim workload; raises :class:`InputError`."""
    if is_batsim_json(path):
        return LogSummary(_of_workload(path))
    log = read_swf(path, skip_bad_lines=skip_bad_lines)
    schedule = recorded_schedule(log)
    return LogSummary(_of_log(log, schedule), find_flags(log, schedule), log_months(log, schedule))


def _of_log(log: SwfLog, schedule: RecordedSchedule) -> list[tuple[str, str]]:
    """Return the summary of an SWF log as names and values."""
    submit, run = log.column("submit_time"), log.column("run_time")
    size, user = log.sizes, log.column("user")
    span = float(np.ptp(submit))
    work = float((np.maximum(size, 0) * np.maximum(run, 0)).sum())
    load = f"{work / (span * log.max_processors):.3f}" if span else "-"
    start, zone, clock = find_clock(log)
    lines = [("file", str(log.path))]
    for key in ("Computer", "Installation", "Acknowledge", "Version", "StartTime", "EndTime"):
        if value := log.header_field(key):
            lines.append((key, value))
    lines += [
        ("clock", clock),
        ("second 0 is", _second_0(start, zone)),
        ("jobs", f"{len(log)}"),
        ("users", f"{len(set(user[user >= 0].tolist()))}"),
        ("processors", f"{log.max_processors}"),
        ("submissions over", f"{span / DAY:.2f} days"),
        ("offered load", f"{load} (processors x run time / (machine x span))"),
        ("recorded utilisation", _utilisation(log, schedule)),
        ("jobs without size", f"{_share(size <= 0)}"),
        ("jobs wider than the machine", f"{_share(size > log.max_processors)}"),
        ("run time of 0", f"{_share(run == 0)}"),
    ]
    for field in ("run_time", "wait_time", "requested_processors", "requested_time", "user"):
        lines.append((f"unknown {field.replace('_', ' ')}", _share(log.column(field) < 0)))
    if (withdrawn := log.withdrawn).any():
        lines.append(("withdrawn before they started", _share(withdrawn)))
        waits = log.column("wait_time")[withdrawn]
        lines.append(("wait of withdrawn jobs [s]", _quantiles(waits[waits >= 0])))
    if (follows := log.column("preceding_job") > 0).any():
        lines.append(("jobs with a preceding job", _share(follows)))
        thinks = follows & (log.column("think_time") >= 0)
        lines.append(("jobs with a think time after it", _share(thinks)))
    lines.append(("processors by job", _quantiles(size[size > 0])))
    lines.append(("run time by job [s]", _quantiles(run[run >= 0])))
    lines.append(("recorded wait by job [s]", _quantiles(log.known_waits)))
    return lines + [("note", note) for note in log.notes]


def _utilisation(log: SwfLog, schedule: RecordedSchedule) -> str:
    submit = log.column("submit_time")
    (in_use,) = schedule.means(submit[[0, -1]])
    if in_use is None:
        return "-"
    return f"{in_use / log.max_processors:.3f} (processors in use / machine, over the same span)"


def _of_workload(path: Path) -> list[tuple[str, str]]:
    """Return the summary of a Batsim workload as names and values."""
    workload = read_workload(path)
    submit = np.array([job.submit_time for job in workload.jobs])
    size = np.array([job.size for job in workload.jobs])
    users = {job.user for job in workload.jobs} - {None}
    kinds = sorted({str(profile["type"]) for profile in workload.profiles.values()})
    span = float(np.ptp(submit)) if len(submit) else 0.0
    lines = [
        ("file", str(path)),
        ("jobs", f"{len(workload.jobs)}"),
        ("users", f"{len(users)}"),
        ("processors", f"{workload.nb_res}"),
        ("submissions over", f"{span / DAY:.2f} days"),
        ("profiles", f"{len(workload.profiles)} ({', '.join(kinds)})"),
        (
            "jobs without walltime",
            _share(np.array([job.walltime is None for job in workload.jobs])),
        ),
        ("processors by job", _quantiles(size)),
    ]
    return lines + [("note", note) for note in workload.notes]


def _share(mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    count = int(mask.sum())
    return f"{count} ({100 * count / len(mask):.1f} %)" if len(mask) else "0"


def _quantiles(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if not len(values):
        return "-"
    names = ("min", "25 %", "median", "75 %", "95 %", "max")
    percentiles = np.percentile(values, (0, 25, 50, 75, 95, 100))
    quantiles = ", ".join(
        f"{name} {value:g}" for name, value in zip(names, percentiles, strict=True)
    )
    return f"{quantiles}; mean {values.mean():.6g}"


def _second_0(start: float | None, zone: str) -> str:
    """Return what the clock showed at second 0 of a log, ``-`` if unknown."""
    if start is None:
        return "-"
    try:
        return f"{format_moment(0, start, zone):%A, %Y-%m-%d %H:%M:%S}"
    except InputError:
        return f"- (beyond the calendar: {start:g} s since 1970)"
