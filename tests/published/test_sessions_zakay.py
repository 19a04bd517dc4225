"""Zakay's findings on sessions and batches (PhD thesis, chapter 2; counts of chapter 4).

Of KTH-SP2 the file is that of the thesis, of SDSC-SP2 one with the same counts. Those of
SDSC-DS and SDSC-BLUE are others. In SDSC-BLUE 8,899 of 232,562 jobs never got a processor; the
thesis cannot have counted them, and without them our numbers are the printed ones to 0.2 %.
"""

from __future__ import annotations

from math import log10
from pathlib import Path

import numpy as np
import pytest

from batsched_studies.user_models.logs import HERE, PRINTED, find_path, load_jobs, read_log
from batsched_studies.user_models.sessions import (
    BY_ARRIVAL,
    EDGES,
    count_log_sessions,
    measure_pools,
    select_jobs_that_ran,
)
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.studies.thresholds import (
    compare_think_times,
    ks_distance_of_samples,
    measure_inter_arrivals,
    measure_session_lengths,
)

KTH, SP2, DS, BLUE = LOGS = ("KTH-SP2", "SDSC-SP2", "SDSC-DS", "SDSC-BLUE")
EACH = pytest.mark.parametrize("log", [KTH, SP2, DS, pytest.param(BLUE, marks=pytest.mark.long)])


@pytest.mark.parametrize(
    ("log", "off"),
    [
        (KTH, (0, 0, 0)),
        (SP2, (0, -1, 0)),  # one batch fewer, all else equal
        (DS, 0.001),  # 2.1-cln has 42 more jobs
        pytest.param(BLUE, 0.002, marks=pytest.mark.long),  # 4.2-cln has 256 more jobs
    ],
)
def test_counts(shared: Path, log: str, off: tuple[int, int, int] | float) -> None:
    counts = count_log_sessions(shared, log, BY_ARRIVAL)
    ours = np.array((counts.jobs, counts.batches, counts.sessions))
    theirs = np.array(PRINTED["zakay"]["counts"][log])
    if isinstance(off, tuple):
        assert (ours - theirs).tolist() == list(off)
    else:
        assert ours == pytest.approx(theirs, rel=off)


def test_sdsc_sp2_as_the_rules_take_it(shared: Path) -> None:
    """No other filter than the rules' own: 5,674 of 59,725 jobs have a negative run time."""
    path = find_path(shared, HERE[SP2])
    assert len(load_jobs(path).jobs) == 54_051
    assert len(read_log(path)) == 59_725


@pytest.mark.parametrize(
    ("log", "rule", "printed", "off"),
    [
        # Two or three digits are printed, with "about".
        (BLUE, "last:20", 0.135, 0.001),
        (BLUE, "max:20", 0.150, 0.0015),
        # 17.7 % is printed once for SDSC-DS and once for SDSC-SP2. It is SDSC-SP2's: we find 18.0
        # there and 16.3 for SDSC-DS. Why Last and Max are 2 and 4 % above the printed is not known.
        (SP2, "last:20", 0.177, 0.004),
        (SP2, "max:20", 0.195, 0.009),
    ],
)
def test_share_of_long_sessions(
    shared: Path, log: str, rule: str, printed: float, off: float
) -> None:
    assert count_log_sessions(shared, log, rule).long_sessions == pytest.approx(printed, abs=off)


@pytest.mark.parametrize(
    ("log", "cut", "exponent"),
    [
        pytest.param(BLUE, 120, -3.0, marks=pytest.mark.long),  # "slightly above"
        pytest.param(BLUE, 60, -3.9, marks=pytest.mark.long),
        pytest.param(BLUE, 30, -3.9, marks=pytest.mark.long),
        (SP2, 120, -3.4),
        (SP2, 60, -3.7),
        (SP2, 30, -3.9),
    ],
)
def test_share_of_long_sessions_with_cut(shared: Path, log: str, cut: int, exponent: float) -> None:
    """Read off a plot; 10^-3.9 is 7 sessions of SDSC-BLUE and 3 of SDSC-SP2: a job matters."""
    for method in ("last", "max"):
        share = count_log_sessions(shared, log, f"{method}+{cut}:20").long_sessions
        assert log10(share) == pytest.approx(exponent, abs=0.12)
        if (log, cut) == (BLUE, 120):
            assert share > 1e-3


def test_longest_sessions(shared: Path) -> None:
    """Without cut over 10^5 minutes; with it two days, as long as one person kept submitting.

    SDSC-BLUE with cut: printed 2,600 minutes, the file at hand has one of 3,731.
    """
    for log in (BLUE, SP2):
        for rule in ("last:20", "max:20"):
            assert count_log_sessions(shared, log, rule).longest_session > 1e5
    for cut in (30, 60, 120):
        assert count_log_sessions(shared, SP2, f"max+{cut}:20").longest_session < 2_030
        assert count_log_sessions(shared, BLUE, f"max+{cut}:20").longest_session < 4_000


def test_most_sessions_and_batches_have_one_job(shared: Path) -> None:
    """Printed: generally over 50 % and over 75 %. BLUE's 48.9 %, KTH's 74.5 %, DS's 73.4 %."""
    counts = {log: count_log_sessions(shared, log, BY_ARRIVAL) for log in LOGS}
    assert [log for log, c in counts.items() if c.single_job_sessions > 0.5] == [KTH, SP2, DS]
    assert [log for log, c in counts.items() if c.single_job_batches > 0.75] == [SP2, BLUE]
    assert all(c.single_job_sessions > 0.485 for c in counts.values())
    assert all(c.single_job_batches > 0.73 for c in counts.values())


@EACH
def test_inter_arrival_times_flatten(shared: Path, log: str) -> None:
    """E1: the derivative still drops visibly before 40 minutes and is nearly flat after 100."""
    per_minute = measure_inter_arrivals(select_jobs_that_ran(shared, log)).derivative
    steepness = [
        -np.polyfit(np.arange(begin, end), per_minute[begin:end], 1)[0]
        for begin, end in ((10, 40), (40, 100), (100, 200))
    ]
    assert steepness[0] > 5 * steepness[1] > 5 * steepness[2] > 0
    assert steepness[0] > 30 * steepness[2]


@EACH
def test_last_gives_the_more_believable_think_times(shared: Path, log: str) -> None:
    """E2: those of Last's own batches are near to the common ones, those of Max's are not."""
    times = compare_think_times(select_jobs_that_ran(shared, log))
    assert ks_distance_of_samples(times.common_last, times.common_max) < 0.02
    last = ks_distance_of_samples(times.unique_last, times.common_last)
    assert last < 0.11
    assert ks_distance_of_samples(times.unique_max, times.common_max) > 2.5 * last


def test_arrival_drops_at_its_threshold(shared: Path) -> None:
    """E3: sessions get fewer right above the threshold; strongly at 10 minutes, less at 60."""
    kept = []
    for threshold in (10, 20, 60):
        rule = Delimitation("arrival", threshold, ">")
        lengths = measure_session_lengths(partition(select_jobs_that_ran(shared, KTH), rule), rule)
        tenth = threshold / 10
        below = np.sum((lengths > threshold - tenth) & (lengths <= threshold))
        above = np.sum((lengths > threshold) & (lengths <= threshold + tenth))
        kept.append(above / below)
    assert kept[0] < kept[1] < kept[2] < 0.75
    assert kept[0] < 0.5


# Pools of resampling (section 3.3) ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "same_version"), [("LANL-CM5", True), ("KTH-SP2", True), ("SDSC-SP2", False)]
)
def test_pools(shared: Path, log: str, same_version: bool) -> None:
    users, jobs, *temporary = PRINTED["zakay"]["pools"][log]
    (long_term, of_4_weeks), (_, of_60_days) = (measure_pools(shared, log, w) for w in EDGES)
    if same_version:
        assert long_term == (users, jobs)
        assert of_60_days == tuple(temporary)
    else:  # another version of the log: users are the same, jobs differ by some
        assert long_term[0] == users
        assert long_term[1] == pytest.approx(jobs, rel=0.002)
        assert of_60_days[1] == pytest.approx(temporary[1], rel=0.03)
    assert of_4_weeks[0] > temporary[0]
