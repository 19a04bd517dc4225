"""One run as it is compared: its jobs as a data frame and as a table for metrics, its settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.errors import InputError, ProtocolError
from batsched_py.metrics import BOUND, JobTable, overall
from batsched_py.report.comparing.source import Source
from batsched_py.results import job_columns
from batsched_py.results.jobs_file import SUFFIX, machine_size, read_jobs
from batsched_py.simulator.execution import REJECTED
from batsched_py.support.processor_sets import from_text

if TYPE_CHECKING:
    from batsched_py.results.result import Result

_TEXTS = ("job_id", "workload_name", "profile", "final_state", "allocated_resources", "user")
_TIMES = {"starting_time": "start", "finish_time": "finish", "execution_time": "execution"}
_NEEDED = ("job_id", "submission_time", "final_state", *_TIMES, "allocated_resources")
_KEYS = ["workload_name", "job_id"]


class RunData:
    """A run to compare."""

    def __init__(
        self, name: str, jobs: pd.DataFrame, settings: dict[str, Any], nb_processors: int | None
    ) -> None:
        self.name = name
        self.jobs = _with_measures(jobs, settings.get("run", {}))
        """A row per job in order of submission: ``workload``, ``job``, ``user`` (empty if
        unknown), ``size`` (processors it got), ``profile``, ``state``, ``processors``,
        ``behaviour``; in seconds ``submit``, ``start``, ``finish``, ``execution``, ``original``
        (recorded submission), ``wait``, ``turnaround``, ``lateness``; and ``slowdown`` (bounded
        by 10 s). Jobs that were rejected have nan as times. ``measured`` is false for those of
        rare behaviour, of the warm-up and of the cool-down."""
        self.settings = settings
        """Content of ``PREFIX_run.json`` without the metrics; empty if there is none."""
        self.nb_processors = nb_processors

    @cached_property
    def table(self) -> JobTable:
        """The jobs for :mod:`batsched_py.metrics`."""
        jobs = self.jobs
        column = {name: jobs[name].to_numpy(np.float64) for name in _NUMBERS}
        return JobTable(
            submit=column["submit"],
            start=column["start"],
            finish=column["finish"],
            execution=column["execution"],
            size=column["size"],
            original_submit=column["original"],
            user=jobs["user"].tolist(),
            nb_processors=self.nb_processors,
            rare=~jobs["measured"].to_numpy(np.bool_),
        )

    @cached_property
    def metrics(self) -> dict[str, float | int | None]:
        """Counts and metrics (SI units), computed now: both runs by the same code."""
        return overall(self.table)


_NUMBERS = ("submit", "start", "finish", "execution", "size", "original")


def read_run(source: Source) -> RunData:
    """Read a run; raises :class:`InputError`, naming file and line, for what is none.

    ``PREFIX_users.csv`` (:mod:`batsched_py.results.job_columns`) beside a table of Batsim tells
    users.
    """
    path = source.path
    frame = _read_frame(path)
    if "user" not in frame and path.name.endswith(SUFFIX):
        frame = _with_users(frame, path.with_name(f"{path.name.removesuffix(SUFFIX)}_users.csv"))
    try:
        jobs = _normal(frame)
    except (ValueError, KeyError, TypeError, ProtocolError) as error:
        read_jobs(path)  # which names the line
        raise InputError(f"{path}: {error}") from None
    if twice := jobs.duplicated(["workload", "job"]).to_numpy().nonzero()[0].tolist():
        row = jobs.iloc[twice[0]]
        raise InputError(f"{path}: job {row['workload']}!{row['job']} is there twice")
    return RunData(source.name, jobs, _settings(path), machine_size(path))


def run_of(result: Result, name: str) -> RunData:
    """Return the run of what :func:`batsched_py.simulate` gave."""
    size = result.output.nb_processors
    return RunData(name, _normal(result.jobs), dict(result.settings), size)


def _read_frame(path: Path) -> pd.DataFrame:
    texts = dict.fromkeys((*_TEXTS, "behaviour"), str)
    try:
        frame = pd.read_csv(path, dtype=texts, encoding="utf-8-sig", low_memory=False)
    except (ValueError, OSError) as error:  # also pandas' own errors, and what is no text
        read_jobs(path)
        raise InputError(f"{path}: {error}") from None
    missing = [name for name in _NEEDED if name not in frame]
    if missing:
        read_jobs(path)
        raise InputError(f"{path}:1: no column {', '.join(missing)}: no {SUFFIX}")
    if frame.empty:
        raise InputError(f"{path} has no jobs: there is nothing to compare")
    return frame


def _with_users(frame: pd.DataFrame, beside: Path) -> pd.DataFrame:
    if not beside.is_file():
        return frame
    texts = dict.fromkeys((*_KEYS, "user", "behaviour"), str)
    try:
        ours = pd.read_csv(beside, dtype=texts, low_memory=False)
        return frame.merge(ours, on=_KEYS, how="left", validate="1:1")
    except (ValueError, KeyError, OSError) as error:
        raise InputError(f"{beside}: {error}; expected a row per job, with users") from None


def _normal(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns by our names, in order of submission (then of id: files agree)."""

    def text(name: str) -> pd.Series[str]:
        if name not in frame:
            return pd.Series("", index=frame.index, dtype=str)
        return frame[name].fillna("").astype(str)

    jobs = pd.DataFrame({"workload": text("workload_name"), "job": text("job_id")})
    for name in ("user", "profile", "behaviour"):
        jobs[name] = text(name)
    jobs["state"] = text("final_state")
    ran = jobs["state"] != REJECTED
    jobs["processors"] = text("allocated_resources").where(ran, "")
    jobs["submit"] = pd.to_numeric(frame["submission_time"])
    for column, name in _TIMES.items():
        jobs[name] = pd.to_numeric(frame[column]).astype(float).where(ran)
        _check_times(column, jobs.loc[ran, name])
    _check_times("submission_time", jobs["submit"])
    sizes = {texts: from_text(texts).bit_count() for texts in jobs.loc[ran, "processors"].unique()}
    jobs["size"] = jobs["processors"].map(sizes | {"": 0}).astype(int)
    if "original_submission_time" in frame:
        original = pd.to_numeric(frame["original_submission_time"])
        jobs["original"] = original.fillna(jobs["submit"])
    else:
        jobs["original"] = jobs["submit"]
    return jobs.sort_values(["submit", "workload", "job"], ignore_index=True)


def _check_times(column: str, times: pd.Series[float]) -> None:
    if not np.isfinite(times).all():
        raise ValueError(f"{column} is not a number of seconds in every row")


def _with_measures(jobs: pd.DataFrame, run: Mapping[str, Any]) -> pd.DataFrame:
    wait, turnaround = jobs["start"] - jobs["submit"], jobs["finish"] - jobs["submit"]
    slowdown = (turnaround / jobs["execution"].clip(lower=BOUND)).clip(lower=1.0)
    return jobs.assign(
        wait=wait,
        turnaround=turnaround,
        slowdown=slowdown,
        lateness=jobs["submit"] - jobs["original"],
        measured=_measured(jobs, run.get("warm_up") or 0.0, run.get("cool_down") or 0.0),
    )


def _measured(jobs: pd.DataFrame, warm_up: float, cool_down: float) -> pd.Series[bool]:
    measured = jobs["behaviour"] != job_columns.RARE
    if warm_up or cool_down:  # seconds; as batsched_py.metrics.without_ends has it
        submit = jobs["submit"]
        measured &= submit >= submit.min() + warm_up
        measured &= submit <= submit.max() - cool_down
    return measured


def _settings(path: Path) -> dict[str, Any]:
    run = path.with_name(f"{path.name.removesuffix(SUFFIX)}_run.json")
    if not path.name.endswith(SUFFIX) or not run.is_file():
        return {}
    try:
        stored = msgspec.json.decode(run.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{run}: not what simulate writes: {error}") from None
    stored.pop("metrics", None)
    return stored
