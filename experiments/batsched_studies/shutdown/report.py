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

_SHOWN: tuple[str, ...] = ("load", "wait", "possible", c.SAVED, c.OF_IDLE, c.OF_POSSIBLE, "held")
_SHOWN += (c.CHANGE, c.SWITCHES, c.ADDED, c.WAKING, c.REST, "late", "work")
"""The quantities whose means are cells of the rows."""


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    summary = TEXTS["summary"].format(runs=len(results.runs))
    return TEXTS.report_by_log(c.read(results.runs), _parts, judge_claims, summary, results.title)


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    cases = [(dict(zip(c.PLACE, place, strict=True)), of) for place, of in runs.groups(*c.PLACE)]
    rows = [place | _cells({name: of.mean(name) for name in _SHOWN}) for place, of in cases]
    switched = [row for row in rows if row["idle_time"] < inf]
    reacting = [
        place | _cells({name: c.compare(of, rigid, name) for name in (*c.NAMES, c.ADDED)})
        for place, of in cases
        if place["loop"] in c.REACTING and place["idle_time"] < inf
        if (rigid := runs.where(**place | {"loop": c.RIGID}))
    ]
    if switched:
        chart = draw_savings(pd.DataFrame(switched).assign(log=log))
        yield TEXTS.figure("savings", chart, kit.slug("figure_savings", log), log=log)
    bases = [row for row in rows if row["idle_time"] == inf]
    pilot = [row | theirs for row in switched if (theirs := _find_pilot(log, row))]
    of_tables = {"bases": bases, "savings": switched, "waits": switched}
    yield from TEXTS.tables(log, of_tables | {"reacting": reacting, "pilot": pilot})


def _cells(found: Mapping[str, Interval]) -> dict[str, Any]:
    """Return quantities and their intervals as cells."""
    cells: dict[str, Any] = {}
    for name, value in found.items():
        cells |= kit.cells(value, name, f"{name}_low", f"{name}_high", nb="n")
    return cells


def _find_pilot(log: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the pilot for a case as cells, none if it has none."""
    path = (row["loop"], log, f"{row['node_factor']:g}", f"{row['idle_time']:g}", row["keep"])
    theirs = kit.find_published(PUBLISHED, "pilot", *path, otherwise={})
    return {f"pilot_{name}": value for name, value in theirs.items()}


_COLOURS = dict(
    zip(c.LOOPS, (palette.GREEN, palette.BLACK, palette.BLUE, palette.ORANGE), strict=True)
)


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
