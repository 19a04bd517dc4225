"""Sessions of jobs in columns are those of the partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.workload import WorkloadJob
from batsched_users.measures.session_columns import cut_sessions
from batsched_users.sessions.delimitation import Delimitation, partition
from helpers.drawn_sessions import job_columns


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    st.sampled_from(["arrival:10", "arrival:10:>", "arrival:0", "arrival:0:>"]),
)
def test_sessions_are_those_of_the_partition(drawn: list[tuple[int, int]], text: str) -> None:
    drawn.sort(key=lambda pair: pair[1])
    rule = Delimitation.parse(text)
    jobs = [
        WorkloadJob(id=str(i), submit_time=600.0 * t, size=1, profile="p", user=str(u))
        for i, (u, t) in enumerate(drawn)
    ]
    expected = {
        int(user): [[int(job.id) for job in session.jobs] for session in rows]
        for user, rows in partition(jobs, rule).items()
    }
    columns = job_columns([u for u, _ in drawn], [600.0 * t for _, t in drawn])
    cut = cut_sessions(columns, rule)
    sessions_of: dict[int, list[list[int]]] = {}
    for i, user in enumerate(cut.user.tolist()):
        rows = cut.rows[cut.bounds[i] : cut.bounds[i + 1]].tolist()
        sessions_of.setdefault(user, []).append(rows)
    assert sessions_of == expected
    first, last = cut.spans(columns)
    ends = [(rows[0], rows[-1]) for sessions in sessions_of.values() for rows in sessions]
    assert [*zip(first, last, strict=True)] == [
        (600.0 * drawn[a][1], 600.0 * drawn[b][1]) for a, b in ends
    ]


def test_sessions_leave_out_unknown_users_and_refuse_other_methods() -> None:
    jobs = job_columns([-1, 4, -1], [0, 1, 2])
    assert cut_sessions(jobs).rows.tolist() == [1]
    with pytest.raises(UsageError, match="expected arrival:MINUTES"):
        cut_sessions(jobs, Delimitation("max", 20))
    assert len(cut_sessions(job_columns([], [])).user) == 0
