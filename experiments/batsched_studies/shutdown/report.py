"""The report of the study, for all of its campaign files."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Report, Table, kit
from batsched_py.report.kit import Interval, Runs
from batsched_py.support import palette
from batsched_studies.shutdown import PUBLISHED, TEXTS
from batsched_studies.shutdown import cases as c
from batsched_studies.shutdown.claims import judge_claims

_OF_BASES = ("load", "wait", "possible")
_SAVINGS = (c.SAVED, c.OF_IDLE, c.OF_POSSIBLE, "held", c.CHANGE, c.SLEEPS)
_WAITS = (c.ADDED, c.WAKING, c.REST, "late", "work")


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    logs = c.read(results.runs)
    parts = ((log, _parts(log, runs)) for log, runs in logs.items())
    judged = (verdict for log, runs in logs.items() for verdict in judge_claims(log, runs))
    summary = TEXTS["summary"].format(runs=len(results.runs)) if logs else TEXTS["nothing"]
    return TEXTS.report(parts, judged, summary, results.title)


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    yield draw_savings(log, runs)
    cases = list(c.find_cases(runs))
    tables: dict[str, list[dict[str, Any]]] = {
        "bases": [_means(case, *_OF_BASES) for case in cases if case.idle_time == inf],
        "savings": [_means(case, *_SAVINGS) for case in cases if case.idle_time < inf],
        "waits": [_means(case, *_WAITS) for case in cases if case.idle_time < inf],
        "reacting": list(_reacting(runs)),
        "pilot": list(_pilot(log, runs)),
    }
    for key, rows in tables.items():
        yield TEXTS.table(key, rows, kit.slug(key, log), log=log)


def _place(case: c.Case, **found: Interval) -> dict[str, Any]:
    """Return a case as a row, with quantities and their intervals."""
    row: dict[str, Any] = {"users": case.loop, "factor": case.factor}
    row |= {"idle_time": case.idle_time, "keep": case.keep}
    for name, value in found.items():
        row |= kit.cells(value, name, f"{name}_low", f"{name}_high", nb="n")
    return row


def _means(case: c.Case, *names: str) -> dict[str, Any]:
    return _place(case, **{name: case.runs.mean(name) for name in names})


def _reacting(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield by how much more users who react save and wait than rigid ones."""
    for case in c.find_cases(runs, c.REACTING):
        if case.idle_time < inf and (rigid := c.select(runs, c.RIGID, *case[1:4])):
            names = (*c.COMPARED, c.ADDED)
            yield _place(case, **{name: c.compare(case.runs, rigid, name) for name in names})


def _pilot(log: str, runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the cases of the pilot, with its numbers."""
    for case in c.find_cases(runs, (c.RECORDED,)):
        path = (log, f"{case.factor:g}", f"{case.idle_time:g}")
        if theirs := kit.find_published(PUBLISHED, "pilot", *path):
            row = _means(case, c.SAVED, c.CHANGE, c.ADDED, c.WAKING, c.SLEEPS)
            for name, (value, *ends) in theirs.items():
                columns = (f"{name}_pilot", f"{name}_pilot_low", f"{name}_pilot_high")
                row |= dict(zip(columns, (value, *ends), strict=False))
            yield row


_COLOURS = dict(zip(c.LOOPS[1:], (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True))


def draw_savings(log: str, runs: Runs) -> Figure | None:
    """Draw the saving against the time for waking, with a line for each kind of users."""
    rows: list[dict[str, Any]] = []
    for case in c.find_cases(runs, (*_COLOURS,)):
        if case.idle_time < inf:
            row = {"machine": f"x{case.factor:g}", "waking": case.runs.mean(c.WAKING).value}
            rows.append(_place(case) | row | kit.chart_cells(case.runs.mean(c.SAVED)))
    if not rows:
        return None
    title, waking = c.NAMES[c.SAVED], alt.X("waking:Q", title=c.NAMES[c.WAKING])
    saved = alt.Y("ours:Q", title=title, scale=alt.Scale(zero=False))
    users = alt.Color("users:N", title=None, scale=kit.scale_of(_COLOURS, list(c.LOOPS)))
    tips = ["users:N", "idle_time:Q", "keep:N", *kit.numbers("waking", "ours", digits=".3g")]
    base = alt.Chart(pd.DataFrame(rows)).encode(x=waking, color=users)
    points = base.mark_point(filled=True, size=50, opacity=1)
    shape = alt.Shape("keep:N", title="reserve")
    lines = base.transform_filter("datum.keep == '0'").mark_line()
    layers = alt.layer(
        lines.encode(y=saved, order="idle_time:Q"),
        base.mark_rule().encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        points.encode(y=saved, shape=shape, tooltip=tips),
    )
    panels = alt.Facet("machine:N", title=None)
    chart = layers.properties(width=230, height=240).facet(facet=panels, columns=3)
    return TEXTS.figure("savings", chart, kit.slug("figure_savings", log), log=log)
