"""Session graphs: drawn by hand, against a slow twin, and on real logs."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_users.sessions.delimitation import Delimitation, Session, partition
from batsched_users.sessions.graph_summary import summarise_graphs
from batsched_users.sessions.session_graph import build_graph, to_networkx
from helpers.drawn_sessions import intervals, job, jobs_of, sessions_of


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


def test_graph_of_a_forest() -> None:
    graph = build_graph(sessions_of((1, 3), (2, 4), (5, 6), (5, 9), (7, 8)))
    assert graph.user == "u"
    assert graph.roots() == [(0, 1), (1, 2)]
    assert graph.think_times() == [2, 1, 2, 1, 1]
    assert graph.arity() == [0, 0, 2, 2, 1]
    assert graph.longest_path() == 3


def test_export() -> None:
    exported = to_networkx(build_graph(sessions_of((1, 3), (5, 6))))
    assert {node: exported.nodes[node] for node in exported} == {
        0: {"start": 0, "finish": 0, "nb_jobs": 0},
        1: {"start": 1, "finish": 3, "nb_jobs": 1},
        2: {"start": 5, "finish": 6, "nb_jobs": 1},
    }
    assert list(exported.edges(data="think_time")) == [(0, 1, 1), (1, 2, 2)]


def test_a_long_chain_needs_no_recursion() -> None:
    graph = build_graph(sessions_of(*((2 * i, 2 * i + 1) for i in range(30_000))))
    assert graph.longest_path() == 30_000
    assert set(graph.arity()) == {0, 1}


def test_unknown_finish_is_refused() -> None:
    sessions = partition([job("a", 0, 1), job("b", 1, None)], Delimitation("arrival", 60))["u"]
    with pytest.raises(UsageError, match="session 1 of user u: job b has no recorded finish"):
        build_graph(sessions)


def test_a_session_that_ends_before_it_starts_is_refused() -> None:
    session = Session(7, "u", jobs_of((5, 5)), 5, 4)
    with pytest.raises(UsageError, match="session 7 of user u finishes at 4, before it starts"):
        build_graph([session])


@pytest.mark.parametrize(
    ("log", "rule", "counts", "below"),
    [
        # Madon et al., Fig. 6: a0 35 % < 1 h, 75 % < 10 h; a60 13 % and 50 %, no arity above 11
        ("KTH-SP2-1996-2.1-cln", "arrival:0", (85_936, 60, 883), (0.369, 0.747)),
        ("KTH-SP2-1996-2.1-cln", "arrival:60", (13_487, 7, 312), (0.138, 0.518)),
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
