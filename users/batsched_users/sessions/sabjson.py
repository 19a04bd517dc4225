"""Writes Session Annotated Batsim JSON (SABjson): sessions and jobs, one file per user.

The format is that of swf2userSessions (Madon et al. 2024) as far as it is known. The schema
``sabjson.schema.json`` beside this module documents our additions; every file written satisfies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from batsched_py.errors import UsageError
from batsched_py.files.writers import make_folder_of, write_whole
from batsched_py.support.json_values import whole
from batsched_py.workload import WorkloadJob
from batsched_users.sessions.delimitation import Delimitation, Session
from batsched_users.sessions.session_graph import SessionGraph

SUFFIX = ".SABjson"

_Profiles = dict[str, dict[str, Any]]
_OWN = {"id", "profile", "res", "subtime", "walltime", "finish_time", "estimate", "submit_time"}
"""Keys of a job that its additional data cannot use."""


def file_name(user: str) -> str:
    """Return the file name of a user, ``user<ID>.SABjson``, with unsafe characters encoded."""
    return f"user{quote(user, safe='')}{SUFFIX}"


def write_folder(
    folder: Path,
    graphs: Iterable[SessionGraph],
    profiles: Mapping[str, dict[str, Any]],
    delimitation: Delimitation,
) -> None:
    """Write one SABjson file per user into ``folder``, which is made if necessary.

    Each file holds the ``profiles`` that the user's jobs need. Files of the same users are
    replaced. Raises :class:`UsageError`, before anything is written, if the folder holds files of
    other users: they would be mistaken for users of the same log.
    """
    named = {file_name(graph.user): graph for graph in graphs}
    others = sorted({path.name for path in folder.glob(f"*{SUFFIX}")} - set(named))
    if others:
        raise UsageError(
            f"{folder} holds {len(others)} files of users that are not in this log, such as "
            f"{others[0]}; choose an empty folder or delete them"
        )
    make_folder_of(folder / file_name("any"))
    for name, graph in named.items():
        needed = _with_parts((job.profile for s in graph.sessions for job in s.jobs), profiles)
        write_sabjson(folder / name, graph, needed, delimitation)


def _with_parts(names: Iterable[str], profiles: Mapping[str, dict[str, Any]]) -> _Profiles:
    """Return the named profiles, and the profiles that composed ones consist of."""
    todo = list(dict.fromkeys(names))
    with_parts: _Profiles = {}
    for name in todo:  # grows while it is walked through
        if name not in with_parts and name in profiles:
            with_parts[name] = profiles[name]
            todo += profiles[name].get("seq", ())
    return with_parts


def write_sabjson(
    path: Path, graph: SessionGraph, profiles: _Profiles, delimitation: Delimitation
) -> None:
    """Write the SABjson file of one user, completely or not at all.

    Jobs without walltime have no key ``walltime``. Integral numbers are written as integers.
    """
    record: dict[str, Any] = {"user": graph.user, "delimitation": str(delimitation)}
    ids = [session.id for session in graph.sessions]
    record["sessions"] = [
        _session_record(session, [(ids[index], time) for index, time in before])
        for session, before in zip(graph.sessions, graph.predecessors, strict=True)
    ]
    record["profiles"] = profiles
    write_whole(path, msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")


def _session_record(session: Session, predecessors: list[tuple[int, float]]) -> dict[str, Any]:
    return {
        "id": session.id,
        "first_submit_time": whole(session.start),
        "preceding_sessions": [number for number, _ in predecessors],
        "thinking_time_after_preceding_session": [whole(time) for _, time in predecessors],
        "nb_jobs": len(session.jobs),
        "jobs": [_job_record(job, session.start) for job in session.jobs],
    }


def _job_record(job: WorkloadJob, session_start: float) -> dict[str, Any]:
    subtime = job.submit_time - session_start
    record: dict[str, Any] = {
        "id": job.id,
        "profile": job.profile,
        "res": job.size,
        "subtime": whole(subtime),
    }
    if session_start + subtime != job.submit_time:  # fractions of seconds may lose a last bit
        record["submit_time"] = job.submit_time
    for key in ("walltime", "estimate", "finish_time"):
        value = getattr(job, key)
        if value is not None:
            record[key] = whole(value)
    further = {k: v for k, v in job.extra.items() if k not in _OWN}
    return record | further
