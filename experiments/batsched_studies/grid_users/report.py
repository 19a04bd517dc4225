"""The report: waits before and after sharing, work given and taken by grid sites, and claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Part, Report, Table
from batsched_py.report.kit import UNKNOWN, cells, numbers, scale_of, slug
from batsched_py.report.metric_matrix import SITE
from batsched_py.support import palette
from batsched_py.units import HOUR
from batsched_studies.grid_users import TEXTS, site_runs
from batsched_studies.grid_users.claims import judge_claims


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    logs = site_runs.read(results)
    judged = (verdict for runs in logs for verdict in judge_claims(runs))
    return TEXTS.report(_parts(logs), judged, _summary(results, logs), results.title)


def _parts(logs: Sequence[site_runs.SiteRuns]) -> Iterator[tuple[str, Iterable[Part | None]]]:
    for runs in logs:
        yield runs.log, (*make_tables(runs), *draw_figures(runs))


def _summary(results: CampaignResults, logs: Sequence[site_runs.SiteRuns]) -> str:
    if not logs:
        return "No run has finished yet."
    assignments = results.runs["assignment"].nunique()
    return TEXTS["summary"].format(runs=len(results.runs), assignments=assignments)


_WHOLE = ("wait", "awrt", "slowdown", "lateness", "delay", "away", "spread", "utilisation")


def make_tables(runs: site_runs.SiteRuns) -> Iterator[Table | None]:
    """Yield the tables of a log: all grid sites together, waits, work and assignments."""
    log = runs.log
    rows = {"whole": _whole(runs), "waits": _waits(runs), "work": _work(runs)}
    yield from TEXTS.tables(log, rows)
    found = [site_runs.compute_changes(runs, replay) for replay in runs.list_replays()]
    each = pd.concat(found) if found else pd.DataFrame()
    longer = [(at, "change") for at, change in enumerate(each.get("change", ())) if change > 0]
    yield TEXTS.table("assignments", each, slug("assignments", log), longer, log=log)


def _whole(runs: site_runs.SiteRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each replay and scenario, over all grid sites."""
    for replay in runs.list_replays():
        of_replay = runs.whole.where(replay=replay)
        local = of_replay.where(scenario=site_runs.LOCAL)
        for scenario in site_runs.SCENARIOS:
            if of_case := of_replay.where(scenario=scenario):
                row: dict[str, Any] = {"replay": replay, "scenario": scenario}
                row |= {name: of_case.mean(name).value for name in _WHOLE}
                change = UNKNOWN if scenario == site_runs.LOCAL else of_case.change("wait", local)
                yield row | cells(change, "change")


def _waits(runs: site_runs.SiteRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each grid site and replay: waits of its users before and after sharing."""
    for replay in runs.list_replays():
        for site in runs.list_sites():
            of_site = runs.sites.where(replay=replay, **{SITE: site})
            row: dict[str, Any] = {"replay": replay, "site": site}
            row["processors"] = of_site.frame["processors"].iloc[0]
            row["jobs"] = of_site.where(scenario=site_runs.LOCAL).frame["nb_jobs"].mean()
            local = of_site.where(scenario=site_runs.LOCAL)
            for scenario in site_runs.SCENARIOS:
                if of_case := of_site.where(scenario=scenario):
                    row |= {f"{scenario}_wait": of_case.mean("wait").value}
                    row |= {f"{scenario}_lateness": of_case.mean("lateness").value}
            row |= cells(of_site.where(scenario=site_runs.SHARING).change("wait", local), "change")
            if spread := of_site.where(scenario=site_runs.MULTI_SITE):
                row["multi_site_change"] = spread.change("wait", local).value
            yield row


def _work(runs: site_runs.SiteRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each grid site, replay and shared scenario: work given and taken."""
    for replay in runs.list_replays():
        for scenario in (site_runs.SHARING, site_runs.MULTI_SITE):
            for site in runs.list_sites():
                of_site = runs.sites.where(replay=replay, **{SITE: site})
                of_case, local = (of_site.where(scenario=s) for s in (scenario, site_runs.LOCAL))
                if not of_case:
                    continue
                row: dict[str, Any] = {"replay": replay, "scenario": scenario, "site": site}
                row |= {name: of_case.mean(name).value for name in ("work", "given", "taken")}
                row |= cells(of_case.mean("balance"), "balance")
                row["utilisation_before"] = local.mean("utilisation").value
                yield row | {"utilisation": of_case.mean("utilisation").value}


_SCENARIOS = dict(
    zip(site_runs.SCENARIOS, (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True)
)
_SHAPES = dict(zip(site_runs.SCENARIOS, ("circle", "square", "triangle-up"), strict=True))
_REPLAYS = {site_runs.RIGID: palette.BLACK, site_runs.FEEDBACK: palette.BLUE}


def draw_figures(runs: site_runs.SiteRuns) -> Iterator[Figure | None]:
    """Yield the figures of a log: waits of each grid site's users, and balance against wait."""
    if runs.list_replays():
        yield _waits_figure(runs)
        yield _balance_figure(runs)


def _waits_figure(runs: site_runs.SiteRuns) -> Figure:
    frame = runs.sites.frame
    shown = frame[frame["replay"].isin(runs.list_replays()) & (frame["mean_waiting_time"] > 0)]
    points = shown[["replay", "scenario", "assignment", SITE]].rename(columns={SITE: "site"})
    points["wait"] = shown["mean_waiting_time"] / HOUR
    marks = alt.Chart(points).mark_point(size=60)
    marks = marks.encode(
        x=alt.X("site:N", title=None, sort=runs.list_sites(), axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("scenario:N", sort=list(site_runs.SCENARIOS)),
        y=alt.Y("wait:Q", title="mean wait of its users (h)", scale=alt.Scale(type="log")),
        color=alt.Color("scenario:N", title=None, scale=scale_of(_SCENARIOS, site_runs.SCENARIOS)),
        shape=alt.Shape("scenario:N", title=None, scale=scale_of(_SHAPES, site_runs.SCENARIOS)),
        tooltip=["replay:N", "site:N", "scenario:N", "assignment:N", *numbers("wait")],
    )
    replays = runs.list_replays()
    panels = alt.Facet("replay:N", title=None, sort=replays)
    chart = marks.properties(width=300, height=260).facet(facet=panels, columns=len(replays))
    return TEXTS.figure("waits", chart, slug("figure_waits", runs.log), log=runs.log)


def _balance_figure(runs: site_runs.SiteRuns) -> Figure:
    points = pd.concat([site_runs.compute_changes(runs, replay) for replay in runs.list_replays()])
    base = alt.Chart(points).encode(
        x=alt.X("balance:Q", title="given - taken (% of the capacity)"),
        y=alt.Y("change:Q", title="wait of its users, sharing against local (%)"),
    )
    marks = base.mark_point(filled=True, size=70).encode(
        color=alt.Color("replay:N", title=None, scale=scale_of(_REPLAYS, runs.list_replays())),
        shape=alt.Shape("site:N", title=None, sort=runs.list_sites()),
        tooltip=[
            "replay:N",
            "site:N",
            "assignment:N",
            *numbers("balance", "before", "after", "change"),
        ],
    )
    zero = alt.Chart(pd.DataFrame({"y": [0]})).mark_rule(strokeDash=[4, 4]).encode(y="y:Q")
    chart = alt.layer(zero, marks).properties(width="container", height=320)
    return TEXTS.figure("balance", chart, slug("figure_balance", runs.log), log=runs.log)
