"""Resampled populations: pools, shifts by whole weeks, who comes when; and TBUOS."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.random_streams import Chance
from batsched_users.learning.ideal_machine import PlayedJob, play_model
from batsched_users.models.resampled import Resampled
from batsched_users.models.tbuos import REACTIONS, Tbuos
from batsched_users.resampling import user_pools
from batsched_users.resampling.drawn_users import LONG_TERM, RARE, Arrival, DrawnUsers, Size
from batsched_users.resampling.user_pools import (
    Pools,
    Rare,
    count_active_weeks,
    make_pools,
    reuse_pools,
)
from batsched_users.sessions.batches import traces
from batsched_users.sessions.delimitation import Delimitation
from helpers.drawn_sessions import WEEKS, job, log_of_stays

ARRIVAL = Delimitation.parse("arrival:60:>")


LOG = log_of_stays()
POOLS = make_pools(LOG.jobs, ARRIVAL)
RECORDED = {j.id: j for j in LOG.jobs}
BATCH = {
    j.id: number
    for trace in traces(LOG.jobs, ARRIVAL).values()
    for number, batch in enumerate(trace.batches, start=1)
    for j in batch.jobs
}
"""Number of the batch of each recorded job among those of its user."""


def played(model: Resampled | Tbuos) -> list[PlayedJob]:
    return list(play_model(model))


def shift_of(submission: PlayedJob) -> float:
    return float(submission.job.original_submission_time - recorded(submission).submit_time)


def recorded(submission: PlayedJob) -> WorkloadJob:
    return RECORDED[submission.job.extra["original_job"]]


# Pools ---------------------------------------------------------------------------------------


def stay(user: str, begin: float, end: float) -> list[WorkloadJob]:
    """Two jobs of a user, submitted in weeks ``begin`` and ``end``."""
    return [job(f"{user}{week}", week * WEEK, week * WEEK + 60, user) for week in (begin, end)]


def test_users_are_sorted_by_how_long_they_stay_and_where() -> None:
    """Twelve weeks are the most of a temporary one; at the edges only whole activities go."""
    jobs = [
        *stay("whole", 0, 50),
        *stay("twelve", 10, 22),
        *stay("longer", 10, 22.1),
        *stay("first", 0.5, 4),
        *stay("beyond", 0.5, 4.1),
        *stay("last", 46, 49),
        *stay("before", 45.9, 49),
    ]
    pools = make_pools(jobs, ARRIVAL)
    assert [t.user for t in pools.long_term] == ["whole", "longer"]
    assert [t.user for t in pools.temporary] == ["twelve", "beyond", "before"]
    assert [t.user for t in pools.discarded] == ["first", "last"]
    assert pools.weeks == 50


def test_rare_behaviour_is_taken_out_of_its_users_trace() -> None:
    jobs = [*stay("a", 0, 50), job("flurry", 20 * WEEK, 20 * WEEK + 1, "a"), *stay("b", 20, 21)]
    pools = make_pools(jobs, ARRIVAL, rare=Rare.parse("a:139:141, b"))
    assert [[j.id for b in t.batches for j in b.jobs] for t in pools.rare] == [
        ["flurry"],
        ["b20", "b21"],
    ]
    assert [t.user for t in pools.long_term] == ["a"]
    assert len(pools.long_term[0].batches) == 2
    assert not pools.temporary


# Resampled -----------------------------------------------------------------------------------


def test_every_shift_is_whole_weeks_and_gaps_stay() -> None:
    """So that weekday and hour stay: the log begins on Monday at 10."""
    submitted = played(Resampled(LOG, seed=1))
    monday = Calendar.of(LOG).first_week
    tours: dict[tuple[str | None, float], list[PlayedJob]] = {}
    for submission in submitted:
        assert submission.submit == submission.job.original_submission_time >= monday
        assert submission.job.extra["batch"] == BATCH[recorded(submission).id]
        assert shift_of(submission) % WEEK == 0
        tours.setdefault((submission.job.user, shift_of(submission)), []).append(submission)
    for (user, _), tour in tours.items():
        recorded_jobs = [j for j in LOG.jobs if j.user == str(user).partition(".")[0]]
        first = recorded_jobs.index(recorded(tour[0]))
        assert [recorded(p) for p in tour] == recorded_jobs[first : first + len(tour)]
    assert [p.job.id for p in submitted] == [str(n) for n in range(1, len(submitted) + 1)]


def test_long_term_users_are_all_there_and_come_again_after_the_length_of_the_log() -> None:
    """W7: who begins at his fourth job begins anew with his first."""
    submitted = played(Resampled(LOG, n_temporary=0, rate=0, weeks=100, seed=3))
    persons = {str(p.job.user) for p in submitted}
    assert {person.partition(".")[0] for person in persons} == set("01234")
    assert len(persons) == 5
    for person in persons:
        shifts = sorted({shift_of(p) for p in submitted if p.job.user == person})
        assert {b - a for a, b in pairwise(shifts)} == {WEEKS * WEEK}
        sessions = [p.job.extra["session"] for p in submitted if p.job.user == person]
        assert sessions == sorted(sessions)  # numbers go on in the next tour


def test_nobody_comes_twice_in_a_week_and_as_many_come_as_in_the_log() -> None:
    """Some 0.38 temporary users come in a week of the log; over 2,000 weeks that is what comes."""
    submitted = played(Resampled(LOG, n_long=0, n_temporary=0, weeks=2000, seed=2))
    firsts: dict[str, float] = {}
    for submission in submitted:
        firsts.setdefault(str(submission.job.user), shift_of(submission))
    assert len(set(firsts)) == len(firsts)
    pairs = Counter((user.partition(".")[0], shift) for user, shift in firsts.items())
    assert set(pairs.values()) == {1}
    inner = POOLS.start + 4 * WEEK, POOLS.end - 4 * WEEK
    rate = sum(inner[0] <= t.start < inner[1] for t in POOLS.temporary) / (POOLS.weeks - 8)
    assert len(firsts) / 2000 == pytest.approx(rate, rel=0.1)


def test_load_multiplies_all_three_numbers() -> None:
    """Twice as many at the beginning, and twice as many who come in a week."""
    for number, week in (("n_long", 0), ("n_temporary", 0), ("rate", 1)):
        others = {"n_long": 0, "n_temporary": 0, "rate": 0} | {number: 2}
        counts = [
            sum(len(starts_of(Size(load=load, **others), seed, week)) for seed in range(200))
            for load in (1.0, 2.0)
        ]
        assert counts[1] / counts[0] == pytest.approx(2, rel=0.2), number


def test_rare_behaviour_comes_instead_of_temporary_users_and_is_marked() -> None:
    options = {"rare": "7", "n_long": 0, "n_temporary": 0, "weeks": 3000}
    without = played(Resampled(LOG, **options))  # type: ignore[arg-type]
    assert not any("behaviour" in p.job.extra for p in without)
    assert "7" not in {recorded(p).user for p in without}
    submitted = played(Resampled(LOG, rare_per_week=0.1, **options))  # type: ignore[arg-type]
    rare = {p.job.user for p in submitted if p.job.extra.get("behaviour") == RARE}
    assert {str(user).partition(".")[0] for user in rare} == {"7"}
    assert len(rare) / 3000 == pytest.approx(0.1, rel=0.2)
    total = len({p.job.user for p in submitted})
    assert total == pytest.approx(len({p.job.user for p in without}), rel=0.1)


# TBUOS ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reaction", REACTIONS)
def test_temporary_users_do_what_they_did_once_and_leave(reaction: str) -> None:
    model = Tbuos(LOG, n_long=0, n_temporary=0, reaction=reaction, seed=5)
    submitted = played(model)
    until = model._drawn_users.until
    jobs_of: dict[str, list[str]] = defaultdict(list)
    for submission in submitted:
        jobs_of[str(submission.job.user)].append(submission.job.extra["original_job"])
        assert submission.job.extra["batch"] == BATCH[recorded(submission).id]
        assert submission.submit < until
    for person, jobs in jobs_of.items():
        recorded_jobs = [j.id for j in LOG.jobs if j.user == person.partition(".")[0]]
        assert jobs == recorded_jobs[: len(jobs)]
    assert any(len(jobs) > 1 for jobs in jobs_of.values())


@pytest.mark.parametrize("regeneration", ["gap", "none"])
def test_long_term_users_begin_anew_after_their_last_job_has_ended(regeneration: str) -> None:
    submitted = played(Tbuos(LOG, n_temporary=0, rate=0, weeks=150, regeneration=regeneration))
    assert len({p.job.user for p in submitted}) == 5
    for person in {str(p.job.user) for p in submitted}:
        mine = [p for p in submitted if p.job.user == person]
        recorded_jobs = [j.id for j in LOG.jobs if j.user == person.partition(".")[0]]
        place = recorded_jobs.index(mine[0].job.extra["original_job"])
        for submission, before in zip(mine[1:], mine, strict=False):
            place = (place + 1) % len(recorded_jobs)
            assert submission.job.extra["original_job"] == recorded_jobs[place]
            if place == 0:
                assert submission.submit >= before.end
                assert shift_of(submission) % WEEK == 0


# Crowds --------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(0, 7 * 86_400 - 1))
def test_weeks_begin_on_monday_whenever_the_log_begins(seed: int, at_origin: int) -> None:
    """Users of the beginning begin in the first whole week, wherever second 0 lies."""
    calendar = Calendar(at_origin)
    drawn = DrawnUsers(POOLS, calendar, Chance(seed), Size(), 60 * WEEK)
    begin = calendar.week_start(0)
    assert 0 <= begin < WEEK
    for start in drawn.next_arrivals():
        assert start.trace.batches[start.first].start + start.shift >= begin
    newcomers = drawn.next_arrivals()
    for start in newcomers:
        first = start.trace.start + start.shift
        assert begin + WEEK <= first < begin + 2 * WEEK
        assert start.kind != LONG_TERM


def test_a_crowd_of_nobody_is_refused() -> None:
    with pytest.raises(UsageError, match="nobody"):
        DrawnUsers(POOLS, Calendar(), Chance(0), Size(n_long=0, n_temporary=0, rate=0), 3 * WEEK)


def starts_of(size: Size, seed: int, week: int = 0) -> list[Arrival]:
    drawn = DrawnUsers(POOLS, Calendar(), Chance(seed), size, 1e9)
    return [drawn.next_arrivals() for _ in range(week + 1)][week]


def test_temporary_users_of_the_beginning_are_drawn_by_their_weeks_each_once() -> None:
    """Who stays six weeks is there at the beginning more often than who stays for one."""
    drawn: Counter[str] = Counter()
    size = Size(n_long=0, n_temporary=3)
    for seed in range(400):
        users = [start.trace.user for start in starts_of(size, seed)]
        assert len(set(users)) == len(users) == 3
        drawn.update(users)
    weeks = {trace.user: count_active_weeks(trace, Calendar()) for trace in POOLS.temporary}
    long, short = (
        [drawn[u] for u, w in weeks.items() if (w >= 4) is is_long] for is_long in (True, False)
    )
    assert sum(long) / len(long) > 1.5 * sum(short) / len(short)


TEN_WEEKS = [
    *stay("e", 0, 50),
    *(job(f"t{w}", w * WEEK, w * WEEK + 60, "t") for w in range(20, 30)),
]


def test_anywhere_makes_the_load_even() -> None:
    """A user of ten weeks in a log of fifty: begun anywhere, at work in a fifth of all weeks."""
    pools = make_pools(TEN_WEEKS, ARRIVAL, long_weeks=5)
    busy: list[int] = []
    for seed in range(400):
        size = Size(n_temporary=0, rate=0, begin="anywhere")
        drawn = DrawnUsers(pools, Calendar(), Chance(seed), size, 1e9)
        start = next(arrival for arrival in drawn.next_arrivals() if arrival.trace.user == "t")
        busy += [round((b.start + start.shift) / WEEK) for b in start.trace.batches[start.first :]]
        busy += [week + 50 for week in range(round(start.shift / WEEK) + 20, 0)]
    assert all(week >= 0 for week in busy)
    assert sum(week < 10 for week in busy) / (400 * 10) == pytest.approx(0.2, abs=0.04)


def test_the_gap_of_the_log_lies_between_two_tours() -> None:
    """A user of ten weeks in a log of fifty comes again some forty weeks after he is through."""
    log = Workload(name="gap", nb_res=8, jobs=TEN_WEEKS, profiles=LOG.profiles)
    options: dict[str, object] = {"long_weeks": 5, "n_temporary": 0, "rate": 0, "weeks": 300}
    for regeneration, expected in (("gap", 41), ("none", 1)):
        model = Tbuos(log, regeneration=regeneration, reaction="adjusted", **options)  # type: ignore[arg-type]
        of_user = [p for p in played(model) if str(p.job.user).startswith("t.")]
        gaps = [
            after.submit - before.submit
            for before, after in pairwise(of_user)
            if after.job.extra["original_job"] == "t20"
        ]
        assert gaps
        assert {round(gap / WEEK) for gap in gaps} == {expected}


def test_pools_are_kept_for_the_same_jobs_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a copy of the log, too, until somebody changes a job or wants other users."""
    monkeypatch.setattr(user_pools, "_KEPT", {})
    jobs = [
        J(week * WEEK, 1, 60, user=user, finish=week * WEEK + 60)
        for week in range(20)
        for user in "ab"
    ]
    log = workload([*jobs, J(10 * WEEK, 1, 60, user="c", finish=10 * WEEK + 60)], 4)

    def pools(log: Workload, long_weeks: float = 12, rare: Sequence[Rare] = ()) -> Pools:
        return reuse_pools(log.jobs, ARRIVAL, "joins", rare=rare, long_weeks=long_weeks)

    def users(pools: Pools) -> list[list[str]]:
        return [[trace.user for trace in part] for part in (pools.long_term, pools.temporary)]

    first = pools(log.copy())
    assert users(first) == [["a", "b"], ["c"]]
    assert pools(log.copy()) is first
    assert users(pools(log, long_weeks=30)) == [[], ["a", "b", "c"]]
    assert users(pools(log, rare=[Rare("b")])) == [["a"], ["c"]]
    changed = log.copy()
    changed.jobs[0].user = "c"
    assert [trace.start for trace in pools(changed).temporary] == [0]
    first.long_term[0].batches[0].jobs[0].size = 3
    assert pools(log.copy()) is not first
