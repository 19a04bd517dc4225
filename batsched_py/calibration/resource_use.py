"""Measures from records, without simulation, how jobs used nodes and what held jobs back.

A schedule that was possible fits what a simulation counts. If the jobs that ran at once exceed the
partition for much of the time, simulated jobs wait for room that there was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import ceil, inf, nan
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.calibration.matched_jobs import MatchedJobs
from batsched_py.support.quotient import ratio
from batsched_py.support.step_functions import Intervals
from batsched_py.workload.held_resources import ELIGIBLE, ENDED_BY, REASON, RESERVATION, RUN, Row
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.logs.swf import Column, SwfLog
from batsched_py.workload.machine_description import MachineDescription, NodeGroup, Partition
from batsched_py.workload.node_shares import read_shares

MOST_UNEXPLAINED = 0.1
"""Share of the time, or of the GPU-hours, above which levels of waits cannot be believed."""
RESOURCES = ("cores", "GPUs", "memory")
_LIMIT = "limit "
_LIMIT_REASON = re.compile(r"(QOS|Assoc|Grp|Max)|\w+Limit$")
_COUNTED = {"gres": "gpus processors", "cpu": "cpus processors", "mem": "memory", "job": "jobs"}
"""Parts of the reasons of Slurm, and what such a limit counts."""
_ENDS = {"preempted": "preempted", "requeued": "requeued", "node": "lost to nodes"}


class HeldRuns(msgspec.Struct, frozen=True):
    """The runs of a partition that something but room held back, or that ended too early."""

    by: str
    runs: int
    share: float
    """Of the :attr:`~PartitionUse.hours` of the partition."""
    recorded: float
    """Mean wait of the compared jobs among them, seconds; nan without any."""
    simulated: float


class PartitionUse(msgspec.Struct, frozen=True, kw_only=True):
    """What ran at once in a partition by the records, and what held its runs; nan is unknown.

    Jobs of partitions whose nodes are all among its nodes run in it, too. Times are shares of the
    time from the first start to the last end.
    """

    partition: str
    most: list[float]
    """The highest share of its cores, GPUs and memory in use at once."""
    mean: list[float]
    binds: str
    """The resource with the highest share in use at once; of equal ones, the one used more."""
    dominant_over: float
    """The time in which the dominant sizes of the running jobs exceed the partition."""
    counted: str
    """What the run counts; if jobs hold several resources, the one exceeded for longest."""
    counted_over: float
    """The time in which that exceeds the partition."""
    hours: str
    """``GPU-hours``, or ``core-hours`` if its runs held no GPU."""
    held: list[HeldRuns]
    unknown_limits: list[str]
    """The limits among :attr:`held` that the machine file does not have."""


def measure_resources(log: SwfLog, machine: LogPartitions, jobs: MatchedJobs) -> list[PartitionUse]:
    """Measure what the jobs of a log held, and the waits of ``jobs`` by what held them.

    Empty without a table of what jobs held, or if no GPUs and no memory of nodes are known.
    """
    parts, held = machine.described.partitions, machine.held
    groups = [group for part in parts for group in part.node_groups]
    if held is None or not any(group.gpus or group.memory_mib for group in groups):
        return []
    allocated, wait, run = map(log.column, ("allocated_processors", "wait_time", "run_time"))
    cores = np.where(allocated > 0, allocated, log.column("requested_processors"))
    begin, counted = log.column("submit_time") + wait, np.maximum(machine.sizes(cores), 0)
    ran = (wait >= 0) & (run > 0) & (cores > 0)
    numbers, found = log.column("job_number"), []
    for place, part in enumerate(parts):
        inside = np.array([not other.processors - part.processors for other in parts])
        rows = np.flatnonzero(ran & inside[machine.place])
        if not len(rows):
            continue
        amounts = add_up(
            part.node_groups,
            (
                (int(numbers[row]), int(cores[row]), held.rows[row], parts[at].takes_nodes)
                for row, at in zip(rows.tolist(), machine.place[rows].tolist(), strict=True)
            ),
        )
        columns = (*amounts.T, counted[rows])
        used = [Intervals(begin[rows], begin[rows] + run[rows], column) for column in columns]
        own = machine.place[rows] == place
        resource = int(amounts[own, 1].any())
        hours = np.zeros(len(log))
        hours[rows[own]] = (run[rows] * amounts[:, resource])[own]
        causes = _group_by_cause(held.known, rows[own].tolist())
        unknown = [cause for cause in causes if _is_unknown_limit(cause, machine.described, part)]
        runs = [_measure_runs(cause, its, hours, jobs) for cause, its in causes.items()]
        runs[1:-1] = sorted(runs[1:-1], key=lambda each: -each.share)
        unit = ("core-hours", "GPU-hours")[resource]
        found.append(_measure_use(part, used, hours=unit, held=runs, unknown_limits=unknown))
    return found


def add_up(
    groups: Sequence[NodeGroup], jobs: Iterable[tuple[int, int, Mapping[str, Any], bool]]
) -> NDArray[np.int64]:
    """Return cores, GPUs, MiB and dominant size of each job on such nodes, of shape (n, 4).

    A job is its number, its cores, its fields (see :mod:`~batsched_py.workload.node_shares`) and
    whether it takes whole nodes: then it holds all of the smallest at least. The dominant size is
    the sum over nodes of its largest share, rounded up to GPUs, or to cores where nodes have none.
    Raises :class:`WorkloadError` for fields that make no sense.

    >>> nodes = [NodeGroup(count=2, cores=64, gpus=4, memory_mib=512_000)]
    >>> add_up(nodes, [(1, 48, {"gpus": 1, "memory_mib": 96_000}, False)]).tolist()
    [[48, 1, 96000, 3]]
    """
    whole, _, unit = _arrays(groups)
    of_unit = (whole / unit).max(axis=1).tolist()
    whole[whole == inf] = 0
    biggest, least = (of(axis=1).astype(int).tolist() for of in (whole.max, whole.min))
    known: dict[object, list[int]] = {}
    made = []
    for number, cores, extra, alone in jobs:
        key = cores, alone, *extra.items()
        if key not in known:
            demand = read_shares(cores, extra, biggest, f"job {number}")
            total = [0, 0, 0, 0]
            for nodes, *held in demand.shares:
                if alone or demand.exclusive:
                    held = list(map(max, held, least))
                pairs = zip(held, of_unit, strict=True)
                held.append(max(ceil(amount / each - 1e-9) for amount, each in pairs if each))
                total = [old + nodes * amount for old, amount in zip(total, held, strict=True)]
            known[key] = total
        made.append(known[key])
    return np.array(made)


def _arrays(groups: Sequence[NodeGroup]) -> tuple[Column, Column, Column]:
    """Return cores, GPUs and MiB (inf: unknown) of a node of each group, and its nodes.

    The last array has the processors of dominant sizes of a node: GPUs, or cores if not all nodes
    have GPUs. Such a processor has its share of a node, the largest one where nodes differ.
    """
    whole = [(of.cores, of.gpus, inf if of.memory_mib is None else of.memory_mib) for of in groups]
    columns = np.array(whole).T
    return columns, np.array([of.count for of in groups]), columns[int(columns[1].all())]


def _measure_use(part: Partition, used: list[Intervals], **further: Any) -> PartitionUse:
    """Measure the use of cores, GPUs, memory, dominant sizes and what the run counts."""
    levels = np.array([each.levels[:-1] for each in used])
    shares_of_time = np.diff(used[0].instants) / np.ptp(used[0].instants)
    whole, counts, unit = _arrays(part.node_groups)
    has = np.array([*whole @ counts, unit @ counts, part.processors.size])
    over = ((levels > has[:, None]) @ shares_of_time).tolist()
    most = levels.max(axis=1)
    room = np.where((most > 0) & (has > 0) & (has < inf), has, nan)
    shares, means = (most / room)[:3], (levels @ shares_of_time / room)[:3]
    binds = np.nanargmax(np.minimum(shares, 1) + 1e-6 * means)
    counted, worst = "GPUs" if part.counts_gpus else "cores", 4
    if part.nodes:
        worst = int(np.argmax(over[:3]))
        counted = RESOURCES[worst] if over[worst] else "all"
    return PartitionUse(
        partition=part.name,
        most=shares.tolist(),
        mean=means.tolist(),
        binds=RESOURCES[binds],
        dominant_over=over[3],
        counted=counted,
        counted_over=over[worst],
        **further,
    )


def _measure_runs(cause: str, rows: list[int], hours: Column, jobs: MatchedJobs) -> HeldRuns:
    part = jobs.select(np.isin(jobs.row, rows))
    waits = (float(each.mean()) if len(each) else nan for each in (part.recorded, part.simulated))
    return HeldRuns(cause, len(rows), ratio(hours[rows].sum(), hours.sum()), *waits)


def _group_by_cause(known: Sequence[Row], rows: list[int]) -> dict[str, list[int]]:
    """Return the rows by what held them, with all and those that nothing held; {} if none was."""
    by_cause: dict[str, list[int]] = {"all": rows}
    for row in rows:
        for cause in _find_causes(known[row]):
            by_cause.setdefault(cause, []).append(row)
    held = set(chain(*list(by_cause.values())[1:]))
    return by_cause | {"none of these": [row for row in rows if row not in held]} if held else {}


def _find_causes(row: Row) -> Iterator[str]:
    """Yield what held a run back or ended it, by its row in the table of resources."""
    reason = row.get(REASON, "None")
    if reason.startswith(("Dependency", "BeginTime")):
        yield "dependency or begin time"
    elif _LIMIT_REASON.match(reason):
        yield _LIMIT + reason
    elif reason not in ("None", "Priority", "Resources"):
        yield f"reason {reason}"
    if row.get(ELIGIBLE, 0) > 0:
        yield "eligible later than submitted"
    if RESERVATION in row:
        yield "in reservations"
    if row.get(RUN, 1) > 1:
        yield "runs after the first"
    if row.get(ENDED_BY) in _ENDS:
        yield _ENDS[row[ENDED_BY]]


def _is_unknown_limit(cause: str, described: MachineDescription, part: Partition) -> bool:
    """Return whether a cause is a limit on what the machine file does not limit."""
    limits = (*described.limits, part.limit_of_users)
    counted = [
        what for word, its in _COUNTED.items() if word in cause.lower() for what in its.split()
    ]
    is_known = any(what in limit.most for limit in limits for what in counted)
    return cause.startswith(_LIMIT) and ("Minutes" in cause or not is_known)
