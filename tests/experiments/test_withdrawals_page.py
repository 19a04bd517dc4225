"""The page of users who withdraw jobs: written from few jobs, and the numbers that it has."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

import pytest

from batsched_studies.filled_page import read_data
from batsched_studies.withdrawals import page
from batsched_studies.withdrawals.exact_queue import CASES, OF_FCFS, POLICIES, Mean, compare_queue
from batsched_studies.withdrawals.logs import LOGS, Replay, measure_log


@pytest.mark.slow
def test_the_page_from_few_jobs(shared: Path, tmp_path: Path) -> None:
    queues = {("E", "fcfs"): compare_queue(CASES["E"], "fcfs", 600, 1)}
    assert all(isfinite(mean.distance) for mean in queues["E", "fcfs"].values())
    facts = measure_log("SP2", shared / "swf")
    page.make_page(queues, {"SP2": facts}, Replay(10, 20, 9, 21)).write(tmp_path / "withdrawals.md")
    text = (tmp_path / "withdrawals.md").read_text()
    assert "{{" not in text
    assert "| SP2 | 5,671 of 59,705 | 3,139 |" in text
    kept = [row for row in read_data("withdrawals-logs") if row[0] == "SP2"]
    assert [[*map(str, row)] for row in facts.rows] == kept


def test_the_recorded_means_are_exact_ones_and_near_the_simulated_ones() -> None:
    rows = read_data("withdrawals-queue")
    assert {(case, policy) for case, policy, *_ in rows} == {
        (c, p) for c in CASES for p in POLICIES
    }
    for _, policy, name, *numbers in rows:
        mean = Mean(*map(float, numbers))
        assert abs(mean.distance) < 3
        assert mean.error < 0.01 * mean.exact
        assert policy == "fcfs" or name not in OF_FCFS
    assert {row[0] for row in read_data("withdrawals-logs")} == set(LOGS)
