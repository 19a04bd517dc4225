"""SABjson files: to the byte, the schema, and what is refused."""

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
from batsched_users.sessions.sabjson import write_folder, write_sabjson
from batsched_users.sessions.session_graph import SessionGraph, build_graph
from helpers.drawn_sessions import intervals, job, jobs_of
from helpers.examples import few_examples

SCHEMA = json.loads((Path(sabjson.__file__).with_name("sabjson.schema.json")).read_text())
A60 = Delimitation("arrival", 60)
PROFILES: dict[str, dict[str, Any]] = {"p": {"type": "delay", "delay": 10}}


def graph_of(jobs: list[WorkloadJob], rule: Delimitation = A60) -> SessionGraph:
    ((_, sessions),) = partition(jobs, rule).items()
    return build_graph(sessions)


def written(folder: Path, jobs: list[WorkloadJob], rule: Delimitation = A60) -> Any:
    write_sabjson(folder / "f", graph_of(jobs, rule), PROFILES, rule)
    record = json.loads((folder / "f").read_text())
    jsonschema.validate(record, SCHEMA)
    return record


def test_file_is_as_documented(tmp_path: Path) -> None:
    """To the byte; integral numbers are integers."""
    jobs = jobs_of((10.0, 25), (70, 80.5), (10_000, 10_001))
    jobs[0].walltime = 30.0
    written(tmp_path, jobs)
    documented = Path(__file__).with_name("useru.SABjson")
    assert (tmp_path / "f").read_text() == documented.read_text()


def test_all_of_a_job_is_written(tmp_path: Path) -> None:
    full = job("05", 1.5, 9.0, "a/b ü")
    full.size, full.walltime, full.estimate = 3, 7.25, 6.0
    full.extra = {"colour": [1, {"x": None}]}
    record = written(tmp_path, [full], Delimitation("max", 2.5, ">"))
    assert (record["user"], record["delimitation"]) == ("a/b ü", "max:2.5:>")
    numbers = {"res": 3, "subtime": 0, "walltime": 7.25, "estimate": 6, "finish_time": 9}
    own = {"id": "05", "profile": "p", "colour": [1, {"x": None}]}
    assert record["sessions"][0]["jobs"] == [own | numbers]


@settings(few_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(intervals(40).filter(bool), st.floats(0.01, 1e6), st.sampled_from(["arrival:0", "max:1"]))
@example([(2, 10), (9, 20)], 0.1, "max:1")  # 0.2 + (0.9 - 0.2) is not 0.9
def test_submissions_are_exact(
    tmp_path: Path, times: list[tuple[float, float]], unit: float, rule: str
) -> None:
    """Odd fractions too, where start + (submit - start) is not always submit."""
    jobs = [job(str(i), start * unit, end * unit) for i, (start, end) in enumerate(times)]
    record = written(tmp_path, jobs, Delimitation.parse(rule))
    submitted = {
        each["id"]: each.get("submit_time", session["first_submit_time"] + each["subtime"])
        for session in record["sessions"]
        for each in session["jobs"]
    }
    assert submitted == {each.id: each.submit_time for each in jobs}


def test_folder_holds_a_file_per_user_with_the_profiles_it_needs(tmp_path: Path) -> None:
    jobs = [job("1", 0, 5, "../a b"), job("2", 0, 5, "b")]
    jobs[1].profile = "both"
    profiles: dict[str, dict[str, Any]] = PROFILES | {
        "both": {"type": "composed", "seq": ["q", "q"]},
        "q": {"type": "delay", "delay": 1},
    }
    graphs = [build_graph(sessions) for sessions in partition(jobs, A60).values()]
    folder = tmp_path / "new" / "folder"
    write_folder(folder, graphs, profiles, A60)
    found = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    needed = {name: list(record["profiles"]) for name, record in found.items()}
    assert needed == {"user..%2Fa%20b.SABjson": ["p"], "userb.SABjson": ["both", "q"]}
    write_folder(folder, graphs, profiles, A60)  # the same users again
    with pytest.raises(UsageError, match=r"1 files .*userb"):
        write_folder(folder, graphs[:1], profiles, A60)
