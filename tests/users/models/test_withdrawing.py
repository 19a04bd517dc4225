"""Users who withdraw waiting jobs: hazards, draws, choices, and models that they wrap."""

from __future__ import annotations

from math import inf, log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from batsched_py import Withdraw, WorkloadJob, simulate
from batsched_py.errors import BatschedError
from batsched_py.model.user_model import SUCCESS, WITHDRAWN, EndedJob
from batsched_py.testing import DrawnJob as J
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
from batsched_users.models import rigid
from batsched_users.models.sufficient import Sufficient
from batsched_users.models.withdraws import Withdraws
from batsched_users.sessions.feedback_engine import BatchFeedback
from helpers.withdrawals_by_hand import BLOCKED, FILE, Desk, log_of, times

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


# Wrong options ----------------------------------------------------------------------------------


TWICE = {
    "model": FILE["withdraws"],
    "model_options": {"model": FILE["resubmits"], "model_options": {"model": "rigid"}},
}


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
        ("resubmits", TWICE, "no second model"),
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


def test_jobs_without_user_are_counted() -> None:
    """Synthetic jobs have no user, also if those of the log have."""
    counted = {}
    for clock in ("user", "job"):
        options = {"model": "synthetic", "clock": clock, "model_options": {"jobs": 60}}
        result = simulate(SAMPLE_LOG, users=FILE["withdraws"], user_options=options)
        counted[clock] = result.settings.get("user_statistics", {})
    assert counted["user"]["without_user"] == 60
    assert "60 jobs have no user, so nobody withdraws them" in counted["user"]["summary"]
    assert "without_user" not in counted["job"]


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
