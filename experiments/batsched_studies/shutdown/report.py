"""The report of the study, for all of its campaign files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

_SHOWN = {
    "bases": ("load", "wait", "possible"),
    "savings": (c.SAVED, c.OF_IDLE, c.OF_POSSIBLE, "held", c.CHANGE, c.SWITCHES),
    "waits": (c.ADDED, c.WAKING, c.REST, "late", "work"),
}
"""The quantities that are shown in each table of means."""

_OF_PILOT = (c.SAVED, c.ADDED, c.WAKING, c.SWITCHES)


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    logs = c.read(results.runs)
    parts = ((log, _parts(log, runs)) for log, runs in logs.items())
    judged = (verdict for log, runs in logs.items() for verdict in judge_claims(log, runs))
    summary = TEXTS["summary"].format(runs=len(results.runs)) if logs else TEXTS["nothing"]
    return TEXTS.report(parts, judged, summary, results.title)


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    cases = [(dict(zip(c.PLACE, place, strict=True)), of) for place, of in runs.groups(*c.PLACE)]
    switched = [case for case in cases if case[0]["idle_time"] < inf]
    tables = {
        name: [
            place | _cells({name: of.mean(name) for name in shown})
            for place, of in cases
            if (place["idle_time"] == inf) == (name == "bases")
        ]
        for name, shown in _SHOWN.items()
    }
    tables["reacting"] = [
        place | _cells({name: c.compare(of, rigid, name) for name in (*c.NAMES, c.ADDED)})
        for place, of in switched
        if place["loop"] in c.REACTING and (rigid := runs.where(**place | {"loop": c.RIGID}))
    ]
    tables["pilot"] = [
        place | _cells({name: of.mean(name) for name in (*_OF_PILOT, c.CHANGE)}) | theirs
        for place, of in switched
        if (theirs := _find_pilot(log, **place))
    ]
    if switched:
        rows = [
            place | _cells({n: of.mean(n) for n in (c.SAVED, c.WAKING)}) for place, of in switched
        ]
        chart = draw_savings(pd.DataFrame(rows).assign(log=log))
        yield TEXTS.figure("savings", chart, kit.slug("figure_savings", log), log=log)
    for key, rows in tables.items():
        yield TEXTS.table(key, rows, kit.slug(key, log), log=log)


def _cells(found: Mapping[str, Interval]) -> dict[str, Any]:
    """Return quantities and their intervals as cells."""
    cells: dict[str, Any] = {}
    for name, value in found.items():
        cells |= kit.cells(value, name, f"{name}_low", f"{name}_high", nb="n")
    return cells


def _find_pilot(log: str, loop: str, node_factor: float, idle_time: float, keep: str) -> Any:
    """Return the numbers of the pilot for a case as cells, none if it has none."""
    path = (loop, log, f"{node_factor:g}", f"{idle_time:g}", keep)
    theirs = kit.find_published(PUBLISHED, "pilot", *path, otherwise={})
    return {f"pilot_{name}": value for name, value in theirs.items()}


_COLOURS = dict(zip(c.LOOPS[1:], (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True))


def draw_savings(cases: pd.DataFrame) -> kit.Chart:
    """Draw the saving against the time for waking, with a line for each kind of users.

    A row for each case has log, :data:`cases.PLACE`, ``saved`` with its interval, and ``waking``.
    """
    title, waking = c.NAMES[c.SAVED], alt.X("waking:Q", title=c.NAMES[c.WAKING])
    users = alt.Color("loop:N", title="users", scale=kit.scale_of(_COLOURS, list(cases["loop"])))
    panel = cases["log"] + ", machine x" + cases["node_factor"].map("{:g}".format)
    base = alt.Chart(cases.assign(panel=panel)).encode(x=waking, color=users)
    saved = alt.Y("saved:Q", title=title, scale=alt.Scale(zero=False))
    tips = ["loop:N", "idle_time:Q", "keep:N", *kit.numbers("waking", "saved", digits=".3g")]
    points = base.mark_point(filled=True, size=50, opacity=1, tooltip=True)
    shape = alt.Shape("keep:N", title="reserve")
    layers = alt.layer(
        base.transform_filter("datum.keep == '0'").mark_line().encode(y=saved, order="idle_time:Q"),
        base.mark_rule().encode(y=alt.Y("saved_low:Q", title=title), y2="saved_high:Q"),
        points.encode(y=saved, shape=shape, tooltip=tips),
    )
    panels = alt.Facet("panel:N", title=None, sort=None)
    return layers.properties(width=230, height=220).facet(facet=panels, columns=3)
