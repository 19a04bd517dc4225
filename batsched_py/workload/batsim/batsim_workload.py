"""Batsim's workload files: reading what Batsim 4.2 and 5 read, and writing for either.

Format: https://batsim.readthedocs.io/en/latest/input-workload.html ; what is refused was
observed on Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import InputError, WorkloadError
from batsched_py.files.readers import parse_json, read_bytes, unpack
from batsched_py.files.writers import write_whole
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.support.json_values import is_integer, is_number, shown, whole
from batsched_py.support.old_names import renamed, renamed_to
from batsched_py.workload.batsim.batsim5_workload import (
    from_batsim5,
    is_of_batsim5,
    job_to_batsim5,
    profiles_to_batsim5,
)
from batsched_py.workload.batsim.profile_types import PROFILE_TYPES, profile_type
from batsched_py.workload.logs.clock import LATEST, parse_time_zone
from batsched_py.workload.workload import Workload, WorkloadJob, check_times

_PREFIX = "w0"
"""Batsim's name of the first workload."""
_REQUIRED = ("id", "subtime", "res", "profile")
_TYPED = frozenset((*_REQUIRED, "walltime", "finish_time", "estimate"))
"""Fields of a job that have a place in :class:`WorkloadJob`; ``user`` only if it is a name."""


def read_workload(
    path: str | Path,
    *,
    negative_subtimes: bool = False,
    batsim5: bool = False,
    batsims_name: str = _PREFIX,
) -> Workload:
    """Read a workload file, plain or gzipped, refusing what Batsim refuses.

    A file is Batsim 5's if a type of its profiles is, or ``batsim5`` says so; free fields are
    those of ``extra_data`` then. The workload is as if it came from a file of Batsim 4.2.

    Ids may say the workload, by ``batsims_name``: Batsim calls its workloads w0, w1, ... in their
    order.

    Jobs are put in order of submission (ties in the order of the file). Fields that Batsim does
    not know go to :attr:`WorkloadJob.extra`, but for ``user``, ``finish_time`` (recorded end)
    and ``estimate`` (run time that policies are told), seconds. Profiles that no job uses, and
    that are no part of a composed one, are dropped, as Batsim does. Jobs with a negative subtime
    are submitted at 0; with ``negative_subtimes`` they keep it, and have waited since then, as in
    Batsim.

    Raises :class:`WorkloadError` naming file and job, and :class:`OSError`.
    """
    path = Path(path)
    content = _decode(path)
    notes: list[str] = []
    if batsim5 or is_of_batsim5(content):
        content, notes = from_batsim5(str(path), content, batsims_name)
    nb_res: Any = content.get("nb_res")
    if not is_integer(nb_res) or nb_res < 1:
        raise WorkloadError(f"{path}: nb_res is {shown(nb_res)}, expected an integer above 0")
    if nb_res > MOST_PROCESSORS:
        raise WorkloadError(
            f"{path}: nb_res is {shown(nb_res)}, expected at most {MOST_PROCESSORS}"
        )
    profiles = content.get("profiles")
    if not isinstance(profiles, dict):
        raise WorkloadError(f"{path}: profiles is {shown(profiles)}, expected an object")
    for name, profile in profiles.items():
        _check_profile(f"{path}: profile {name!r}", profile, profiles)
    jobs = _jobs(path, content.get("jobs"), profiles, batsims_name)
    early = [job for job in jobs if job.submit_time < 0]
    if early and not negative_subtimes:
        for job in early:
            job.submit_time = 0.0
        notes.append(f"{len(early)} jobs with a negative subtime are submitted at 0")
    if any(a.submit_time > b.submit_time for a, b in pairwise(jobs)):
        notes.append("jobs were not in order of submission and have been sorted")
        jobs.sort(key=lambda job: job.submit_time)
    start, zone = _clock(path, content)
    rules = content.get("rules", {})
    workload = Workload(
        name=path.name,
        nb_res=nb_res,
        jobs=jobs,
        profiles=_used(profiles, {job.profile for job in jobs}),
        rules=rules if isinstance(rules, dict) else {},
        notes=notes,
        unix_start_time=start,
        time_zone=zone,
    )
    check_times(str(path), workload)
    return workload


def write_workload(workload: Workload, path: str | Path, *, batsim5: bool = False) -> None:
    """Write a workload file for Batsim 4.2 or 5, one job a line, whole or not at all.

    What :func:`read_workload` does not get back (profiles that no job uses, the notes, the
    name) is not part of it. Raises :class:`WorkloadError` for values that a file cannot hold,
    and :class:`OSError`.
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
    ours = {"user": job.user, "finish_time": job.finish_time, "estimate": job.estimate}
    known, free = _written(where, fields), _written(where, ours) | job.extra
    return job_to_batsim5(where, known, free, _PREFIX) if batsim5 else known | free


def _written(where: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return those fields that have a value, numbers as short as they may be."""
    for name, value in fields.items():
        if isinstance(value, float):
            if not isfinite(value):
                raise WorkloadError(f"{where}: {name} is {value}, expected a finite number")
            fields[name] = whole(value)
    return {name: value for name, value in fields.items() if value is not None}


def _decode(path: Path) -> dict[str, Any]:
    text = unpack(read_bytes(path, WorkloadError), path, WorkloadError)
    if not text.strip():
        raise WorkloadError(f"{path}: the file is empty; expected a Batsim workload (JSON)")
    content = parse_json(text, Any, path, WorkloadError, unique_names=True)
    if not isinstance(content, dict) or not content.keys() & {"nb_res", "jobs", "profiles"}:
        raise WorkloadError(
            f"{path}: no Batsim workload: expected an object with nb_res, jobs and profiles"
        )
    return content


def _clock(path: Path, content: dict[str, Any]) -> tuple[float | None, str]:
    start, zone = content.get("unix_start_time"), content.get("time_zone", "UTC")
    if start is not None and not (is_number(start) and abs(start) <= LATEST):
        expected = f"a number up to {LATEST:g}"
        raise WorkloadError(f"{path}: unix_start_time is {shown(start)}, expected {expected}")
    try:
        parse_time_zone(zone if isinstance(zone, str) else str(zone))
    except InputError as error:
        raise WorkloadError(f"{path}: {error}") from None
    return (None if start is None else float(start)), zone


def _jobs(path: Path, items: Any, profiles: dict[str, Any], workload: str) -> list[WorkloadJob]:
    if not isinstance(items, list):
        raise WorkloadError(f"{path}: jobs is {shown(items)}, expected an array of jobs")
    jobs, seen = [], set()
    for index, item in enumerate(items):
        job = _job(path, index, item, workload)
        where = f"{path}: job {job.id!r}"
        if job.id in seen:
            raise WorkloadError(f"{where} (jobs[{index}]): this id is taken; expected another")
        seen.add(job.id)
        _check_use(where, job, profiles)
        jobs.append(job)
    return jobs


def _job(path: Path, index: int, item: Any, workload: str) -> WorkloadJob:
    where = f"{path}: jobs[{index}]"
    if not isinstance(item, dict):
        raise WorkloadError(f"{where} is {shown(item)}, expected an object")
    name = _name(where, item, workload)
    where = f"{path}: job {name!r} (jobs[{index}])"
    missing = [field for field in _REQUIRED if field not in item]
    if missing:
        raise WorkloadError(f"{where}: {', '.join(missing)} missing; expected {_REQUIRED}")
    if not is_integer(item["res"]) or item["res"] < 1:
        raise WorkloadError(
            f"{where}: res is {shown(item['res'])}, expected an integer above 0 (a job without "
            "processors cannot run)"
        )
    if not isinstance(item["profile"], str):
        raise WorkloadError(f"{where}: profile is {shown(item['profile'])}, expected a name")
    user = item.get("user")
    named = isinstance(user, str) or is_integer(user)
    return WorkloadJob(
        id=name,
        submit_time=_number(where, item, "subtime"),
        size=item["res"],
        profile=item["profile"],
        walltime=_walltime(where, item),
        estimate=_optional(where, item, "estimate"),
        user=str(user) if named else None,
        finish_time=_optional(where, item, "finish_time"),
        extra=_extra(item, named),
    )


def _extra(item: dict[str, Any], named: bool) -> dict[str, Any]:
    """Return the fields that go on as they came; a walltime of -1 is no walltime, but was said."""
    typed = _TYPED | {"user"} if named else _TYPED
    return {k: v for k, v in item.items() if k not in typed or (k == "walltime" and v == -1)}


def _name(where: str, item: dict[str, Any], workload: str) -> str:
    value = item.get("id")
    if not isinstance(value, str) and not is_integer(value):
        raise WorkloadError(f"{where}: id is {shown(value)}, expected text or an integer")
    text = str(value)
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


def _walltime(where: str, item: dict[str, Any]) -> float | None:
    if "walltime" not in item:
        return None
    walltime = _number(where, item, "walltime")
    if walltime == -1:
        return None
    if walltime <= 0:
        raise WorkloadError(
            f"{where}: walltime is {shown(item['walltime'])}, expected seconds above 0, "
            "or -1 for none"
        )
    return walltime


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


def _check_profile(where: str, profile: Any, profiles: dict[str, Any]) -> None:
    if not isinstance(profile, dict):
        raise WorkloadError(f"{where} is {shown(profile)}, expected an object")
    kind = profile.get("type")
    known_type = profile_type(kind)
    if not isinstance(kind, str) or (known_type is None and "trace" not in profile):
        expected = ", ".join(sorted(PROFILE_TYPES))
        raise WorkloadError(
            f"{where}: type is {shown(kind)}{renamed(kind)}, expected one of {expected}"
        )
    if "ret" in profile and not is_integer(profile["ret"]):
        raise WorkloadError(f"{where}: ret is {shown(profile['ret'])}, expected an integer")
    for field in known_type.amounts if known_type else ():
        value = _number(where, profile, field)
        if value < 0 or (kind == "delay" and value == 0):
            least = "seconds above 0" if kind == "delay" else "at least 0"
            raise WorkloadError(f"{where}: {field} is {profile[field]}, expected {least}")
    if kind == "parallel":
        _check_parallel(where, profile)
    if kind == "composed":
        _check_composed(where, profile, profiles)


def _check_parallel(where: str, profile: dict[str, Any]) -> None:
    cpu, com = profile.get("cpu"), profile.get("com")
    for name, values in (("cpu", cpu), ("com", com)):
        if not isinstance(values, list) or not all(is_number(v) and v >= 0 for v in values):
            raise WorkloadError(f"{where}: {name} is {shown(values)}, expected numbers >= 0")
    if isinstance(cpu, list) and isinstance(com, list) and len(com) != len(cpu) ** 2:
        raise WorkloadError(
            f"{where}: {len(cpu)} values of cpu and {len(com)} of com; expected n and n*n"
        )


def _check_composed(where: str, profile: dict[str, Any], profiles: dict[str, Any]) -> None:
    names, repeat = profile.get("seq"), profile.get("repeat", 1)
    if "repeat" not in profile and (hint := renamed_to("repeat", profile)):
        raise WorkloadError(f"{where}: there is no repeat{hint}")
    if not isinstance(names, list) or not names:
        raise WorkloadError(f"{where}: seq is {shown(names)}, expected names of profiles")
    for name in names:
        if not isinstance(name, str) or name not in profiles:
            raise WorkloadError(f"{where}: seq names {shown(name)}, which is not a profile")
    if not is_integer(repeat) or repeat < 1:
        raise WorkloadError(f"{where}: repeat is {shown(repeat)}, expected an integer above 0")


def _used(profiles: dict[str, Any], names: set[str]) -> dict[str, dict[str, Any]]:
    """Return the profiles of jobs, and the parts of all composed ones, in the order of the file."""
    used = set(names)
    for profile in profiles.values():
        if profile["type"] == "composed":
            used.update(profile["seq"])
    return {name: profile for name, profile in profiles.items() if name in used}


def _optional(where: str, item: dict[str, Any], field: str) -> float | None:
    return None if item.get(field) is None else _number(where, item, field)


def _number(where: str, item: dict[str, Any], field: str) -> float:
    value: Any = item.get(field)
    if not is_number(value):
        raise WorkloadError(f"{where}: {field} is {shown(value)}, expected a number")
    return float(value)
