"""The league of user models: scores, what forecasts know, worlds whose users are known, report."""

from __future__ import annotations

from itertools import pairwise
from math import nan
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from batsched_py import Workload, WorkloadJob, load_workload, make_rules, simulate
from batsched_py.errors import UsageError
from batsched_py.support.statistics import student
from batsched_py.units import DAY, HOUR, MINUTE, WEEK
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_studies.league.change import Change, select_after, select_around, select_before
from batsched_studies.league.days import Days, Jobs, compute_busy, read_log_jobs
from batsched_studies.league.figures import count_jobs_by_day
from batsched_studies.league.forecasts import MODELS, Forecast
from batsched_studies.league.report import count_busy, report
from batsched_studies.league.scores import crps, crps_of_sample, energy_score
from batsched_studies.league.standings import GROUPS, Case, ScoredJobs, read
from batsched_studies.league.worlds import WORLDS, make_world
from helpers.made_up_campaign import MadeUpCampaign, holds, one_row, table_of

NUMBERS = st.floats(-100, 100)

# Scores ------------------------------------------------------------------------------------------


def slow_crps(members: list[float], truth: float) -> float:
    """The definition: mean distance to the truth, less half of that between two members."""
    count = len(members)
    error = sum(abs(x - truth) for x in members) / count
    apart = sum(abs(x - y) for x in members for y in members)
    return error - apart / (2 * count * (count - 1)) if count > 1 else error


@given(st.lists(NUMBERS, min_size=1, max_size=8), NUMBERS, NUMBERS)
def test_the_crps_is_its_slow_twin_and_moves_with_the_values(
    members: list[float], truth: float, shift: float
) -> None:
    drawn = np.array(members)[:, None]
    score = crps(drawn, [truth])[0]
    assert score == pytest.approx(slow_crps(members, truth), abs=1e-9)
    assert crps(drawn + shift, [truth + shift])[0] == pytest.approx(score, abs=1e-7)
    assert crps(-3 * drawn, [-3 * truth])[0] == pytest.approx(3 * score, abs=1e-7)
    assert crps(drawn[::-1], [truth])[0] == pytest.approx(score, abs=1e-9)


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.lists(NUMBERS, min_size=1, max_size=5))
def test_the_crps_of_a_sample_is_the_area_between_distributions(
    sample: list[float], seen: list[float]
) -> None:
    """The integral of (share of the sample up to x - whether the truth is)^2, piece by piece."""
    for truth, score in zip(seen, crps_of_sample(sample, seen), strict=True):
        edges = sorted([*sample, truth])
        area = sum(
            (np.mean(np.array(sample) <= low) - (truth <= low)) ** 2 * (high - low)
            for low, high in pairwise(edges)
        )
        assert score == pytest.approx(area, abs=1e-9)


def test_closed_forms() -> None:
    """One member: the absolute error. A normal distribution: Gneiting and Raftery 2007, (21)."""
    assert crps([[3.0, 7.0]], [5.0, 5.0]).tolist() == [2, 2]
    assert energy_score([[[3.0, 4.0]]], [[0.0, 0.0]]).tolist() == [5]
    random = np.random.default_rng(1)
    truth = np.array([0.0, 0.5, 2.0])
    closed = truth * (2 * norm.cdf(truth) - 1) + 2 * norm.pdf(truth) - 1 / np.sqrt(np.pi)
    assert crps_of_sample(random.normal(size=200_000), truth) == pytest.approx(closed, abs=0.005)
    # Fair: of ten members, or of two, as of the distribution itself, on average.
    for members in (2, 10):
        drawn = random.normal(size=(members, 3 * 20_000))
        means = crps(drawn, np.repeat(truth, 20_000)).reshape(3, -1).mean(axis=1)
        assert means == pytest.approx(closed, abs=0.02)


# The change --------------------------------------------------------------------------------------

CHANGE = Change("2024-03-25", settle=1, weeks=2, spare=1, members=3)
"""Clocks go forward in the night before the first day of its second week in Paris, not in UTC."""


def log_of(jobs: list[WorkloadJob], zone: str = "UTC") -> Workload:
    profile = {"r3600": {"type": "delay", "delay": 3600.0}}
    return Workload(
        name="made up",
        nb_res=8,
        jobs=jobs,
        profiles=profile,
        rules={"profile": "delay"},
        unix_start_time=CHANGE.date.timestamp() - 10 * WEEK,
        time_zone=zone,
    )


def job(number: int, at: float, wait: float = 0.0, user: str = "1", size: int = 1) -> WorkloadJob:
    return WorkloadJob(
        id=str(number),
        submit_time=at,
        size=size,
        profile="r3600",
        walltime=7200.0,
        user=user,
        finish_time=at + wait + HOUR,
    )


def series(weeks: int = 16) -> list[WorkloadJob]:
    """Each six hours one of three users has three jobs: after the first a think time, then a break.

    They wait now and then. No two weeks are the same.
    """
    jobs: list[WorkloadJob] = []
    for at in range(int(weeks * WEEK / (6 * HOUR))):
        start = at * 6 * HOUR
        for pause in (10.0 * MINUTE, HOUR, 0.0):
            wait, size = 600.0 * (at % 4) + at // 28, 1 + len(jobs) % 5
            jobs.append(job(len(jobs), start, wait, str(at % 3), size))
            start += wait + HOUR + pause
    return jobs


LOG = log_of(series())


def test_weeks_are_those_of_the_clock() -> None:
    """In Paris a week has 167 hours in the end of March: noon stays noon."""
    hours = {
        zone: {job.submit_time % DAY for job in select_after(log_of(noons, zone), CHANGE).jobs}
        for zone, noons in {
            "UTC": [job(at, at * DAY + 12 * HOUR) for at in range(7 * 16)],
            "Europe/Paris": [
                job(at, at * DAY + 11 * HOUR - (HOUR if at >= 76 else 0)) for at in range(7 * 16)
            ],
        }.items()
    }
    assert hours == {"UTC": {12 * HOUR}, "Europe/Paris": {12 * HOUR}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"change": "2024-03-26"}, "expected a Monday"),
        ({"change": "spring"}, "date of a"),
        ({"change": "2024-02-05"}, "6 weeks before it"),
        ({"change": "2024-05-06"}, "3 weeks after it"),
        ({"member": 3}, "member=3"),
        ({"world": "flat"}, "world=flat"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    model = "recorded" if "after it" in message else "rigid"
    given = {**msgspec.structs.asdict(CHANGE), "model": model, **options}
    with pytest.raises(UsageError, match=message):
        Forecast(LOG, **given)


def test_without_recorded_waits_there_is_no_league() -> None:
    """Of a run time that was cut at its request the log has the end, and no wait fits to that."""
    cut = msgspec.structs.replace(LOG, rules={**LOG.rules, "runtime": "cut-at-request"})
    with pytest.raises(UsageError, match="runtime=cut-at-request"):
        Forecast(cut, **msgspec.structs.asdict(CHANGE), model="rigid")


# What forecasts know -----------------------------------------------------------------------------


def submitted(log: Workload, model: str, member: int = 0) -> list[tuple[Any, ...]]:
    """What a member submits to a small machine, with what became of it."""
    options = {**msgspec.structs.asdict(CHANGE), "model": model, "member": member}
    result = simulate(log, users=Forecast, user_options=options, progress=False)
    table = result.table
    columns = (table.submit, table.start, table.finish, table.size)
    return list(zip(*(column.tolist() for column in columns), table.user, strict=True))


def another_end(log: Workload) -> Workload:
    """The same log up to the change; after it other jobs, and whatever runs at it runs longer."""
    moment = 10 * WEEK
    jobs = []
    for place, recorded in enumerate(log.jobs):
        assert recorded.finish_time is not None
        if recorded.submit_time >= moment:
            other = {"size": 8, "user": "x", "submit_time": recorded.submit_time + place % 7}
            jobs.append(msgspec.structs.replace(recorded, **other))
        elif recorded.finish_time > moment:
            end = recorded.finish_time + DAY
            jobs.append(msgspec.structs.replace(recorded, finish_time=end, profile="longer"))
        else:
            jobs.append(recorded)
    profiles = {**log.profiles, "longer": {"type": "delay", "delay": 3600.0 + DAY}}
    return msgspec.structs.replace(log, jobs=jobs, profiles=profiles)


@pytest.fixture
def short_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of the small log have much to do: some of them tell how many there are."""
    monkeypatch.setattr("batsched_studies.league.site_of_log.USERS_ON_TRIAL", 20)


@pytest.mark.usefixtures("short_trial")
@pytest.mark.parametrize("model", MODELS)
def test_nothing_of_what_came_after_reaches_a_forecast(model: str) -> None:
    """Members differ, and end at the horizon."""
    members = [submitted(LOG, model, member) for member in (0, 2)]
    assert members == [submitted(another_end(LOG), model, member) for member in (0, 2)]
    assert members[0] != members[1]
    for rows in members:
        assert len(rows) > 20
        assert max(row[0] for row in rows) < CHANGE.horizon * WEEK


@pytest.mark.parametrize(("model", "spare"), [("rigid", 1), ("rigid_recent", 0)])
def test_rigid_is_what_was_recorded_weeks_before(model: str, spare: int) -> None:
    """With one week to spare the replay of member 1 begins five weeks before the change."""
    rows = submitted(LOG, model, 1)
    weeks = 3 + spare + 1
    known = [job for job in select_before(LOG, CHANGE).jobs if job.submit_time >= -weeks * WEEK]
    shifted = [job.submit_time + weeks * WEEK for job in known]
    expected = [time for time in shifted if time < CHANGE.horizon * WEEK]
    assert [row[0] for row in rows] == expected


# Days --------------------------------------------------------------------------------------------


def made_jobs(rows: list[tuple[float, float, float, float, str]], processors: int = 10) -> Jobs:
    submit, wait, run, size, user = zip(*rows, strict=True)
    columns = (np.array(column, dtype=float) for column in (submit, wait, run, size))
    return Jobs(*columns, np.array(user, dtype=object), processors)


def test_days_by_hand() -> None:
    """The first scored day has two jobs of a user and a rejected one of another; then nothing."""
    change = Change("2024-03-25", settle=1, weeks=1)
    first = WEEK
    seen = Days.from_jobs(
        made_jobs(
            [
                (first - 1, 0, HOUR, 10, "0"),  # submitted before, runs into the day
                (first + 10, 9 * MINUTE, 2 * HOUR, 4, "1"),
                (first + HOUR, 99 * MINUTE, HOUR, 2, "1"),
                (first + HOUR, nan, nan, 99, "2"),
                (first + WEEK, 0, HOUR, 1, "1"),  # after the last day
            ]
        ),
        change,
    )
    assert np.expm1(seen.jobs).round(9).tolist() == [3, 0, 0, 0, 0, 0, 0]
    assert np.expm1(seen.users).round(9).tolist() == [2, 0, 0, 0, 0, 0, 0]
    assert np.expm1(seen.work).round(9).tolist() == [10, 0, 0, 0, 0, 0, 0]
    assert np.expm1(seen.profile[0]).round(9).tolist() == [1, 2, *[0] * 22]
    assert seen.wait[0] == pytest.approx(1.5)
    assert np.isnan(seen.wait[1:]).all()
    used = 10 * (HOUR - 1) + 8 * HOUR + 2 * HOUR
    assert seen.utilisation.tolist() == pytest.approx([used / DAY / 10, *[0] * 6])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5 * 24), st.integers(0, 20), st.integers(0, 60), st.integers(1, 9)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_busy_processors_are_those_counted_each_hour(rows: list[tuple[int, int, int, int]]) -> None:
    jobs = made_jobs([(s * HOUR, w * HOUR, r * HOUR, float(n), "1") for s, w, r, n in rows])
    slow = [
        sum(n for s, w, r, n in rows if s + w <= hour < s + w + r) for hour in range(24, 4 * 24)
    ]
    assert compute_busy(jobs, DAY, 3) == pytest.approx(np.reshape(slow, (3, 24)).mean(axis=1))
    assert count_busy(jobs, HOUR * np.arange(24, 4 * 24)).tolist() == slow
    assert count_jobs_by_day(jobs, 0, 6).sum() == len(rows)


# Standings ---------------------------------------------------------------------------------------


def drawn_case(random: np.random.Generator, luck: float) -> Case:
    """Two halves of ten members, each of which is high or low by so much on all of its days.

    Both are scored against days that vary as much, and are high or low week by week.
    """
    change = Change("2024-03-25", settle=0, weeks=12, spare=0, members=5)
    nothing = Jobs(*np.zeros((4, 1)), np.array(["1"], dtype=object), 1)

    def seen(level: Any) -> ScoredJobs:
        hours = level[:, None] + random.normal(size=(84, 2))
        one = {name: level + random.normal(size=84) for name in Days.__struct_fields__}
        return ScoredJobs(nothing, Days(**{**one, "profile": hours}))

    truth = seen(np.repeat(random.normal(size=12), 7))
    halves = {
        name: [seen(np.full(84, luck * random.normal())) for _ in range(5)]
        for name in ("rigid", "other")
    }
    return Case("drawn", "log", "", change, LOG, truth, truth, halves)


def test_the_interval_is_of_weeks_and_of_members() -> None:
    """By hand: the skill without each week, and with new ensembles without each member."""
    case = drawn_case(np.random.default_rng(7), 0.5)
    told = case.ratio("submissions", "other", "rigid")

    def value(weeks: list[int], members: list[int]) -> float:
        logs = []
        for name in GROUPS["submissions"]:
            truth = getattr(case.recorded.days, name)
            score = energy_score if truth.ndim > 1 else crps
            means = []
            for half in ("other", "rigid"):
                drawn = [getattr(case.forecasts[half][k].days, name) for k in members]
                by_week = score(drawn, truth).reshape(12, 7)
                means.append(by_week[weeks].mean())
            logs.append(np.log(means[0] / means[1]))
        return float(np.mean(logs))

    def error(values: list[float]) -> float:
        number = len(values)
        return float(np.sqrt((number - 1) / number * ((values - np.mean(values)) ** 2).sum()))

    all_weeks, all_members = list(range(12)), list(range(5))
    of_weeks = error([value([w for w in all_weeks if w != k], all_members) for k in all_weeks])
    of_members = error([value(all_weeks, [m for m in all_members if m != k]) for k in all_members])
    reach = np.hypot(of_weeks, of_members) * student(4)  # the fewer: five members
    middle = value(all_weeks, all_members)
    assert told.value == pytest.approx(np.exp(middle))
    assert (told.low, told.high) == pytest.approx((np.exp(middle - reach), np.exp(middle + reach)))
    case.forecasts["other"] = case.forecasts["other"] + case.forecasts["rigid"][:1]
    assert case.ratio("submissions", "other", "rigid").is_known  # runs are missing: no pairs


# The league itself -------------------------------------------------------------------------------


class SmallCampaign(MadeUpCampaign):
    """Runs of the worlds that were simulated here, as a campaign has them."""

    def __init__(self, world: str, models: list[str], change: Change) -> None:
        self.log = load_workload(SAMPLE_LOG, make_rules(walltime="exact"))
        self.frames: list[pd.DataFrame] = []
        rows = []
        for model in ["recorded", *models]:
            for member in range(1 if model == "recorded" else change.members):
                options: dict[str, Any] = {**msgspec.structs.asdict(change), "world": world}
                options |= {"model": model, "member": member}
                result = simulate(self.log, users=Forecast, user_options=options, progress=False)
                row = {"log": "sample", "case": world, "model": model, "member": member}
                row["user_options"] = msgspec.json.encode(options).decode()
                rows.append({**row, "nb_res": self.log.nb_res, "place": len(self.frames)})
                self.frames.append(result.jobs)
        super().__init__(rows, "league")

    def workload(self, run: Any) -> Workload:
        return self.log

    def jobs(self, run: Any) -> pd.DataFrame:
        return self.frames[run["place"]]


SMALL = Change("2026-06-01", settle=1, weeks=6, spare=1, members=5)


def test_the_model_that_made_the_record_wins() -> None:
    """Users who react, on a machine that becomes twice as large: who replays rigidly is behind."""
    made = SmallCampaign("closed", ["rigid", "rigid_recent", "site"], SMALL)
    (case,) = read(made)  # type: ignore[arg-type]
    for group in GROUPS:
        assert case.find_places(group)["site"] == (1, 1)
        assert case.skill(group, "site").above(0) is True
    page = report(made)  # type: ignore[arg-type]
    assert set(holds(page).values()) == {True}
    league = table_of(page, "league_closed").frame
    assert next(iter(league["model"])) == "site"
    seen = table_of(page, "evidence_closed").frame
    assert one_row(seen, when="before")["busy"] <= 32 < one_row(seen, when="after")["busy"]
    # A world is made under EASY, so its replay is what was recorded.
    after, again = (one_row(seen, when=name) for name in ("after", "after, EASY"))
    assert again["wait"] == pytest.approx(after["wait"], rel=0.02)
    recent = one_row(table_of(page, "recent_closed").frame, model="site")
    for group in GROUPS:
        assert recent[group] == 1 - case.ratio(group, "site", "rigid_recent").value > 0


def test_runs_that_differ_by_more_than_model_and_member_are_no_ensemble() -> None:
    """As of two changes in one campaign: of both would be told what came after the first."""
    row = {"log": "sample", "case": "open", "model": "rigid", "nb_res": 64}
    rows = [
        {**row, "member": at, "user_options": f'{{"change": "2026-06-01", "settle": {settle}}}'}
        for at, settle in enumerate((1, 2))
    ]
    for runs in (rows, [rows[0], rows[0]]):  # the second: another seed, policy or replication
        with pytest.raises(UsageError, match=r"^open: "):
            read(MadeUpCampaign(runs))  # type: ignore[arg-type]


def test_a_world_is_the_same_again_and_half_shut_until_the_change() -> None:
    log = load_workload(SAMPLE_LOG, make_rules(walltime="exact"))
    for name in WORLDS:
        first, again = (make_world(log.copy(), name, SMALL) for _ in range(2))
        assert first == again
        jobs = read_log_jobs(select_around(first, SMALL), log.nb_res)
        until = HOUR * np.arange(-SMALL.learnt * 168, 0)
        assert count_busy(jobs, until).max() <= log.nb_res / 2
        assert count_busy(jobs, HOUR * np.arange(0, 168.0)).max() > log.nb_res / 2
