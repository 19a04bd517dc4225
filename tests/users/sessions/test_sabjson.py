"""SABjson files: as documented, by the schema, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.workload import WorkloadJob
from batsched_users.sessions import sabjson
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.sabjson import (
    file_name,
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


def written(path: Path, graph: SessionGraph, rule: Delimitation = A60) -> Any:
    """Return the content of a file, which satisfies the schema."""
    write_sabjson(path, graph, PROFILES, rule)
    record = json.loads(path.read_text())
    jsonschema.validate(record, SCHEMA)
    return record


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_file_is_as_documented(tmp_path: Path) -> None:
    """What a job carries is there, but for what would hide a key; integral numbers are integers."""
    jobs = jobs_of((10, 25), (70, 80.5), (10_000, 10_001))
    jobs[0].walltime, jobs[0].estimate = 30.0, 20.0
    jobs[1].extra = {"colour": [1, {"x": None}], "res": 7}
    record = written(tmp_path / "f", graph_of(jobs))
    assert ".0" not in (tmp_path / "f").read_text()
    first, second = record.pop("sessions")
    assert record == {"user": "u", "delimitation": "arrival:60", "profiles": PROFILES}
    a, b = first.pop("jobs")
    times = {"subtime": 0, "walltime": 30, "estimate": 20, "finish_time": 25}
    assert a == {"id": "a", "profile": "p", "res": 1} | times
    assert b == {
        "id": "b",
        "profile": "p",
        "res": 1,
        "subtime": 60,
        "finish_time": 80.5,
        "colour": [1, {"x": None}],
    }
    assert first == {
        "id": 1,
        "first_submit_time": 10,
        "preceding_sessions": [],
        "thinking_time_after_preceding_session": [],
        "nb_jobs": 2,
    }
    assert second["preceding_sessions"] == [1]
    assert second["thinking_time_after_preceding_session"] == [9919.5]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(intervals(40).filter(bool), st.floats(0.01, 1e6), st.sampled_from(["arrival:0", "max:1"]))
@example([(0, 1), (2, 3)], 0.1, "arrival:60")
@example([(2, 10), (9, 20)], 0.1, "arrival:60")
def test_no_time_is_lost(
    tmp_path: Path, times: list[tuple[float, float]], unit: float, rule: str
) -> None:
    """To the last bit, also where start + (submit - start) is not submit, as of 0.2 and 0.9."""
    jobs = [job(str(i), start * unit, end * unit) for i, (start, end) in enumerate(times)]
    graph = graph_of(jobs, Delimitation.parse(rule))
    record = written(tmp_path / "f", graph, Delimitation.parse(rule))
    for session, of_graph in zip(record["sessions"], graph.sessions, strict=True):
        begin = session["first_submit_time"]
        found = [
            (j["id"], j.get("submit_time", begin + j["subtime"]), j["finish_time"])
            for j in session["jobs"]
        ]
        assert found == [(j.id, j.submit_time, j.finish_time) for j in of_graph.jobs]
    waits = [
        [*zip(s["preceding_sessions"], s["thinking_time_after_preceding_session"], strict=True)]
        for s in record["sessions"]
    ]
    assert waits == [[(index + 1, time) for index, time in of] for of in graph.predecessors]


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("17", "user17.SABjson"),
        ("../x", "user..%2Fx.SABjson"),
        ("a b", "usera%20b.SABjson"),
    ],
)
def test_file_names_are_safe(user: str, name: str) -> None:
    assert file_name(user) == name


def test_folder_holds_a_file_per_user_with_the_profiles_it_needs(tmp_path: Path) -> None:
    jobs = [job("1", 0, 5, "a"), job("2", 0, 5, "b")]
    jobs[1].profile = "both"
    profiles: dict[str, dict[str, Any]] = PROFILES | {
        "both": {"type": "composed", "seq": ["q", "q"]},
        "q": {"type": "delay", "delay": 1},
    }
    graphs = [build_graph(own) for own in partition(jobs, A60).values()]
    folder = tmp_path / "new" / "folder"
    write_folder(folder, graphs, profiles, A60)
    assert sorted(path.name for path in folder.iterdir()) == ["usera.SABjson", "userb.SABjson"]
    for user, needed in (("a", ["p"]), ("b", ["both", "q"])):
        record = json.loads((folder / f"user{user}.SABjson").read_text())
        assert list(record["profiles"]) == needed
    write_folder(folder, graphs, profiles, A60)  # the same users again
    with pytest.raises(UsageError, match=r"1 files of users that are not in this log.*userb"):
        write_folder(folder, graphs[:1], profiles, A60)
