"""The study of sharing and reacting users: what the report says of runs that were made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py.units import HOUR
from batsched_studies.grid_users.report import report
from batsched_studies.grid_users.site_runs import MULTI_SITE, SHARING
from helpers.made_up_campaign import MadeUpCampaign, holds, one_row, table_of

SITES = {"large": 6, "small": 2}
WAITS = {
    # before and after sharing, hours
    ("rigid", "large"): (4.0, 2.0),
    ("rigid", "small"): (40.0, 2.0),
    ("feedback", "large"): (2.0, 2.2),
    ("feedback", "small"): (6.0, 1.5),
}
"""The large site gives, and its users pay where users react."""


class Shared(MadeUpCampaign):
    """All runs under some assignments; waits grow by a tenth with each, spreading by half."""

    def __init__(self, nb_assignments: int = 2, scenarios: int = 3) -> None:
        super().__init__(
            [
                self._row(replay, scenario, assignment)
                for replay in ("rigid", "feedback")
                for scenario in ("local", SHARING, MULTI_SITE)[:scenarios]
                for assignment in range(nb_assignments)
            ],
            "grid_users",
        )

    def _row(self, replay: str, scenario: str, assignment: int) -> dict[str, Any]:
        labels = {"log": "sample", "replay": replay, "scenario": scenario, "folder": Path("x")}
        row = {**labels, "assignment": str(assignment), "nb_multi_site_jobs": 1.0}
        of_sites = [self._site(row, site) for site in SITES]
        for name in ("mean_waiting_time", "mean_lateness", "mean_turnaround_time_by_width"):
            row[name] = sum(values[name] for values in of_sites) / len(of_sites)
        shares = ("away_area_share", "multi_site_job_share", "utilisation")
        return row | dict.fromkeys(shares, 0.25) | {"mean_bounded_slowdown": 2.0}

    def _site(self, row: Any, site: str) -> dict[str, Any]:
        before, after = WAITS[row["replay"], site]
        wait = before if row["scenario"] == "local" else after
        wait *= HOUR * (1.5 if row["scenario"] == MULTI_SITE else 1)
        wait *= 1 + 0.1 * int(row["assignment"])
        given, taken = (120, 60) if site == "large" else (60, 120)
        if row["scenario"] == "local":
            given = taken = 0
        return {
            "processors": SITES[site],
            "nb_jobs": 10,
            "mean_waiting_time": wait,
            "mean_turnaround_time_by_width": 2 * wait,
            "mean_lateness": wait if row["replay"] == "feedback" else 0.0,
            "work_of_users": 300.0,
            "work_done": 300.0 + given - taken,
            "given": given,
            "taken": taken,
            "balance": given - taken,
            "utilisation": (300 + given - taken) / (SITES[site] * 100),
        }

    def settings(self, row: Any) -> dict[str, Any]:
        return {"metrics": {"per_site": {site: self._site(row, site) for site in SITES}}}


def test_the_tables_say_what_the_runs_do() -> None:
    made = report(Shared())  # type: ignore[arg-type]
    whole = one_row(table_of(made, "whole_sample").frame, replay="rigid", scenario=SHARING)
    assert whole["wait"] == pytest.approx(2 * 1.05)
    assert whole["change"] == pytest.approx(100 * (2 / 22 - 1))
    waits = one_row(table_of(made, "waits_sample").frame, replay="feedback", site="large")
    assert (waits["local_wait"], waits["sharing_wait"]) == pytest.approx((2.1, 2.31))
    assert (waits["change"], waits["multi_site_change"]) == pytest.approx((10, 65))
    work = table_of(made, "work_sample").frame
    large = one_row(work, replay="rigid", scenario=SHARING, site="large")
    shares = large[["work", "given", "taken", "balance"]].tolist()
    assert shares == pytest.approx([50, 20, 10, 10])  # of 600 processor-seconds
    each = table_of(made, "assignments_sample")
    assert [each.frame.iloc[at]["change"] for at, _ in each.marks] == pytest.approx([10, 10])


def test_the_claims_are_judged() -> None:
    """The large site gives; its users pay, and spreading shortens no waits."""
    found = holds(report(Shared(5)))  # type: ignore[arg-type]
    rigid, reacting = "rigid users", "users who react"
    refuted = [claim for claim, answer in found.items() if answer is False]
    assert [claim.rpartition(": ")[2] for claim in refuted] == [reacting, rigid, rigid, reacting]
    assert [claim.partition(" ")[0] for claim in refuted] == [
        *("Sharing", "The"),
        *("Spreading", "Spreading"),
    ]
    assert list(found.values()).count(True) == 8


@pytest.mark.parametrize(("nb_assignments", "scenarios"), [(1, 3), (0, 3), (5, 1)])
def test_too_few_runs_judge_nothing(nb_assignments: int, scenarios: int) -> None:
    made = report(Shared(nb_assignments, scenarios))  # type: ignore[arg-type]
    assert set(holds(made).values()) <= {None}
