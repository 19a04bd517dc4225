"""Replay with think-time feedback: by hand, and the identities that must hold."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.workload import Workload
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.session_graph import build_graph

HOUR = 3600.0


def submissions(jobs: list[J], nb: int, sessions: str, speed: float = 1.0) -> list[float]:
    load = workload(jobs, nb)
    outcome = run(load, Fcfs(), ThinkTimeFeedback(load, sessions=sessions), speed)
    ended = sorted(outcome.jobs, key=lambda job: job.description.id)
    return [job.description.submit_time for job in ended]


def test_think_time_runs_from_end_to_start() -> None:
    """Recorded: ends at 110, next session at 150. Twice as fast, it ends at 60, so next at 100."""
    jobs = [J(10, 1, 100, user="u", finish=110), J(150, 1, 10, user="u", finish=160)]
    assert submissions(jobs, 1, "arrival:0", speed=2) == [10, 100]


def test_waiting_is_part_of_the_response() -> None:
    """Another user's job delays the first job by 40 s, and so the next session by 40 s."""
    jobs = [
        J(0, 1, 50, user="other", finish=50),
        J(10, 1, 100, user="u", finish=110),
        J(150, 1, 10, user="u", finish=160),
    ]
    assert submissions(jobs, 1, "arrival:0") == [0, 10, 190]


def test_offsets_inside_a_session_are_kept() -> None:
    """The second session starts late; its jobs keep their distance of 7 s."""
    jobs = [
        J(0, 1, 100, user="u", finish=50),
        J(HOUR + 50, 1, 1, user="u", finish=HOUR + 51),
        J(HOUR + 57, 1, 1, user="u", finish=HOUR + 58),
    ]
    assert submissions(jobs, 4, "arrival:50") == [0, HOUR + 100, HOUR + 107]


def test_the_latest_predecessor_decides() -> None:
    """Two sessions ran side by side: the third waits for both, each with its own think time."""
    jobs = [
        J(0, 1, 100, user="u", finish=60),  # think time 140 s to the third
        J(10, 1, 100, user="u", finish=90),  # think time 110 s
        J(200, 1, 1, user="u", finish=201),
    ]
    assert submissions(jobs, 4, "arrival:0") == [0, 10, 240]


def test_a_rejected_job_ends_at_once() -> None:
    """The first job is wider than the machine: the think time starts at its submission."""
    jobs = [J(5, 9, 100, user="u", finish=105), J(125, 1, 1, user="u", finish=126)]
    assert submissions(jobs, 4, "arrival:0") == [5, 25]


def test_users_do_not_wait_for_each_other() -> None:
    jobs = [J(0, 1, 100, user="a", finish=100), J(200, 1, 1, user="b", finish=201)]
    assert submissions(jobs, 1, "arrival:0", speed=0.5) == [0, 200]


def test_simultaneous_submissions_come_in_log_order() -> None:
    """Not by user, nor by session: the job that comes first in the log is queued first."""
    jobs = [
        J(0, 1, 5, user="b", finish=5),
        J(0, 1, 5, user="a", finish=5),
        J(0, 1, 5, user="b", finish=5),
    ]
    load = workload(jobs, 1)
    outcome = run(load, Fcfs(), ThinkTimeFeedback(load, sessions="arrival:60"))
    assert [job.description.id for job in outcome.jobs] == ["dyn!0000", "dyn!0001", "dyn!0002"]


def test_results_carry_session_and_recorded_submission() -> None:
    jobs = [J(10, 1, 100, 300, "u", 110), J(150, 1, 10, user="u", finish=160)]
    load = workload(jobs, 1)
    outcome = run(load, Fcfs(), ThinkTimeFeedback(load, sessions="arrival:0"), 0.5)
    second = outcome.jobs[1].description
    assert second.user == "u"
    assert second.extra == {"session": 2, "original_submission_time": 150}
    assert second.submit_time == 250


recorded = st.lists(
    st.builds(
        lambda gap, size, wait, length, user: (gap, size, wait, length, user),
        st.integers(0, 200),
        st.integers(1, 4),
        st.integers(0, 100),
        st.integers(0, 120),
        st.sampled_from("abc"),
    ),
    max_size=40,
)
delimitations = st.sampled_from(["arrival:0", "arrival:1", "arrival:2:>", "last:1", "max:0.5"])


def log_of(rows: list[tuple[int, int, int, int, str]], waits: bool = True) -> Workload:
    jobs, now = [], 0
    for gap, size, wait, length, user in rows:
        now += gap
        finish = now + length + (wait if waits else 0)
        jobs.append(J(now, size, length, length + 1, user, finish))
    return workload(jobs, 10_000)


@pytest.mark.slow
@given(recorded, delimitations)
def test_identity_when_all_start_at_once(
    rows: list[tuple[int, int, int, int, str]], how: str
) -> None:
    """No recorded waits, a machine without limits: every submission is at its recorded time."""
    load = log_of(rows, waits=False)
    outcome = run(load, Easy(), ThinkTimeFeedback(load, sessions=how))
    assert len(outcome.jobs) == len(load.jobs)
    for job in outcome.jobs:
        assert job.description.submit_time == job.description.extra["original_submission_time"]


def replay_recorded_ends(load: Workload, how: str) -> dict[str, float]:
    """Return the submission times when each job ends at its recorded time."""
    model = ThinkTimeFeedback(load, sessions=how)
    ends: list[tuple[float, str]] = []
    jobs, submitted = {}, {}
    while (now := min(model.next_submission(), ends[0][0] if ends else inf)) < inf:
        while ends and ends[0][0] == now:
            model.job_ended(now, jobs[heappop(ends)[1]], "COMPLETED_SUCCESSFULLY")
        while model.next_submission() <= now:
            for job in model.jobs_to_submit(now):
                assert job.id not in submitted
                jobs[job.id], submitted[job.id] = job, now
                assert job.finish_time is not None
                heappush(ends, (job.finish_time, job.id))
    return submitted


@given(recorded, delimitations)
def test_identity_with_recorded_ends(rows: list[tuple[int, int, int, int, str]], how: str) -> None:
    """Whatever the waits: if all ends are the recorded ones, so are all submissions."""
    load = log_of(rows)
    assert replay_recorded_ends(load, how) == {job.id: job.submit_time for job in load.jobs}


@given(recorded, delimitations, st.sampled_from([0.5, 1.0, 2.0]), st.integers(1, 8))
def test_sessions_wait_and_keep_their_offsets(
    rows: list[tuple[int, int, int, int, str]], how: str, speed: float, nb: int
) -> None:
    """Each job once; no session before its predecessors ended; offsets unchanged."""
    load = log_of(rows)
    load.nb_res = nb
    outcome = run(load, Easy(), ThinkTimeFeedback(load, sessions=how), speed)
    submit = {job.description.id[4:]: job.description.submit_time for job in outcome.jobs}
    end = {
        job.description.id[4:]: job.finish_time
        if job.final_state != "REJECTED"
        else job.description.submit_time
        for job in outcome.jobs
    }
    assert sorted(submit) == [job.id for job in load.jobs]
    for own in partition(load.jobs, Delimitation.parse(how)).values():
        graph = build_graph(own)
        for session, before in zip(graph.sessions, graph.predecessors, strict=True):
            start = submit[session.jobs[0].id]
            for job in session.jobs:
                assert submit[job.id] - start == pytest.approx(job.submit_time - session.start)
            ready = [
                max(end[job.id] for job in graph.sessions[index].jobs) + think
                for index, think in before
            ]
            assert start == pytest.approx(max(ready, default=session.start))
