"""Users who submit withdrawn jobs again, have deadlines, or follow recorded dependencies."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest
from msgspec.structs import replace

from batsched_py import Easy, SiteView, Withdraw, Workload, WorkloadJob, simulate
from batsched_py.model.user_model import SUCCESS, WITHDRAWN, EndedJob, StartedJob
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.units import HOUR
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_users.behaviour.withdrawal_habits import read_habits
from batsched_users.models.deadline import Deadline
from batsched_users.models.recorded_dependencies import RecordedDependencies
from batsched_users.models.resubmits import Resubmits
from helpers.withdrawals_by_hand import BLOCKED, FILE, Desk, log_of, submit_again, times

# Resubmits --------------------------------------------------------------------------------------


def test_a_withdrawn_job_comes_again_until_it_runs() -> None:
    """The wrapped model learns of the end of the last attempt as the end of its own job."""
    log = log_of(
        J(0, 1, 50_000, None, "z", 50_000),
        J(10, 1, 10, 100, "a", 20),
        J(10_000, 1, 10, 100, "a", 10_010),
    )
    inner = {
        "model": "feedback",
        "model_options": {"sessions": "max:20"},
        "clock": "job",
        "mean_patience": 5000.0,
    }
    users = Resubmits(log, model=FILE["withdraws"], model_options=inner, share=1.0, seed=4)
    users._habits = replace(users._habits, probabilities=[1.0] * 4, gaps=[100.0, 100.0])
    rows = Desk(users, 1).run()
    names = [name for name, *_ in rows if name.startswith("B")]
    assert len(names) > 1
    assert names == ["B", *(f"B+{k}" for k in range(1, len(names)))]
    for (_, _, _, gone, state), (_, submit, *_) in zip(
        [row for row in rows if row[0] in names[:-1]],
        [row for row in rows if row[0] in names[1:]],
        strict=True,
    ):
        assert state == WITHDRAWN
        assert submit == gone + 100
    end = times(rows, SUCCESS)[names[-1]]
    (submit,) = (submit for name, submit, *_ in rows if name == "C")
    assert submit == pytest.approx(end + 10_000 - 20)
    assert sum(users.statistics()["resubmitted"].values()) == len(names) - 1


class Chain:
    """Submits A, and B that depends on it; withdraws A at 100."""

    def __init__(self, workload: Workload) -> None:
        self.profiles = workload.profiles
        a, b = workload.jobs
        self.acts: list[tuple[float, Any]] = [
            (0, a),
            (1, replace(b, after=("A",))),
            (100, Withdraw("A")),
            (150, replace(b, id="C", after=("A",))),
        ]
        self.ended: list[tuple[str, float, float, str]] = []

    def next_submission(self) -> float:
        return self.acts[0][0] if self.acts else inf

    def jobs_to_submit(self, now: float) -> Any:
        while self.next_submission() <= now:
            yield self.acts.pop(0)[1]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.ended.append((job.id, job.submit_time, now, state))
        assert job.submitted.after in ((), ("A",))


def test_dependents_are_submitted_after_the_new_job() -> None:
    log = log_of(J(0, 1, 10, 100, "a"), J(1, 1, 10, 100, "a"))
    users = Resubmits(log, model=f"{__file__}:Chain")
    submit_again(users, 100.0, "same")
    (a,) = users.jobs_to_submit(0)
    (b,) = users.jobs_to_submit(1)
    assert (a.id, b.after) == ("A", ("A",))
    assert list(users.jobs_to_submit(100)) == [Withdraw("A")]
    users.job_ended(100, EndedJob(a, 0, None, 100), WITHDRAWN)
    users.job_ended(100, EndedJob(b, 1, None, 100), WITHDRAWN)
    assert users.inner.ended == []
    assert users.next_submission() == 150
    assert list(users.jobs_to_submit(150)) == []  # C waits for the new A
    again = list(users.jobs_to_submit(users.next_submission()))
    assert [(job.id, job.after) for job in again] == [
        ("A+1", ()),
        ("B+1", ("A+1",)),
        ("C", ("A+1",)),
    ]
    for job, end in zip(again, (220, 240, 260), strict=True):
        users.job_started(end - 10, StartedJob(job, 200, end - 10))
        users.job_ended(end, EndedJob(job, 200, end - 10, end), SUCCESS)
    assert users.inner.ended == [
        ("A", 0, 220, SUCCESS),
        ("B", 1, 240, SUCCESS),
        ("C", 200, 260, SUCCESS),
    ]
    assert not users._running
    assert not users._paused


class Looking:
    """Submits A and B, withdraws B at 100, and looks at its jobs at 200."""

    seen: ClassVar[list[Any]] = []

    def __init__(self, load: Workload) -> None:
        self.profiles = load.profiles
        self._acts = [(0, load.jobs[0]), (1, load.jobs[1]), (100, Withdraw("B")), (200, None)]

    def begin(self, site: SiteView) -> None:
        self.site = site

    def next_submission(self) -> float:
        return self._acts[0][0] if self._acts else inf

    def jobs_to_submit(self, now: float) -> list[Any]:
        act = self._acts.pop(0)[1]
        if act is None:
            jobs = [(job.submitted.id, job.submit_time) for job in self.site.own_jobs("a")]
            self.seen[:] = [*jobs, self.site.expected_start("B"), self.site.waiting().nb_jobs]
        return [] if act is None else [act]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        pass


def test_the_wrapped_model_sees_its_own_jobs() -> None:
    """In the queue is B+1 from 150 on, which starts when A ends."""
    log = log_of(J(0, 1, 1000, 1000, "a", 1000), J(1, 1, 10, 100, "a", 20))
    users = Resubmits(log, model=f"{__file__}:Looking")
    submit_again(users, 50.0, "same")
    run(log, Easy(), users)
    seen = users.inner.seen  # type: ignore[attr-defined]
    assert seen == [("A", 0.0), ("B", 1.0), 1000.0, 1]


def test_new_requests_follow_the_ratios() -> None:
    log = log_of(J(0, 4, 10, 100, "a"), processors=9)
    users = Resubmits(log, model=FILE["withdraws"], model_options={"clock": "job"})
    submit_again(users, 60.0, "smaller", smaller_ratios=[(0.5, 0.25)])
    (job,) = (act for act in users.jobs_to_submit(0) if isinstance(act, WorkloadJob))
    for attempt, size, walltime in ((1, 2, 25.0), (2, 1, 6.25), (3, 1, 1.5625)):
        now = attempt * 100.0
        users.job_ended(now, EndedJob(job, now - 40, None, now), WITHDRAWN)
        (job,) = (act for act in users.jobs_to_submit(now + 60) if isinstance(act, WorkloadJob))
        assert (job.id, job.size, job.walltime) == (f"A+{attempt}", size, walltime)
        assert users.profiles[job.profile]["delay"] == 10 * 0.25**attempt
        assert job.original_submission_time is None


@pytest.mark.parametrize(("wait", "step"), [(100.0, 0), (5 * HOUR, 3)])
def test_shares_gaps_and_kinds_are_those_of_the_habits(wait: float, step: int) -> None:
    nb = 2000
    load = workload([J(0, 8, 10, 100, f"u{k}") for k in range(nb)], 64, profile="delay")
    users = Resubmits(load, model=FILE["withdraws"], model_options={"rate": 0.0})
    for job in list(users.jobs_to_submit(0)):
        users.job_ended(wait, EndedJob(job, 0, None, wait), WITHDRAWN)
    gaps = []
    while (now := users.next_submission()) < inf:
        gaps += [now - wait] * len(list(users.jobs_to_submit(now)))
    habits = read_habits("sdsc_sp2").resubmission
    share = habits.probabilities[step]
    assert len(gaps) / nb == pytest.approx(share, abs=4 * (share * (1 - share) / nb) ** 0.5)
    middle = habits.gaps[len(habits.gaps) // 2]
    below = sum(gap <= middle for gap in gaps) / len(gaps)
    assert below == pytest.approx(0.5, abs=2 / len(gaps) ** 0.5)
    counted = users.statistics()["resubmitted"]
    for kind, nb_of_kind in counted.items():
        expected = getattr(habits, kind)
        error = (expected * (1 - expected) / len(gaps)) ** 0.5
        assert nb_of_kind / len(gaps) == pytest.approx(expected, abs=4 * error)


def test_no_share_resubmits_nothing() -> None:
    options = {"model": FILE["withdraws"], "model_options": {"rate": 3.0}, "share": 0.0}
    none = simulate(SAMPLE_LOG, users=FILE["resubmits"], user_options=options, first=400)
    alone = simulate(SAMPLE_LOG, users=FILE["withdraws"], user_options={"rate": 3.0}, first=400)
    assert none.jobs.to_csv() == alone.jobs.to_csv()


# Deadlines --------------------------------------------------------------------------------------


def test_deadlines_by_hand() -> None:
    """With a huge shape, all slacks are the mean: jobs leave after 4 requested times."""
    rows = Desk(Deadline(BLOCKED, slack=4.0, shape=100.0), 1).run()
    assert times(rows) == pytest.approx({"B": 410, "C": 420, "D": 430}, rel=0.07)
    users = Deadline(BLOCKED, slack=4.0, shape=100.0)
    (job,) = users.jobs_to_submit(0)
    assert job.deadline is None  # no request
    (job,) = users.jobs_to_submit(10)
    assert users.next_submission() == 20
    assert job.deadline == pytest.approx(10 + 5 * 100, rel=0.07)


@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
def test_mean_slack(shape: float) -> None:
    log = log_of(J(0, 1, 10, 100, "a"))
    slacks = []
    for seed in range(3000):
        (job,) = Deadline(log, slack=2.0, shape=shape, seed=seed).jobs_to_submit(0)
        slacks.append(job.deadline / 100 - 1)
    assert np.mean(slacks) == pytest.approx(2.0, abs=4 * np.std(slacks) / 3000**0.5)


def test_a_deadline_of_the_wrapped_model_is_kept() -> None:
    log = log_of(J(0, 1, 10, 100, "a"))
    log.jobs[0].deadline = 250.0
    users = Deadline(log)
    (job,) = users.jobs_to_submit(0)
    assert job.deadline == 250
    assert users.next_submission() == 150
    assert list(users.jobs_to_submit(150)) == [Withdraw("A")]


# Recorded dependencies --------------------------------------------------------------------------


def test_recorded_dependencies_by_hand() -> None:
    log = log_of(
        J(0, 1, 100, None, "a", 60),
        J(70, 1, 10, None, "a", 80),  # recorded 10 s after the end of A
        J(75, 1, 10, None, "a", 85),  # with a think time of its own
        J(20, 1, 10, None, "b", 30),  # recorded before the end of A: no think time
        J(5, 1, 10, None, "b", 15),  # the preceding job is missing
        J(7, 1, 10, None, "b", 15),  # the preceding job comes later
        processors=9,
    )
    for name, before, think in (
        ("B", "A", None),
        ("C", "A", 3.0),
        ("D", "A", None),
        ("E", "X", 5.0),
        ("F", "B", 5.0),
    ):
        (job,) = (job for job in log.jobs if job.id == name)
        job.preceding_job, job.think_time = before, think
    log.jobs.sort(key=lambda job: job.submit_time)
    users = RecordedDependencies(log)
    rows = Desk(users, 9).run()
    assert {name: submit for name, submit, *_ in rows} == {
        "A": 0,
        "B": 110,
        "C": 103,
        "D": 100,
        "E": 5,
        "F": 7,
    }
    counted = users.statistics()
    assert (counted["following"], counted["preceding_missing"], counted["preceding_later"]) == (
        3,
        1,
        1,
    )
    assert RecordedDependencies.follows_dependencies
    assert Deadline(log, model=FILE["recorded"]).follows_dependencies
    assert not Deadline(log).follows_dependencies
    assert RecordedDependencies(BLOCKED).statistics()["following"] == 0
