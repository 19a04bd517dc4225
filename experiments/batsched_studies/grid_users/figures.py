"""The figures of the study: waits before and after sharing, and who gives beside who gains."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import numbers, scale_of, slug
from batsched_py.report.sites_tables import SITE
from batsched_py.support import palette
from batsched_py.units import HOUR
from batsched_studies.grid_users import TEXTS
from batsched_studies.grid_users.site_runs import FEEDBACK, RIGID, SCENARIOS, SiteRuns, changes

_SCENARIOS = dict(zip(SCENARIOS, (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True))
_SHAPES = dict(zip(SCENARIOS, ("circle", "square", "triangle-up"), strict=True))
_REPLAYS = {RIGID: palette.BLACK, FEEDBACK: palette.BLUE}


def figures(runs: SiteRuns) -> Iterator[Figure | None]:
    """Yield the figures of a log."""
    if runs.replays():
        yield _waits(runs)
        yield _balance(runs)


def _waits(runs: SiteRuns) -> Figure:
    frame = runs.sites.frame
    shown = frame[frame["replay"].isin(runs.replays()) & (frame["mean_waiting_time"] > 0)]
    points = shown[["replay", "scenario", "assignment", SITE]].rename(columns={SITE: "site"})
    points["wait"] = shown["mean_waiting_time"] / HOUR
    marks = alt.Chart(points).mark_point(size=60)
    marks = marks.encode(
        x=alt.X("site:N", title=None, sort=runs.names(), axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("scenario:N", sort=list(SCENARIOS)),
        y=alt.Y("wait:Q", title="mean wait of its users (h)", scale=alt.Scale(type="log")),
        color=alt.Color("scenario:N", title=None, scale=scale_of(_SCENARIOS, SCENARIOS)),
        shape=alt.Shape("scenario:N", title=None, scale=scale_of(_SHAPES, SCENARIOS)),
        tooltip=["replay:N", "site:N", "scenario:N", "assignment:N", *numbers("wait")],
    )
    replays = runs.replays()
    panels = alt.Facet("replay:N", title=None, sort=replays)
    chart = marks.properties(width=300, height=260).facet(facet=panels, columns=len(replays))
    return TEXTS.figure("waits", chart, slug("figure_waits", runs.log), log=runs.log)


def _balance(runs: SiteRuns) -> Figure:
    points = pd.concat([changes(runs, replay) for replay in runs.replays()])
    base = alt.Chart(points).encode(
        x=alt.X("balance:Q", title="given - taken (% of what the site could do)"),
        y=alt.Y("change:Q", title="wait of the site's users, sharing against local (%)"),
    )
    marks = base.mark_point(filled=True, size=70).encode(
        color=alt.Color("replay:N", title=None, scale=scale_of(_REPLAYS, runs.replays())),
        shape=alt.Shape("site:N", title=None, sort=runs.names()),
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
