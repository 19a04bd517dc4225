"""The sites of a campaign's runs in its default report."""

from __future__ import annotations

from typing import Any

from batsched_py.report.campaign_report import make_plain_report
from batsched_py.report.formatting import format_headings, format_rows
from batsched_py.report.metric_matrix import SITE, list_runs_by_site
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


def test_waits_of_each_site_beside_the_first_policy_and_its_work() -> None:
    tables = {table.name: table for table in make_plain_report(OnSites()).tables}  # type: ignore[arg-type]
    waits = tables["site_waits"].frame
    assert waits[["alpha", SITE, "policy"]].iloc[:4].to_numpy().tolist() == [
        *([600, "west", policy] for policy in ("easy", "creasy")),
        *([600, "east", policy] for policy in ("easy", "creasy")),
    ]
    assert waits["mean_waiting_time"].iloc[:4].tolist() == [11, 11, 31, 15.5]
    words = waits["mean_waiting_time_words"].iloc[:4].tolist()
    assert words[:3] == ["", "no difference", ""]
    assert words[3].startswith("\N{MINUS SIGN}50 %")
    work = tables["sites"]
    assert {name: work.frame[name].iloc[0] for name in UNITS} == {
        name: 3600 * hours for name, hours in UNITS.items()
    }
    shown = dict(zip(format_headings(work), format_rows(work)[0], strict=True))
    assert shown["given [processor h]"] == "2"


def test_runs_without_sites_have_no_such_section() -> None:
    assert list_runs_by_site(MadeUp()).empty
    assert "Sites" not in [section.title for section in make_plain_report(MadeUp()).sections]
