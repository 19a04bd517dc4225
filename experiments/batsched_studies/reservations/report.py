"""The report of the study: how much longer users wait for reservations and limits; claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Report, Table, kit
from batsched_py.report.kit import Runs
from batsched_py.support import palette
from batsched_studies.reservations import TEXTS
from batsched_studies.reservations.claims import judge_claims
from batsched_studies.reservations.costs import LIMITS, OTHERS, REQUEST, Case, find_cases, read


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    logs = read(results)
    asked = any(runs.labels(REQUEST) for runs in logs.values())
    summary = TEXTS["reservations" if asked else "limits"]
    return TEXTS.report_by_log(logs, _parts, judge_claims, summary, results.title)


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    yield draw_costs(log, runs)
    for axis, row in ((REQUEST, _reservation), (LIMITS, _limit)):
        rows = [case.labels | row(case) for case in find_cases(runs, axis)]
        shown = kit.where_known(rows, TEXTS.columns(axis))
        yield TEXTS.table(axis, rows, kit.slug(axis, log), columns=shown, log=log)


def _reservation(case: Case) -> dict[str, Any]:
    values = ("asked", "admitted", "reserving")
    return {
        **{name: case.with_it.mean(name).value for name in values},
        "reserving_before": case.without.mean("reserving").value,
        "before": case.without.mean(OTHERS).value,
        "after": case.with_it.mean(OTHERS).value,
        **kit.cells(case.change(OTHERS), "change", nb="pairs"),
        **kit.cells(case.change("wide"), "wide", "wide_low", "wide_high"),
        **kit.cells(case.change("narrow"), "narrow", "narrow_low", "narrow_high"),
        "utilisation": case.without.mean("utilisation").value,
    }


def _limit(case: Case) -> dict[str, Any]:
    return {
        "before": case.without.mean("wait").value,
        "after": case.with_it.mean("wait").value,
        **kit.cells(case.change("wait"), "change", nb="pairs"),
        **kit.cells(case.change("wide"), "wide", "wide_low", "wide_high"),
        **kit.cells(case.change("narrow"), "narrow", "narrow_low", "narrow_high"),
        "slowdown": case.change("slowdown").value,
        "utilisation": case.with_it.mean("utilisation").value,
        "utilisation_before": case.without.mean("utilisation").value,
    }


_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "stroke")
_TITLE = "change of the others' mean wait (%)"


def draw_costs(log: str, runs: Runs) -> Figure | None:
    """Draw the changes of the other users' mean wait; None without reservations.

    Each width has a panel with its own axis, since wide reservations cost far more.
    """
    found = list(find_cases(runs, REQUEST))
    if not found:
        return None
    rows = [
        {
            "policy": case.labels["policy"],
            "width": _share(case.labels["width"]),
            "request": case.labels[REQUEST],
            **kit.chart_cells(case.change(OTHERS)),
        }
        for case in found
    ]
    frame = pd.DataFrame(rows)
    policies, requests, widths = (
        list(frame[name].unique()) for name in ("policy", "request", "width")
    )
    colours = dict(zip(policies, palette.CATEGORIES, strict=False))
    shapes = dict(zip(policies, _SHAPES, strict=False))
    base = alt.Chart().encode(
        x=alt.X("request:N", title=None, sort=requests, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("policy:N", sort=policies),
        color=alt.Color("policy:N", title=None, scale=kit.scale_of(colours, policies)),
        tooltip=[
            "policy:N",
            "width:N",
            "request:N",
            *kit.numbers("ours", "low", "high", digits=".3g"),
        ],
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("ours:Q", title=_TITLE),
        shape=alt.Shape("policy:N", title=None, scale=kit.scale_of(shapes, policies)),
    )
    zero = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(y=alt.datum(0))
    layers = alt.layer(zero, *kit.intervals(base, rows, _TITLE), points)
    panels = alt.Facet("width:N", title=None, sort=widths)
    chart = layers.properties(width=340, height=280).facet(
        facet=panels, data=frame, columns=len(widths)
    )
    chart = chart.resolve_scale(y="independent")
    return TEXTS.figure("cost", chart, kit.slug("figure_cost", log), log=log)


def _share(width: float) -> str:
    return f"{100 * width:g} % of the machine"
