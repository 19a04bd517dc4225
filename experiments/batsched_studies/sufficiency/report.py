"""The report of the study, for all of its campaign files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Report, Table, kit
from batsched_py.report.kit import Runs
from batsched_py.support import palette
from batsched_py.units import HOUR
from batsched_studies.sufficiency import PUBLISHED, TEXTS, cases
from batsched_studies.sufficiency import cases as c
from batsched_studies.sufficiency.claims import judge_claims
from batsched_users.behaviour.levers import LEVERS


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    logs = cases.read(results.runs)
    scarce = cases.describe_scarcity(next(iter(logs.values()))) if logs else ""
    summary = TEXTS["summary"].format(runs=len(results.runs), scarce=scarce)
    return TEXTS.report_by_log(logs, _parts, judge_claims, summary, results.title)


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    rows = {"rebound": _rebound(runs), "own": _own(runs), "savings": _savings(runs)}
    rows |= {"users": _users(runs), "bases": _bases(runs), "effort": _effort(runs)}
    yield from TEXTS.tables(log, rows)
    yield _savings_figure(log, runs)
    yield _day_figure(log, runs)


def _rebound(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the savings in an open loop and with reacting users, and the rebound."""
    for loop, lever, share, _ in c.find_cases(runs):
        if loop not in c.REACTING or not c.select_base(runs, c.OPEN):
            continue
        for where in (c.RED, c.ALL) if lever in c.LESS_WORK else (c.RED,):
            actual, expected = c.pair_savings(runs, loop, lever, share, where)
            row: dict[str, Any] = {"users": loop, "lever": lever, "share": 100 * share}
            row |= {"where": where, "expected": expected.mean(), "actual": actual.mean()}
            row |= kit.cells(c.compute_loss(runs, loop, lever, share, where), "lost", nb="n")
            rebound = c.compute_rebound(runs, loop, lever, share, where)
            yield row | kit.cells(rebound, "rebound", "rebound_low", "rebound_high")


def _own(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield by how much the work of all jobs falls, and the savings over all weeks."""
    for loop, lever, share, _ in c.find_cases(runs):
        lost = c.compute_regained(runs, loop, lever)
        if share == 1 and lever in c.LESS_WORK and lost.nb:
            row: dict[str, Any] = {"users": loop, "lever": lever}
            row["expected"] = c.compute_own_loss(runs, loop, lever).mean()
            row["work"] = c.compute_savings(runs, loop, lever, share, c.WORK).mean()
            row["saved"] = c.compute_savings(runs, loop, lever, share, c.ALL).mean()
            yield row | kit.cells(lost, "lost", nb="n")


def _savings(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the savings in red hours, after them and in total."""
    for loop, lever, share, of_case in c.find_cases(runs):
        row: dict[str, Any] = {"users": loop, "lever": lever, "share": 100 * share}
        for where in (c.RED, c.AFTER, c.ALL, "total"):
            found = kit.mean_interval(c.compute_savings(runs, loop, lever, share, where))
            row |= kit.cells(found, where, f"{where}_low", f"{where}_high", nb="n")
        yield row | _jobs(of_case)


def _jobs(runs: Runs) -> dict[str, float]:
    """Return the per cent of submitted jobs that each lever changed."""
    jobs = runs.values("nb_jobs").mean()
    return {name: 100 * runs.values(f"jobs_{name}").mean() / jobs for name in LEVERS[:-1]}


def _users(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield how much longer users wait and how many fewer jobs they submit."""
    for loop, lever, share, of_case in c.find_cases(runs):
        row: dict[str, Any] = {"users": loop, "lever": lever, "share": 100 * share}
        without = c.select_base(runs, loop)
        for name in ("wait", "from_wish", "lateness"):
            change = kit.paired_difference(*kit.paired(of_case.values(name), without.values(name)))
            row |= kit.cells(change, name, f"{name}_low", f"{name}_high", nb="n")
        yield row | {"jobs": of_case.change("jobs", without).value}


def _bases(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield jobs, utilisation and waits without any lever."""
    for loop in c.LOOPS:
        if without := c.select_base(runs, loop):
            names = ("jobs", "utilisation", "wait", "slowdown", "lateness")
            row: dict[str, Any] = {"users": loop, "n": len(without)}
            yield row | {name: without.values(name).mean() for name in names}


def _effort(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the savings of mixed levers by effort, with the published number."""
    published = PUBLISHED["ict4s"]
    for loop in c.LOOPS:
        for lever, effort in c.EFFORTS.items():
            found = c.compute_savings(runs, loop, lever, 1.0, c.RED)
            if len(found) and runs.where(lever="50"):
                row = {"users": loop, "effort": 100 * effort, "n": len(found)}
                if loop == c.OPEN and effort == published["effort"]:
                    row["published"] = published["saved"]
                yield row | kit.cells(kit.mean_interval(found), "red")


_COLOURS = dict(zip(c.LOOPS, (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True))
_WHO = {"no lever": palette.BLACK, "all delay": palette.VERMILION, "all renounce": palette.BLUE}


def _savings_figure(log: str, runs: Runs) -> Figure | None:
    rows: list[dict[str, Any]] = []
    for loop, lever, share, _ in c.find_cases(runs):
        if share == 1:
            found = kit.mean_interval(c.compute_savings(runs, loop, lever, share, c.RED))
            rows.append({"users": loop, "lever": lever, **kit.chart_cells(found)})
    if not rows:
        return None
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("lever:N", title=None, sort=list(c.ORDER), axis=alt.Axis(labelAngle=-20)),
        xOffset=alt.XOffset("users:N", sort=list(c.LOOPS)),
        color=alt.Color("users:N", title=None, scale=kit.scale_of(_COLOURS, list(c.LOOPS))),
        tooltip=["users", "lever", *kit.numbers("ours", "low", "high", digits=".3g")],
    )
    title = "saved in red hours (% of the energy above idling)"
    ends = base.mark_rule().encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(y="ours:Q")
    chart = alt.layer(ends, points).properties(width="container", height=300)
    return TEXTS.figure("savings", chart, kit.slug("figure_savings", log), log=log)


def _day_figure(log: str, runs: Runs) -> Figure | None:
    rows: list[dict[str, Any]] = []
    shown = {"no lever": c.RIGID, "all delay": c.DELAY, "all renounce": "renounce"}
    for loop in c.LOOPS:
        for who, lever in shown.items():
            of_case = runs.where(loop=loop, lever=lever, share=1.0)
            days = runs.frame["seconds_all"].mean() / (24 * HOUR)
            for hour in range(25) if of_case else ():  # the last step goes on until 24:00
                busy = of_case.values(f"busy_at_{min(hour, 23):02d}").mean() / (days * HOUR)
                rows.append({"users": loop, "who": who, "hour": hour, "busy": float(busy)})
    if not rows:
        return None
    there = [who for who in shown if any(row["who"] == who for row in rows)]
    lines = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("hour:Q", title="hour of the day", scale=alt.Scale(domain=[0, 24], nice=False)),
            y=alt.Y("busy:Q", title="mean busy processors"),
            color=alt.Color("who:N", title=None, scale=kit.scale_of(_WHO, there)),
            tooltip=["users", "who", "hour", *kit.numbers("busy", digits=".4g")],
        )
    )
    loops = [loop for loop in c.LOOPS if any(row["users"] == loop for row in rows)]
    panels = alt.Facet("users:N", title=None, sort=loops)
    chart = lines.properties(width=240, height=220).facet(facet=panels, columns=len(loops))
    scarce = c.describe_scarcity(runs)
    return TEXTS.figure("day", chart, kit.slug("figure_day", log), log=log, scarce=scarce)
