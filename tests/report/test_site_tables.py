"""The sites of a campaign's runs in its default report."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.report.default_report import plain_report
from batsched_py.report.sites_tables import SITE, runs_by_site
from helpers.made_up_report import MadeUp

UNITS = {"work_of_users": 1, "given": 2, "taken": 1, "balance": 1}


class OnSites(MadeUp):
    """A campaign on two sites: under the second policy the users of the east wait half as long."""

    def __init__(self, nb_replications: int = 3) -> None:
        super().__init__(nb_replications)
        self.runs["nb_multi_site_jobs"] = 7.0

    def settings(self, row: Any) -> dict[str, Any]:
        shorter = 2 if row["policy"] == "creasy" else 1
        waits = {"west": 10.0 + row["replication"], "east": (30.0 + row["replication"]) / shorter}
        work = {name: 3600.0 * hours for name, hours in UNITS.items()}
        per_site = {
            site: {
                "processors": 4,
                "nb_jobs": 5,
                "mean_waiting_time": wait,
                "mean_turnaround_time_by_width": 2 * wait,
                **work,
                "utilisation": 0.5,
            }
            for site, wait in waits.items()
        }
        return {**super().settings(row), "metrics": {"per_site": per_site}}


def test_means_of_each_site_and_its_waits_beside_the_first_policy() -> None:
    tables = {table.name: table for table in plain_report(OnSites()).tables}
    means = tables["sites"].frame
    assert means[["policy", "alpha", SITE]].iloc[:3].to_numpy().tolist() == [
        ["easy", 600, "west"],
        ["easy", 600, "east"],
        ["easy", 6000, "west"],
    ]
    assert means["mean_waiting_time"].iloc[:2].tolist() == [11, 31]
    assert {name: means[name].iloc[0] for name in UNITS} == UNITS  # hours
    ratios = tables["site_ratios"].frame.query("metric == 'mean waiting time'")
    of_site = dict(zip(ratios[SITE], ratios["ratio"], strict=False))
    assert of_site == {"west": 1, "east": pytest.approx(0.5)}


def test_runs_without_sites_have_no_such_section() -> None:
    assert runs_by_site(MadeUp()).empty
    assert "Sites" not in [section.title for section in plain_report(MadeUp()).sections]
