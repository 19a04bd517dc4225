"""Session Annotated Batsim JSON (SABjson): one file per user with sessions, think times and jobs.

The format is that of swf2userSessions (Madon et al. 2024) as far as it is known; what is ours is
told in ``sabjson.schema.json`` beside this module, which every file written here satisfies.
Reading is more tolerant: profiles may lie in a workload file beside, and unknown keys of the file
and of its sessions are ignored; those of a job are kept in :attr:`WorkloadJob.extra`, as with any
Batsim workload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, unquote

import msgspec

from batsched_py.errors import UsageError, WorkloadError
from batsched_py.support.atomic_files import make_folder_of, write_whole
from batsched_py.support.file_readers import read_json
from batsched_py.support.json_values import shown, whole
from batsched_py.workload import WorkloadJob
from batsched_users.sessions.delimitation import Delimitation, Session, make_session
from batsched_users.sessions.session_graph import SessionGraph

SUFFIX = ".SABjson"

_Profiles = dict[str, dict[str, Any]]
_NotNegative = Annotated[float, msgspec.Meta(ge=0)]
_T = TypeVar("_T")


class UserFile(msgspec.Struct):
    """What a SABjson file holds: the session graph of one user, and what its jobs compute."""

    graph: SessionGraph
    profiles: _Profiles
    """Batsim profiles of the user's jobs by name."""
    delimitation: Delimitation | None = None
    """The rule that cut the sessions, None where the file does not say."""


class _SabFile(msgspec.Struct):
    """The top level of a file as it is read."""

    sessions: list[dict[str, Any]]
    user: int | str | None = None
    delimitation: str | None = None
    profiles: _Profiles = {}


class _Session(msgspec.Struct):
    """A session as it is read."""

    id: int
    first_submit_time: _NotNegative
    jobs: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    preceding_sessions: list[int] = []
    thinking_time_after_preceding_session: list[_NotNegative] = []
    nb_jobs: int | None = None


class _SabJob(msgspec.Struct):
    """A job as it is read."""

    id: int | str
    profile: str
    res: Annotated[int, msgspec.Meta(ge=1)]
    subtime: _NotNegative
    walltime: float | None = None
    finish_time: _NotNegative | None = None
    estimate: _NotNegative | None = None
    submit_time: _NotNegative | None = None
    """The exact time, where ``subtime`` has lost a last bit of it."""


def file_name(user: str) -> str:
    """Return ``user<ID>.SABjson``; what is unsafe in a file name is percent-encoded."""
    return f"user{quote(user, safe='')}{SUFFIX}"


def write_folder(
    folder: Path,
    graphs: Iterable[SessionGraph],
    profiles: Mapping[str, dict[str, Any]],
    delimitation: Delimitation,
) -> None:
    """Write one file per user into ``folder``, which is made if it is not there.

    Each file holds those of ``profiles`` that the user's jobs need. Files of the same users are
    replaced. Raises :class:`UsageError`, before anything is written, if the folder holds files of
    other users: they would be taken for users of the same log.
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
        write_sabjson(folder / name, UserFile(graph, needed, delimitation))


def _with_parts(names: Iterable[str], profiles: Mapping[str, dict[str, Any]]) -> _Profiles:
    """Return the named profiles and those that composed ones among them consist of."""
    todo = list(dict.fromkeys(names))
    with_parts: _Profiles = {}
    for name in todo:  # grows while it is walked through
        if name not in with_parts and name in profiles:
            with_parts[name] = profiles[name]
            todo += profiles[name].get("seq", ())
    return with_parts


def write_sabjson(path: Path, content: UserFile) -> None:
    """Write one user's file, whole or not at all; :func:`read_sabjson` gives an equal object.

    Jobs without walltime have no key ``walltime``. Integral numbers are written as integers.
    """
    graph = content.graph
    record: dict[str, Any] = {"user": graph.user}
    if content.delimitation is not None:
        record["delimitation"] = str(content.delimitation)
    ids = [session.id for session in graph.sessions]
    record["sessions"] = [
        _session_record(session, [(ids[index], time) for index, time in before])
        for session, before in zip(graph.sessions, graph.predecessors, strict=True)
    ]
    record["profiles"] = content.profiles
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
    further = {k: v for k, v in job.extra.items() if k not in _SabJob.__struct_fields__}
    return record | further


def read_sabjson(path: Path, workload: Path | None = None) -> UserFile:
    """Read one user's file.

    Profiles that it lacks are taken from ``profiles`` of the Batsim workload file ``workload``. A
    file that does not name its user belongs to the one in its name, ``user<ID>.SABjson``.
    A session of which some job has no ``finish_time`` gets ``finish`` = inf.

    Raises :class:`WorkloadError`, with file, session and job, for what cannot be used: missing or
    ill-typed values, unknown or repeated sessions and jobs, lists of different lengths, negative
    times, sessions that wait for each other in a circle, jobs without profile.
    """
    file = _convert(_decode(path), _SabFile, str(path))
    _check_parts(file.profiles, path)
    named = unquote(path.name.removesuffix(SUFFIX).removeprefix("user"))
    user = named if file.user is None else str(file.user)
    profiles = file.profiles if workload is None else _profiles_of(workload) | file.profiles
    raw = [_convert(s, _Session, f"{path}: {_named(s, 'session')}") for s in file.sessions]
    sessions = [_read_session(session, user, path) for session in raw]
    graph = SessionGraph(user, sessions, _read_predecessors(raw, path))
    _check_acyclic(graph, path)
    needed = _check_jobs(graph, profiles, path)
    delimitation = _read_delimitation(file.delimitation, path)
    return UserFile(graph, file.profiles | _with_parts(needed, profiles), delimitation)


def _decode(path: Path) -> Any:
    return read_json(path, Any, WorkloadError)


def _convert(raw: Any, kind: type[_T], where: str) -> _T:
    try:
        # In a session "5" may stand for 5; elsewhere the ids "05" and "5" are different texts.
        return msgspec.convert(raw, kind, strict=kind is not _Session)
    except msgspec.ValidationError as error:
        raise WorkloadError(f"{where}: {error}") from None


def _named(raw: dict[str, Any], kind: str) -> str:
    return f"{kind} {raw['id']}" if "id" in raw else f"a {kind} without id"


def _profiles_of(workload: Path) -> _Profiles:
    class WithProfiles(msgspec.Struct):
        profiles: _Profiles

    profiles = _convert(_decode(workload), WithProfiles, str(workload)).profiles
    _check_parts(profiles, workload)
    return profiles


def _check_parts(profiles: _Profiles, path: Path) -> None:
    """Raise for composed profiles of which it is not known what they consist of."""
    for name, profile in profiles.items():
        parts = profile.get("seq", [])
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise WorkloadError(
                f"{path}: profile {name!r}: seq is {shown(parts)}, expected names of profiles"
            )


def _read_delimitation(text: str | None, path: Path) -> Delimitation | None:
    try:
        return None if text is None else Delimitation.parse(text)
    except UsageError as error:
        raise WorkloadError(f"{path}: {error}") from None


def _read_session(raw: _Session, user: str, path: Path) -> Session:
    where = f"{path}: session {raw.id}"
    if raw.nb_jobs is not None and raw.nb_jobs != len(raw.jobs):
        raise WorkloadError(f"{where}: nb_jobs is {raw.nb_jobs}, but it has {len(raw.jobs)} jobs")
    jobs = [_read_job(job, raw.first_submit_time, user, where) for job in raw.jobs]
    jobs.sort(key=lambda job: job.submit_time)
    session = make_session(raw.id, user, jobs)
    session.start = raw.first_submit_time
    return session


def _read_job(record: dict[str, Any], start: float, user: str, where: str) -> WorkloadJob:
    where = f"{where}: {_named(record, 'job')}"
    raw = _convert(record, _SabJob, where)
    walltime = None if raw.walltime == -1 else raw.walltime  # Batsim's spelling of "none"
    if walltime is not None and not walltime > 0:
        raise WorkloadError(
            f"{where}: walltime is {walltime}, expected more than 0, or -1 for none"
        )
    submit_time = start + raw.subtime if raw.submit_time is None else raw.submit_time
    if submit_time < start:
        raise WorkloadError(
            f"{where}: submit_time is {submit_time:.15g}, before its session, which begins at "
            f"{start:.15g}"
        )
    return WorkloadJob(
        id=str(raw.id),
        submit_time=submit_time,
        size=raw.res,
        profile=raw.profile,
        walltime=walltime,
        estimate=raw.estimate,
        user=user,
        finish_time=raw.finish_time,
        extra={k: v for k, v in record.items() if k not in _SabJob.__struct_fields__},
    )


def _read_predecessors(sessions: list[_Session], path: Path) -> list[list[tuple[int, float]]]:
    index_of = {session.id: index for index, session in enumerate(sessions)}
    if len(index_of) < len(sessions):
        seen = [session.id for session in sessions]
        twice = next(number for number in seen if seen.count(number) > 1)
        raise WorkloadError(f"{path}: there are two sessions {twice}; ids must differ")
    predecessors = []
    for session in sessions:
        where = f"{path}: session {session.id}"
        before, times = session.preceding_sessions, session.thinking_time_after_preceding_session
        if len(before) != len(times):
            raise WorkloadError(
                f"{where}: {len(before)} preceding_sessions, but {len(times)} values of "
                "thinking_time_after_preceding_session; expected one for each"
            )
        for number in before:
            if number not in index_of:
                raise WorkloadError(f"{where}: its preceding session {number} is not in the file")
        if len(set(before)) < len(before):
            raise WorkloadError(f"{where}: preceding_sessions names a session twice: {before}")
        edges = zip(before, times, strict=True)
        predecessors.append(sorted((index_of[number], time) for number, time in edges))
    return predecessors


def _check_acyclic(graph: SessionGraph, path: Path) -> None:
    try:
        graph.topological_order()
    except CycleError as error:
        circle = " -> ".join(str(graph.sessions[index].id) for index in error.args[1])
        raise WorkloadError(
            f"{path}: session {circle} precede each other in a circle; none could ever begin"
        ) from None


def _check_jobs(graph: SessionGraph, profiles: _Profiles, path: Path) -> list[str]:
    """Return the names of the profiles that the jobs need."""
    needed: dict[str, None] = {}
    seen: set[str] = set()
    for session in graph.sessions:
        for job in session.jobs:
            where = f"{path}: session {session.id}: job {job.id}"
            if job.id in seen:
                raise WorkloadError(f"{where}: there is another job of this id; ids must differ")
            if job.profile not in profiles:
                raise WorkloadError(
                    f"{where}: its profile {job.profile!r} is not in the file; name the Batsim "
                    "workload file that has it"
                )
            seen.add(job.id)
            needed[job.profile] = None
    return list(needed)
