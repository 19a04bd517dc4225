"""Sessions, batches and their graphs: by hand, slow twins, real logs; and as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import jsonschema
import networkx as nx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.preparation import prepare
from batsched_py.errors import UsageError
from batsched_py.options.option_values import find_choices
from batsched_py.workload import WorkloadJob
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_users.sessions import sabjson
from batsched_users.sessions.batches import Batch, Tie, traces
from batsched_users.sessions.delimitation import Delimitation, Session, SessionRule, partition
from batsched_users.sessions.graph_summary import summarise_graphs
from batsched_users.sessions.sabjson import write_folder, write_sabjson
from batsched_users.sessions.session_graph import SessionGraph, build_graph, to_networkx
from helpers.drawn_sessions import intervals, job, jobs_of, names, sessions_of
from helpers.examples import few_examples


@pytest.mark.parametrize(
    ("rule", "jobs", "message"),
    [
        ("max:20", [job("a", 0, None)], "job a of user u .* by max:20"),
        ("arrival:60", [job("a", 5, 4.0)], "job a of user u .* at 5"),
        ("arrival:60", [job("b", 0, 1, None), job("c", 0, 1, None)], r"2 jobs .* job b\)"),
    ],
)
def test_jobs_that_cannot_be_cut(rule: str, jobs: list[WorkloadJob], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        partition(jobs, Delimitation.parse(rule))


@given(
    st.builds(
        Delimitation,
        st.sampled_from(["arrival", "last", "max"]),
        st.floats(0, allow_nan=False),
        st.sampled_from([">=", ">"]),
    )
)
def test_text_form_is_read_back(rule: Delimitation) -> None:
    assert Delimitation.parse(str(rule)) == rule
    assert str(Delimitation.parse("arrival:60.0:>=")) == "arrival:60"
    jobs = [job("1", 5, None, "z"), job("2", 5, 6, "a"), job("3", 6, 7, "z")]
    users = partition(jobs, Delimitation("arrival", 60))
    assert list(users) == ["z", "a"]
    assert users["z"][0].finish == inf


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival", "METHOD:MINUTES"),
        ("a30", r"'a30' \(did you mean 'arrival:30'\?\): expected METHOD:MINUTES such as"),
        ("arival:60", "'arival' .*'arrival'"),
        ("arrival:an hour", "'an hour'"),
        ("arrival:-1", "-1.0 minutes"),
        ("arrival:60:<", "boundary '<'"),
    ],
)
def test_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Delimitation.parse(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a60", "arrival:60"),
        ("Max 20:>", "max:20:>"),
        ("last-0.5", "last:0.5"),
        ("arival:30", "arrival:30"),
        ("60", None),
        ("zzz:60", None),
    ],
)
def test_a_wrong_text_gets_a_suggestion(text: str, meant: str | None) -> None:
    assert SessionRule.suggest(text) == meant


@pytest.mark.parametrize("model", ["feedback", "adjusted", "distribution", "fluid", "tbuos"])
def test_a_campaign_with_wrong_sessions_is_refused_before_its_runs(
    model: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'[run]\nusers = "{model}"\nsessions = [\n"arrival:60",\n"a30"]\n')
    expected = r"mine.toml:5: '\w+': sessions='a30' \(did you mean 'arrival:30'\?\): expected"
    with pytest.raises(UsageError, match=expected):
        prepare(read_campaign(file), tmp_path / "out")
    file.write_text(f'[run]\nusers = "{model}"\nsessions = ["arrival:60", "last+30:20"]\n')
    assert len(prepare(read_campaign(file), tmp_path / "out")) == 2


def slow_cut(jobs: list[WorkloadJob], rule: Delimitation) -> list[str]:
    """The definition, job by job; ``max`` looks at all jobs before, also of earlier sessions."""
    words: list[str] = []
    for place, later in enumerate(jobs):
        if rule.method == "arrival":
            seen = [other.submit_time for other in jobs[:place]]
        else:
            cut = rule.cut * 60
            seen = [min(j.finish_time or 0, j.submit_time + cut) for j in jobs[:place]]
        gap = later.submit_time - (max if rule.method == "max" else list.pop)(seen) if seen else inf
        if gap > rule.seconds or (gap == rule.seconds and rule.boundary == ">=") or not words:
            words.append("")
        words[-1] += later.id
    return words


@given(
    intervals(12).filter(bool),
    st.sampled_from(["arrival", "last", "max", "last+0.05", "max+0.1"]),
    st.sampled_from(["0", "0.05", "0.17", "inf"]),
    st.sampled_from(["", ":>"]),
)
def test_sessions_are_as_defined(
    times: list[tuple[float, float]], method: str, minutes: str, boundary: str
) -> None:
    """For each of several users."""
    rule = Delimitation.parse(f"{method}:{minutes}{boundary}")
    jobs = [job(chr(97 + i), *pair, "uv"[i % 2]) for i, pair in enumerate(sorted(times))]
    for user, sessions in partition(jobs, rule).items():
        assert names(sessions) == slow_cut([j for j in jobs if j.user == user], rule)


ARRIVAL = "arrival:60:>"


def minutes(*times: tuple[float, float]) -> list[WorkloadJob]:
    """Jobs of one user from (submission, end) in minutes."""
    return [job(str(n), 60 * start, 60 * end) for n, (start, end) in enumerate(times, start=1)]


def batches(
    jobs: Sequence[WorkloadJob], sessions: str = ARRIVAL, tie: str = "joins"
) -> list[Batch]:
    (trace,) = traces(jobs, Delimitation.parse(sessions), tie).values()
    return trace.batches


def of_jobs(cut: Sequence[Batch]) -> list[int]:
    return [number for number, batch in enumerate(cut, start=1) for _ in batch.jobs]


def test_c2_dependencies_are_reduced() -> None:
    """The last batch depends on 3, 4 and 6; 3 is implied by the others."""
    chain = [(0, 10), (20, 30), (40, 50)]
    others = [(200, 1000), (215, 1100), (400, 410), (430, 440), (1200, 1210)]
    cut = batches(minutes(*chain, *others))
    assert of_jobs(cut) == [1, 2, 3, 4, 4, 5, 6, 7]
    assert [batch.session for batch in cut] == [1, 1, 1, 2, 3, 3, 4]
    assert [batch.depends_on for batch in cut] == [(), (0,), (1,), (2,), (2,), (4,), (3, 5)]
    assert [b.think_time for b in cut[1:]] == [60 * m for m in (10, 10, 150, 350, 20, 100)]
    assert [b.inter_arrival for b in cut[1:]] == [60 * m for m in (20, 20, 160, 185, 30, 770)]


def twin(jobs: Sequence[WorkloadJob], tie: str) -> tuple[list[int], list[set[int]]]:
    """Batches and all dependencies as the thesis defines them, pair by pair."""
    (sessions,) = partition(jobs, Delimitation.parse("arrival:0.05:>")).values()
    of_job: list[int] = []
    spans: list[tuple[int, float, float, bool]] = []  # session, start, end, opens
    for session in sessions:
        for place, later in enumerate(session.jobs):
            before = [other.finish_time or 0 for other in session.jobs[:place]]
            late = later.submit_time > max(before, default=-1)
            if tie == "opens":
                late = later.submit_time >= max(before, default=-1)
            if not before or late:
                spans.append((session.id, later.submit_time, later.finish_time or 0, not before))
            else:
                s, start, end, opens = spans[-1]
                spans[-1] = (s, start, max(end, later.finish_time or 0), opens)
            of_job.append(len(spans))
    depends: list[set[int]] = []
    for i, (session_of, start, _, opens) in enumerate(spans):
        needed = {j for j in range(i) if spans[j][0] == session_of}
        if opens:
            for session in sessions[: session_of - 1]:
                batches_of_session = [j for j in range(i) if spans[j][0] == session.id]
                if all(spans[j][2] <= start for j in batches_of_session):
                    needed.add(batches_of_session[-1])
        for j in list(needed):
            needed |= depends[j]
        depends.append(needed)
    return of_job, depends


@given(intervals(12).filter(bool), st.sampled_from(find_choices(Tie)))
def test_as_defined_pair_by_pair(times: list[tuple[float, float]], tie: str) -> None:
    jobs = [job(str(n), *pair) for n, pair in enumerate(times)]
    cut = batches(jobs, "arrival:0.05:>", tie)
    of_job, depends = twin(sorted(jobs, key=lambda j: j.submit_time), tie)
    assert of_jobs(cut) == of_job
    closed: list[set[int]] = []
    for i, batch in enumerate(cut):
        assert all(j < i for j in batch.depends_on)  # acyclic
        closed.append(set(batch.depends_on).union(*(closed[j] for j in batch.depends_on)))
        if depends[i]:
            ended = max(cut[j].end for j in depends[i])
            assert batch.think_time == batch.start - ended
        else:
            assert batch.think_time is None
    assert closed == depends


def slow_graph(sessions: list[Session]) -> list[list[tuple[int, float]]]:
    """All pairs, then the edges implied by a path removed: straight from the definition."""
    nodes = range(len(sessions))

    def precedes(i: int, j: int) -> bool:
        in_order = (sessions[i].start, i) < (sessions[j].start, j)
        return in_order and sessions[i].finish <= sessions[j].start

    def implied(i: int, j: int) -> bool:
        return any(precedes(i, k) and precedes(k, j) for k in nodes)

    return [
        [
            (i, sessions[j].start - sessions[i].finish)
            for i in nodes
            if precedes(i, j) and not implied(i, j)
        ]
        for j in nodes
    ]


@given(st.sampled_from([6, 1000]).flatmap(intervals))
@example([(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (1, 1)])
def test_the_fast_algorithm_is_the_definition(times: list[tuple[float, float]]) -> None:
    sessions = sessions_of(*times)
    assert build_graph(sessions).predecessors == slow_graph(sessions)


@given(intervals(20))
def test_networkx_agrees(times: list[tuple[float, float]]) -> None:
    graph = build_graph(sessions_of(*times))
    exported = to_networkx(graph)
    assert nx.is_directed_acyclic_graph(exported)
    assert set(nx.transitive_reduction(exported).edges) == set(exported.edges)
    assert graph.longest_path() == nx.dag_longest_path_length(exported, weight="")
    in_degrees = [exported.in_degree(session.id) for session in graph.sessions]
    assert [max(arity, 1) for arity in graph.arity()] == in_degrees


def test_a_long_chain_needs_no_recursion() -> None:
    graph = build_graph(sessions_of(*((2 * i, 2 * i + 1) for i in range(3_000))))
    assert graph.longest_path() == 3_000
    assert graph.arity() == [0] + [1] * 2_999
    assert graph.think_times() == [1] * 2_999
    assert graph.roots() == [(0, 0)]


def test_sessions_without_a_possible_end_are_refused() -> None:
    sessions = partition([job("a", 0, 1), job("b", 1, None)], Delimitation("arrival", 60))["u"]
    with pytest.raises(UsageError, match=r"session 1 .* job b"):
        build_graph(sessions)
    with pytest.raises(UsageError, match=r"session 7 .* at 4"):
        build_graph([Session(7, "u", jobs_of((5, 5)), 5, 4)])


@pytest.mark.parametrize(
    ("log", "rule", "counts", "below"),
    [
        # Madon et al., Fig. 6: a0 35 % < 1 h, 75 % < 10 h; a60 13 % and 50 %, no arity above 11
        ("KTH-SP2-1996-2.1-cln", "arrival:0", (85_936, 60, 883), (0.369, 0.747)),
        ("SDSC-SP2-1998-4.2-cln", "arrival:60", (26_578, 11, 657), (0.103, 0.416)),
        ("KTH-SP2-1996-2.1-cln", "max:20", (7_129, 1, 375), (0.212, 0.574)),
    ],
)
def test_graphs_of_real_logs(
    shared: Path, log: str, rule: str, counts: tuple[int, ...], below: tuple[float, ...]
) -> None:
    """Edges, largest arity and longest path; think times below 1 h and 10 h."""
    jobs = load_workload(shared / "swf" / f"{log}.swf.gz", Rules()).jobs
    users = partition(jobs, Delimitation.parse(rule))
    numbers = summarise_graphs(map(build_graph, users.values()))
    assert (numbers.edges, numbers.arity, numbers.longest_path) == counts
    shares = (numbers.think_time_below_1h, numbers.think_time_below_10h)
    assert shares == pytest.approx(below, abs=0.001)


# SABjson files -----------------------------------------------------------------------------------


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
