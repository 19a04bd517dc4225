"""Converts workload files of Batsim 5 to the format of Batsim 4.2, and back.

Ids of jobs and of their profiles begin with their workload, types of profiles have other
names, no limit is no ``walltime``, and Batsim 5 keeps one free field only, ``extra_data``. The
names by which ``profiles`` has them are bare: Batsim puts the workload before each.

What is refused was observed on Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from batsched_py.errors import WorkloadError, located
from batsched_py.support.json_values import is_number, quote
from batsched_py.workload.batsim.batsim5_profiles import (
    EXTRA,
    find_batsim5_type,
    from_file,
    is_batsim5_type,
    make_extra_member,
    make_full_id,
    make_short_id,
    parse_free_fields,
    to_file,
)

_FIELDS = ("id", "subtime", "res", "profile", "walltime")
"""Fields of a job that Batsim 5 reads, except the free one."""


def is_of_batsim5(profiles: Mapping[str, Any]) -> bool:
    """Return whether a file is of Batsim 5, by the types of its profiles."""
    tables = (profile for profile in profiles.values() if isinstance(profile, dict))
    return any(is_batsim5_type(profile.get("type")) for profile in tables)


def from_batsim5(
    where: str, profiles: Mapping[str, Any], jobs: Iterable[Any], workload: str
) -> tuple[dict[str, Any], list[Any], list[str]]:
    """Return profiles and jobs of a file in Batsim 4.2's format, and notes on dropped fields.

    ``where`` is for messages, ``workload`` the name of the workload. What is broken in both
    versions goes on as it is. Raises :class:`WorkloadError` for what only Batsim 5 refuses.
    """
    read: dict[str, Any] = {}
    for name, profile in profiles.items():
        if "!" in name:
            raise WorkloadError(
                f"{where}: profile {name!r}: expected a name without '!', before which Batsim 5 "
                "puts the workload itself"
            )
        read[name] = _profile(f"{where}: profile {name!r}", profile, workload)
    dropped = set[str]()
    jobs = [_job(f"{where}: jobs[{n}]", job, workload, dropped) for n, job in enumerate(jobs)]
    names, notes = ", ".join(sorted(dropped)), []
    if dropped:
        notes.append(f"Batsim 5 drops the fields {names} of jobs: only {EXTRA} may hold others")
    return read, jobs, notes


def job_to_batsim5(
    where: str, fields: Mapping[str, Any], free: dict[str, Any], workload: str
) -> dict[str, Any]:
    """Return a job in the form of a workload file of Batsim 5.

    ``fields`` are those that Batsim 4.2 reads, with bare ids; ``free`` are all others. Raises
    :class:`WorkloadError` if the profile's name cannot be there.
    """
    ids = {"id": fields["id"], "profile": fields["profile"]}
    _check_names(where, [ids["profile"]])
    full = {field: make_full_id(name, workload) for field, name in ids.items()}
    # Files of Batsim 4.2 keep a walltime of -1, which means no limit.
    others = {name: value for name, value in free.items() if name != "walltime"}
    return {**fields, **full, **make_extra_member(others)}


def profiles_to_batsim5(
    where: str, profiles: Mapping[str, dict[str, Any]], workload: str
) -> dict[str, Any]:
    """Return profiles in the form of a workload file of Batsim 5; raises :class:`WorkloadError`."""
    _check_names(where, profiles)
    written = {}
    for name, profile in profiles.items():
        with located(f"{where}: profile {name!r}", WorkloadError):
            written[name] = to_file(profile, workload)
    return written


def _check_names(where: str, names: Iterable[str]) -> None:
    for name in names:
        if "!" in name:
            raise WorkloadError(
                f"{where}: profile {name!r}: in Batsim 5 expected a name without '!', which "
                "follows the workload"
            )


def _bare(what: str, name: str, workload: str) -> str:
    """Return a name without its workload; what merely contains that is taken for a whole id."""
    short = str(make_short_id(name, workload))
    if "!" in short or (short == name and workload in name):
        raise WorkloadError(
            f"{what} {name!r}: expected '{workload}!NAME', or a name without '!' and without "
            f"{workload!r}, which Batsim 5 takes for a whole id"
        )
    return short


def _profile(where: str, profile: Any, workload: str) -> Any:
    if not isinstance(profile, dict):
        return profile
    if (meant := find_batsim5_type(profile.get("type"))) is not None:
        raise WorkloadError(
            f"{where}: type is {quote(profile['type'])}, as in Batsim 4.2; expected {meant}: the "
            "file is for Batsim 5, which refuses types of version 4"
        )
    with located(where, WorkloadError):
        return from_file(profile, workload)


def _job(where: str, job: Any, workload: str, dropped: set[str]) -> Any:
    """Return a job with its free fields in their places; lost fields are ``dropped``."""
    if not isinstance(job, dict):
        return job
    read = {field: job[field] for field in _FIELDS if field in job}
    dropped |= job.keys() - read.keys() - {EXTRA}
    if is_number(limit := read.get("walltime")) and limit <= 0:
        raise WorkloadError(
            f"{where} (id {quote(job.get('id'))}): walltime is {quote(limit)}, expected seconds "
            "above 0, or no walltime if there is no limit"
        )
    if isinstance(read.get("profile"), str):
        read["profile"] = _bare(f"{where}: profile", read["profile"], workload)
    return read | parse_free_fields(job.get(EXTRA), taken=dict.fromkeys(_FIELDS))
