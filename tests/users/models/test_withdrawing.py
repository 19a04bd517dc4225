"""Users who withdraw waiting jobs, submit them again, have deadlines, or follow dependencies."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf, log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from batsched_py import Withdraw, Workload, WorkloadJob, simulate
from batsched_py.errors import BatschedError
from batsched_py.model.user_model import SUCCESS, WITHDRAWN, EndedJob, StartedJob
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR, MINUTE, WEEK
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.patience import AgeHazard, PresenceHazard, WeekClock
from batsched_users.behaviour.random_streams import Chance
from batsched_users.behaviour.withdrawal_habits import (
    SHIPPED,
    Choice,
    read_habits,
    write_habits,
)
from batsched_users.models import deadline, recorded_dependencies, resubmits, rigid, withdraws
from batsched_users.models.deadline import Deadline
from batsched_users.models.recorded_dependencies import RecordedDependencies
from batsched_users.models.resubmits import Resubmits
from batsched_users.models.sufficient import Sufficient
from batsched_users.models.withdraws import Withdraws
from batsched_users.sessions.feedback_engine import BatchFeedback

FILE = {
    "withdraws": f"{withdraws.__file__}:Withdraws",
    "resubmits": f"{resubmits.__file__}:Resubmits",
    "deadline": f"{deadline.__file__}:Deadline",
    "recorded": f"{recorded_dependencies.__file__}:RecordedDependencies",
}
Row = tuple[str, float, float | None, float, str]
"""Id, submission, start, end and state of a job."""


class Desk:
    """A machine by hand: first come first served, with what users learn, and what they do."""

    def __init__(self, users: Any, processors: int) -> None:
        self.users, self.free = users, processors
        self.queue: dict[str, tuple[WorkloadJob, float]] = {}
        self.running: list[tuple[float, int, WorkloadJob, float, float]] = []
        self.number = count()
        self.rows: list[Row] = []
        self.too_late = 0

    def run(self) -> list[Row]:
        while True:
            end = self.running[0][0] if self.running else inf
            now = min(end, self.users.next_submission())
            if now == inf:
                return self.rows
            while self.running and self.running[0][0] <= now:
                _, _, job, submit, start = heappop(self.running)
                self.free += job.size
                self.end(now, job, submit, start, SUCCESS)
            self.ask(now)
            for name, (job, submit) in list(self.queue.items()):
                if job.size > self.free:
                    break
                del self.queue[name]
                self.free -= job.size
                run = float(self.users.profiles[job.profile]["delay"])
                heappush(self.running, (now + run, next(self.number), job, submit, now))
                if hasattr(self.users, "job_started"):
                    self.users.job_started(now, StartedJob(job, submit, now))

    def ask(self, now: float) -> None:
        while self.users.next_submission() <= now:
            wanted = []
            for act in self.users.jobs_to_submit(now):
                if isinstance(act, Withdraw):
                    wanted.append(act.job)
                else:
                    assert act.id not in self.queue
                    self.queue[act.id] = act, now
            for name in wanted:
                if name not in self.queue:
                    self.too_late += 1
                    continue
                self.withdraw(now, name)

    def withdraw(self, now: float, name: str) -> None:
        job, submit = self.queue.pop(name)
        self.end(now, job, submit, None, WITHDRAWN)
        for other, (each, _) in list(self.queue.items()):
            if name in each.after and other in self.queue:
                self.withdraw(now, other)

    def end(
        self, now: float, job: WorkloadJob, submit: float, start: float | None, state: str
    ) -> None:
        self.rows.append((job.id, submit, start, now, state))
        self.users.job_ended(now, EndedJob(job, submit, start, now), state)


def log_of(*jobs: J, processors: int = 1) -> Workload:
    return workload(list(jobs), processors, profile="delay", names=[*"ABCDEFGH"[: len(jobs)]])


BLOCKED = log_of(
    J(0, 1, 1_000_000, None, "z"),
    J(10, 1, 10, 100, "a"),
    J(20, 1, 10, 100, "a"),
    J(30, 1, 10, 100, "b"),
)
"""A job that runs for long, and three that wait."""


def times(rows: list[Row], state: str = WITHDRAWN) -> dict[str, float]:
    return {name: end for name, _, _, end, what in rows if what == state}


# Hazards ----------------------------------------------------------------------------------------


def test_hazard_by_age_by_hand() -> None:
    hazard = AgeHazard((0, 60, 600), (0.01, 0.0, 0.001))
    assert [hazard.find_age(h) for h in (0, 0.3, 0.6, 0.7)] == pytest.approx([0, 30, 600, 700])
    assert AgeHazard((0, 60), (0.01, 0.0)).find_age(0.7) == inf


@given(
    origin=st.floats(0, WEEK - 1),
    night=st.sampled_from([0.0, 0.4, 1.0]),
    weekend=st.sampled_from([0.0, 0.7]),
    begin=st.floats(0, 3 * WEEK),
    length=st.floats(0, 4 * DAY),
    since=st.floats(0, 2 * DAY),
)
def test_hazard_by_presence_is_an_integral(
    origin: float, night: float, weekend: float, begin: float, length: float, since: float
) -> None:
    calendar = Calendar(origin)
    steps, rates = (0.0, MINUTE, HOUR, DAY), (1e-3, 1e-4, 3e-5, 1e-5)
    clock = WeekClock(calendar, night, weekend)
    hazard = PresenceHazard(clock, steps, rates)
    acted = begin - since

    def rate(time: float) -> float:
        by_day = 8 * HOUR <= calendar.time_of_day(time) < 20 * HOUR
        on_weekend = calendar.weekday(time) > 4
        step = np.searchsorted(steps, time - acted, side="right") - 1
        return rates[step] * (1 if by_day else night) * (weekend if on_weekend else 1)

    edges = np.linspace(begin, begin + length, 2001)
    middles = (edges[1:] + edges[:-1]) / 2
    slow = sum(map(rate, middles)) * length / 2000
    fast = hazard.integrate(acted, begin, begin + length)
    assert fast == pytest.approx(slow, rel=0.02, abs=1e-3 * max(MINUTE, length / 500))
    found = hazard.find_time(acted, begin, fast)
    assert begin <= found
    assert hazard.integrate(acted, begin, found) == pytest.approx(fast, abs=1e-9)


def test_clocks_of_parts_of_the_week_add_up_to_time() -> None:
    calendar = Calendar(12_345.0)
    at = np.array([0.0, 1e5, 5e5, 3e6])
    parts = [
        WeekClock.of_times(calendar, night=night, weekend=weekend).read_all(at)
        for night in (False, True)
        for weekend in (False, True)
    ]
    assert np.diff(sum(parts)) == pytest.approx(np.diff(at))
    assert [WeekClock(calendar, 0.5, 0.5).read(t) for t in at] == pytest.approx(
        WeekClock(calendar, 0.5, 0.5).read_all(at).tolist()
    )


# Withdraws --------------------------------------------------------------------------------------


def test_patience_of_a_job_by_hand() -> None:
    users = Withdraws(BLOCKED, clock="job", mean_patience=1000.0, seed=7)
    rows = Desk(users, 1).run()
    chance = Chance(7)
    for name, user, submit in (("B", "a", 10), ("C", "a", 20), ("D", "b", 30)):
        drawn = chance.number("patience", user, f"recorded {name}")
        assert times(rows)[name] == pytest.approx(submit - 1000 * log1p(-drawn))


def test_a_job_that_starts_is_not_withdrawn() -> None:
    log = log_of(J(0, 1, 50, None, "z"), J(10, 1, 10**6, None, "a"))
    desk = Desk(Withdraws(log, clock="job", mean_patience=5000.0, seed=1), 1)
    assert times(desk.run(), SUCCESS).keys() == {"A", "B"}
    assert not desk.too_late


def test_more_impatient_users_withdraw_earlier() -> None:
    once, thrice = (
        times(Desk(Withdraws(BLOCKED, clock="job", mean_patience=900.0, rate=r, seed=3), 1).run())
        for r in (1.0, 3.0)
    )
    for name, submit in (("B", 10), ("C", 20), ("D", 30)):
        assert thrice[name] - submit == pytest.approx((once[name] - submit) / 3)


def habits_file(folder: Any, **changes: Any) -> str:
    write_habits(folder / "habits.json", replace(read_habits("sdsc_sp2"), **changes))
    return str(folder / "habits.json")


def test_decisions_of_a_user_by_hand(tmp_path: Any) -> None:
    """One rate all the time: user a decides at the sums of thresholds while a job waits."""
    rate = 1 / 500
    file = habits_file(
        tmp_path,
        user_rates=[rate * 3.6e6] * 8,
        night=1.0,
        weekend=1.0,
        choice=Choice(0.0, 1.0, 0.0, 0.0),
    )
    rows = Desk(Withdraws(BLOCKED, habits=file, seed=5), 1).run()
    random = Chance(5).stream("withdraws", "a")
    first = 10 + random.expovariate(1.0) / rate
    random.random(), random.random()
    second = first + random.expovariate(1.0) / rate
    expected = {"C": first, "B": second} if first > 20 else {"B": first}
    for name, time in expected.items():
        assert times(rows)[name] == pytest.approx(time)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("all", [*"ABCD"]), ("newest", ["D"]), ("oldest", ["A"]), ("other", ["B", "C"])],
)
def test_choices(tmp_path: Any, choice: str, expected: list[str]) -> None:
    shares = {name: float(name == choice) for name in ("all", "newest", "oldest", "other")}
    file = habits_file(tmp_path, choice=Choice(**shares), user_rates=[1e9] * 8)
    log = log_of(*[J(5, 9, 10, None, "a") for _ in range(4)], processors=9)
    users = Withdraws(log, habits=file)
    submitted = [act.id for act in users.jobs_to_submit(5) if isinstance(act, WorkloadJob)]
    assert submitted == [*"ABCD"]
    (due, acts) = users.next_submission(), []
    acts = [act.job for act in users.jobs_to_submit(due) if isinstance(act, Withdraw)]
    assert acts == expected if choice != "other" else set(acts) < set(expected)


def test_presence_counts_from_the_last_visible_act(tmp_path: Any) -> None:
    """Only a minute after an act do users withdraw: so within a minute of one, or never."""
    file = habits_file(tmp_path, user_rates=[1e5, *[0.0] * 7], night=1.0, weekend=1.0)
    log = log_of(
        J(0, 1, 1000, None, "a"), J(10, 1, 10, None, "a"), J(20, 1, 5000, None, "b"), processors=1
    )
    acts = (10, 20, 1000)
    for seed in range(20):
        for _, _, _, end, state in Desk(Withdraws(log, habits=file, seed=seed), 1).run():
            near = any(act <= end <= act + MINUTE for act in acts)
            assert state == SUCCESS or near


@pytest.mark.parametrize("clock", ["user", "job"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("rigid", {}),
        ("feedback", {}),
        ("fluid", {}),
        ("site", {"nb_users": 5, "weeks": 1.0}),
    ],
)
def test_rate_0_changes_nothing(clock: str, model: str, options: dict[str, Any]) -> None:
    wraps = {"model": model, "model_options": options, "rate": 0.0, "clock": clock}
    with_it = simulate(SAMPLE_LOG, users=FILE["withdraws"], user_options=wraps, first=300)
    inner = f"{rigid.__file__}:Rigid" if model == "rigid" else model
    alone = simulate(SAMPLE_LOG, users=inner, user_options=options, first=300)
    assert with_it.jobs.to_csv() == alone.jobs.to_csv()


def test_the_same_patience_under_every_policy() -> None:
    options = {"clock": "job", "rate": 5.0}
    waits = []
    for policy in ("fcfs", "easy"):
        jobs = simulate(
            SAMPLE_LOG, scheduler=policy, users=FILE["withdraws"], user_options=options, first=600
        ).jobs
        gone = jobs[jobs.final_state == WITHDRAWN].set_index("job_id")
        waits.append(gone.withdrawal_time - gone.submission_time)
    both = waits[0].index.intersection(waits[1].index)
    assert len(both) > 10
    assert waits[0][both].tolist() == pytest.approx(waits[1][both].tolist())


def test_a_withdrawn_job_has_ended_for_the_wrapped_model() -> None:
    """Think time starts at the withdrawal, if it was the last open job."""
    log = log_of(
        J(0, 1, 10**6, None, "z", 10**6),
        J(10, 1, 10, 100, "a", 20),
        J(10_000, 1, 10, 100, "a", 10_010),
    )
    options = {"sessions": "max:20"}
    users = Withdraws(
        log, model="feedback", model_options=options, clock="job", mean_patience=500.0, seed=2
    )
    rows = Desk(users, 1).run()
    gone = times(rows)
    (submit,) = (submit for name, submit, *_ in rows if name == "C")
    assert submit == pytest.approx(gone["B"] + 10_000 - 20)


def test_the_response_of_a_withdrawn_job_is_its_wait() -> None:
    log = log_of(J(10, 1, 10, 100, "a", 20), J(100, 1, 10, 100, "a", 110))
    seen = []

    class React:
        def arrival(self, visit: Any, batch: Any, now: float, reason: Any) -> float:
            seen.append(visit.response)
            return now

    model = BatchFeedback(log.profiles)
    model.replay(log, "arrival:0", "joins", lambda trace: React())
    (job,) = model.jobs_to_submit(10)
    model.job_ended(70, EndedJob(job, 10, None, 70), WITHDRAWN)
    assert seen[-1] == 60 == EndedJob(job, 10, None, 70).waited


def test_withdrawals_within_populations_and_energy_users(tmp_path: Any) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        f"""
        [[member]]
        name = "w"
        model = "{FILE["withdraws"]}"
        share = 0.5
        options = {{ rate = 10.0 }}
        [[member]]
        model = "feedback"
        rest = true
        """
    )
    jobs = simulate(
        SAMPLE_LOG, users="population", user_options={"file": str(file)}, first=600
    ).jobs
    gone = jobs[jobs.final_state == WITHDRAWN]
    assert len(gone)
    assert set(gone.user.str.partition(":")[0]) == {"w"}
    options = {"signal": "8:00-20:00", "model": FILE["withdraws"], "rate": 10.0, "share": 0.5}
    jobs = simulate(SAMPLE_LOG, users="sufficient", user_options=options, first=600).jobs
    assert (jobs.final_state == WITHDRAWN).any()
    assert jobs.job_id.is_unique


def test_a_delayed_job_is_withdrawn_before_it_is_submitted() -> None:
    options = {"clock": "job", "mean_patience": 1.0, "signal": "0:00-20:00"}
    users = Sufficient(log_of(J(0, 1, 10, None, "a")), model=FILE["withdraws"], **options)
    assert list(users.jobs_to_submit(0)) == []
    now = users.next_submission()
    assert 0 < now < HOUR
    assert list(users.jobs_to_submit(now)) == []
    assert users.next_submission() == inf


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
    users._habits = replace(
        users._habits,
        probabilities=[1.0] * 4,
        gaps=[100.0, 100.0],
        same=1.0,
        smaller=0.0,
        larger=0.0,
        mixed=0.0,
    )
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


def test_new_requests_follow_the_ratios() -> None:
    log = log_of(J(0, 4, 10, 100, "a"), processors=9)
    users = Resubmits(log, model=FILE["withdraws"], model_options={"clock": "job"})
    users._habits = replace(
        users._habits,
        probabilities=[1.0] * 4,
        gaps=[60.0, 60.0],
        same=0.0,
        smaller=1.0,
        larger=0.0,
        mixed=0.0,
        smaller_ratios=[(0.5, 0.25)],
    )
    (job,) = (act for act in users.jobs_to_submit(0) if isinstance(act, WorkloadJob))
    for attempt, size, walltime in ((1, 2, 25.0), (2, 1, 6.25), (3, 1, 1.5625)):
        now = attempt * 100.0
        users.job_ended(now, EndedJob(job, now - 40, None, now), WITHDRAWN)
        (job,) = (act for act in users.jobs_to_submit(now + 60) if isinstance(act, WorkloadJob))
        assert (job.id, job.size, job.walltime) == (f"A+{attempt}", size, walltime)
        assert users.profiles[job.profile]["delay"] == 10 * 0.25**attempt
        assert job.original_submission_time is None


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
    assert RecordedDependencies(BLOCKED).statistics()["following"] == 0


# Wrong options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("withdraws", {"mean_patience": 10.0}, "needs clock=job"),
        ("withdraws", {"mean_patience": 0.0, "clock": "job"}, "mean_patience=0"),
        ("withdraws", {"rate": -1.0}, "rate=-1"),
        ("withdraws", {"clock": "wall"}, "clock"),
        ("withdraws", {"habits": "sdsc_sp3"}, "sdsc_sp2"),
        ("withdraws", {"model": "withdraw"}, "withdraw"),
        ("withdraws", {"model_options": {"x": 1}}, "Rigid|rigid"),
        ("deadline", {"slack": 0.0}, "slack=0"),
        ("deadline", {"shape": 0.0}, "shape=0"),
        ("resubmits", {"share": 2.0}, "share=2"),
    ],
)
def test_wrong_options(model: str, options: dict[str, Any], message: str) -> None:
    if model == "resubmits":
        options = {"model": "rigid", **options}
    with pytest.raises(BatschedError, match=message):
        simulate(SAMPLE_LOG, users=FILE[model], user_options=options, first=50)


def test_nobody_to_withdraw() -> None:
    with pytest.raises(BatschedError, match="clock=job"):
        Withdraws(log_of(J(0, 1, 10)))


def test_wrong_habits(tmp_path: Any) -> None:
    text = SHIPPED["sdsc_sp2"].read_text()
    file = tmp_path / "habits.json"
    for old, new, message in (
        ('"night"', '"nigth"', "nigth"),
        ('"all": 0.', '"all": 0.9', "choice: the shares sum to"),
        ('"weekend": ', '"weekend": -', "weekend"),
    ):
        assert old in text
        file.write_text(text.replace(old, new))
        with pytest.raises(BatschedError, match=message):
            read_habits(file)
