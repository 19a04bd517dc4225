"""Replay with think-time feedback: by hand, and the identities that must hold."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.learning.ideal_machine import play_model
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.models.resampled import Resampled, resample_log
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.session_graph import build_graph
from helpers.examples import few_examples


def test_simultaneous_submissions_come_in_log_order() -> None:
    """Not by user, nor by session: the job that comes first in the log is queued first."""
    load = workload([J(0, 1, 5, user=user, finish=5) for user in "bab"], 1)
    outcome = run(load, Fcfs(), ThinkTimeFeedback(load, sessions="arrival:60"), 1)
    assert [job.description.id for job in outcome.jobs] == ["dyn!0000", "dyn!0001", "dyn!0002"]


@st.composite
def logs(draw: st.DrawFn) -> Workload:
    jobs, now = [], 0
    for _ in range(draw(st.integers(0, 40))):
        now += draw(st.integers(0, 200))
        length = draw(st.integers(0, 120))
        finish = now + length + draw(st.integers(0, 100))
        width, user = draw(st.integers(1, 4)), draw(st.sampled_from("abc"))
        jobs.append(J(now, width, length, length + 1, user, finish))
    return workload(jobs, draw(st.integers(1, 8)))


delimitations = st.sampled_from(["arrival:0", "arrival:1", "arrival:2:>", "last:1", "max:0.5"])


@given(logs(), delimitations)
def test_identity_with_recorded_ends(load: Workload, how: str) -> None:
    """Whatever the waits: if all ends are the recorded ones, so are all submissions."""
    model = ThinkTimeFeedback(load, sessions=how)
    played = play_model(model, lambda job, now: job.finish_time or 0)
    assert sorted((p.job.id, p.submit) for p in played) == [
        (job.id, job.submit_time) for job in load.jobs
    ]


@few_examples
@given(logs(), delimitations, st.sampled_from([0.5, 1.0, 2.0]))
def test_sessions_wait_and_keep_their_offsets(load: Workload, how: str, speed: float) -> None:
    """Each job once; no session before its predecessors ended; offsets unchanged."""
    submit, end = {}, {}
    for job in run(load, Easy(), ThinkTimeFeedback(load, sessions=how), speed).jobs:
        name, submit_time = job.description.id[4:], job.description.submit_time
        submit[name] = submit_time
        end[name] = submit_time if job.final_state == "REJECTED" else job.finish_time
    assert sorted(submit) == [job.id for job in load.jobs]
    for sessions in partition(load.jobs, Delimitation.parse(how)).values():
        graph = build_graph(sessions)
        for session, before in zip(graph.sessions, graph.predecessors, strict=True):
            start = submit[session.jobs[0].id]
            for recorded in session.jobs:
                offset = recorded.submit_time - session.start
                assert submit[recorded.id] - start == pytest.approx(offset)
            ready = [
                max(end[job.id] for job in graph.sessions[index].jobs) + think
                for index, think in before
            ]
            assert start == pytest.approx(max(ready, default=session.start))


def test_when_jobs_end_as_recorded_people_submit_as_resampled() -> None:
    short: dict[str, Any] = {"long_weeks": 3, "edge_weeks": 1, "seed": 1}
    sample = load_workload(find_log("sample"), Rules())
    model = ThinkTimeFeedback(sample, sessions="arrival:60", resampled=True, **short)
    ends = {job.id: job.finish_time for job in resample_log(sample, **short).jobs}
    replayed = list(play_model(model, lambda job, now: ends[job.id] or inf))
    recorded = list(play_model(Resampled(sample, **short)))
    assert [(p.submit, p.job.id, p.job.user) for p in replayed] == [
        (p.submit, p.job.id, p.job.user) for p in recorded
    ]
    assert all(p.submit == p.job.original_submission_time for p in replayed)
