"""Measures from records, without simulation, how jobs used nodes and what held jobs back.

A schedule that was possible fits what a simulation counts. If the jobs that ran at once exceed the
partition for much of the time, simulated jobs wait for room that there was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, nan
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.calibration.matched_jobs import MatchedJobs
from batsched_py.support.step_functions import Intervals
from batsched_py.workload.held_resources import ELIGIBLE, ENDED_BY, ENDS, REASON, RESERVATION, RUN
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.logs.recorded_schedule import recorded_schedule
from batsched_py.workload.logs.swf import Column, SwfLog
from batsched_py.workload.machine_description import MachineDescription, NodeGroup, Partition
from batsched_py.workload.node_shares import read_shares

MOST_UNEXPLAINED = 0.1
"""Share of the time, or of the GPU-hours, above which levels of waits cannot be believed."""
_RESOURCES = ("cores", "GPUs", "memory", "dominant size")
_NAMES = {"gpus": "GRES", "cpus": "CPU", "processors": "GRES|CPU", "memory": "MEM(ORY)?"}
"""What limits count, as reasons of Slurm name it."""
UNKNOWN_LIMITS = "limits that are not in the machine file"


class ResourceUse(msgspec.Struct, frozen=True):
    """How much of a resource jobs held at once in a partition, by the records."""

    partition: str
    resource: str
    """Cores, GPUs or memory; or the dominant sizes of jobs, see :func:`add_up`."""
    most: float
    """The highest share of the partition in use at once; nan if it is not known to have any."""
    mean: float
    """From the first start to the last end."""
    over: float
    """The share of that time in which more was in use than the partition has."""
    binds: bool
    """Whether it has the highest share in use at once; of equal ones, the one used more."""
    counted: bool
    """Whether the simulation counts it."""


class HeldRuns(msgspec.Struct, frozen=True):
    """The runs of a partition that something but room held back, or that ended too early."""

    partition: str
    hours: str
    """``GPU-hours``, or ``core-hours`` if no run of the partition held a GPU."""
    by: str
    runs: int
    share: float
    """Of the hours of the partition."""
    recorded: float
    """Mean wait of the compared jobs among them, seconds; nan without any."""
    simulated: float


def measure_resources(
    log: SwfLog, machine: LogPartitions, jobs: MatchedJobs
) -> tuple[list[ResourceUse], list[HeldRuns]]:
    """Measure what the jobs of a log held, and the waits of ``jobs`` by what held them.

    Empty without a table of what jobs held, or if no GPUs and no memory of nodes are known. Jobs of
    partitions whose nodes are all among those of another one run in that, too.
    """
    parts, table = machine.described.partitions, machine.held
    groups = [group for part in parts for group in part.node_groups]
    used: list[ResourceUse] = []
    held: list[HeldRuns] = []
    if table is None or not any(group.gpus or group.memory_mib for group in groups):
        return used, held
    ran, waits = recorded_schedule(log), {"recorded": jobs.recorded, "simulated": jobs.simulated}
    rows, place, busy = ran.row.tolist(), machine.place[ran.row], ran.used
    limits = _find_known_limits(machine.described)
    columns = {
        "number": log.column("job_number")[rows].astype(int),
        "cores": np.asarray(busy.weight).astype(int),
        "fields": [table.rows[row] for row in rows],
        "alone": np.array([part.takes_nodes for part in parts])[place],
        "by": [_find_causes(table.known[row], limits) for row in rows],
    }
    runs = pd.DataFrame(columns, rows).join(pd.DataFrame(waits, jobs.row))
    for at, part in enumerate(parts):
        inside = [not other.processors - part.processors for other in parts]
        here = np.flatnonzero(np.array(inside)[place])
        if not len(here):
            continue
        its = runs.iloc[here]
        amounts, has = add_up(part.node_groups, its.iloc[:, :4].itertuples(index=False, name=None))
        begin, end, own = busy.begin[here], busy.end[here], place[here] == at
        used += _measure_use(part, Intervals(begin, end, amounts), has)
        resource = int(amounts[own, 1].any())
        its = its.assign(hours=(end - begin) * amounts[:, resource])[own]
        about = part.name, ("core-hours", "GPU-hours")[resource]
        held += [HeldRuns(*about, *row) for row in _group_by_cause(its)]
    return used, held


def add_up(
    groups: Sequence[NodeGroup], jobs: Iterable[tuple[int, int, Mapping[str, Any], bool]]
) -> tuple[Column, Column]:
    """Return cores, GPUs, MiB (inf: unknown) and dominant size: of each job, and of all nodes.

    These are arrays of shape (n, 4) and (4,).

    A job is its number, its cores, its fields (see :mod:`~batsched_py.workload.node_shares`) and
    whether it takes whole nodes: then it holds all of the smallest at least. The dominant size is
    the sum over nodes of its largest share, rounded up to GPUs, or to cores if not all nodes have
    GPUs; of nodes that differ, a GPU or core has the largest share.
    Raises :class:`WorkloadError` for fields that make no sense.

    >>> nodes = [NodeGroup(count=2, cores=64, gpus=4, memory_mib=512_000)]
    >>> amounts, _ = add_up(nodes, [(1, 48, {"gpus": 1, "memory_mib": 96_000}, False)])
    >>> amounts.tolist()
    [[48.0, 1.0, 96000.0, 3.0]]
    """
    whole = [(of.cores, of.gpus, inf if of.memory_mib is None else of.memory_mib) for of in groups]
    nodes, counts = np.array(whole, float).T, [of.count for of in groups]
    units = nodes[int(nodes[1].all())].copy()
    of_unit, has = (nodes / units).max(axis=1), np.vstack([nodes, units]) @ counts
    of_unit[of_unit == 0] = inf
    nodes[nodes == inf] = 0
    biggest, least = nodes.max(axis=1).astype(int).tolist(), nodes.min(axis=1)
    known: dict[object, Column] = {}
    made = []
    for number, cores, fields, alone in jobs:
        key = cores, alone, *fields.items()
        if key not in known:
            demand = read_shares(cores, fields, biggest, f"job {number}")
            shares = np.array(demand.shares)
            held = np.maximum(shares[:, 1:], least * (alone or demand.exclusive))
            sizes = np.ceil(held / of_unit - 1e-9).max(axis=1)
            known[key] = shares[:, 0] @ np.c_[held, sizes]
        made.append(known[key])
    return np.array(made), has


def _measure_use(part: Partition, used: Intervals, has: Column) -> Iterator[ResourceUse]:
    """Yield the use of cores, GPUs, memory and dominant sizes, as far as jobs held any."""
    levels, of_time = used.levels[:-1], np.diff(used.instants) / np.ptp(used.instants)
    over = of_time @ (levels > has)
    has[(has == 0) | (has == inf)] = nan
    most, mean = levels.max(axis=0) / has, of_time @ levels / has
    binds = np.nanargmax(np.minimum(most, 1)[:3] + 1e-6 * mean[:3])
    for at in np.flatnonzero(levels.any(axis=0)).tolist():
        yield ResourceUse(
            partition=part.name,
            resource=_RESOURCES[at],
            most=float(most[at]),
            mean=float(mean[at]),
            over=float(over[at]),
            binds=bool(at == binds),
            counted=at < 3 if part.nodes else at == part.counts_gpus,
        )


def _group_by_cause(runs: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    """Return cause, number, share of hours and waits of all runs, then of others by their share.

    Nothing if no cause is known.
    """
    if not any(runs["by"]):
        return ()
    by = pd.Series([["all", *(causes or ["none of these"])] for causes in runs["by"]], runs.index)
    found = runs.assign(by=by, runs=1).explode("by").groupby("by")
    table = found.agg({"runs": "sum", "hours": "sum", "recorded": "mean", "simulated": "mean"})
    table["hours"] /= runs["hours"].sum()
    return table.sort_values("hours", ascending=False, kind="stable").itertuples(name=None)


def _find_causes(row: Mapping[str, Any], known_limits: re.Pattern[str]) -> list[str]:
    """Return what held a run back or ended it, by its row in the table of resources."""
    reason, ended = row.get(REASON, "None"), row.get(ENDED_BY, "")
    is_limit, is_later = (reason.startswith(of) for of in (("QOS", "Assoc"), ("Dep", "BeginTime")))
    is_usual = reason in ("None", "Priority", "Resources")
    causes = {
        "dependency or begin time": is_later,
        f"limit {reason}": is_limit,
        UNKNOWN_LIMITS: is_limit and not known_limits.fullmatch(reason),
        f"reason {reason}": not (is_later or is_limit or is_usual),
        "eligible later than submitted": row.get(ELIGIBLE),
        "in reservations": RESERVATION in row,
        "runs after the first": row.get(RUN, 1) > 1,
        ENDS.get(ended, ended): ended,
    }
    return [cause for cause, holds in causes.items() if holds]


def _find_known_limits(described: MachineDescription) -> re.Pattern[str]:
    """Return a pattern of the reasons for limits on what the machine file limits."""
    limits = (*described.limits, *(part.limit_of_users for part in described.partitions))
    counted = "|".join(_NAMES.get(what, "JOBS") for limit in limits for what in limit.most) or "-"
    text = f"(QOS|Assoc)(Grp|Max)({counted})(Per(User|Account))?(Limit)?"
    return re.compile(text, re.IGNORECASE)
