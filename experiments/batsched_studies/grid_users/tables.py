"""The tables of the study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from batsched_py.report import Table
from batsched_py.report.kit import UNKNOWN, cells, slug
from batsched_py.report.sites_tables import SITE
from batsched_studies.grid_users import TEXTS
from batsched_studies.grid_users.site_runs import (
    LOCAL,
    MULTI_SITE,
    SCENARIOS,
    SHARING,
    SiteRuns,
    changes,
)

_WHOLE = ("wait", "awrt", "slowdown", "lateness", "delay", "away", "spread", "utilisation")


def tables(runs: SiteRuns) -> Iterator[Table | None]:
    """Yield the tables of a log."""
    log = runs.log
    yield TEXTS.table("whole", list(_whole(runs)), slug("whole", log), log=log)
    yield TEXTS.table("waits", list(_waits(runs)), slug("waits", log), log=log)
    yield TEXTS.table("work", list(_work(runs)), slug("work", log), log=log)
    found = [changes(runs, replay) for replay in runs.replays()]
    each = pd.concat(found) if found else pd.DataFrame()
    longer = [(at, "change") for at, change in enumerate(each.get("change", ())) if change > 0]
    yield TEXTS.table("assignments", each, slug("assignments", log), longer, log=log)


def _whole(runs: SiteRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each replay and scenario, over all sites."""
    for replay in runs.replays():
        of_replay = runs.whole.where(replay=replay)
        local = of_replay.where(scenario=LOCAL)
        for scenario in SCENARIOS:
            if of_case := of_replay.where(scenario=scenario):
                row: dict[str, Any] = {"replay": replay, "scenario": scenario}
                row |= {name: of_case.mean(name).value for name in _WHOLE}
                change = UNKNOWN if scenario == LOCAL else of_case.change("wait", local)
                yield row | cells(change, "change")


def _waits(runs: SiteRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for the users of each site under each replay: their waits before and after."""
    for replay in runs.replays():
        for site in runs.names():
            of_site = runs.sites.where(replay=replay, **{SITE: site})
            row: dict[str, Any] = {"replay": replay, "site": site}
            row["processors"] = of_site.frame["processors"].iloc[0]
            row["jobs"] = of_site.where(scenario=LOCAL).frame["nb_jobs"].mean()
            local = of_site.where(scenario=LOCAL)
            for scenario in SCENARIOS:
                if of_case := of_site.where(scenario=scenario):
                    row |= {f"{scenario}_wait": of_case.mean("wait").value}
                    row |= {f"{scenario}_lateness": of_case.mean("lateness").value}
            row |= cells(of_site.where(scenario=SHARING).change("wait", local), "change")
            if spread := of_site.where(scenario=MULTI_SITE):
                row["multi_site_change"] = spread.change("wait", local).value
            yield row


def _work(runs: SiteRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each site, replay and scenario with exchange: what it gave and took."""
    for replay in runs.replays():
        for scenario in (SHARING, MULTI_SITE):
            for site in runs.names():
                of_site = runs.sites.where(replay=replay, **{SITE: site})
                of_case, local = (of_site.where(scenario=s) for s in (scenario, LOCAL))
                if not of_case:
                    continue
                row: dict[str, Any] = {"replay": replay, "scenario": scenario, "site": site}
                row |= {name: of_case.mean(name).value for name in ("work", "given", "taken")}
                row |= cells(of_case.mean("balance"), "balance")
                row["utilisation_before"] = local.mean("utilisation").value
                yield row | {"utilisation": of_case.mean("utilisation").value}
