"""What is measured of jobs, users and sessions: columns, by hand and against slow twins."""

from __future__ import annotations

from itertools import combinations, product
from math import nan
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batsched_users.measures.session_similarity as module
from batsched_py import simulate
from batsched_py.errors import InputError, UsageError
from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.logs.swf import read_swf
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.job_columns import (
    JobColumns,
    columns_of_frame,
    columns_of_jobs_file,
    columns_of_log,
    columns_of_workload,
)
from batsched_users.measures.marginals import jobs_by_hour_of_week, measure_marginals
from batsched_users.measures.self_similarity import (
    count_jobs_per_unit,
    find_first_length,
    make_pox_plot,
    rescaled_ranges,
)
from batsched_users.measures.session_columns import cut_sessions
from batsched_users.measures.session_similarity import MEASURES, measure_similarity
from batsched_users.measures.stack_depth import find_stack_depths, mean_depth
from batsched_users.measures.workload_comparison import make_bin_edges, measure_daily_shares
from batsched_users.sessions.delimitation import Delimitation, partition
from helpers.drawn_sessions import job, job_columns
from helpers.sealed_runs import seal


def test_edges_are_quantiles_and_bins_have_equal_weight() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, 161))
    edges = make_bin_edges(values)
    assert edges.tolist() == list(range(10, 160, 10))
    place = np.searchsorted(edges, values, side="left")
    assert np.bincount(place).tolist() == [10] * 16


def test_days_by_hand() -> None:
    """Edges 1, 2, 3: day 0 has one job in each bin, day 2 three of four in one."""
    values = np.array([1.0, 2, 3, 4, 1, 1, 1, 4])
    submit = np.array([0.0, 1, 2, 3, 2 * DAY, 2 * DAY, 2 * DAY, 2 * DAY])
    edges = np.array([1.0, 2, 3])
    assert measure_daily_shares(submit, values, edges=edges).tolist() == [0.25, 0.75]
    evening = Calendar(DAY - 2)  # second 2 is a midnight
    shares = measure_daily_shares(submit, values, edges=edges, calendar=evening)
    assert shares.tolist() == [0.5, 0.5, 0.75]
    unknown = np.array([np.nan, 1, np.nan])
    assert measure_daily_shares(submit[2:5], unknown).tolist() == [1]
    with pytest.raises(UsageError, match="16 bins of 0"):
        make_bin_edges(unknown[:1])


def jobs(rows: list[tuple[int, float, float, float]], at_origin: float = 0.0) -> JobColumns:
    """Columns from (user, submit, size, run time)."""
    user, submit, size, run_time = np.array(rows, dtype=float).reshape(-1, 4).T
    return job_columns(user, submit, Calendar(at_origin), size=size, run_time=run_time)


def test_users_by_hand() -> None:
    per_user = measure_marginals(
        jobs(
            [
                (5, 0, 2, 10),  # session 1 of user 5: 600 s
                (1, 100, 1, 50),  # the only job of user 1
                (5, 600, 1, np.nan),  # its work is unknown
                (-1, 700, 9, 9),  # nobody's
                (5, 600 + 2 * HOUR, 4, 5),  # session 2 of user 5: 0 s
            ]
        )
    )
    assert per_user.jobs.tolist() == [1, 3]
    assert per_user.sessions.tolist() == [1, 2]
    assert per_user.session_length.tolist() == [0, 300]
    assert per_user.work.tolist() == [40, 50]
    assert per_user.arrival.tolist() == [0, 100]
    assert per_user.departure.tolist() == [100, 600 + 2 * HOUR]
    assert per_user.activity.tolist() == [0, 600 + 2 * HOUR]


def test_hours_of_the_week_go_by_the_calendar() -> None:
    rows = [(1, 0.0, 1.0, 1.0), (1, HOUR - 1, 1, 1), (1, HOUR, 1, 1), (-1, 3 * WEEK, 1, 1)]
    counts = jobs_by_hour_of_week(jobs(rows, at_origin=6 * DAY + 23 * HOUR))  # Sunday 23:00
    assert len(counts) == 168
    assert counts[167] == 3
    assert counts[0] == 1
    assert counts.sum() == 4


def slow_rescaled_range(values: list[float], divisor: int) -> float | None:
    """The formulas, one after the other."""
    mean = sum(values) / len(values)
    sums, total = [], 0.0
    for value in values:
        total += value - mean
        sums.append(total)
    spread = (sum((value - mean) ** 2 for value in values) / divisor) ** 0.5
    return (max(sums) - min(sums)) / spread if len(set(values)) > 1 else None


def test_rescaled_range_of_the_worked_example() -> None:
    """C6 of the specification: R = 8, S = sqrt(8.5)."""
    series = np.array([[1.0, 2, 3, 4, 10, 0, 1, 3]])
    assert rescaled_ranges(series)[0] == pytest.approx(8 / 8.5**0.5, rel=1e-12)
    assert np.isnan(rescaled_ranges(np.full((1, 3), 0.1))).all()  # a constant that rounds


@given(
    st.integers(2, 9).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 5).map(float), min_size=n, max_size=n), min_size=1, max_size=5
        )
    )
)
def test_rows_are_measured_one_by_one(rows: list[list[float]]) -> None:
    ranges = rescaled_ranges(np.array(rows))
    for row, value in zip(rows, ranges, strict=True):
        expected = slow_rescaled_range(row, len(row))
        if expected is None:
            assert np.isnan(value), "no variance, no ratio"
        else:
            assert value == pytest.approx(expected, rel=1e-9)


def test_series_of_jobs_per_unit() -> None:
    assert count_jobs_per_unit(np.array([100.0, 159, 160, 280]), 60).tolist() == [2, 1, 0, 1]
    with pytest.raises(UsageError, match="of no jobs"):
        count_jobs_per_unit(np.empty(0), 60)
    with pytest.raises(UsageError, match="unit=0"):
        count_jobs_per_unit(np.ones(1), 0)


@pytest.mark.parametrize(
    ("period", "first"),
    [
        (1, 2),  # no unit is empty
        (4, 3),  # of the intervals of 2 units just half have a job
        (12, 7),  # as of those of 6
    ],
)
def test_the_first_length_has_most_intervals_not_empty(period: int, first: int) -> None:
    series = np.zeros(4_200)
    series[::period] = 1
    assert find_first_length(series) == first


def test_lengths_grow_by_a_fifth_and_at_least_by_one() -> None:
    """From 2 to 10, all that there are; the 7 is followed by 7.2 * 1.2, rounded."""
    series = np.random.default_rng(0).random(10)
    lengths = make_pox_plot(series, first=2).length
    assert np.unique(lengths).tolist() == [2, 3, 4, 5, 6, 7, 9, 10]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    st.sampled_from(["arrival:10", "arrival:10:>", "arrival:0", "arrival:0:>"]),
)
def test_sessions_are_those_of_the_partition(drawn: list[tuple[int, int]], text: str) -> None:
    drawn.sort(key=lambda pair: pair[1])
    rule = Delimitation.parse(text)
    jobs = [job(str(i), 600.0 * t, None, str(u)) for i, (u, t) in enumerate(drawn)]
    expected = {
        int(user): [[int(each.id) for each in session.jobs] for session in rows]
        for user, rows in partition(jobs, rule).items()
    }
    columns = job_columns([u for u, _ in drawn], [600.0 * t for _, t in drawn])
    cut = cut_sessions(columns, rule)
    sessions_of: dict[int, list[list[int]]] = {}
    for i, user in enumerate(cut.user.tolist()):
        rows = cut.rows[cut.bounds[i] : cut.bounds[i + 1]].tolist()
        sessions_of.setdefault(user, []).append(rows)
    assert sessions_of == expected
    rows_of = [rows for sessions in sessions_of.values() for rows in sessions]
    first, last = cut.spans(columns)
    assert first.tolist() == [columns.submit[rows[0]] for rows in rows_of]
    assert last.tolist() == [columns.submit[rows[-1]] for rows in rows_of]


def test_sessions_leave_out_unknown_users_and_refuse_other_methods() -> None:
    jobs = job_columns([-1, 4, -1], [0, 1, 2])
    assert cut_sessions(jobs).rows.tolist() == [1]
    with pytest.raises(UsageError, match="expected arrival:MINUTES"):
        cut_sessions(jobs, Delimitation("max", 20))
    assert len(cut_sessions(job_columns([], [])).user) == 0


NAN = float("nan")
Sessions = list[list[float]]


def columns(users: list[Sessions]) -> JobColumns:
    """Jobs of users 0, 1, ... from the values in each of their sessions, two hours apart."""
    rows = [
        (user, 7_200.0 * number, value)
        for user, sessions in enumerate(users)
        for number, session in enumerate(sessions)
        for value in session
    ]
    rows.sort(key=lambda row: row[1])
    user, submit, value = np.array(rows, dtype=float).reshape(-1, 3).T
    return job_columns(user, submit, size=value, run_time=value)


def slow_ratio(a: float, b: float) -> float:
    return 1.0 if a == b else min(a, b) / max(a, b)


def slow_measure(ratios: list[float], measure: str) -> float:
    if measure == "mean":
        return fmean(ratios)
    if measure == "median":
        return sorted(ratios)[len(ratios) // 2]
    return fmean(r == 1 for r in ratios)


def slow_similarity(sessions: Sessions, measure: str, distance: int) -> float | None:
    """All pairs, one by one."""
    values = [[value for value in session if value == value] for session in sessions]
    ratios: list[float] = []
    for one, other in zip(values, values[distance:], strict=False):
        pairs = product(one, other) if distance else combinations(one, 2)
        ratios += [slow_ratio(a, b) for a, b in pairs]
    return slow_measure(ratios, measure) if ratios else None


VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.0, 50.0, NAN])
SESSIONS = st.lists(st.lists(VALUES, min_size=1, max_size=5), min_size=1, max_size=6)


@given(st.lists(SESSIONS, min_size=1, max_size=3), st.sampled_from(MEASURES))
def test_every_pair_counts(users: list[Sessions], measure: str) -> None:
    alike = measure_similarity(columns(users), "size", measure, min_sessions=3)
    expected = {}
    for user, sessions in enumerate(users):
        values = [slow_similarity(sessions, measure, distance) for distance in (0, 1, 2)]
        if len(sessions) >= 3 and None not in values:
            expected[user] = values
    assert alike.user.tolist() == list(expected)
    for row, values in zip(alike.value, expected.values(), strict=True):
        assert row == pytest.approx(values, abs=1e-12)


def test_medians_of_many_pairs_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little room, the median is found in two looks, and is the same number."""
    draws = np.random.default_rng(0)
    users = [[draws.integers(0, 99, n).astype(float).tolist() for n in (40, 1, 60, 7, 30)]]
    users.append([[5.0] * 30] * 3)
    whole = measure_similarity(columns(users), "size", "median", min_sessions=3)
    monkeypatch.setattr(module, "_CHUNK", 50)
    pieces = measure_similarity(columns(users), "size", "median", min_sessions=3)
    np.testing.assert_array_equal(pieces.value, whole.value)
    assert whole.value[1].tolist() == [1, 1, 1]


def test_who_wins() -> None:
    """User 0 repeats within sessions only, 1 never changes, 2 alternates; 3 has no pair inside."""
    users: list[Sessions] = [[[1, 1], [2, 2], [4, 4]], [[8, 8], [8], [8]], [[1, 9]] * 3, [[1]] * 3]
    alike = measure_similarity(columns(users), "size", "identical", min_sessions=3)
    np.testing.assert_allclose(alike.value, [[1, 0, 0], [1, 1, 1], [0, 0.5, 0.5]])
    assert alike.compare(0, 1) == (1 / 3, 1 / 3, 1 / 3)
    assert alike.compare(1, 2) == (0, 1, 0)
    assert np.isnan(measure_similarity(columns(users), "size").compare(0, 1)).all()
    with pytest.raises(UsageError, match="measure=modus"):
        measure_similarity(columns(users), "size", "modus")
    with pytest.raises(UsageError, match="min_sessions=0"):
        measure_similarity(columns(users), "size", min_sessions=0)


def test_rounding_makes_no_winner() -> None:
    """A user who never changes, also after one with values that swallow small ones in sums."""
    giant: Sessions = [[1e12 / 3, 1e12 / 7] * 3] * 9
    small: Sessions = [[3.7e-5] * 7, [3.7e-5] * 11, [3.7e-5] * 13] * 3
    alike = measure_similarity(columns([giant, small]), "run_time", "mean")
    np.testing.assert_allclose(alike.value[1], 1, rtol=1e-12)
    assert alike.compare(0, 1)[1] >= 0.5
    assert alike.compare(1, 2) == (0, 1, 0)


def slow_depths(values: list[float], tolerance: float) -> list[int]:
    """The definition, with a list whose top comes first."""
    stack: list[float] = []
    depths = []
    for value in values:
        hits = [i for i, e in enumerate(stack) if abs(value - e) <= tolerance * e]
        depths.append(hits[0] if hits else -1)
        entry = stack.pop(hits[0]) if hits else value
        stack.insert(0, entry)
    return depths


@given(
    st.lists(st.integers(0, 60).map(float), max_size=80),
    st.sampled_from([0.0, 0.05, 0.5]),
)
def test_any_values_are_found_where_a_list_finds_them(
    values: list[float], tolerance: float
) -> None:
    measured = find_stack_depths(np.array(values), tolerance=tolerance)
    assert measured.tolist() == slow_depths(values, tolerance)


def test_deep_stacks() -> None:
    """Thousands of entries, so that the pieces below the top are looked at too."""
    values = np.random.default_rng(1).integers(1, 2_000, 4_000).astype(float)
    measured = find_stack_depths(values, tolerance=0.001)
    assert measured.max() > 1_000
    assert measured.tolist() == slow_depths(values.tolist(), 0.001)
    assert mean_depth(find_stack_depths(np.array([4.0, 4, 8, 4, 16, 8, 8]))) == 0.75  # C7
    assert find_stack_depths(np.array([5, NAN, 5, NAN])).tolist() == [-1, -1, 0, -1]
    assert np.isnan(mean_depth(find_stack_depths(np.array([1.0, 2, 3]))))
    with pytest.raises(UsageError, match="tolerance=5"):
        find_stack_depths(np.ones(2), tolerance=5)


# Columns of jobs ---------------------------------------------------------------------------------


LOG = """\
; MaxProcs: 8
; UnixStartTime: 345600
; TimeZoneString: UTC
1 0 5 60 4 -1 -1 2 120 -1 1 7 1 1 1 1 -1 -1
2 10 5 -1 4 -1 -1 -1 -1 -1 1 7 1 1 1 1 -1 -1
3 20 5 0 -1 -1 -1 -1 30 -1 1 -1 1 1 1 1 -1 -1
"""


def test_a_log_keeps_all_jobs_and_marks_what_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    read = columns_of_log(read_swf(path))
    assert read.user.tolist() == [7, 7, -1]
    np.testing.assert_array_equal(read.end, [65, np.nan, 25])
    np.testing.assert_array_equal(read.ended.submit, [0, 20])
    np.testing.assert_array_equal(read.size, [2, 4, np.nan])
    np.testing.assert_array_equal(read.run_time, [60, np.nan, 0])
    np.testing.assert_array_equal(read.requested_time, [120, np.nan, 30])
    assert read.calendar.weekday(0) == 0, "5 January 1970 was a Monday"
    np.testing.assert_array_equal(read.ran.submit, [0])
    allocated = columns_of_log(read_swf(path), size="allocated")
    np.testing.assert_array_equal(allocated.size, [4, 4, np.nan])


def columns_of(*rows: tuple[int, float, float]) -> JobColumns:
    """Columns from user, submission and end."""
    user, submit, end = np.array(rows, dtype=float).reshape(-1, 3).T
    return job_columns(user, submit, end=end)


def test_order_by_users() -> None:
    """Row 0 is nobody's; rows 1 and 3 are of one instant, row 3 ends first."""
    jobs = columns_of((-1, 0, 1), (7, 5, 30), (2, 5, 6), (7, 5, 20), (7, 9, np.nan), (7, 40, 41))
    assert jobs.user_order().tolist() == [2, 1, 3, 4, 5]
    assert jobs.user_order(ties="end").tolist() == [2, 3, 1, 4, 5]
    ordered = jobs.by_user()
    assert ordered.same_user.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(ordered.think_times, [np.inf, -25, -11, np.nan, np.inf])
    with pytest.raises(UsageError, match="ties=user"):
        jobs.user_order(ties="user")
    with pytest.raises(UsageError, match=r"attribute=sise .*size"):
        jobs.attribute("sise")


HEADER = "job_id,workload_name,submission_time,final_state,finish_time,user\n"
JOBS = (
    HEADER
    + "2,w0,10.000000,COMPLETED_SUCCESSFULLY,20.000000,u\n"
    + "1,w0,0.000000,COMPLETED_SUCCESSFULLY,30.500000,v\n"
    + "3,w0,40.000000,REJECTED,,u\n"
)


def write(folder: Path, jobs: str) -> Path:
    path = folder / "out_jobs.csv"
    path.write_text(jobs)
    return path


def test_a_result_of_this_project(tmp_path: Path) -> None:
    """On a machine with room for all, jobs run as long as in the log, and nobody waits."""
    simulate(SAMPLE_LOG, nodes=100_000).write(tmp_path / "out")
    read = columns_of_jobs_file(tmp_path / "out_jobs.csv")
    log = columns_of_workload(load_workload(SAMPLE_LOG, make_rules()))
    assert len(read) == len(log)
    assert read.calendar == log.calendar
    assert len(np.unique(read.user)) == len(np.unique(log.user))
    for name in ("submit", "size"):
        np.testing.assert_array_equal(np.sort(getattr(read, name)), np.sort(getattr(log, name)))
    run = np.sort(read.run_time)
    np.testing.assert_allclose(run, np.sort(log.run_time), atol=2e-5)
    np.testing.assert_allclose(read.end - read.submit, read.run_time, atol=2e-5)


def test_users_and_clock_of_a_result_of_batsim_are_beside_it(tmp_path: Path) -> None:
    """Batsim's own file does not say who submitted; ours beside it does, in any order."""
    lines = (line.rsplit(",", 1)[0] for line in JOBS.splitlines())
    users = "job_id,workload_name,user,session\n3,w0,x,1\n1,w0,y,1\n2,w0,x,1\n1,other,z,1\n"
    (tmp_path / "out_users.csv").write_text(users)
    seal(tmp_path / "out_run.json", '{"unix_start_time": 0.0, "time_zone": "+01:00"}')
    done = columns_of_jobs_file(write(tmp_path, "\n".join(lines) + "\n"))
    assert done.calendar.at_origin == 73 * HOUR
    assert done.user.tolist() == [1, 0, 0]
    assert done.submit.tolist() == [0, 10, 40]


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ("", "out_jobs.csv is empty"),
        (HEADER.replace("user", "whose"), "no column user"),
        (HEADER, "no job"),
        (HEADER + "1,w0,soon,X,1,u\n", "out_jobs.csv:2: submission_time is 'soon'"),
        (HEADER + "1,w0,5,X,6,\n", "out_jobs.csv:2: .*no user"),
        (HEADER + "1,w0,5,X,6,u\n2,w0,5,X,4,u\n", ":3: finish_time 4"),
    ],
)
def test_what_is_no_result(tmp_path: Path, jobs: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        columns_of_jobs_file(write(tmp_path, jobs))


def test_a_frame_of_jobs_is_in_the_order_of_submission_and_number() -> None:
    """Jobs 10 and 9 come together: 9 is first; a job of another workload has no number."""
    names = ("job_id", "user", "submission_time", "finish_time", "requested_number_of_resources")
    rows = [("10", "x", 5.0, 7.0, 2), ("9", "y", 5.0, 9.0, 4), ("a!1", "x", 1.0, nan, 1)]
    frame = pd.DataFrame(rows, columns=names).assign(execution_time=nan)
    read = columns_of_frame(frame)
    assert read.submit.tolist() == [1, 5, 5]
    assert read.size.tolist() == [1, 4, 2]
    assert read.user.tolist() == [0, 1, 0]
    assert np.isnan(read.requested_time).all()
