"""The study of users who give up: its users, what it measures, and the report on made-up runs."""

from __future__ import annotations

from itertools import product
from math import isnan, nan
from typing import Any

import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.errors import UsageError
from batsched_py.report import Report
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import HOUR
from batsched_studies.impatience import cases as c
from batsched_studies.impatience.claims import DRIFT, judge_claims
from batsched_studies.impatience.impatient import Impatient
from batsched_studies.impatience.measures import from_first_submissions, measure
from batsched_studies.impatience.report import report
from helpers.made_up_campaign import MadeUpCampaign, changed, one_row, table_of

# The users and the measures


CROWDED = workload([J(10 * at, 4, 500, 600, user=f"u{at % 5}") for at in range(120)], 8)


def run(**options: Any) -> Any:
    return simulate(CROWDED, scheduler="fcfs", users=Impatient, user_options=options, seed=3)


def test_patient_users_withdraw_nothing() -> None:
    result = run(rate=0)
    numbers, table = measure(result), result.table
    assert (numbers["given_up_share"], numbers["given_up_work_share"]) == (0, 0)
    assert numbers["wait_of_served"] == numbers["wait_of_all"] == pytest.approx(numbers["km_wait"])
    assert numbers["km_wait"] == pytest.approx(table.waiting.mean())
    assert isnan(numbers["wait_of_given_up"])
    plain = simulate(CROWDED, scheduler="fcfs")
    assert plain.table.start.tolist() == table.start.tolist()


def test_each_job_is_served_or_given_up() -> None:
    """Submitted again, a job is still one job, and its wait begins with the first submission."""
    result = run(rate=50, resubmit=True)
    again = [str(job_id) for job_id in result.jobs["job_id"] if "+" in str(job_id)]
    assert again
    table = from_first_submissions(result.table, list(map(str, result.jobs["job_id"])))
    assert sorted(table.submit.tolist()) == [10 * at for at in range(120)]
    assert (table.ran | table.withdrawn).all()
    assert (table.waited >= 0).all()
    shares = measure(result)["given_up_share"], measure(run(rate=50))["given_up_share"]
    assert 0 < shares[0] < shares[1] < 1


def test_work_in_the_recorded_period_by_hand() -> None:
    """Of 8 processors 4 are busy from 0 to 30; the last job comes at 20 and runs to 50."""
    log = workload([J(0, 4, 30, 40, user="u"), J(20, 8, 20, 30, user="u")], 8)
    numbers = measure(simulate(log, scheduler="fcfs", users=Impatient, user_options={"rate": 0}))
    assert numbers["work_in_period"] == pytest.approx(4 * 20 / (8 * 20))
    assert numbers["work_of_all"] == pytest.approx((4 * 30 + 8 * 20) / (8 * 20))


def test_a_single_job_has_no_recorded_period() -> None:
    log = workload([J(0, 4, 30, 40, user="u")], 8)
    numbers = measure(simulate(log, scheduler="fcfs", users=Impatient, user_options={"rate": 0}))
    assert isnan(numbers["work_in_period"])
    assert numbers["km_wait"] == 0


def test_wrong_options() -> None:
    with pytest.raises(UsageError, match=r"^loop"):
        Impatient(CROWDED, loop="open")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^resubmit"):
        Impatient(CROWDED, resubmit=1)  # type: ignore[arg-type]


# The report


LOG = "SDSC-SP2-1998-4.2-cln"
LOAD = {c.FCFS: 0.7, c.EASY: 0.75, c.UPS: 0.74}
WAITS = {c.FCFS: 20.0, c.EASY: 5.0, c.UPS: 6.0}
PATIENCE = {c.PATIENT: 1.0, c.IMPATIENT: 0.5, c.THREE_TIMES: 0.2, c.RESUBMITTING: 0.6}
Runs = list[dict[str, Any]]


def made_up(nb_draws: int = 6) -> Runs:
    """Runs in which impatient users halve the waits, and give up 10 % of the jobs."""
    runs: Runs = []
    for rule, patience, policy, draw in product(c.LOOPS, c.KINDS, c.POLICIES, range(nb_draws)):
        factor, of_draw = PATIENCE[patience], 1 + 0.01 * draw
        gone = 0.0 if patience == c.PATIENT else 0.1
        wait = WAITS[policy] * factor * HOUR * of_draw
        row: dict[str, Any] = {"log": LOG, "loop": rule, "patience": patience, "scheduler": policy}
        row |= {"draw": str(draw), "km_wait": wait, "wait_of_served": wait, "wait_of_all": wait}
        row |= {"wait_of_given_up": wait if gone else nan, "given_up_share": gone * of_draw}
        row |= {"given_up_work_share": 2 * gone, "backlog_growth": 2.0 if not gone else 0.5}
        work = LOAD[policy] * (1 - gone) * of_draw
        runs.append(row | {"work_in_period": work, "work_of_all": work})
    return runs


def of(runs: Runs) -> Report:
    return report(MadeUpCampaign(runs, "impatience"))  # type: ignore[arg-type]


def answers_of(runs: Runs) -> dict[str, bool | None]:
    """Return whether each claim holds, without tables and figures."""
    of_log = c.read(pd.DataFrame(runs))[LOG]
    return {verdict.claim: verdict.holds for verdict in judge_claims(LOG, of_log)}


RECORDED_TIMES = c.LOOPS[c.RIGID]
ALIKE = f"does not depend on the users' patience: {RECORDED_TIMES}"
MORE_WORK = f"Whether EASY or FCFS does more work {ALIKE}"
SOONER = f"Whether jobs wait less under EASY or FCFS {ALIKE}"
SMALLER = (
    "The advantage of EASY over FCFS in waits is smaller if users give up: "
    f"impatient, {RECORDED_TIMES}"
)
MISLEADING = (
    "Served jobs wait less under FCFS with users three times as impatient than under EASY: "
    + RECORDED_TIMES
)
AS_RECORDED = "Under EASY, impatient users give up as {} as recorded, within 40 %"
JOBS_AS_RECORDED = AS_RECORDED.format("many jobs")
WORK_AS_RECORDED = AS_RECORDED.format("much requested work")


def test_the_ranking_is_that_of_patient_users() -> None:
    answers = answers_of(made_up())
    assert len(answers) == 2 * (3 * 2 + 3 * 2) + 2 + 2
    assert answers[MORE_WORK] is answers[SOONER] is True


def test_a_policy_that_overtakes_changes_the_ranking() -> None:
    place = {"loop": c.RIGID, "patience": c.THREE_TIMES, "scheduler": c.EASY}
    runs = changed(changed(made_up(), 0.8, "work_in_period", **place), 9, "km_wait", **place)
    answers = answers_of(runs)
    assert answers[MORE_WORK] is answers[SOONER] is False
    assert answers[MORE_WORK.replace(RECORDED_TIMES, c.LOOPS[c.SESSIONS])] is True


def test_an_unclear_difference_is_inconclusive() -> None:
    noisy = [
        row | {"km_wait": row["km_wait"] * (4 if int(row["draw"]) % 2 else 1)}
        if (row["loop"], row["patience"], row["scheduler"]) == (c.RIGID, c.IMPATIENT, c.EASY)
        else row
        for row in changed(made_up(), 1.7, "km_wait", patience=c.IMPATIENT, scheduler=c.EASY)
    ]
    assert answers_of(noisy)[SOONER] is None
    assert answers_of(made_up(3))[SOONER] is None


def test_the_advantage_shrinks_if_fcfs_gains_more() -> None:
    place = {"patience": c.IMPATIENT, "scheduler": c.FCFS}
    assert answers_of(changed(made_up(), 0.5, "km_wait", **place))[SMALLER] is True
    assert answers_of(changed(made_up(), 1.5, "km_wait", **place))[SMALLER] is False


def test_the_lead_is_in_points() -> None:
    """Patient: 75 - 70 = 5 points; impatient: 4.5, or 18 if EASY does a fifth more."""
    claim = SMALLER.replace("advantage", "lead").replace("in waits", "in work done")
    assert answers_of(made_up())[claim] is True
    place = {"patience": c.IMPATIENT, "scheduler": c.EASY}
    assert answers_of(changed(made_up(), 1.2, "work_in_period", **place))[claim] is False


def test_waits_of_served_jobs_mislead() -> None:
    """FCFS with users who leave: 20 h x 0.2 = 4 h; EASY with impatient users: 2.5 h."""
    assert answers_of(made_up())[MISLEADING] is False
    shorter = changed(made_up(), 0.5, "wait_of_served", scheduler=c.FCFS)
    assert answers_of(shorter)[MISLEADING] is True


def test_shares_are_compared_with_the_recorded_ones() -> None:
    """Recorded are 9.5 % of the jobs and 24.3 % of the work; made up are 10.3 and 20 %."""
    answers = answers_of(made_up())
    assert answers[JOBS_AS_RECORDED] is answers[WORK_AS_RECORDED] is True
    assert 0 < DRIFT < 1
    few = changed(made_up(), 0.1, "given_up_work_share")
    assert answers_of(few)[WORK_AS_RECORDED] is False


def test_waits_stand_beside_shares_and_work() -> None:
    made = of(made_up())
    table = table_of(made, "cases_sdsc_sp2_1998_4_2_cln")
    shown = {column.name for column in table.shown}
    assert {"jobs", "requested", "work", "wait", "served", "given_up", "all"} <= shown
    row = one_row(table.frame, loop=c.RIGID, users=c.IMPATIENT, policy=c.EASY)
    assert (row["requested"], row["saturated"]) == (pytest.approx(20), 0)
    assert one_row(table.frame, loop=c.RIGID, users=c.PATIENT, policy=c.EASY)["saturated"] == 6
    (caution,) = made.cautions
    assert "EASY, patient, rigid" in caution
    assert "impatient" not in caution.replace("patient, rigid", "")
    pairs = table_of(made, "pairs_sdsc_sp2_1998_4_2_cln").frame
    pair = one_row(pairs, loop=c.RIGID, users=c.PATIENT, ours=c.EASY, base=c.FCFS)
    assert pair[["wait", "ratio"]].tolist() == pytest.approx([-15 * 1.025, 0.25])


def test_the_numbers_of_the_pilot_stand_beside_ours() -> None:
    table = table_of(of(made_up()), "pilot_sdsc_sp2_1998_4_2_cln").frame
    assert len(table) == 6
    row = one_row(table, users=c.IMPATIENT, policy=c.FCFS)
    assert (row["wait_pilot"], row["wait"]) == (34.7, pytest.approx(10.25))
