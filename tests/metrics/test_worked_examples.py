"""The examples of Streit's thesis and of its specification, to the printed digits."""

from __future__ import annotations

import pytest

from batsched_py.metrics import METRICS, JobTable
from helpers.schedules_by_hand import table_of

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


def test_three_bounded_slowdowns_of_a_short_job() -> None:
    """20 s after 600 s: 620 / 60 in two of them, 1 + 600 / 60 in Keleher's and Perkovic's."""
    suffixes = ["", "_feitelson", "_keleher"]
    slowdowns = values("mean_bounded_slowdown_60", suffixes, table_of([(0, 1, 20)], [600]))
    assert slowdowns == pytest.approx([620 / 60, 620 / 60, 11])


def test_area_weights_are_not_slowdowns_per_area() -> None:
    """0.5 s and 20 s on one processor after 600 s: area times slowdown is 600.5 and 620."""
    table = table_of([(0, 1, 0.5), (0, 1, 20)], [600, 600])
    assert METRICS["mean_slowdown_by_area"].compute(table) == pytest.approx(1220.5 / 20.5)


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
