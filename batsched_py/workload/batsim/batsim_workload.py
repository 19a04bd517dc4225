"""Reads and writes the workload files of Batsim 4.2 and 5.

Format: https://batsim.readthedocs.io/en/latest/input-workload.html ; what is refused was
observed on Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from batsched_py.errors import InputError, WorkloadError, located
from batsched_py.files.readers import parse_json, read_bytes, unpack
from batsched_py.files.writers import write_whole
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.support.json_values import is_integer, is_number, quote, whole
from batsched_py.workload.batsim.batsim5_workload import (
    from_batsim5,
    is_of_batsim5,
    job_to_batsim5,
    profiles_to_batsim5,
)
from batsched_py.workload.batsim.profile_fields import Number, convert_table, read_profile
from batsched_py.workload.logs.clock import LATEST, parse_time_zone
from batsched_py.workload.workload import Workload, WorkloadJob, check_times

_THINK_TIME = "recorded_think_time"
"""Another name than that of the output column ``think_time``."""
_PREFIX = "w0"
"""Batsim's name of the first workload."""


class _WorkloadFile(msgspec.Struct):
    """The fields of a workload file."""

    nb_res: Annotated[int, Meta(ge=1, le=MOST_PROCESSORS)]
    jobs: list[Any]
    profiles: dict[str, Any]
    unix_start_time: Annotated[float, Meta(ge=-LATEST, le=LATEST)] | None = None
    time_zone: str = "UTC"
    rules: Any = None


class _JobFields(msgspec.Struct):
    """The fields of a job in a workload file: Batsim's, and the added ones."""

    id: str | int
    subtime: Number
    res: Annotated[int, Meta(ge=1)]
    profile: str
    walltime: Number = -1
    finish_time: Number | None = None
    estimate: Number | None = None


JOB_FIELDS = frozenset(_JobFields.__struct_fields__)
"""Fields that have a place in :class:`WorkloadJob`; ``user`` and ``preceding_job`` only if they are
names, ``recorded_think_time`` only if it is a number."""


def read_workload(
    path: str | Path,
    *,
    negative_subtimes: bool = False,
    batsim5: bool = False,
    batsims_name: str = _PREFIX,
) -> Workload:
    """Read a workload file, plain or gzipped; refuse all files that Batsim refuses.

    A file is Batsim 5's if a type of its profiles is, or ``batsim5`` is true; free fields are
    those of ``extra_data`` then. The workload is as if it came from a file of Batsim 4.2.

    Ids may begin with the workload, by ``batsims_name``: Batsim calls its workloads w0, w1, ... in
    their order.

    Jobs are put in order of submission (ties in the order of the file). Fields that Batsim does
    not know go to :attr:`WorkloadJob.extra`, but for ``user``, ``finish_time`` (recorded end),
    ``estimate`` (run time that policies plan with), ``preceding_job`` and
    ``recorded_think_time``, in seconds. Profiles that no job uses, and
    that are not part of a composed one, are dropped, as Batsim does. Jobs with a negative subtime
    are submitted at 0; with ``negative_subtimes`` they keep it, and have waited since then, as in
    Batsim.

    Raises :class:`WorkloadError` naming file and job, and :class:`OSError`.
    """
    path = Path(path)
    text = unpack(read_bytes(path, WorkloadError), path, WorkloadError)
    if not text.strip():
        raise WorkloadError(f"{path}: the file is empty; expected a Batsim workload (JSON)")
    content = parse_json(text, Any, path, WorkloadError, unique_names=True)
    file = convert_table(str(path), content, _WorkloadFile)
    start, zone = file.unix_start_time, file.time_zone
    with located(path, InputError, WorkloadError):
        parse_time_zone(zone)
    profiles, items, notes = file.profiles, file.jobs, list[str]()
    if batsim5 or is_of_batsim5(profiles):
        profiles, items, notes = from_batsim5(str(path), profiles, items, batsims_name)
    for name, profile in profiles.items():
        read_profile(f"{path}: profile {name!r}", profile, profiles.__contains__)
    jobs = _jobs(path, items, profiles, batsims_name)
    early = [job for job in jobs if job.submit_time < 0]
    if early and not negative_subtimes:
        for job in early:
            job.submit_time = 0.0
        notes.append(f"{len(early)} jobs with a negative subtime are submitted at 0")
    if any(a.submit_time > b.submit_time for a, b in pairwise(jobs)):
        notes.append("jobs were not in order of submission and have been sorted")
        jobs.sort(key=lambda job: job.submit_time)
    workload = Workload(
        name=path.name,
        nb_res=file.nb_res,
        jobs=jobs,
        profiles=_used(profiles, {job.profile for job in jobs}),
        rules=file.rules if isinstance(file.rules, dict) else {},
        notes=notes,
        unix_start_time=start,
        time_zone=zone,
    )
    check_times(str(path), workload)
    return workload


def write_workload(workload: Workload, path: str | Path, *, batsim5: bool = False) -> None:
    """Write a workload file for Batsim 4.2 or 5, one job a line, whole or not at all.

    Notes and the name are not part of it. Raises :class:`WorkloadError` for values that a file
    cannot hold, and :class:`OSError`.
    """
    where = f"workload {workload.name}"
    start = workload.unix_start_time
    head: dict[str, Any] = {
        "description": f"{workload.name}, written by batsched_py",
        "rules": workload.rules,
        **({} if start is None else {"unix_start_time": whole(start)}),
        "time_zone": workload.time_zone,
        "nb_res": workload.nb_res,
    }
    lines = [f"{_encode(key)}: {_encode(value)}" for key, value in head.items()]
    jobs = (
        _encode(_job_to_json(f"{where}: job {job.id!r}", job, batsim5)) for job in workload.jobs
    )
    contents = workload.profiles
    if batsim5:
        contents = profiles_to_batsim5(where, contents, _PREFIX)
    profiles = (f"{_encode(name)}: {_encode(of)}" for name, of in contents.items())
    lines.append('"jobs": [\n' + ",\n".join(jobs) + "\n]")
    lines.append('"profiles": {\n' + ",\n".join(profiles) + "\n}")
    write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _job_to_json(where: str, job: WorkloadJob, batsim5: bool) -> dict[str, Any]:
    if "!" in job.id or not job.id:
        raise WorkloadError(f"{where}: expected an id without '!', at least one character")
    fields: dict[str, Any] = {
        # Batsim takes an id that contains its workload's name only with the prefix.
        "id": f"{_PREFIX}!{job.id}" if _PREFIX in job.id else job.id,
        "subtime": job.submit_time,
        "res": job.size,
        "profile": job.profile,
        "walltime": job.walltime,
    }
    added = {
        "user": job.user,
        "finish_time": job.finish_time,
        "estimate": job.estimate,
        "preceding_job": job.preceding_job,
        _THINK_TIME: job.think_time,
    }
    known, free = _written(where, fields), _written(where, added) | job.extra
    return job_to_batsim5(where, known, free, _PREFIX) if batsim5 else known | free


def _written(where: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value, numbers as short as they may be."""
    for name, value in fields.items():
        if isinstance(value, float):
            if not isfinite(value):
                raise WorkloadError(f"{where}: {name} is {value}, expected a finite number")
            fields[name] = whole(value)
    return {name: value for name, value in fields.items() if value is not None}


def _jobs(
    path: Path, items: list[Any], profiles: dict[str, Any], workload: str
) -> list[WorkloadJob]:
    jobs, seen = [], set()
    for index, item in enumerate(items):
        job_id = item.get("id") if isinstance(item, dict) else None
        where = f"{path}: jobs[{index}]{'' if job_id is None else f' (id {quote(job_id)})'}"
        job = _job(where, item, workload)
        if job.id in seen:
            raise WorkloadError(f"{where}: job {job.id!r} exists already; expected another id")
        seen.add(job.id)
        _check_use(where, job, profiles)
        jobs.append(job)
    return jobs


def _job(where: str, item: Any, workload: str) -> WorkloadJob:
    fields = convert_table(where, item, _JobFields)
    if fields.walltime <= 0 and fields.walltime != -1:
        raise WorkloadError(
            f"{where}: walltime = {item['walltime']}: expected seconds above 0, or -1 for none"
        )
    names = {
        name: str(value)
        for name in ("user", "preceding_job")
        if isinstance(value := item.get(name), str) or is_integer(value)
    }
    think_time = item.get(_THINK_TIME)
    typed = JOB_FIELDS.union(names, [_THINK_TIME] * is_number(think_time))
    # A walltime of -1 means no limit, but is a value of the file.
    extra = {k: v for k, v in item.items() if k not in typed or (k == "walltime" and v == -1)}
    return WorkloadJob(
        id=_short_id(where, str(fields.id), workload),
        submit_time=fields.subtime,
        size=fields.res,
        profile=fields.profile,
        walltime=None if fields.walltime == -1 else fields.walltime,
        estimate=fields.estimate,
        user=names.get("user"),
        finish_time=fields.finish_time,
        preceding_job=names.get("preceding_job"),
        think_time=think_time if is_number(think_time) else None,
        extra=extra,
    )


def _short_id(where: str, text: str, workload: str) -> str:
    """Return the id of a job without its workload; raises :class:`WorkloadError`."""
    prefix, bang, name = text.partition("!")
    if not bang:
        name = text
        if workload in name:
            raise WorkloadError(
                f"{where}: id {text!r} contains {workload!r}, which Batsim refuses; expected "
                f"'{workload}!{text}' or another id"
            )
    elif prefix != workload or "!" in name:
        raise WorkloadError(f"{where}: id {text!r}, expected a name or '{workload}!name'")
    if not name:
        raise WorkloadError(f"{where}: id {text!r}, expected at least one character")
    return name


def _check_use(where: str, job: WorkloadJob, profiles: dict[str, Any]) -> None:
    profile = profiles.get(job.profile)
    if profile is None:
        raise WorkloadError(
            f"{where}: profile {job.profile!r} is not among the profiles; add it, or name another"
        )
    if profile["type"] == "parallel" and len(profile["cpu"]) != job.size:
        raise WorkloadError(
            f"{where}: res is {job.size}, but its profile {job.profile!r} has "
            f"{len(profile['cpu'])} values of cpu; expected as many"
        )


def _used(profiles: dict[str, Any], names: set[str]) -> dict[str, dict[str, Any]]:
    """Return the profiles of jobs, and the parts of all composed ones, in the order of the file."""
    used = set(names)
    for profile in profiles.values():
        if profile["type"] == "composed":
            used.update(profile["seq"])
    return {name: profile for name, profile in profiles.items() if name in used}
