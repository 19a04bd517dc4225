"""RLScheduler's comparison: its rules, its published numbers, and the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.environments import Encoder, Head, Observation
from batsched_py.model.queue.orders import find_order
from batsched_py.schedulers.agent.choices import Asker, make_asking_policy
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, starts, workload
from batsched_studies.filled_page import read_data
from batsched_studies.rlscheduler import page
from batsched_studies.rlscheduler.policies import ANEW, CHOICES, COMMITTED, CommittedHead
from batsched_studies.rlscheduler.sequences import LOGS, make_sequences, simulate_row


def test_the_page_has_the_numbers_of_its_data() -> None:
    rows = read_data(page.DATA)
    assert len(rows) == len(page.CASES) * len(page.HEURISTICS) * len(CHOICES)
    text = page.make_page(rows).text
    assert text == page.PAGE.read_text(encoding="utf-8")
    assert "40 of 40 means come out to the last digit" in text


@pytest.mark.parametrize(
    ("backfilling", "choice"), [("no", COMMITTED), ("yes", COMMITTED), ("yes", ANEW)]
)
def test_rows_of_lublin_1(shared: Path, backfilling: str, choice: str) -> None:
    if not (shared / f"{LOGS['Lublin-1']}.swf.gz").is_file():
        pytest.skip("no folder learning")
    case = (backfilling, "UNICEP", choice)
    row = ["Lublin-1", *case, *simulate_row(make_sequences(shared, "Lublin-1"), *case)]
    assert row in read_data(page.DATA)


@pytest.mark.parametrize(("backfills", "last"), [(False, 18), (True, 3)])
def test_a_chosen_job_stays_the_first(backfills: bool, last: float) -> None:
    """B is chosen at 1, and C is shorter; D would end at the shadow time, 10, and E before it."""
    jobs = [J(0, 3, 10), J(1, 4, 5), J(2, 4, 3), J(3, 1, 7), J(3, 1, 6)]
    policy = CommittedHead(find_order("sjf"), backfills=backfills)
    assert starts(run(workload(jobs, 4), policy)) == [0, 10, 15, 18, last]


def test_the_shadow_time_is_that_of_the_choice() -> None:
    """A ends at 3 rather than 10, so B could start at 6; but C may still run until 9."""
    jobs = [J(0, 2, 3, 10), J(0, 1, 6), J(1, 4, 5), J(3, 1, 6)]
    policy = CommittedHead(find_order("fcfs"), backfills=True)
    assert starts(run(workload(jobs, 4), policy)) == [0, 0, 9, 3]


SHAPES = st.tuples(st.integers(0, 9), st.integers(1, 8), st.integers(1, 100), st.integers(1, 4000))


@given(
    st.lists(SHAPES, min_size=2, max_size=40, unique_by=lambda shape: shape[3]),
    st.booleans(),
    st.booleans(),
)
def test_a_head_that_is_committed(
    shapes: list[tuple[int, int, int, int]], backfills: bool, each_event: bool
) -> None:
    """An agent that chooses the shortest job, with commitment, gives the schedule of the study."""
    jobs = [J(10 * submit, size, run_time, limit) for submit, size, run_time, limit in shapes]

    def answer(seen: Observation) -> int:
        return int(np.where(seen.mask, seen.jobs[:, 0], np.inf).argmin())

    asker = Asker(Encoder(window=len(jobs), features=("log_estimate",)), answer)
    policies = (
        make_asking_policy(Head(commit=True, backfill=backfills), asker),
        CommittedHead(find_order("sjf"), backfills=backfills),
    )
    own, study = (starts(run(workload(jobs, 8), each, each_event=each_event)) for each in policies)
    assert own == study
