"""How a log becomes jobs: a small set of named rules, stored with every result."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError, parameter
from batsched_py.support.json_values import did_you_mean, whole
from batsched_py.workload.clock import clock_of
from batsched_py.workload.swf import SwfLog
from batsched_py.workload.workload import REFERENCE_SPEED, Workload, WorkloadJob

Drop = Literal[
    "zero-runtime", "no-request", "no-allocation", "too-wide", "cancelled", "failed", "no-user"
]


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules by which a log becomes jobs.

    Jobs without size (at most 0 processors) or with a negative run time cannot be simulated and
    are always dropped.
    """

    size: Literal["requested", "allocated"] = "requested"
    """Processors of a job; the other number where this one is unknown."""
    walltime: Literal["requested", "double", "exact"] = "double"
    """``double`` is max(requested, 2 x recorded run time); ``exact`` sets no limit and tells
    policies the run time."""
    runtime: Literal["recorded", "cut-at-request"] = "recorded"
    drop: tuple[Drop, ...] = ()
    unknown_user: Literal["one", "each", "drop"] = "one"
    """Jobs of an unknown user (-1) belong to one user, each to its own, or are dropped. Where a
    log knows no user at all, ``one`` does not make everybody one: the jobs have no user."""
    profile: Literal["delay", "parallel_homogeneous"] = "parallel_homogeneous"
    first: int | None = None
    """Only the first N jobs of those kept."""


PRESETS: dict[str, Rules] = {
    "replay-feedback": Rules(),
    "predictsim": Rules(
        drop=("zero-runtime", "no-request"), runtime="cut-at-request", walltime="requested"
    ),
    "dynp": Rules(
        drop=("zero-runtime", "no-request", "too-wide"),
        runtime="cut-at-request",
        walltime="requested",
    ),
}
"""Rules by the study that uses them: Madon et al. 2024; Gaussier et al. 2015; Streit 2003."""


def make_rules(preset: Rules | str = "replay-feedback", **changes: Any) -> Rules:
    """Return the rules of a preset, or others, with ``changes``; None means: as in these.

    ``drop`` may be a comma-separated text. Raises :class:`UsageError`, with what is allowed.
    """
    if isinstance(preset, str) and preset not in PRESETS:
        raise UsageError(_unknown(parameter("rules"), preset, list(PRESETS)))
    if isinstance(changes.get("drop"), str):
        changes["drop"] = [part.strip() for part in changes["drop"].split(",") if part.strip()]
    if changes.get("drop") is not None:
        changes["drop"] = tuple(changes["drop"])
    kept = {name: value for name, value in changes.items() if value is not None}
    hints = get_type_hints(Rules)
    for name, value in kept.items():
        if name not in hints:
            raise UsageError(_unknown("rule", name, list(hints)))
        if name == "first":
            if not isinstance(value, int) or value < 1:
                raise UsageError(
                    f"{parameter(name)} {value}: expected a number of jobs, at least 1"
                )
            continue
        allowed = get_args(Drop) if name == "drop" else get_args(hints[name])
        for text in value if name == "drop" else (value,):
            if text not in allowed:
                raise UsageError(_unknown(parameter(name), text, list(allowed)))
    rules = PRESETS[preset] if isinstance(preset, str) else preset
    return msgspec.structs.replace(rules, **kept)


def describe(rules: Rules) -> str:
    """Return the rules as one line."""
    return " ".join(
        f"{name.replace('_', '-')}={','.join(value) if isinstance(value, list) else value}"
        for name, value in as_dict(rules).items()
        if value not in (None, (), [])
    )


def as_dict(rules: Rules) -> dict[str, Any]:
    """Return the rules as they are stored with results."""
    fields = {name: getattr(rules, name) for name in rules.__struct_fields__}
    return fields | {"drop": list(rules.drop)}  # as it comes back from a JSON file


def workload_from_log(log: SwfLog, rules: Rules, *, speed_factor: float = 1.0) -> Workload:
    """Return the jobs of ``log`` under ``rules``.

    ``speed_factor`` is the speed of the machine that will be simulated, for the estimates of
    ``exact``. Raises :class:`UsageError` if no job is left.
    """
    columns = _Columns(log, rules)
    notes = list(log.notes)
    rows = columns.kept(notes)
    if rules.first is not None:
        rows = rows[: rules.first]
    if not len(rows):
        raise UsageError(f"{log.path}: the rules leave no job of {len(log)}: {describe(rules)}")
    profiles: dict[str, dict[str, Any]] = {}
    jobs = list(columns.jobs(rows, profiles, speed_factor))
    unix_start_time, time_zone, said = clock_of(log)
    notes.append(said)
    return Workload(
        name=log.path.name,
        nb_res=log.max_processors,
        jobs=jobs,
        profiles=profiles,
        rules=as_dict(rules),
        notes=notes,
        unix_start_time=unix_start_time,
        time_zone=time_zone,
    )


Column = NDArray[np.float64]


class _Columns:
    """The columns of a log that the rules work on."""

    def __init__(self, log: SwfLog, rules: Rules) -> None:
        self.log = log
        self.rules = rules
        requested, allocated = (
            log.column("requested_processors"),
            log.column("allocated_processors"),
        )
        one, other = (requested, allocated) if rules.size == "requested" else (allocated, requested)
        self.size = np.where(one > 0, one, other)
        self.knows_users = bool((log.column("user") >= 0).any())
        self.request = log.column("requested_time")
        self.recorded = log.column("run_time")
        self.run = self.recorded
        if rules.runtime == "cut-at-request":
            self.run = np.where(
                self.request > 0, np.minimum(self.recorded, self.request), self.recorded
            )

    def kept(self, notes: list[str]) -> NDArray[np.intp]:
        """Return the rows that stay, and note how many went for which reason."""
        log, rules = self.log, self.rules
        reasons: dict[str, Any] = {
            "no-size": self.size <= 0,
            "negative-runtime": self.recorded < 0,
            "zero-runtime": self.recorded == 0,
            "no-request": self.request <= 0,
            "no-allocation": log.column("allocated_processors") <= 0,
            "too-wide": self.size > log.max_processors,
            "cancelled": log.column("status") == 5,
            "failed": log.column("status") == 0,
            "no-user": log.column("user") < 0,
        }
        always = ("no-size", "negative-runtime")
        chosen = [*always, *rules.drop]
        if rules.unknown_user == "drop" and "no-user" not in chosen:
            chosen.append("no-user")
        keep = np.ones(len(log), dtype=bool)
        for name in chosen:
            dropped = int((keep & reasons[name]).sum())
            if dropped:
                notes.append(f"{dropped} jobs were dropped: {name}")
            keep &= ~reasons[name]
        return np.flatnonzero(keep)

    def jobs(
        self, rows: NDArray[np.intp], profiles: dict[str, dict[str, Any]], speed_factor: float
    ) -> list[WorkloadJob]:
        """Return the jobs of the given rows; fills ``profiles``."""
        log, rules = self.log, self.rules
        submit = log.column("submit_time")
        finish = submit + np.maximum(log.column("wait_time"), 0) + self.recorded
        scale = speed_factor if rules.profile == "parallel_homogeneous" else 1.0
        jobs = []
        columns = (log.column("job_number"), submit, self.size, self.run, finish)
        values = zip(
            *(column[rows].tolist() for column in columns),
            self._walltimes(rows),
            log.column("user")[rows].tolist(),
            strict=True,
        )
        for number, submitted, size, run, finished, walltime, user in values:
            name = f"r{whole(run)}"
            if name not in profiles:
                profiles[name] = self._profile(run)
            job_id = str(int(number)) if number == int(number) else repr(number)
            jobs.append(
                WorkloadJob(
                    id=job_id,
                    submit_time=submitted,
                    size=int(size),
                    profile=name,
                    walltime=walltime,
                    estimate=run / scale if rules.walltime == "exact" else None,
                    user=str(int(user)) if user >= 0 else self._unknown_user(job_id),
                    finish_time=finished,
                )
            )
        return jobs

    def _unknown_user(self, job_id: str) -> str | None:
        """Return whose job it is; nobody's where the log knows no user at all."""
        if self.rules.unknown_user == "each":
            return f"unknown-{job_id}"
        return "-1" if self.knows_users else None

    def _walltimes(self, rows: NDArray[np.intp]) -> list[float | None]:
        rule = self.rules.walltime
        if rule == "exact":
            return [None] * len(rows)
        wall = self.request[rows]
        if rule == "double":
            wall = np.maximum(wall, 2 * self.recorded[rows])
        return [value if value > 0 else None for value in wall.tolist()]

    def _profile(self, run: float) -> dict[str, Any]:
        if self.rules.profile == "delay" and run > 0:  # Batsim refuses a delay of 0
            return {"type": "delay", "delay": whole(run)}
        flops = whole(run * REFERENCE_SPEED)
        return {"type": "parallel_homogeneous", "cpu": flops, "com": 0}


def _unknown(what: str, text: str, allowed: list[str]) -> str:
    guess = did_you_mean(text, allowed)
    return f"{what} {text!r}{guess}: expected one of {', '.join(allowed)}"
