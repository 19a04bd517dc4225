"""Converts a log to the jobs of a workload, by rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError, parameter
from batsched_py.support.json_values import whole
from batsched_py.workload.batsim.batsim_workload import JOB_FIELDS
from batsched_py.workload.batsim.profile_types import run_time_profile
from batsched_py.workload.conversion_rules import (
    Rules,
    as_dict,
    check_sites,
    describe,
    parse_job_numbers,
)
from batsched_py.workload.grid_site_rules import give_homes, split_jobs
from batsched_py.workload.grid_sites import GridSites
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.log_span import find_jobs_in_span
from batsched_py.workload.logs.clock import LATEST, find_clock
from batsched_py.workload.logs.field_names import check_field_names
from batsched_py.workload.logs.swf import CANCELLED, FAILED, Column, Mask, SwfLog
from batsched_py.workload.machine_description import PARTITION, QOS, QOS_NAME, MachineDescription
from batsched_py.workload.preceding_jobs import set_preceding_jobs
from batsched_py.workload.unused_input import find_unused_in_log
from batsched_py.workload.withdrawn_jobs import describe_withdrawn, impute_run_times
from batsched_py.workload.workload import Workload, WorkloadJob

_IMPOSSIBLE = ("no-gpu", "withdrawn", "no-size", "negative-runtime")
"""Kinds of jobs that are always dropped, of withdrawn jobs those without a run time: they cannot be
simulated."""
_IN_WORDS = {
    "withdrawn": " (cancelled before they started)",
    "negative-runtime": " (run time unknown)",
    "no-gpu": " (they hold no GPU, and their partition counts GPUs)",
}
_OF_ENDS = ("withdrawn", "cancelled", "no-allocation")
"""Kinds that describe how a job ended."""
PLACES = ("group", "queue", "partition")
"""Fields that policies see of all jobs if there is a machine file."""


def convert_log(
    log: SwfLog,
    rules: Rules,
    *,
    speed_factor: float = 1.0,
    sites: GridSites = (),
    described: MachineDescription | None = None,
) -> Workload:
    """Return the workload that ``rules`` make of a log.

    ``speed_factor`` is the speed of the machine that will be simulated, for the estimates of
    ``exact``; ``sites`` are for the rules on homes and on wide jobs; ``described`` is a machine
    with partitions, see :class:`~batsched_py.workload.log_partitions.LogPartitions`. Raises
    :class:`UsageError` if no job is left, and for such rules without sites.
    """
    check_sites(rules, sites)
    columns = _Columns(log, rules, described)
    unix_start_time, time_zone, clock_note = find_clock(log)
    if unix_start_time is not None and not abs(unix_start_time) <= LATEST:
        unix_start_time = None  # no date that a report could show
    in_span = find_jobs_in_span(log, rules, unix_start_time, time_zone)
    rows, notes = _used_rows(log, rules, columns, in_span)
    if not len(rows):
        raise UsageError(f"{log.path}: the rules leave no job of {len(log)}: {describe(rules)}")
    notes += find_unused_in_log(log, described)
    profiles: dict[str, dict[str, Any]] = {}
    jobs = list(columns.jobs(rows, profiles, speed_factor))
    if described is not None and any(limit.of.startswith("qos:") for limit in described.limits):
        _add_qos_names(jobs, log)
    give_homes(jobs, rows, log, rules.homes, sites)
    if rules.split is not None:
        jobs = split_jobs(jobs, rules.split, sites, notes)
    notes += set_preceding_jobs(jobs, log)
    notes.append(clock_note)
    return Workload(
        name=log.path.name,
        nb_res=described.nb_processors if described else log.max_processors,
        jobs=jobs,
        profiles=profiles,
        rules=as_dict(rules),
        notes=notes,
        unix_start_time=unix_start_time,
        time_zone=time_zone,
    )


def _add_qos_names(jobs: list[WorkloadJob], log: SwfLog) -> None:
    """Give jobs the names that the header of a log has for QOS."""
    queues = (value.partition(" ") for key, value in log.header if key == "Queue")
    names = {number: name.strip() for number, _, name in queues}
    for job in jobs:
        if name := names.get(str(job.extra.get(QOS))):
            job.extra[QOS_NAME] = name


def _used_rows(
    log: SwfLog, rules: Rules, columns: _Columns, among: Mask
) -> tuple[NDArray[np.intp], list[str]]:
    """Return the rows of ``among`` that become jobs, and notes on these and on dropped ones."""
    drop = list(rules.drop)
    if rules.unknown_user == "drop" and "no-user" not in drop:
        drop.append("no-user")
    dropped = _dropped_rows(log, columns, drop)
    of_others = ~np.isin(log.column("user"), [float(user) for user in rules.without_users])
    nb_left_out = int((among & ~of_others).sum())
    among = among & of_others
    rows = np.flatnonzero(among & ~np.logical_or.reduce([*dropped.values()]))
    if rules.job_numbers is not None:
        first, last = parse_job_numbers(rules.job_numbers)
        numbers = log.column("job_number")
        among = among & (first <= numbers) & (numbers <= last)
        left, rows = numbers[rows], rows[among[rows]]
        if len(left) and not len(rows):
            raise UsageError(
                f"{parameter('job_numbers')} {rules.job_numbers} leaves no job: other rules leave "
                f"the numbers {left.min():.0f} to {left.max():.0f} in {log.path}"
            )
    last_line = np.inf
    if rules.first is not None and len(rows) > rules.first:
        rows = rows[: rules.first]
        among[rows[-1] + 1 :] = False
        last_line = log.lines[rows].max()
    return rows, [
        *log.notes_until(last_line),
        *columns.notes(rows),
        *([f"{nb_left_out} jobs of --without-users were left out"] * bool(nb_left_out)),
        *(
            f"{number} {'job was' if number == 1 else 'jobs were'} dropped: "
            f"{kind}{_IN_WORDS.get(kind, '')}"
            for kind, mask in dropped.items()
            if (number := int((mask & among).sum()))
        ),
    ]


def _dropped_rows(log: SwfLog, columns: _Columns, drop: Iterable[str]) -> dict[str, Mask]:
    """Return which rows of ``log`` are dropped, by the first reason that there is for each."""
    size, run_time, status = columns.size, columns.recorded, log.column("status")
    of_kind: dict[str, Mask] = {
        "no-gpu": columns.lacks_gpus,
        "no-size": size <= 0,
        "negative-runtime": run_time < 0,
        "zero-runtime": run_time == 0,
        "no-request": log.column("requested_time") <= 0,
        "no-allocation": log.column("allocated_processors") <= 0,
        "too-wide": size > log.max_processors,
        "cancelled": status == CANCELLED,
        "withdrawn": log.withdrawn,
        "failed": status == FAILED,
        "no-user": log.column("user") < 0,
    }
    if columns.imputes:
        of_kind |= {kind: of_kind[kind] & ~log.withdrawn for kind in _OF_ENDS}
    elif not {"withdrawn", "zero-runtime"}.intersection(drop):
        of_kind["withdrawn"] &= run_time < 0
    kept = np.ones(len(log), dtype=bool)
    dropped = {}
    for kind in dict.fromkeys((*_IMPOSSIBLE, *drop)):  # a list may name a kind twice
        dropped[kind] = kept & of_kind[kind]
        kept &= ~of_kind[kind]
    return dropped


class _Columns:
    """The columns of a log that the rules work on."""

    def __init__(self, log: SwfLog, rules: Rules, described: MachineDescription | None) -> None:
        self.log = log
        self.rules = rules
        self._partitions: LogPartitions | None = None
        names = ["requested_processors", "allocated_processors"]
        if rules.size == "allocated":
            names.reverse()
        preferred, other = map(log.column, names)
        self.size = np.where(preferred > 0, preferred, other)
        self.knows_users = bool((log.column("user") >= 0).any())
        self.request = log.column("requested_time")
        self.recorded = log.column("run_time")
        """Run times; with ``impute`` also those of withdrawn jobs."""
        self.imputes = rules.withdrawn == "impute"
        self._of_others: Mask | None = None
        if self.imputes:
            self.recorded, self._of_others = impute_run_times(log, rules.impute_seed)
        self.partition_names: list[str] | None = None
        self.lacks_gpus: Mask = np.zeros(len(log), dtype=bool)
        """Of jobs in partitions that count GPUs: which hold none."""
        self.longest: Column | float = np.inf
        """What the rule ``double`` gives at most."""
        if described:
            self._partitions = partitions = LogPartitions(log, described)
            self.size = partitions.sizes(self.size)
            self.request = partitions.requests(self.request)
            self.longest = partitions.max_walltimes
            self.partition_names = partitions.names
            self.lacks_gpus = partitions.lacks_gpus
        check_field_names(log.path, rules.keep, log.further)
        for name in JOB_FIELDS.intersection(log.further):
            raise UsageError(
                f"{parameter('keep')} {name}: each job has a field of this name: rename the column"
            )
        self.kept = tuple(dict.fromkeys((*(PLACES if described else ()), *rules.keep)))
        self.run = self.recorded
        if rules.runtime == "cut-at-request":
            cut = np.minimum(self.recorded, self.request)
            self.run = np.where(self.request > 0, cut, self.recorded)

    def notes(self, rows: NDArray[np.intp]) -> list[str]:
        """Return sentences on the jobs in these rows that the partitions of the machine change."""
        notes = self._partitions.notes(rows) if self._partitions else []
        return notes + describe_withdrawn(self.log, rows, self._of_others)

    def jobs(
        self, rows: NDArray[np.intp], profiles: dict[str, dict[str, Any]], speed_factor: float
    ) -> list[WorkloadJob]:
        """Return the jobs of the given rows; fills ``profiles``."""
        log, rules = self.log, self.rules
        submit = log.column("submit_time")
        held = np.maximum(log.column("run_time"), 0)
        finish = submit + np.maximum(log.column("wait_time"), 0) + held
        scale = speed_factor if rules.profile == "parallel_homogeneous" else 1.0
        jobs = []
        name_of: dict[float, str] = {}
        user_of: dict[float, str] = {}  # each text once, of however many jobs
        columns = (log.column("job_number"), submit, self.size, self.run, finish)
        values = zip(
            *(column[rows].tolist() for column in columns),
            self._walltimes(rows),
            log.column("user")[rows].tolist(),
            self._extras(rows),
            strict=True,
        )
        for number, submitted, size, run, finished, walltime, user, extra in values:
            name = name_of.get(run)
            if name is None:
                name = name_of[run] = f"r{whole(run)}"
                profiles[name] = run_time_profile(rules.profile, run)
            if user >= 0 and user not in user_of:
                user_of[user] = str(int(user))
            job_id = str(int(number)) if number == int(number) else repr(number)
            jobs.append(
                WorkloadJob(
                    id=job_id,
                    submit_time=submitted,
                    size=int(size),
                    profile=name,
                    walltime=walltime,
                    estimate=run / scale if rules.walltime == "exact" else None,
                    user=user_of[user] if user >= 0 else self._unknown_user(job_id),
                    finish_time=finished,
                    extra=extra,
                )
            )
        return jobs

    def _extras(self, rows: NDArray[np.intp]) -> Iterator[dict[str, Any]]:
        """Yield the fields that each job keeps; what is unknown is none."""
        columns = {name: self._kept_values(name, rows) for name in self.kept}
        names = self.partition_names
        held = self._partitions.held if self._partitions else None
        if not columns and names is None:  # mostly
            yield from ({} for _ in rows)
            return
        for row, *values in zip(rows.tolist(), *columns.values(), strict=True):
            extra: dict[str, Any] = dict(zip(columns, values, strict=True))
            if None in values:
                extra = {name: value for name, value in extra.items() if value is not None}
            if names is not None:
                extra[PARTITION] = names[row]
            if held is not None:
                extra |= held.rows[row]
            yield extra

    def _kept_values(self, name: str, rows: NDArray[np.intp]) -> list[Any]:
        """Return the values of a field of a log or of a further column, None where unknown."""
        if (further := self.log.further.get(name)) is not None:
            return [further[row] for row in rows.tolist()]
        numbers = self.log.column(name)[rows].tolist()
        return [whole(number) if number >= 0 else None for number in numbers]

    def _unknown_user(self, job_id: str) -> str | None:
        """Return the user for a job of an unknown user; None if the log knows no user at all."""
        if self.rules.unknown_user == "each":
            return f"unknown-{job_id}"
        return "-1" if self.knows_users else None

    def _walltimes(self, rows: NDArray[np.intp]) -> list[float | None]:
        rule = self.rules.walltime
        if rule == "exact":
            return [None] * len(rows)
        wall = self.request[rows]
        if rule == "double":
            twice = np.maximum(2 * self.recorded, self.rules.least_walltime)
            twice = np.minimum(twice, self.longest)
            wall = np.maximum(wall, twice[rows])
        return [value if value > 0 else None for value in wall.tolist()]
