"""Measures from records, without simulation, how jobs used nodes and what held jobs back.

A schedule that was possible fits what a simulation counts. If the jobs that ran at once exceed the
partition for much of the time, simulated jobs wait for room that there was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf, nan
from typing import Any

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


def measure_resources(
    log: SwfLog, machine: LogPartitions | None, jobs: MatchedJobs
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure what the jobs of a log held, and the waits of ``jobs`` by what held them.

    The first table has a row for each ``partition`` and ``resource`` that jobs held: cores, GPUs,
    memory, or the dominant sizes of :func:`add_up`. ``most`` is the highest share in use at once,
    nan if the partition is not known to have any. ``mean`` is from the first start to the last end,
    and ``over`` the share of that time with more in use than there is. It ``binds`` if its share is
    the highest; of equal ones, if it is used more. The simulation counts it if ``counted``.

    The second table has the ``runs`` of each partition that something but room held back or ended
    (``by``), their ``share`` of the ``hours`` (GPU-hours, or core-hours if no run held a GPU) and
    mean waits, seconds. Both are empty if no GPUs and no memory are known of nodes or of jobs.
    Jobs of partitions whose nodes are all among those of another one run in that, too.
    """
    used, held = [pd.DataFrame()], [pd.DataFrame()]
    parts = machine.described.partitions if machine else []
    groups = [group for part in parts for group in part.node_groups]
    if not (machine and machine.held and any(of.gpus or of.memory_mib for of in groups)):
        return used[0], held[0]
    ran, waits = recorded_schedule(log), {"recorded": jobs.recorded, "simulated": jobs.simulated}
    rows, place, busy = ran.row.tolist(), machine.place[ran.row], ran.used
    limits = _find_known_limits(machine.described)
    columns = {
        "number": log.column("job_number")[rows].astype(int),
        "cores": np.asarray(busy.weight).astype(int),
        "fields": [machine.held.rows[row] for row in rows],
        "alone": np.array([part.takes_nodes for part in parts])[place],
        "by": [_find_causes(machine.held.known[row], limits) for row in rows],
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
        used.append(_measure_use(part, Intervals(begin, end, amounts), has))
        resource = int(amounts[own, 1].any())
        its = its.assign(share=(end - begin) * amounts[:, resource])[own]
        unit = ("core-hours", "GPU-hours")[resource]
        held.append(_group_by_cause(its).assign(partition=part.name, hours=unit))
    return pd.concat(used, ignore_index=True), pd.concat(held, ignore_index=True)


def add_up(
    groups: Sequence[NodeGroup], jobs: Iterable[tuple[int, int, Mapping[str, Any], bool]]
) -> tuple[Column, Column]:
    """Return cores, GPUs, MiB (inf: unknown) and dominant size: of each job, and of all nodes.

    Their shapes are (n, 4) and (4,). A job is its number, its cores, its fields (see
    :mod:`~batsched_py.workload.node_shares`) and whether it takes whole nodes: then it holds all of
    the smallest at least. The dominant size is the sum over nodes of its largest share, rounded up
    to GPUs, or to cores if not all nodes have GPUs. Raises :class:`WorkloadError` for fields that
    make no sense.

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


def _measure_use(part: Partition, used: Intervals, has: Column) -> pd.DataFrame:
    """Measure the use of cores, GPUs, memory and dominant sizes, as far as jobs held any."""
    at, levels = np.arange(len(_RESOURCES)), used.levels[:-1]
    of_time = np.diff(used.instants) / np.ptp(used.instants)
    over = of_time @ (levels > has)
    has[(has == 0) | (has == inf)] = nan
    most, mean = levels.max(axis=0) / has, of_time @ levels / has
    table = pd.DataFrame({"resource": _RESOURCES, "most": most, "mean": mean, "over": over})
    table["binds"] = at == np.nanargmax(np.minimum(most, 1)[:3] + 1e-6 * mean[:3])
    table["counted"] = at < 3 if part.nodes else at == part.counts_gpus
    table.insert(0, "partition", part.name)
    return table.iloc[np.flatnonzero(levels.any(axis=0))]


def _group_by_cause(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row of all runs, then of others by share; none if no cause is known."""
    if set().union(*runs["by"]) <= {"all", "none of these"}:
        return pd.DataFrame()
    found = runs.assign(runs=1).explode("by").groupby("by")
    table = found.agg({"runs": "sum", "share": "sum", "recorded": "mean", "simulated": "mean"})
    table["share"] /= runs["share"].sum()
    return table.sort_values("share", ascending=False, kind="stable").reset_index()


def _find_causes(row: Mapping[str, Any], known_limits: re.Pattern[str]) -> list[str]:
    """Return "all" and what held a run back or ended it, by its row in the table of resources."""
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
    return ["all", *([cause for cause, holds in causes.items() if holds] or ["none of these"])]


def _find_known_limits(described: MachineDescription) -> re.Pattern[str]:
    """Return a pattern of the reasons for limits on what the machine file limits."""
    limited = [what for limit in described.all_limits for what in limit.most]
    counted = "|".join(_NAMES.get(what, "JOBS") for what in limited) or "-"
    return re.compile(f"(?i:(QOS|Assoc)(Grp|Max)({counted})(Per(User|Account))?(Limit)?)")
