"""Feedback between batches and sessions: by hand, identities, windows of the fluid model."""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batsched_py.errors import BudgetError
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.weekly_activity import ActivityCycle
from batsched_users.learning.ideal_machine import PlayedJob, play_model
from batsched_users.models.adjusted import Adjusted
from batsched_users.models.distribution import Distribution, InHours
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.models.fluid import Fluid, InWindows, Recycled, Reinserted, WindowRules
from batsched_users.models.resampled import Resampled, resample_log
from batsched_users.sessions.batches import Batch, Trace, traces
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.feedback_engine import SESSIONS, BatchFeedback, Reason, Visit
from batsched_users.sessions.session_graph import build_graph
from helpers.drawn_sessions import MONDAY, intervals, job, log_of
from helpers.examples import few_examples

MODELS = (Adjusted, Distribution, Fluid)


def u(submit: float, run_time: float, user: str = "u", width: int = 1) -> J:
    return J(submit, width, run_time, None, user, submit + run_time)


@pytest.mark.parametrize(
    ("jobs", "nb", "speed", "expected", "why"),
    [
        (
            *([u(0, 50, "other"), u(10, 100), u(150, 10)], 1, 1, [0, 10, 190]),
            "a late end makes the next batch as late: 40 s",
        ),
        # W6: a long job (0 to 4 h), beside it a session at 2 h, and at 5 h one that waited for
        # both. At half speed the long one ends at 8 h: the third comes its think time later.
        (
            [u(0, 4 * HOUR), u(2 * HOUR, 10), u(5 * HOUR, 10)],
            *(4, 0.5, [0, 2 * HOUR, 9 * HOUR], "the event that comes last decides"),
        ),
        ([u(5, 100, width=9), u(125, 1)], 4, 1, [5, 25], "a rejected job ends at once"),
    ],
)
def test_submissions_by_hand(
    jobs: list[J], nb: int, speed: float, expected: list[float], why: str
) -> None:
    load = workload(jobs, nb)
    ended = [job.description for job in run(load, Fcfs(), Adjusted(load), speed).jobs]
    ended.sort(key=lambda job: int(job.id.partition("!")[2]))
    assert [job.submit_time for job in ended] == expected, why


@pytest.mark.parametrize(
    ("rejected", "others", "expected"),
    [
        ("at_once", [u(0, 50, "other")], 25),
        ("next_event", [u(0, 50, "other")], 70),  # the end of the other job
        ("next_event", [u(0, 50, "other"), u(30, 1, "third")], 50),  # a submission
        ("next_event", [], 25),  # nothing else happens
    ],
)
def test_when_a_rejection_is_noticed(rejected: Any, others: list[J], expected: float) -> None:
    """A job that is too wide is rejected at 5 s; the next one comes after 20 s of thought."""
    load = workload([u(5, 100, width=9), u(125, 1), *others], 4)
    model = ThinkTimeFeedback(load, sessions="arrival:0", rejected=rejected)
    ended = {job.description.id: job.description for job in run(load, Fcfs(), model).jobs}
    assert [ended[name].submit_time for name in ended if name.endswith("0001")] == [expected]


@given(intervals(4000).filter(bool), st.sampled_from(("joins", "opens")))
def test_identity(times: list[tuple[float, float]], tie: str) -> None:
    """If all jobs end as recorded, adjusted users submit as recorded.

    In the order of the log, too, unless jobs of no length open batches at one instant.
    """
    users = "ab"
    jobs = [job(str(n), s * 10, e * 10, users[n % 2]) for n, (s, e) in enumerate(sorted(times))]
    recorded = {j.id: j.finish_time for j in jobs}
    model = Adjusted(log_of(jobs), tie=tie)
    played = list(play_model(model, lambda job, now: max(now, recorded[job.id] or 0)))
    assert {p.job.id: p.submit for p in played} == {j.id: j.submit_time for j in jobs}
    if tie == "joins":
        assert [p.job.id for p in played] == [j.id for j in jobs]


def replayed(kind: type[BatchFeedback], jobs: list[WorkloadJob], seed: int) -> list[PlayedJob]:
    """Play users on a machine whose response times are drawn anew."""
    chance = Random(seed)
    options = {} if kind is Adjusted else {"seed": seed}
    return list(
        play_model(kind(log_of(jobs), **options), lambda _, now: now + chance.randint(0, 20000))
    )


@given(intervals(4000).filter(bool), st.sampled_from(MODELS), st.integers(0, 99))
def test_order_dependencies_and_offsets_are_kept(
    times: list[tuple[float, float]], kind: type[BatchFeedback], seed: int
) -> None:
    """Whatever the system does: same jobs, same order, after what they depend on."""
    jobs = [job(str(n), s * 10, e * 10) for n, (s, e) in enumerate(sorted(times))]
    played = {p.job.id: p for p in replayed(kind, jobs, seed)}
    assert set(played) == {job.id for job in jobs}
    (trace,) = traces(jobs, Delimitation.parse(SESSIONS)).values()
    for place, batch in enumerate(trace.batches):
        starts = [played[job.id].submit for job in batch.jobs]
        thought = ["think_time" in played[job.id].job.extra for job in batch.jobs]
        assert not any(thought[1:])
        offsets = [job.submit_time - batch.start for job in batch.jobs]
        assert [start - starts[0] for start in starts] == pytest.approx(offsets)
        for j in batch.depends_on:
            assert max(played[job.id].end for job in trace.batches[j].jobs) <= starts[0]
        if place:
            assert max(played[o.id].submit for o in trace.batches[place - 1].jobs) <= starts[0]


def windows(kind: type[Recycled] | type[Reinserted], *spans: tuple[float, float]):  # type: ignore[no-untyped-def]
    return kind([(start * HOUR, end * HOUR) for start, end in spans], MONDAY)


def test_a_window_that_was_missed_comes_again_a_week_later() -> None:
    recurring = windows(Reinserted, (9, 10), (12, 13), (15, 16))
    assert recurring.open_until(9.5 * HOUR) == 10 * HOUR
    assert recurring.open_until(11 * HOUR) is None
    assert recurring.next_start(13.5 * HOUR) == 15 * HOUR  # the first was used, the second missed
    assert recurring.next_start(17 * HOUR) == 12 * HOUR + WEEK
    assert recurring.next_start(14 * HOUR + WEEK) == 15 * HOUR + WEEK  # of the next round
    late = Reinserted([(h * HOUR, (h + 1) * HOUR) for h in (9, 12, 15, 18)], MONDAY, first=2)
    assert late.next_start(17 * HOUR) == 18 * HOUR
    assert late.next_start(20 * HOUR) == 9 * HOUR + WEEK  # nobody catches up on earlier ones


def test_weeks_are_those_of_the_calendar() -> None:
    """The log begins on Saturday: windows on Sunday and on Monday are of two weeks."""
    spans = [(30 * HOUR, 31 * HOUR), (50 * HOUR, 51 * HOUR)]
    assert Recycled(spans, Calendar(5 * DAY)).next_start(60 * HOUR) == 30 * HOUR + 2 * WEEK
    assert Recycled(spans, MONDAY).next_start(60 * HOUR) == 30 * HOUR + WEEK


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 30)), min_size=1, max_size=8),
    st.lists(st.integers(0, 2000), min_size=1, max_size=20),
)
@example([(1, 1), (164, 8)], [169, 171, 173])  # from Sunday evening into the next round
def test_recycled_windows_as_a_list_written_out(
    spans: list[tuple[int, int]], times: list[int]
) -> None:
    """The slow twin writes all rounds out."""
    hours = sorted((start, start + length) for start, length in spans)
    recurring = windows(Recycled, *hours)
    weeks = hours[-1][0] // 168 - hours[0][0] // 168 + 1
    all_spans = [
        ((s + r * weeks * 168) * HOUR, (e + r * weeks * 168) * HOUR)
        for r in range(20)
        for s, e in hours
    ]
    for time in times:
        now = time * HOUR
        ends = [end for start, end in all_spans if start <= now <= end]
        assert recurring.open_until(now) == max(ends, default=None)
        assert recurring.next_start(now) == min(start for start, _ in all_spans if start > now)


def visit_of(*times: tuple[float, float]) -> tuple[Trace, Visit]:
    jobs = [job(str(n), s * 60, e * 60) for n, (s, e) in enumerate(times)]
    (trace,) = traces(jobs, Delimitation.parse(SESSIONS)).values()
    return trace, Visit("u", trace, None)  # type: ignore[arg-type]


def test_fluid_draws_a_gap_while_a_window_is_open_else_waits_for_the_next() -> None:
    """Sessions 0:00-0:30 (gaps of 10 and 8 minutes) and 5:00; the last batch waits."""
    trace, visit = visit_of((0, 2), (12, 22), (30, 40), (300, 310))
    react = InWindows(WindowRules(MONDAY), trace, 0.0, Random(1))
    last = trace.batches[-1]
    drawn = {react.arrival(visit, last, 600.0, Reason.DEPENDENCY) - 600 for _ in range(50)}
    assert drawn == {600, 480}
    drawn = {react.arrival(visit, last, 600.0, Reason.FOLLOWS) - 600 for _ in range(50)}
    assert drawn == {720, 1080}
    assert react.arrival(visit, last, 3600.0, Reason.DEPENDENCY) == 18000
    react = InWindows(WindowRules(MONDAY, check="arrival"), trace, 0.0, Random(1))
    assert react.arrival(visit, last, 1700.0, Reason.DEPENDENCY) == 18000  # beyond the window
    trace, visit = visit_of((0, 2), (120, 122))  # its own gap, where there is none to draw
    react = InWindows(WindowRules(MONDAY, window_end="last_end"), trace, 0.0, Random(1))
    assert react.arrival(visit, trace.batches[1], 60.0, Reason.DEPENDENCY) == 60 + 118 * 60


def in_hours(trace: Trace) -> InHours:
    random = Random(1)
    return InHours(MONDAY, ActivityCycle.draw(random), trace, random)


def an_hour(react: InHours, *, at_work: bool) -> float:
    return next(t * HOUR for t in range(200) if react._cycle.is_open(MONDAY, t * HOUR) is at_work)


def test_it_goes_on_or_takes_a_break_by_the_response_time() -> None:
    """At work, 80 % go on after 10 min if a job took 0 min; after a day hardly anybody does."""
    trace, visit = visit_of((0, 2), (12, 22), (300, 310))
    react = in_hours(trace)
    batch = trace.batches[2]
    outside = an_hour(react, at_work=False)
    opening = react._cycle.next_opening(MONDAY, outside)
    assert react.arrival(visit, batch, outside, Reason.DEPENDENCY) == opening > outside
    inside = an_hour(react, at_work=True)

    def share() -> float:
        drawn = [react.arrival(visit, batch, inside, Reason.DEPENDENCY) for _ in range(2000)]
        return sum(time == inside + 600 for time in drawn) / len(drawn)

    assert share() == pytest.approx(0.8, abs=0.03)
    visit.response = 20 * 60.0
    assert share() == pytest.approx(0.4, abs=0.03)
    visit.response = DAY
    assert share() < 0.03


def test_breaks_are_drawn_from_those_shorter_than_eight_hours() -> None:
    """Its gaps between sessions are 3 h and 20 h; the longer one is a night."""
    trace, visit = visit_of((0, 2), (182, 192), (1392, 1400))
    visit.response = inf
    react = in_hours(trace)
    inside = an_hour(react, at_work=True)
    back = react._cycle.next_opening(MONDAY, inside + 3 * HOUR)
    drawn = {react.arrival(visit, trace.batches[2], inside, Reason.DEPENDENCY) for _ in range(50)}
    assert drawn == {back}


def test_the_response_time_is_that_of_the_last_job_that_ended() -> None:
    """From its submission, which was delayed, to its end."""

    class Watch:
        def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
            seen.append((reason, visit.response))
            return now + 1000

    seen: list[tuple[Reason, float]] = []
    trace, _ = visit_of((0, 2), (12, 22), (300, 310))
    model = BatchFeedback({})
    model._ranks = {str(n): n for n in range(3)}
    model.enter(Visit("u", trace, Watch()))
    list(play_model(model, lambda job, now: now + 70 + 10 * int(job.id)))
    assert seen == [(Reason.DEPENDENCY, 70), (Reason.DEPENDENCY, 80)]


# Sessions ----------------------------------------------------------------------------------------


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
    for ran in run(load, Easy(), ThinkTimeFeedback(load, sessions=how), speed).jobs:
        name, submit_time = ran.description.id[4:], ran.description.submit_time
        submit[name] = submit_time
        end[name] = submit_time if ran.final_state == "REJECTED" else ran.finish_time
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


SHORT: dict[str, Any] = {"long_weeks": 3, "edge_weeks": 1}
"""Options for the sample log, which has two months."""


@pytest.fixture(scope="module")
def sample() -> Workload:
    return load_workload(find_log("sample"), Rules())


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"begin": "anywhere", "weeks": 30},
        {"load": 2.5},
        {"n_long": 60, "weeks": 25},  # several of each, who begin anew
        {"weeks": 0.5},
    ],
)
def test_a_resampled_log_has_the_submissions_of_resampled_users(
    sample: Workload, options: dict[str, Any], seed: int
) -> None:
    """In order, with all fields in order, and recorded ends as much later."""
    submitted = [p.job for p in play_model(Resampled(sample, seed=seed, **SHORT, **options))]
    expected = []
    for played in submitted:
        assert played.original_submission_time is not None
        shift = played.original_submission_time - played.submit_time
        end = (played.finish_time or 0.0) + shift
        moved = {"submit_time": played.submit_time + shift, "finish_time": end}
        expected.append(msgspec.structs.replace(played, **moved))
    made = resample_log(sample, seed=seed, **SHORT, **options).jobs
    assert made
    assert made == expected
    assert [list(job.extra) for job in made] == [list(job.extra) for job in expected]


def test_users_who_never_end_are_not_made_into_a_log(sample: Workload) -> None:
    with pytest.raises(BudgetError, match="Resampled has submitted 6 jobs"):
        Resampled(sample, **SHORT).list_submissions(5)


def test_feedback_on_a_resampled_log_is_that_of_its_jobs(sample: Workload) -> None:
    """The model need not copy the jobs that it has made; the log keeps its own."""
    before = sample.copy()
    seeded: dict[str, Any] = {**SHORT, "seed": 3}
    models = (
        ThinkTimeFeedback(sample, resampled=True, **seeded),
        ThinkTimeFeedback(resample_log(sample, **seeded)),
    )
    own, copied = (
        [p.job for p in play_model(model, lambda _, now: now + 5000)] for model in models
    )
    assert own == copied
    assert [list(job.extra) for job in own] == [list(job.extra) for job in copied]
    assert sample == before


def test_feedback_leaves_the_jobs_of_its_workload(sample: Workload) -> None:
    before = sample.copy()
    assert len(list(play_model(ThinkTimeFeedback(sample), lambda _, now: now))) == len(sample.jobs)
    assert sample == before


def test_when_jobs_end_as_recorded_people_submit_as_resampled(sample: Workload) -> None:
    short: dict[str, Any] = {**SHORT, "seed": 1}
    model = ThinkTimeFeedback(sample, sessions="arrival:60", resampled=True, **short)
    ends = {job.id: job.finish_time for job in resample_log(sample, **short).jobs}
    replayed = list(play_model(model, lambda job, now: ends[job.id] or inf))
    recorded = list(play_model(Resampled(sample, **short)))
    assert [(p.submit, p.job.id, p.job.user) for p in replayed] == [
        (p.submit, p.job.id, p.job.user) for p in recorded
    ]
    assert all(p.submit == p.job.original_submission_time for p in replayed)
