"""Divides jobs into classes: by hour, weekday, size, partition, requested time and user."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.calibration.matched_jobs import MatchedJobs
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.logs.clock import find_clock, local_hours
from batsched_py.workload.logs.swf import SwfLog

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_REQUESTS = {
    10 * MINUTE: "up to 10 min",
    HOUR: "up to 1 h",
    4 * HOUR: "up to 4 h",
    12 * HOUR: "up to 12 h",
    DAY: "up to 1 d",
    3 * DAY: "up to 3 d",
    np.inf: "over 3 d",
}
"""Requested times: the most of a class, seconds, and its name."""


class Classes(msgspec.Struct, frozen=True, eq=False):
    """The classes of one kind, and the class of each job."""

    kind: str
    """What they are: ``hour``, ``size``, ``user``, ..."""
    names: list[str]
    number: NDArray[np.intp]
    """Of each job's class, shape (n,)."""


def classify_jobs(
    jobs: MatchedJobs, log: SwfLog, machine: LogPartitions | None = None
) -> Iterator[Classes]:
    """Yield the classes of jobs, one kind after the other.

    These are the hour of the day and the weekday of submission (the log's clock; weekdays only if
    its date is known), the size in powers of two, the partition (that of the machine file, else
    the log's number, else its queue), the requested time, and the user.
    """
    start, zone, _ = find_clock(log)
    hours = local_hours(jobs.submit, start, zone)
    yield Classes("hour", [f"{hour:02d}:00" for hour in range(24)], (hours % 24).astype(np.intp))
    if start is not None:
        yield Classes("weekday", list(_WEEKDAYS), (hours // 24).astype(np.intp))
    yield _sizes(jobs)
    if (partitions := _partitions(jobs, log, machine)) is not None:
        yield partitions
    yield _requests(jobs, log)
    if any(jobs.user):
        yield _named("user", jobs.user)


def find_size_class(size: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return for each size the smallest n with size <= 2**n."""
    return np.ceil(np.log2(np.maximum(size, 1))).astype(np.intp)


def _sizes(jobs: MatchedJobs) -> Classes:
    number = find_size_class(jobs.size)
    names = [
        str(2**power) if power < 2 else f"{2 ** (power - 1) + 1} to {2**power}"
        for power in range(int(number.max(initial=0)) + 1)
    ]
    return Classes("size", names, number)


def _partitions(jobs: MatchedJobs, log: SwfLog, machine: LogPartitions | None) -> Classes | None:
    """Return the partitions of jobs, None if nothing is known of them."""
    if machine is not None:
        return _named("partition", np.array(machine.names, dtype=object)[jobs.row])
    for field in ("partition", "queue"):
        numbers = log.column(field)[jobs.row]
        if (numbers >= 0).any():
            names = [str(int(number)) if number >= 0 else "unknown" for number in numbers]
            return _named(field, np.array(names, dtype=object))
    return None


def _requests(jobs: MatchedJobs, log: SwfLog) -> Classes:
    requested = log.column("requested_time")[jobs.row]
    number = np.searchsorted(np.array(list(_REQUESTS)), requested)
    number = np.where(requested > 0, number, len(_REQUESTS))
    return Classes("requested time", [*_REQUESTS.values(), "none"], number.astype(np.intp))


def _named(kind: str, names: NDArray[np.object_]) -> Classes:
    """Return the classes of texts, those with most jobs first."""
    unique, number, sizes = np.unique(names.astype(str), return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return Classes(kind, [str(name) or "unknown" for name in unique[order]], place[number])
