"""What reservations and limits cost: the users who ask, what is measured, and the report."""

from __future__ import annotations

from itertools import product
from math import inf, isnan, nan
from typing import Any

import msgspec
import pytest

from batsched_py import Workload, WorkloadJob, simulate
from batsched_py.errors import UsageError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import HOUR
from batsched_studies.reservations.report import report
from batsched_studies.reservations.reserving import REFUSED, RESERVING, Reserving, measure
from helpers.made_up_campaign import MadeUpCampaign, holds, one_row, table_of

LOG = workload([J(10 * at, 1 + at % 3, 20, 30) for at in range(200)], 8)


def submitted(log: Workload, **options: Any) -> list[WorkloadJob]:
    model = Reserving(log.copy(), **options)
    jobs: list[WorkloadJob] = []
    while (now := model.next_submission()) < inf:
        jobs += model.jobs_to_submit(now)
    return jobs


def drawn(log: Workload, **options: Any) -> set[str]:
    return {job.id for job in submitted(log, **options) if job.user == RESERVING}


def test_who_asks_is_drawn_by_the_seed_alone() -> None:
    first = drawn(LOG, share=0.1, seed=1)
    assert first == drawn(LOG, share=0.1, seed=1, width=0.9, lead=60.0, ask=False)
    assert first != drawn(LOG, share=0.1, seed=2)
    assert first < drawn(LOG, share=0.3, seed=1)
    assert drawn(LOG, share=0) == set()
    assert len(drawn(LOG, share=1)) == len(LOG.jobs)


@pytest.mark.parametrize("ask", [True, False])
def test_only_width_and_request_are_changed(ask: bool) -> None:
    for job, recorded in zip(submitted(LOG, share=0.2, width=0.5, ask=ask), LOG.jobs, strict=True):
        assert (job.id, job.submit_time) == (recorded.id, recorded.submit_time)
        assert (job.profile, job.walltime) == (recorded.profile, recorded.walltime)
        if job.user == RESERVING:
            expected = {"reserved_start": job.submit_time + HOUR} if ask else {}
            assert (job.size, job.extra) == (4, expected)
        else:
            assert (job.size, job.extra) == (recorded.size, recorded.extra)


def test_who_is_refused_submits_at_once() -> None:
    """Three ask for all processors at 60: the first has them, the others wait as any job."""
    log = workload([J(0, 1, 20), J(0, 1, 20), J(0, 1, 20)], 8)
    result = simulate(
        log,
        scheduler="planning",
        users=Reserving,
        user_options={"share": 1.0, "width": 1.0, "lead": 60.0},
    )
    table = result.table
    ran = {(user, start) for user, start in zip(table.user, table.start.tolist(), strict=True)}
    assert {case for case in ran if not isnan(case[1])} == {
        (RESERVING, 60.0),
        (REFUSED, 0.0),
        (REFUSED, 20.0),
    }
    numbers = measure(result)
    assert numbers["reserving_wait"] == pytest.approx(80 / 3)
    assert (numbers["admitted_share"], numbers["nb_asked"]) == (pytest.approx(1 / 3), 3)
    assert isnan(numbers["others_wait"])


def test_waits_of_the_others_by_width() -> None:
    """Nobody asks: of 8 processors more than 2 are wide."""
    log = workload([J(0, 8, 30), J(0, 2, 10), J(10, 3, 10)], 8)
    numbers = measure(
        simulate(log, scheduler="planning", users=Reserving, user_options={"share": 0.0})
    )
    assert (numbers["wide_others_wait"], numbers["narrow_others_wait"]) == (10, 30)
    assert numbers["others_wait"] == pytest.approx(50 / 3)
    assert isnan(numbers["admitted_share"])


def test_wrong_options() -> None:
    for options in ({"share": 2}, {"width": -1}, {"lead": "1 h"}, {"ask": 1}):
        with pytest.raises(UsageError, match="^" + next(iter(options))):
            Reserving(LOG, **options)  # type: ignore[arg-type]
    endless = [msgspec.structs.replace(job, walltime=None) for job in LOG.jobs]
    with pytest.raises(UsageError, match="reservations need walltimes"):
        Reserving(msgspec.structs.replace(LOG, jobs=endless), share=1.0)


# The report


POLICIES = ("fcfs", "fcfs, displacing")
SOON, LATE = "1 h ahead", "24 h ahead"


def made_up(nb_pairs: int = 5, displacing: float = 1.5, **factors: float) -> MadeUpCampaign:
    """Return runs in which the others wait ``narrow_soon``, ``wide_late``, ... times as long."""
    runs = []
    for pair, policy, width, request in product(
        range(nb_pairs), POLICIES, (0.125, 0.5), ("none", SOON, LATE)
    ):
        kind = f"{'wide' if width > 0.2 else 'narrow'}_{'late' if request == LATE else 'soon'}"
        factor = factors.get(kind, 1.0) * (displacing if policy == POLICIES[1] else 1.0)
        before = HOUR * (1 + pair)
        row = {"policy": policy, "width": width, "request": request, "replication": pair}
        waits = {"wide_others_wait": before, "narrow_others_wait": before * factor}
        row |= {"others_wait": before * (1 if request == "none" else factor)}
        waits["reserving_wait"] = before
        if request == "none":
            waits |= {"narrow_others_wait": before, "admitted_share": nan}
        else:
            waits["admitted_share"] = 0.5
        runs.append({"log": "sample", **row, **waits, "nb_asked": 9, "utilisation": 0.7})
    return MadeUpCampaign(runs, "reservations")


HALF = "50 % of the machine"
COST = f"Reservations of {HALF}, {LATE}, lengthen the waits of the others (fcfs)."
WIDER = f"Reservations of 50 % cost the others more than those of 12.5 %, {LATE} (fcfs)."
LEAD = f"Reservations {LATE} cost the others more than those {SOON}, {HALF} (fcfs)."
DISPLACING = f"Reservations that displace planned jobs cost the others more: {HALF}, {LATE} (fcfs)."
CLAIMS = (COST, WIDER, LEAD, DISPLACING)


def test_each_claim_is_judged_by_its_pairs() -> None:
    made = made_up(wide_late=1.5, narrow_late=1.2, wide_soon=1.1)
    costly = holds(report(made))  # type: ignore[arg-type]
    assert [costly[claim] for claim in CLAIMS] == [True] * 4
    other = made_up(displacing=0.9, wide_late=0.8, narrow_late=1.2, wide_soon=1.1)
    cheap = holds(report(other))  # type: ignore[arg-type]
    assert [cheap[claim] for claim in CLAIMS] == [False] * 4
    few = holds(report(made_up(3, wide_late=1.5)))  # type: ignore[arg-type]
    assert [few[claim] for claim in (COST, WIDER, LEAD)] == [None] * 3


def test_limits_lengthen_waits() -> None:
    runs = [
        {"log": "sample", "policy": "fcfs", "limits": limits, "replication": pair}
        | {"mean_waiting_time": wait * (1 + pair), "mean_bounded_slowdown": 2.0}
        | {"wide_others_wait": wait, "narrow_others_wait": wait, "utilisation": 0.7}
        for pair in range(5)
        for limits, wait in (("none", HOUR), ("night", 2 * HOUR))
    ]
    made = report(MadeUpCampaign(runs, "reservations"))  # type: ignore[arg-type]
    assert holds(made) == {'The limits "night" lengthen the mean wait (fcfs).': True}
    assert one_row(table_of(made, "limits_sample").frame, limits="night")["change"] == (
        pytest.approx(100)
    )
