"""Weekly users by hand, against a slow twin, learnt from their own work, and beside the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.errors import InputError, UsageError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.learning.ideal_machine import PlayedJob, play_model
from batsched_users.learning.learn_weekly import learn_weekly
from batsched_users.models import weekly
from batsched_users.models.weekly import Parameters, WeeklyUsers
from helpers.drawn_sessions import log_of

MODEL = f"{weekly.__file__}:WeeklyUsers"
NINE, FIVE = 9 * HOUR, 17 * HOUR
WORKING_WEEK = [0.2] * 5 + [0.0, 0.0]
CLASS: dict[str, Any] = {
    "name": "a",
    "count": 1,
    "activity": 1,
    "weekdays": WORKING_WEEK,
    "day_begin": NINE,
    "day_end": FIVE,
    "sizes": [{"size": 4, "probability": 1, "mean": 600, "deviation": 0}],
}
"""One user whose jobs all run 10 minutes, Monday to Friday from 9 to 17."""


def machine(nb_res: int = 1024, start: float | None = None) -> Workload:
    return log_of([], nb_res, start)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write a parameter file of one class with some values changed; return its name."""

    def file(**changes: Any) -> str:
        path = tmp_path / "parameters.json"
        path.write_bytes(msgspec.json.encode({"classes": [CLASS | changes]}))
        return str(path)

    return file


def lasting(*responses: float) -> Callable[[WorkloadJob, float], float]:
    """Ends of jobs by their response times, in order of submission; the last one recurs."""
    return lambda job, now: now + responses[min(int(job.id), len(responses)) - 1]


def times(parameters: str, *responses: float, **options: Any) -> list[float]:
    """The first submissions of one user whose jobs take the given response times."""
    users = WeeklyUsers(machine(), parameters=parameters, weeks=3, **options)
    stream = play_model(users, lasting(*responses))
    return [next(stream).submit for _ in range(len(responses) + 1)]


@pytest.mark.parametrize(
    ("response", "think", "expected"),
    [
        (600, "lin", NINE + 600 + 0.4826 * 600 + 1_779),
        (8 * HOUR - 1_200, "c20", FIVE),  # exactly at the end of the day still counts as inside
        (8 * HOUR - 1_199, "c20", DAY + NINE),  # one second later: tomorrow
        (20 * HOUR, "c20", DAY + NINE),  # it ended at 5 in the morning
        (24 * HOUR - 600, "c20", DAY + NINE + 600),  # it ended at 8:50, and thinking began then
        (7 * HOUR, "c120", DAY + NINE),  # the rest of the think time is not kept for tomorrow
        (4 * DAY + 9 * HOUR, "c20", WEEK + NINE),  # Friday evening: Monday
    ],
)
def test_after_a_job(
    write: Callable[..., str], response: float, think: str, expected: float
) -> None:
    assert times(write(), response, think=think) == [NINE, pytest.approx(expected)]


def test_job(write: Callable[..., str]) -> None:
    """A job wider than the machine asks for all of it and runs as long; the estimate is exact."""
    users = WeeklyUsers(machine(3), parameters=write())
    (job,) = users.jobs_to_submit(NINE)
    assert (job.id, job.user, job.size, job.walltime, job.estimate) == ("1", "1", 3, None, 600)
    assert users.profiles[job.profile]["cpu"] == 600e9


def test_clock_of_the_log(write: Callable[..., str]) -> None:
    """Second 0 is a Thursday, 16:30 (1 January 1970, UTC): one job now, one at 17, then Friday."""
    users = WeeklyUsers(machine(start=16.5 * HOUR), parameters=write(), think="c20")
    stream = play_model(users)
    thursday = -16.5 * HOUR
    assert [next(stream).submit for _ in range(3)] == [0, 1_800, thursday + DAY + NINE]


def test_users_begin_together_or_spread() -> None:
    """``spread``: the ten users begin the Monday at ten different instants of the working day."""
    for first, instants in (("begin", 1), ("spread", 10)):
        users = WeeklyUsers(machine(), weeks=1, activity=1, first=first)
        monday: dict[str, float] = {}
        for played in play_model(users):
            if played.submit < DAY:
                monday.setdefault(str(played.job.user), played.submit)
        assert len(monday) == 10
        assert len(set(monday.values())) == instants


@pytest.mark.parametrize("reading", ["each", "draw"])
def test_weekdays(write: Callable[..., str], reading: str) -> None:
    """Long jobs, one a day: days are worked in proportion, by either reading of the shares."""
    shares = [0.2, 0.1, 0.1, 0.2, 0.2, 0.15, 0.05]
    users = WeeklyUsers(machine(), parameters=write(weekdays=shares), days=reading, weeks=1_000)
    days = [int(job.submit // DAY) for job in play_model(users, lasting(9 * HOUR))]
    counts = Counter(day % 7 for day in days)
    assert [counts[day] / len(days) for day in range(7)] == pytest.approx(shares, abs=0.02)
    if reading == "each":  # five days a week; Mondays, at 5 x 0.2, are never missed
        assert len(days) == pytest.approx(5_000, rel=0.02)
        assert counts[0] == 1_000
    else:  # the wait for a day drawn, from the day after: (0 + ... + 6) / 7 + 1 days on average
        assert mean(b - a for a, b in pairwise(days)) == pytest.approx(4, rel=0.05)


def test_drawn_days_keep_to_active_weeks(write: Callable[..., str]) -> None:
    """A user who works on Fridays only, in half of the weeks, skips the others."""
    fridays = write(weekdays=[0, 0, 0, 0, 1, 0, 0])
    users = WeeklyUsers(machine(), parameters=fridays, days="draw", activity=0.5, weeks=400)
    days = [int(job.submit // DAY) for job in play_model(users, lasting(9 * HOUR))]
    assert {day % 7 for day in days} == {4}
    assert len(days) == len(set(days)) == pytest.approx(200, abs=30)


def test_short_run_times(write: Callable[..., str]) -> None:
    """A quarter of the run times drawn is below 1 s: they become 1 s, or others are drawn."""
    wide = write(sizes=[{"size": 1, "probability": 1, "mean": 675, "deviation": 1_000}])
    shares = {}
    for short in ("clip", "redraw"):
        users = WeeklyUsers(machine(), parameters=wide, short=short, weeks=200)
        runs = [played.end - played.submit for played in play_model(users)]
        assert min(runs) >= 1
        shares[short] = runs.count(1) / len(runs)
    assert shares["clip"] == pytest.approx(0.25, abs=0.03)
    assert shares["redraw"] < 0.01


def test_users_are_dealt_in_proportion() -> None:
    """Two thirds of the users are of class a, however many users there are."""
    a = msgspec.convert(CLASS | {"count": 4}, weekly.UserClass)
    b = msgspec.convert(CLASS | {"name": "b", "count": 2}, weekly.UserClass)
    for asked, expected in ((None, "aaaabb"), (3, "aab"), (12, "aaaaaaaabbbb"), (1, "a")):
        assert "".join(kind.name for kind in weekly._deal(Parameters([a, b]), asked)) == expected


RESPONSES = st.lists(st.integers(0, 200) | st.integers(0, 10**6), min_size=1, max_size=8)


@given(st.lists(st.integers(0, 4 * 10**5), min_size=1, max_size=8), st.integers(0, 99))
def test_next_submission_against_a_search(responses: list[int], seed: int) -> None:
    """The twin looks at every day from the first one on, and knows the weeks by their chance."""
    users = WeeklyUsers(machine(), weeks=6, activity=0.6, seed=seed, nb_users=2)
    twin = WeeklyUsers(machine(), weeks=6, activity=0.6, seed=seed, nb_users=2)
    worked = [
        [day for week in range(8) for day in twin._draw_week(user, week)] for user in twin._users
    ]
    wishes = {"1": 0.0, "2": 0.0}
    for played in play_model(users, lasting(*map(float, responses))):
        user = str(played.job.user)
        options = [
            max(wishes[user], day * DAY + NINE)
            for day, works in enumerate(worked[int(user) - 1])
            if works and wishes[user] <= day * DAY + FIVE
        ]
        assert played.submit == pytest.approx(options[0])
        response = played.end - played.submit
        wishes[user] = played.end + 0.4826 * response + 1_779


def test_a_horizon_within_a_day(write: Callable[..., str]) -> None:
    """Half a day after Tuesday's midnight nothing is submitted any more."""
    options = {"think": "c120", "chains": "daily"}
    users = WeeklyUsers(machine(), parameters=write(), weeks=(DAY + 12 * HOUR) / WEEK, **options)
    days = Counter(int(played.submit // DAY) for played in play_model(users, lasting(600)))
    assert days == {0: 4, 1: 2 + 2}


@given(st.lists(st.integers(0, 4 * 10**5), min_size=1, max_size=8), st.integers(0, 99))
def test_daily_chains_against_a_search(responses: list[int], seed: int) -> None:
    """The twin takes one chain after the other: jobs last by the second they are submitted at."""

    def end_of(job: WorkloadJob, now: float) -> float:
        return now + responses[int(now) % len(responses)]

    options: dict[str, Any] = {"weeks": 4, "activity": 0.6, "seed": seed, "nb_users": 2}
    users = WeeklyUsers(machine(), chains="daily", **options)
    twin = WeeklyUsers(machine(), **options)
    expected = []
    for user in twin._users:
        for week in range(4):
            worked = [day + 7 * week for day, w in enumerate(twin._draw_week(user, week)) if w]
            for day in worked:
                wish = day * DAY
                while later := [d for d in worked if wish <= d * DAY + FIVE and d >= day]:
                    submit = max(wish, later[0] * DAY + NINE)
                    expected.append((user.name, pytest.approx(submit)))
                    response = responses[int(submit) % len(responses)]
                    wish = submit + 1.4826 * response + 1_779
    found = [(str(p.job.user), p.submit) for p in play_model(users, end_of)]
    assert sorted(found) == sorted(expected, key=lambda each: (each[0], each[1].expected))


@given(RESPONSES, RESPONSES, st.sampled_from(["begin", "spread"]))
def test_chains_begin_with_the_same_jobs_in_every_system(
    quick: list[int], slow: list[int], first: str
) -> None:
    """The k-th job of a chain is the same, and its first one comes at the same time."""

    def chains_of(responses: list[int]) -> dict[tuple[str, int], list[PlayedJob]]:
        """What each chain submits, by its user and the day on which it begins."""
        users = WeeklyUsers(machine(), nb_users=3, weeks=2, chains="daily", first=first, seed=5)
        found: dict[tuple[str, int], list[PlayedJob]] = {}
        for played in play_model(users, lasting(*map(float, responses))):
            chain = users._in_system[played.job.id]
            found.setdefault((chain.user.name, chain.day), []).append(played)
        return found

    one, other = chains_of(quick), chains_of(slow)
    assert one.keys() == other.keys()
    for key in one:
        assert one[key][0].submit == other[key][0].submit
        for ours, theirs in zip(one[key], other[key], strict=False):
            assert (ours.job.size, ours.job.profile) == (theirs.job.size, theirs.job.profile)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activity": 2}, r"`\$.classes\[0\].activity"),
        ({"weekdays": [0.2] * 7}, "weekdays: "),
        ({"day_end": 0}, "day_end=0"),
        ({"sizes": []}, "length >= 1"),
        ({"sizes": [{"size": 4, "probability": 0.5, "mean": 9, "deviation": 0}]}, "sum to 0.5"),
    ],
)
def test_wrong_files(write: Callable[..., str], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"parameters.json: .*{message}"):
        WeeklyUsers(machine(), parameters=write(**changes))


def test_learn_by_hand() -> None:
    """Two users; u works on Monday and Tuesday of week 0, and on Mondays of weeks 1 and 3."""
    jobs = [
        ("u", 0, 9, 1, 0),
        ("u", 0, 10, 3, 100),
        ("u", 1, 9, 4, 300),
        ("u", 7, 16, 4, 200),
        ("u", 21, 12, 4, 200),
        ("v", 23, 11, 4, 200),
    ]
    drawn = [
        J(day * DAY + hour * HOUR, size, run, user=user) for user, day, hour, size, run in jobs
    ]
    load = workload(drawn, 8)
    u, v = learn_weekly(load, per="user", trimmed=0).classes
    assert (u.name, u.count, v.name) == ("u", 1, "v")
    assert u.activity == 0.5  # of weeks 1 and 2, which are between its first and its last
    assert v.activity == 1  # nothing is between
    assert u.weekdays == [0.75, 0.25, 0, 0, 0, 0, 0]  # four days; two jobs on one are one day
    assert (u.day_begin, u.day_end) == (9 * HOUR, 16 * HOUR)
    assert [(s.size, s.probability, s.mean, s.deviation) for s in u.sizes] == [
        (1, 0.2, 1, 0),  # 0 s counts as 1 s
        (4, 0.8, 200, pytest.approx(5_000**0.5, abs=0.001)),  # size 3 among those of 4
    ]
    (pool,) = learn_weekly(load, weeks="log", trimmed=0).classes
    assert pool.count == 2
    assert pool.activity == pytest.approx(2 / 6, abs=1e-6)  # u in 0 and 1; week 3 is not whole
    assert pool.weekdays == [0.6, 0.2, 0.2, 0, 0, 0, 0]


def test_learn_run_times_as_far_as_walltimes_let_them() -> None:
    """Jobs of 100 s: one is killed after 60 s, nobody kills the others; one is of no user."""
    jobs = [("u", 60), ("u", 200), ("u", None), (None, 30)]
    load = workload([J(9 * HOUR, 4, 100, walltime, user) for user, walltime in jobs], 8)
    (only,) = learn_weekly(load).classes
    assert [(s.size, s.mean) for s in only.sizes] == [(4, pytest.approx(260 / 3, abs=0.001))]


def test_learning_needs_users_and_options() -> None:
    with pytest.raises(InputError, match="has a user"):
        learn_weekly(machine())
    for wrong in ({"per": "class"}, {"weeks": "all"}, {"trimmed": 0.5}):
        with pytest.raises(UsageError, match=f"{next(iter(wrong))}="):
            learn_weekly(machine(), **wrong)


@pytest.mark.slow
def test_claims_of_the_paper() -> None:
    """EASY is better than FCFS, but not for the large jobs.

    Means over 3 seeds on 1024 processors, of users who work every week, with ``lin``.
    """
    columns = ("mean_turnaround_time", "mean_waiting_time", "mean_slowdown", "squashed_area")
    large = "mean_turnaround_time_by_area"
    means: dict[str, dict[str, float]] = {}
    for policy in ("fcfs", "easy"):
        options = {"scheduler": policy, "users": MODEL, "user_options": {"activity": 1}}
        runs = [simulate(machine(), seed=seed, **options).measured["overall"] for seed in range(3)]
        means[policy] = {column: mean(run[column] for run in runs) for column in (*columns, large)}
    fcfs, easy = means["fcfs"], means["easy"]
    for column in columns[:3]:
        assert easy[column] < fcfs[column]
    assert easy[large] > fcfs[large]
    assert fcfs["squashed_area"] == pytest.approx(1.79e9, rel=0.1)  # an independent simulation's
    assert easy["mean_turnaround_time"] == pytest.approx(7_351, rel=0.1)
