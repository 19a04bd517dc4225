"""What the paper says on its figures, judged on replays drawn by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from batsched_py.metrics import JobTable
from batsched_py.report import Verdict
from batsched_py.units import DAY
from batsched_studies.replay_feedback import tables, text_claims
from batsched_studies.replay_feedback.replays import Study

KTH = "KTH-SP2-1996-2.1-cln"
SDSC = "SDSC-SP2-1998-4"
NAMES = ("easy", "fcfs", "perf*2", "perf/2", "infra*2", "infra/2")


def replay(
    late: Any = 0.0, jobs: int = 400, wait: float = 1.0, run: float = 0.25, nodes: int = 10
) -> JobTable:
    """Return jobs of two nodes of two users, one a day: lateness, wait and run time in days."""
    recorded = np.arange(jobs) * DAY
    submit = recorded + np.broadcast_to(np.asarray(late, dtype=float), jobs) * DAY
    start = submit + wait * DAY
    return JobTable(
        submit=submit,
        start=start,
        finish=start + run * DAY,
        execution=np.full(jobs, run * DAY),
        size=np.full(jobs, 2.0),
        original_submit=recorded,
        user=["1", "2"] * (jobs // 2),
        nb_processors=nodes,
    )


def everywhere(**replays: JobTable) -> dict[tuple[str, str], JobTable]:
    """Return the same replays on all infrastructures."""
    return {(name, of): jobs for name in NAMES for of, jobs in replays.items()}


def said(log: str, replays: dict[tuple[str, str], JobTable], words: str) -> list[Verdict]:
    study = Study(log, None, replays, pd.DataFrame())  # type: ignore[arg-type]
    return [verdict for verdict in text_claims.judge_claims(study) if words in verdict.claim]


@pytest.mark.parametrize(
    ("log", "fcfs", "holds"),
    [
        (KTH, 30, True),  # between infra/2 and perf/2
        (KTH, 10, False),  # between EASY and infra/2, as on SDSC
        (SDSC, 10, True),
        (SDSC, 30, False),
    ],
)
def test_where_fcfs_is_in_the_ranking(log: str, fcfs: float, holds: bool) -> None:
    late = {"easy": 0, "infra/2": 20, "perf/2": 40, "fcfs": fcfs}
    replays = {(name, "a60"): replay(days) for name, days in late.items()}
    (verdict,) = said(log, replays, "FCFS is between")
    assert verdict.holds is holds


@pytest.mark.parametrize(("wait", "holds"), [(11.33, True), (11.35, False)])
def test_the_longest_wait_is_below_the_longest_recorded_one(wait: float, holds: bool) -> None:
    """11.34 days are recorded on KTH; what waits in rigid replay is not asked."""
    replays = everywhere(a0=replay(wait=1), a60=replay(wait=1), rigid=replay(wait=100))
    replays["easy", "a60"] = replay(wait=wait)
    (verdict,) = said(KTH, replays, "longest recorded")
    assert verdict.holds is holds


@pytest.mark.parametrize(
    ("gain", "run", "holds"),
    [
        (1.08, 2.0, True),
        (1.13, 2.0, False),
        (1.08, 1.7, False),
        (1.08, 2.19, True),  # 47.3 % is printed as 47 %
        (1.08, 2.21, False),  # 47.7 % is not
    ],
)
def test_throughput_and_utilisation_on_machines_twice_as_good(
    gain: float, run: float, holds: bool
) -> None:
    """A job a day on 2 of 10 nodes for 1.825 days: 36.5 %; with feedback 8 % more, for 2 days."""
    rigid = replay(run=1.825)
    feedback = replay(late=rigid.original_submit / DAY * (1 / gain - 1), run=run)
    replays = everywhere(a0=feedback, a60=feedback, rigid=rigid)
    (verdict,) = said(KTH, replays, "machines twice as")
    assert verdict.holds is holds
    assert not said(SDSC, replays, "machines twice as")  # nothing is printed of SDSC


@pytest.mark.parametrize(("share", "holds"), [(0.95, True), (0.6, False)])
def test_nearly_all_jobs_are_later_with_a0(share: float, holds: bool) -> None:
    a0 = replay(late=np.where(np.arange(400) < 400 * share, 1.0, 0.0))
    (verdict,) = said(KTH, everywhere(a0=a0, a60=replay()), "Nearly all")
    assert verdict.holds is holds


@pytest.mark.parametrize(("apart", "holds"), [(40, True), (10, False)])
def test_users_differ_in_additional_lateness(apart: float, holds: bool) -> None:
    """One of two users is so many days later than the other: 2 * 40 d / 199 jobs are 34,733 s."""
    replays = everywhere(a60=replay(late=np.tile([0.0, apart], 200)))
    (verdict,) = said(KTH, replays, "10,000 s")
    assert verdict.holds is holds
    assert not said("sample", replays, "10,000 s")


def test_a_run_that_refutes_a_claim_does_not_make_it_hold_by_its_absence() -> None:
    late = {"perf*2": -9, "infra*2": -5, "easy": 0, "infra/2": 20, "fcfs": 30, "perf/2": 40}
    two_users = np.tile([0.0, 40.0], 200)
    right = {
        (name, of): replay(late=days * (of != "rigid") + two_users + (of == "a0"))
        for name, days in late.items()
        for of in tables.REPLAYS
    }
    refuted = 0
    for run in right:
        wrong = right | {run: replay(late=-60.0 if run[1] == "a0" else 60.0, wait=50.0)}
        with_it = {of.claim: of.holds for of in said(KTH, wrong, "")}
        left = {key: jobs for key, jobs in wrong.items() if key != run}
        without = {of.claim: of.holds for of in said(KTH, left, "")}
        for claim, holds in with_it.items():
            refuted += holds is False
            assert holds is not False or without.get(claim) is not True, (run, claim)
    assert refuted > len(right)


def first_jobs(
    last: dict[str, float], jobs: int = 25_000, lengths: tuple[int, ...] = (500, 20_000)
) -> list[Verdict]:
    """Return what is said where the first jobs add 0, 100 s to the next one, and all so many."""
    rows = [
        {"infrastructure": name, "replay": "a60", "first": n, "additional_lateness": 100.0 * at}
        for name in last
        for at, n in enumerate(lengths)
    ]
    replays = {
        (name, "a60"): replay(seconds * (jobs - 1) / 2 / DAY, jobs)
        for name, seconds in last.items()
    }
    study = Study(KTH, None, replays, pd.DataFrame(rows))  # type: ignore[arg-type]
    return list(text_claims.judge_first_jobs(study))


@pytest.mark.parametrize(
    ("easy", "faster", "fcfs", "holds"),
    [
        (109, 91, 140, True),
        (112, 91, 140, False),  # 12 s of 112 s
        (109, 80, 140, False),
        (109, 91, 110, False),  # 10 s of 110 s: FCFS levels out, too
    ],
)
def test_additional_lateness_levels_out(
    easy: float, faster: float, fcfs: float, holds: bool
) -> None:
    (verdict,) = first_jobs({"easy": easy, "perf*2": faster, "fcfs": fcfs})
    assert verdict.holds is holds
    assert f"fcfs {100 * (fcfs - 100) / fcfs:.0f} % (100 to {fcfs} s)" in verdict.effect
