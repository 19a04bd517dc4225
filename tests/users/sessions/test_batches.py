"""Batches and what they depend on: the worked examples of Zakay's thesis, and a slow twin."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.workload import WorkloadJob
from batsched_users.sessions.batches import TIES, Batch, traces
from batsched_users.sessions.delimitation import Delimitation, partition
from helpers.drawn_sessions import intervals, job

ARRIVAL = "arrival:60:>"


def minutes(*times: tuple[float, float]) -> list[WorkloadJob]:
    """Jobs of one user from (submission, end) in minutes."""
    return [job(str(n), 60 * start, 60 * end) for n, (start, end) in enumerate(times, start=1)]


def groups(jobs: Sequence[WorkloadJob], text: str) -> list[int]:
    """Number of the session of each job."""
    (sessions,) = partition(jobs, Delimitation.parse(text)).values()
    return [session.id for session in sessions for _ in session.jobs]


def batches(
    jobs: Sequence[WorkloadJob], sessions: str = ARRIVAL, tie: str = "joins"
) -> list[Batch]:
    (trace,) = traces(jobs, Delimitation.parse(sessions), tie).values()
    return trace.batches


def of_jobs(cut: Sequence[Batch]) -> list[int]:
    return [number for number, batch in enumerate(cut, start=1) for _ in batch.jobs]


# Worked example C1, minutes; the batches by a method are its sessions with threshold 0.
C1 = minutes((0, 10), (5, 300), (20, 25), (50, 55), (130, 140), (135, 136), (190, 400), (260, 270))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("arrival:60:>", [1, 1, 1, 1, 2, 2, 2, 3]),
        ("last:20", [1, 1, 1, 2, 3, 3, 4, 4]),
        ("last:0:>", [1, 1, 1, 2, 3, 3, 4, 4]),
        ("max:20", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("max:0:>", [1, 1, 1, 1, 1, 1, 1, 1]),
        ("max+30:20", [1, 1, 1, 1, 2, 2, 3, 4]),
        ("max+30:0:>", [1, 1, 1, 2, 3, 3, 4, 5]),
        ("last+30:20", [1, 1, 1, 2, 3, 3, 4, 5]),
        ("last+30:0:>", [1, 1, 1, 2, 3, 3, 4, 5]),
    ],
)
def test_c1_by_all_methods(rule: str, expected: list[int]) -> None:
    assert groups(C1, rule) == expected


def test_c1_batches_and_dependencies_by_arrival() -> None:
    """The third batch waited for the second; the others begin sessions while jobs still run."""
    cut = batches(C1)
    assert of_jobs(cut) == [1, 1, 1, 1, 2, 2, 3, 4]
    assert [batch.depends_on for batch in cut] == [(), (), (1,), ()]
    assert cut[2].think_time == 50 * 60
    assert [batch.inter_arrival for batch in cut] == [None, 80 * 60, 55 * 60, 70 * 60]


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


def test_a_job_at_the_end_of_a_batch_joins_or_opens() -> None:
    jobs = minutes((0, 10), (10, 20))
    assert of_jobs(batches(jobs)) == [1, 1]
    assert of_jobs(batches(jobs, tie="opens")) == [1, 2]
    assert batches(jobs, tie="opens")[1].think_time == 0


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


@given(intervals(12).filter(bool), st.sampled_from(TIES))
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
