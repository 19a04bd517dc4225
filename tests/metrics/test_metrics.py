"""Metrics by hand: of four jobs, and the examples of Streit's thesis to the printed digits."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from batsched_py.metrics import COUNTS, METRICS, JobTable, overall, per_user, saturated
from batsched_py.workload.grid_sites import parse_sites
from helpers.schedules_by_hand import table_of

#        submit start finish execution size recorded user
ROWS = [
    (0.0, 0.0, 100.0, 100.0, 2, 0.0, "a"),
    (10.0, 60.0, 65.0, 5.0, 1, 20.0, "a"),  # 10 s earlier than recorded, waits 50 s
    (40.0, nan, nan, nan, 0, 40.0, "b"),  # rejected
    (70.0, 90.0, 90.00001, 1e-5, 1, 50.0, "a"),  # of no length, 20 s late, waits 20 s
]


def table(rows: list[tuple[float, float, float, float, float, float, str]] = ROWS) -> JobTable:
    columns = [np.array(column, dtype=float) for column in list(zip(*rows, strict=True))[:6]]
    size = columns[4].astype(int)
    return JobTable(
        *columns,
        user=[row[6] for row in rows],
        nb_processors=4,
        sites=parse_sites("2x2"),
        home=np.zeros(len(rows), dtype=int),  # all at home at the first site
        on_site=np.column_stack([size // 2, size - size // 2]),  # of one processor: at the second
    )


EXPECTED = {
    "makespan": 100,
    "mean_waiting_time": 70 / 3,
    "max_waiting_time": 50,
    "mean_turnaround_time": (100 + 55 + 20.00001) / 3,
    "mean_slowdown": (1 + 11) / 2,  # the third has no length
    "mean_bounded_slowdown": (1 + 5.5 + 2.000001) / 3,
    "mean_lateness": (0 - 10 + 0 + 20) / 4,
    "relative_lateness": 1 + 2.5 / 50,
    "additional_lateness": 2 * 2.5 / 3,
    # Widths 2, 1, 1; areas 200, 5, 1e-5; turnarounds 100, 55, 20.00001.
    "mean_waiting_time_by_width": (0 * 2 + 50 + 20) / 4,
    "mean_turnaround_time_by_width": (200 + 55 + 20.00001) / 4,
    "mean_turnaround_time_by_area": (20_000 + 275 + 20.00001e-5) / 205.00001,
    "area_turnaround_per_job": (20_000 + 275 + 20.00001e-5) / 3,
    "area_turnaround_per_processor": (20_000 + 275 + 20.00001e-5) / 4,
    "mean_turnaround_time_to_1_min": (55 + 20.00001) / 2,
    "mean_turnaround_time_1_to_10_min": 100,
    "mean_turnaround_time_over_10_min": nan,  # no such job
    "mean_slowdown_by_width": (2 * 1 + 11) / 3,
    "mean_slowdown_by_area": (200 + 55 + 20.00001) / 205.00001,
    "mean_bounded_slowdown_60": 1,  # both short jobs end within a minute
    "mean_bounded_slowdown_60_feitelson": 1,
    "mean_bounded_slowdown_60_keleher": (1 + (1 + 50 / 60) + (1 + 20 / 60)) / 3,
    "mean_per_processor_slowdown_60": 1,
    "last_end": 100,
    "squashed_area": 205.00001,
    "total_completion_time": 100 + 65 + 90.00001,
    "total_idle_time": 4 * 100 - 205.00001,
    "mean_busy_processors": 2.0500001,
    "utilisation": 205.00001 / 400,
    "utilisation_to_last_submission": (2 * 70 + 5) / (4 * 70),  # until 70 s
    "loss_of_capacity": (2 * 50 + 2 * 20) / 400,  # one job waits 50 s, one 20 s; 2 are free
    "throughput_per_hour": 3 * 36,
    "mean_queue_length": 70 / 100,
    # User a: one session of 70 s with three jobs; b: one job.
    "sessions_per_user": 1,
    "jobs_per_session_arrival_60": 2,
    "jobs_per_session_think_20": 2,
    "mean_session_length_arrival_60": 35,
    "mean_activity_length": 35,
    "active_weeks_per_user": 1,
    "throughput_per_user": 4 * 36,  # a is there for 100 s, b for none
    "throughput_to_last_submission": 3600 / 70,  # until 70 s one has ended
    "backlog_growth": nan,  # all in one week
    "nb_multi_site_jobs": 1,
    "multi_site_job_share": 1 / 3,
    "multi_site_area_share": 200 / 205.00001,
    "away_area_share": 105.00001 / 205.00001,  # half of the first job, the others
}


HERE = [name for name, metric in METRICS.items() if metric.is_about(table())]
"""Without those of withdrawals and deadlines."""


@pytest.mark.parametrize("name", HERE)
def test_by_hand(name: str) -> None:
    assert METRICS[name].compute(table()) == pytest.approx(EXPECTED[name], nan_ok=True)


def test_per_user() -> None:
    """A user's own jobs only; what one job cannot have is None."""
    users = per_user(table())
    assert users["a"]["mean_lateness"] == pytest.approx(10 / 3)
    assert users["a"]["relative_lateness"] == pytest.approx(1 + 10 / 3 / 50)
    assert users["b"].pop("mean_lateness") == 0
    assert list(users["b"].values()) == [1, 0, None, None, None]


def test_nothing_ran_or_was_submitted() -> None:
    values = overall(table([ROWS[2]]))
    assert (values["makespan"], values["utilisation"]) == (None, None)
    assert (values["mean_lateness"], values["jobs_per_session_arrival_60"]) == (0, 1)
    nothing = table(ROWS).select(np.array([], dtype=int))
    values = overall(nothing)
    assert [values[name] for name in COUNTS] == [0, 0, 0]
    assert {values[name] for name in HERE} == {None}
    assert per_user(nothing) == {}
    assert not saturated(nothing)


def test_without_the_size_of_the_machine() -> None:
    """Exactly what needs it is None, and no value depends on it otherwise."""
    with_size, without = table(), table()
    without.nb_processors = None
    values, all_values = overall(without), overall(with_size)
    assert [values[name] for name in COUNTS] == [4, 3, 1]
    needing = {name for name, metric in METRICS.items() if metric.needs_machine}
    assert {name for name in HERE if values[name] != all_values[name]} == needing
    assert {values[name] for name in needing} == {None}


def test_lateness_is_of_the_jobs_that_were_recorded() -> None:
    """The first two and the last; of none of them there is no lateness, and no warning."""
    rows = [(*row[:5], nan if row[2] != row[2] else row[5], "a") for row in ROWS]
    values = overall(table(rows))
    assert values["mean_lateness"] == pytest.approx(10 / 3)
    assert values["relative_lateness"] == pytest.approx(1 + 10 / 3 / 50)
    assert values["additional_lateness"] == pytest.approx(2 * 10 / 3 / 2)
    unknown = overall(table([(*row[:5], nan, "a") for row in ROWS]))
    assert {unknown.pop(name) for name in list(unknown) if "lateness" in name} == {None}
    assert unknown.items() <= overall(table([(*row[:6], "a") for row in ROWS])).items()


# The examples of Streit's thesis and of its specification ----------------------------------------


FIVE = [(0, 6, 50), (10, 8, 40), (20, 2, 30), (30, 4, 100), (40, 2, 10)]
"""(submission, width, run time) on 8 processors."""
PC2 = [
    (1, 64, 79),
    (221, 96, 163),
    (994, 8, 10),
    (1017, 64, 86400),
    (4966, 4, 172800),
    (5554, 8, 88787),
    (5688, 8, 25),
    (6152, 8, 61),
    (6238, 4, 22),
    (6474, 16, 58),
    (17661, 4, 3970),
]
"""The beginning of PC2-2001, on 96 processors."""
SIX = [(0, 8, 60), (5, 6, 80), (6, 2, 40), (7, 4, 20), (8, 8, 10), (9, 2, 300)]
"""On 8 processors."""
AT_ONCE = [(0, width, run) for _, width, run in PC2]

CASES = [
    # FCFS: two processors are lost for the 10 s in which only the job of width 8 waits.
    (
        (FIVE, [0, 50, 20, 90, 90], 8),
        {"ART": 76, "AWT": 30, "ARTwW": 80.0, "SLDwA": 1.6, "UTIL": 0.723684, "LOC": 20 / 1520},
    ),
    # SJF: 2 free in [10, 20), 6 in [50, 60), and none later, when only jobs run.
    (
        (FIVE, [0, 60, 20, 100, 50], 8),
        {
            "ART": 72,
            "AWT": 26,
            "ARTwW": 81.8182,
            "SLDwA": 1.636364,
            "UTIL": 0.6875,
            "LOC": 80 / 1600,
        },
    ),
    # LJF: the wide job waits for 140 s: 2 free in [10, 20) and [50, 60), then 4 until 150.
    (
        (FIVE, [0, 150, 20, 50, 50], 8),
        {"ART": 80, "AWT": 34, "ARTwW": 105.4545, "SLDwA": 2.109091, "LOC": 400 / 1520},
    ),
    # No job waits, so nothing is lost, and every weighted slowdown is 1.
    (
        (PC2, [submit for submit, _, _ in PC2], 96),
        {"ART": 32034.0909, "ARTwW": 24540.3662, "SLDwA": 1, "UTIL": 0.408396, "LOC": 0, "SLD": 1},
    ),
    # The same jobs all at 0 s, under FCFS, SJF, LJF and dynP.
    (
        (AT_ONCE, [0, 80, 0, 243, 243, 243, 0, 0, 0, 22, 243], 96),
        {"ART": 32131.7273, "ARTwW": 24637.0986, "SLDwA": 1.003942, "UTIL": 0.419541},
    ),
    (
        (AT_ONCE, [231, 10, 0, 310, 173, 173, 173, 173, 173, 173, 173], 96),
        {"ART": 32194.2727, "ARTwW": 24697.3380, "SLDwA": 1.006396, "UTIL": 0.419710},
    ),
    (
        (AT_ONCE, [86400, 172800, 47, 0, 0, 0, 0, 0, 25, 61, 0], 96),
        {"ART": 55609.8182, "ARTwW": 102427.1690, "SLDwA": 4.173824, "UTIL": 0.419735},
    ),
    (
        (AT_ONCE, [173, 10, 0, 252, 173, 173, 173, 173, 173, 234, 195], 96),
        {"ART": 32191.2727, "ARTwW": 24674.9437, "SLDwA": 1.005484},
    ),
    # Six jobs under dynP, FCFS and LJF.
    (
        (SIX, [0, 90, 170, 70, 60, 70], 8),
        {"ART": 155.8333, "ARTwW": 114.2667, "SLDwA": 1.904444, "UTIL": 0.608108},
    ),
    ((SIX, [0, 60, 60, 140, 160, 170], 8), {"SLDwA": 2.393333, "UTIL": 0.478723}),
    ((SIX, [0, 100, 60, 60, 360, 60], 8), {"SLDwA": 3.115556}),
    # 0.5 s after 600 s of waiting, and 20 s after as many: slowdowns 1201 and 31.
    (([(0, 1, 0.5)], [600], 1), {"SLD": 1201}),
    (([(0, 1, 20)], [600], 1), {"SLD": 31}),
    # 100 s on one processor at once, and 10 s on ten after 90 s: 1 per processor in both.
    (([(0, 1, 100)], [0], 10), {"SLD": 1, "ppSLD_60": 1}),
    (([(0, 10, 10)], [90], 10), {"SLD": 10, "ppSLD_60": 1}),
    # 1000 s on two processors after 3000 s: 4 by 2 processors.
    (([(0, 2, 1000)], [3000], 10), {"SLD": 4, "ppSLD_60": 2}),
    # The END line of the simulator's log: waited 5123 s, ran 15 s.
    (([(8006040, 16, 15)], [8011163], 96), {"ART": 5138, "SLD": 342.53333}),
]


@pytest.mark.parametrize(("schedule", "expected"), CASES)
def test_examples_of_streit(
    schedule: tuple[list[tuple[float, int, float]], list[float], int], expected: dict[str, float]
) -> None:
    table = table_of(*schedule)
    computed = {
        short: metric.compute(table)
        for metric in METRICS.values()
        for short in expected.keys() & {*metric.short}
    }
    assert computed == pytest.approx(expected, rel=2e-6, abs=1e-9)


def values(prefix: str, suffixes: list[str], table: JobTable) -> list[float]:
    return [METRICS[prefix + suffix].compute(table) for suffix in suffixes]


def test_four_metrics_called_awrt() -> None:
    """10 s on 1 processor at once and 20 s on 4 after 30 s: areas 10 and 80, turnarounds 10, 50."""
    table = table_of([(0, 1, 10), (0, 4, 20)], [0, 30])
    turnarounds = [metric.compute(table) for metric in METRICS.values() if "AWRT" in metric.short]
    assert turnarounds == pytest.approx([210 / 5, 4100 / 90, 4100 / 2, 4100 / 5])


def test_classes_of_run_time_have_their_upper_bound() -> None:
    """A minute is short and ten minutes are medium, as in the paper."""
    table = table_of([(0, 1, 60), (0, 1, 61), (0, 1, 600), (0, 1, 601)], [0, 0, 0, 0])
    classes = ["to_1_min", "1_to_10_min", "over_10_min"]
    assert values("mean_turnaround_time_", classes, table) == [60, 330.5, 601]
