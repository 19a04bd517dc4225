"""The figures of the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import Runs, drawn, mean_interval, numbers, scale_of, slug
from batsched_py.support import palette
from batsched_py.units import HOUR
from batsched_studies.sufficiency import TEXTS
from batsched_studies.sufficiency import cases as c

_COLOURS = dict(zip(c.LOOPS, (palette.BLACK, palette.BLUE, palette.ORANGE), strict=True))
_WHO = {"nobody": palette.BLACK, "all delay": palette.VERMILION, "all renounce": palette.BLUE}


def figures(log: str, runs: Runs) -> Iterator[Figure | None]:
    """Yield the figures of a log."""
    yield _savings(log, runs)
    yield _day(log, runs)


def _savings(log: str, runs: Runs) -> Figure | None:
    rows: list[dict[str, Any]] = []
    for loop, lever, share, _ in c.cases(runs):
        if share == 1:
            found = mean_interval(c.saved(runs, loop, lever, share, c.RED))
            rows.append({"users": loop, "lever": lever, **drawn(found)})
    if not rows:
        return None
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("lever:N", title=None, sort=list(c.ORDER), axis=alt.Axis(labelAngle=-20)),
        xOffset=alt.XOffset("users:N", sort=list(c.LOOPS)),
        color=alt.Color("users:N", title=None, scale=scale_of(_COLOURS, list(c.LOOPS))),
        tooltip=["users", "lever", *numbers("ours", "low", "high", digits=".3g")],
    )
    title = "saved in red hours (% of the energy above idling)"
    ends = base.mark_rule().encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(y="ours:Q")
    chart = alt.layer(ends, points).properties(width="container", height=300)
    return TEXTS.figure("savings", chart, slug("figure_savings", log), log=log)


def _day(log: str, runs: Runs) -> Figure | None:
    rows: list[dict[str, Any]] = []
    shown = {"nobody": c.RIGID, "all delay": c.DELAY, "all renounce": "renounce"}
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
            color=alt.Color("who:N", title=None, scale=scale_of(_WHO, there)),
            tooltip=["users", "who", "hour", *numbers("busy", digits=".4g")],
        )
    )
    loops = [loop for loop in c.LOOPS if any(row["users"] == loop for row in rows)]
    panels = alt.Facet("users:N", title=None, sort=loops)
    chart = lines.properties(width=240, height=220).facet(facet=panels, columns=len(loops))
    scarce = c.scarce(runs)
    return TEXTS.figure("day", chart, slug("figure_day", log), log=log, scarce=scarce)
