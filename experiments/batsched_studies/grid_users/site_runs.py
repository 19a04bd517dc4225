"""The runs of the study, in total and by grid site, and the changes that sharing causes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import CampaignResults
from batsched_py.report.kit import SEED, Quantity, Runs, log_name, paired
from batsched_py.report.metric_matrix import SITE, list_runs_by_site
from batsched_py.units import HOUR

LOCAL, SHARING, MULTI_SITE = SCENARIOS = ("local", "sharing", "multi_site")
RIGID, FEEDBACK = REPLAYS = ("rigid", "feedback")
NAMES = {RIGID: "rigid users", FEEDBACK: "users who react"}
QUANTITIES = (
    Quantity("wait", "mean_waiting_time", "mean wait (h)", 1 / HOUR),
    Quantity("awrt", "mean_turnaround_time_by_width", "AWRT (h)", 1 / HOUR),
    Quantity("lateness", "mean_lateness", "mean lateness (h)", 1 / HOUR),
    Quantity("delay", "mean_delay", "recorded submission to start (h)", 1 / HOUR),
    Quantity("slowdown", "mean_bounded_slowdown", "bounded slowdown"),
    Quantity("away", "away_area_share", "work done away (%)", 100),
    Quantity("spread", "multi_site_job_share", "jobs on several grid sites (%)", 100),
    Quantity("work", "work_of_users_share", "work of its users (%)", 100),
    Quantity("given", "given_share", "given (%)", 100),
    Quantity("taken", "taken_share", "taken (%)", 100),
    Quantity("balance", "balance_share", "balance (%)", 100),
    Quantity("utilisation", "utilisation", "utilisation (%)", 100),
)


@dataclass(frozen=True)
class SiteRuns:
    """The runs of one log: a row for each run, and a row for each grid site of each run."""

    log: str
    whole: Runs
    sites: Runs

    def list_replays(self) -> list[str]:
        """Return the replays with runs both before and after sharing."""
        return [
            replay
            for replay in REPLAYS
            if all(self.whole.where(replay=replay, scenario=s) for s in (LOCAL, SHARING))
        ]

    def list_sites(self) -> list[Any]:
        """Return the names of the grid sites, from the largest to the smallest."""
        frame = self.sites.frame.sort_values("processors", ascending=False, kind="stable")
        return list(frame[SITE].unique())


def read(results: CampaignResults) -> list[SiteRuns]:
    """Read the runs of a campaign, log by log; each assignment of users is a replication.

    The work of each grid site's users, given, taken and the balance are shares of its capacity,
    as its utilisation is. A job's delay is from its recorded submission to its start: lateness
    and wait.
    """
    if results.runs.empty:
        return []
    whole = results.runs.assign(log=results.runs["log"].map(log_name))
    whole[SEED] = whole["assignment"]
    whole["mean_delay"] = whole["mean_lateness"] + whole["mean_waiting_time"]
    sites = list_runs_by_site(results).assign(log=lambda frame: frame["log"].map(log_name))
    sites[SEED] = sites["assignment"]
    capacity = sites["work_done"] / sites["utilisation"]
    for name in ("work_of_users", "given", "taken", "balance"):
        sites[f"{name}_share"] = sites[name] / capacity
    return [
        SiteRuns(
            log,
            Runs(whole[whole["log"] == log], QUANTITIES),
            Runs(sites[sites["log"] == log], QUANTITIES),
        )
        for log in whole["log"].unique()
    ]


def compute_changes(runs: SiteRuns, replay: str) -> pd.DataFrame:
    """Return what sharing changes for each grid site under each assignment, a row each.

    ``site``, ``assignment``, the mean waits ``before`` and ``after`` (h), the ``change`` of the
    wait (%), and the ``balance`` after it (% of the capacity).
    """
    rows = []
    of_replay = runs.sites.where(replay=replay)
    for site in runs.list_sites():
        of_site = of_replay.where(**{SITE: site})
        local, shared = (of_site.where(scenario=name) for name in (LOCAL, SHARING))
        before, after = paired(local.values("wait"), shared.values("wait"))
        balance = shared.values("balance")
        for assignment in before.index:
            row = {"site": site, "assignment": assignment, "replay": replay}
            row |= {"before": before[assignment], "after": after[assignment]}
            rows.append(row | {"balance": balance[assignment]})
    columns = ["site", "assignment", "replay", "before", "after", "balance"]
    frame = pd.DataFrame(rows, columns=columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        return frame.assign(change=100 * (frame["after"] / frame["before"] - 1))
