"""SABjson files: exact round trips, the schema, tolerant reading, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from batsched_py.errors import UsageError, WorkloadError
from batsched_py.workload import WorkloadJob
from batsched_users.sessions import sabjson
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.sabjson import (
    UserFile,
    file_name,
    read_sabjson,
    write_folder,
    write_sabjson,
)
from batsched_users.sessions.session_graph import SessionGraph, build_graph
from helpers.drawn_sessions import intervals, job, jobs_of

SCHEMA = json.loads((Path(sabjson.__file__).with_name("sabjson.schema.json")).read_text())
A60 = Delimitation("arrival", 60)
PROFILES: dict[str, dict[str, Any]] = {"p": {"type": "delay", "delay": 10}}


def graph_of(jobs: list[WorkloadJob], rule: Delimitation = A60) -> SessionGraph:
    ((_, sessions),) = partition(jobs, rule).items()
    return build_graph(sessions)


def round_trip(folder: Path, content: UserFile) -> UserFile:
    path = folder / file_name(content.graph.user)
    write_sabjson(path, content)
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    return read_sabjson(path)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_file_is_as_documented(tmp_path: Path) -> None:
    """To the byte; integral numbers are integers."""
    jobs = jobs_of((10.0, 25), (70, 80.5), (10_000, 10_001))
    jobs[0].walltime = 30.0
    write_sabjson(tmp_path / "f", UserFile(graph_of(jobs), PROFILES, A60))
    documented = Path(__file__).with_name("useru.SABjson")
    assert (tmp_path / "f").read_text() == documented.read_text()


def test_all_of_a_job_comes_back(tmp_path: Path) -> None:
    full = WorkloadJob(
        id="05",
        submit_time=1.5,
        size=3,
        profile="p",
        walltime=7.25,
        estimate=6.0,
        user="a/b ü",
        finish_time=9.0,
        extra={"colour": [1, {"x": None}]},
    )
    content = UserFile(graph_of([full]), PROFILES, Delimitation("max", 2.5, ">"))
    assert round_trip(tmp_path, content) == content


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(intervals(40).filter(bool), st.floats(0.01, 1e6), st.sampled_from(["arrival:0", "max:1"]))
@example([(2, 10), (9, 20)], 0.1, "max:1")  # 0.2 + (0.9 - 0.2) is not 0.9
def test_round_trip_is_exact(
    tmp_path: Path, times: list[tuple[float, float]], unit: float, rule: str
) -> None:
    """Odd fractions too, where start + (submit - start) is not always submit."""
    jobs = [job(str(i), start * unit, end * unit) for i, (start, end) in enumerate(times)]
    content = UserFile(graph_of(jobs, Delimitation.parse(rule)), PROFILES, Delimitation.parse(rule))
    assert round_trip(tmp_path, content) == content


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("17", "user17.SABjson"),
        ("-1", "user-1.SABjson"),
        ("../x", "user..%2Fx.SABjson"),
        ("a b", "usera%20b.SABjson"),
    ],
)
def test_file_names_are_safe_and_name_the_user(tmp_path: Path, user: str, name: str) -> None:
    assert file_name(user) == name
    record = simple()
    del record["user"]
    (tmp_path / name).write_text(json.dumps(record))
    assert read_sabjson(tmp_path / name).graph.user == user


def test_folder_holds_a_file_per_user_with_the_profiles_it_needs(tmp_path: Path) -> None:
    jobs = [job("1", 0, 5, "a"), job("2", 0, 5, "b")]
    jobs[1].profile = "both"
    profiles: dict[str, dict[str, Any]] = PROFILES | {
        "both": {"type": "composed", "seq": ["q", "q"]},
        "q": {"type": "delay", "delay": 1},
    }
    graphs = [build_graph(sessions) for sessions in partition(jobs, A60).values()]
    folder = tmp_path / "new" / "folder"
    write_folder(folder, graphs, profiles, A60)
    assert sorted(path.name for path in folder.iterdir()) == ["usera.SABjson", "userb.SABjson"]
    assert list(read_sabjson(folder / "usera.SABjson").profiles) == ["p"]
    assert list(read_sabjson(folder / "userb.SABjson").profiles) == ["both", "q"]
    write_folder(folder, graphs, profiles, A60)  # the same users again
    with pytest.raises(UsageError, match=r"1 files of users that are not in this log.*userb"):
        write_folder(folder, graphs[:1], profiles, A60)


def simple() -> dict[str, Any]:
    """A file of three sessions: 1 -> 3 and 2 -> 3."""
    jobs = [{"id": str(i), "profile": "p", "res": 1, "subtime": 0} for i in (10, 20, 30)]
    sessions = [
        {
            "id": number,
            "first_submit_time": 10 * number,
            "preceding_sessions": before,
            "thinking_time_after_preceding_session": [1.5] * len(before),
            "jobs": [job],
        }
        for number, before, job in zip((1, 2, 3), ([], [], [1, 2]), jobs, strict=True)
    ]
    return {"user": "u", "profiles": dict(PROFILES), "sessions": sessions}


def read(folder: Path, record: Any, workload: Path | None = None) -> UserFile:
    path = folder / "f.SABjson"
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    return read_sabjson(path, workload)


def test_reading_needs_little(tmp_path: Path) -> None:
    """No delimitation, nb_jobs nor predecessors, integer ids, walltime -1, unknown keys."""
    record = simple() | {"user": 7, "version": "1.2"}
    del record["sessions"][0]["preceding_sessions"]
    del record["sessions"][0]["thinking_time_after_preceding_session"]
    record["sessions"][0] |= {"mood": "good"}
    record["sessions"][2]["preceding_sessions"] = ["2", "1"]
    record["sessions"][0]["jobs"][0] |= {"id": 10, "walltime": -1, "colour": "red"}
    content = read(tmp_path, record)
    first = content.graph.sessions[0].jobs[0]
    assert (content.graph.user, first.user, content.delimitation) == ("7", "7", None)
    assert (first.id, first.walltime, first.extra) == ("10", None, {"colour": "red"})
    assert content.graph.predecessors == [[], [], [(0, 1.5), (1, 1.5)]]
    assert content.graph.roots() == [(0, 10), (1, 20)]


def test_sessions_may_come_in_any_order(tmp_path: Path) -> None:
    record = simple()
    record["sessions"].reverse()
    graph = read(tmp_path, record).graph
    assert graph.predecessors == [[(1, 1.5), (2, 1.5)], [], []]
    assert graph.longest_path() == 2


def test_jobs_of_a_session_are_put_into_submission_order(tmp_path: Path) -> None:
    record = simple()
    record["sessions"][0]["jobs"][0]["subtime"] = 8
    record["sessions"][0]["jobs"].append({"id": "11", "profile": "p", "res": 1, "subtime": 2})
    session = read(tmp_path, record).graph.sessions[0]
    assert [(j.id, j.submit_time) for j in session.jobs] == [("11", 12), ("10", 18)]
    assert session.start == 10


def test_profiles_may_lie_in_a_workload_file_beside(tmp_path: Path) -> None:
    record = simple()
    del record["profiles"]
    workload = tmp_path / "w.json"
    workload.write_text(json.dumps({"nb_res": 4, "jobs": [], "profiles": PROFILES | {"q": {}}}))
    assert read(tmp_path, record, workload).profiles == PROFILES
    with pytest.raises(WorkloadError, match=r"session 1: job 10: its profile 'p' is not in"):
        read(tmp_path, record)


def change(*path: Any, to: Any = ...) -> Any:
    """A file in which the value at ``path`` is changed, or missing."""
    record = simple()
    *way, last = path
    place: Any = record
    for step in way:
        place = place[step]
    if to is ...:
        del place[last]
    else:
        place[last] = to
    return record


JOB = ("sessions", 1, "jobs", 0)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("", r"f\.SABjson(:1:.)?: no JSON"),
        ("{", r"f\.SABjson(:1:.)?: no JSON"),
        ("[" * 100_000, r"f\.SABjson(:1:.)?: no JSON"),
        ("[]", r"f\.SABjson: Expected `object`, got `array`"),
        (change("sessions"), r"f\.SABjson: Object missing required field `sessions`"),
        (change("sessions", to=[3]), r"Expected `object`, got `int` - at `\$\.sessions"),
        (change("delimitation", to="arival:60"), r"f\.SABjson: .*'arival' \(did you mean"),
        (change("profiles", "p", to=3), r"Expected `object`, got `int` - at `\$\.profiles"),
        (change("sessions", 1, "id"), "a session without id: .*missing required field `id`"),
        (change("sessions", 1, "id", to=1), "two sessions 1; ids must differ"),
        (change("sessions", 1, "first_submit_time"), "session 2: .*`first_submit_time`"),
        (change("sessions", 1, "first_submit_time", to=-1), "session 2: Expected .* >= 0"),
        (change("sessions", 1, "jobs"), "session 2: .*missing required field `jobs`"),
        (change("sessions", 1, "jobs", to=[]), "session 2: Expected `array` of length >= 1"),
        (change("sessions", 1, "nb_jobs", to=2), "session 2: nb_jobs is 2, but it has 1 jobs"),
        (
            change("sessions", 2, "preceding_sessions", to=[1, 9]),
            "session 3: its preceding session 9 is not in the file",
        ),
        (
            change("sessions", 2, "preceding_sessions", to=[1, 1]),
            r"session 3: preceding_sessions names a session twice: \[1, 1\]",
        ),
        (
            change("sessions", 2, "preceding_sessions", to=[1]),
            "session 3: 1 preceding_sessions, but 2 values of thinking_time",
        ),
        (
            change("sessions", 2, "thinking_time_after_preceding_session", to=[1, -2]),
            "session 3: Expected `float` >= 0",
        ),
        (change("sessions", 2, "preceding_sessions", to=[1, 3]), "session 3 -> 3 precede"),
        (change(*JOB, "id"), "session 2: a job without id: .*missing required field `id`"),
        (change(*JOB, "id", to="10"), "session 2: job 10: there is another job of this id"),
        (change(*JOB, "profile", to="q"), "session 2: job 20: its profile 'q' is not in the file"),
        (change(*JOB, "res", to=0), "session 2: job 20: Expected `int` >= 1 - at `\\$.res`"),
        (change(*JOB, "res", to="4"), "session 2: job 20: Expected `int`, got `str`"),
        (change(*JOB, "subtime"), "session 2: job 20: .*missing required field `subtime`"),
        (change(*JOB, "subtime", to=-1), "session 2: job 20: Expected `float` >= 0"),
        (change(*JOB, "walltime", to=0), "session 2: job 20: walltime is 0.0, expected more"),
        (change(*JOB, "finish_time", to="x"), "session 2: job 20: Expected `float"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, record: Any, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        read(tmp_path, record)


def test_a_circle_is_refused(tmp_path: Path) -> None:
    record = change("sessions", 0, "preceding_sessions", to=[3])
    record["sessions"][0]["thinking_time_after_preceding_session"] = [0]
    with pytest.raises(WorkloadError, match=r"session (1 -> 3 -> 1|3 -> 1 -> 3) precede each"):
        read(tmp_path, record)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file '.*gone\.SABjson'"):
        read_sabjson(tmp_path / "gone.SABjson")
