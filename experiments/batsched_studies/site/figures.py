"""The figure of the report: what each change does, for each kind of users."""

from __future__ import annotations

from math import isfinite
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import Chart, Runs, drawn, numbers, scale_of, slug
from batsched_py.support import palette
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c

_PANELS = (c.WAIT, c.WORK)
_SCALES = {
    c.WAIT: alt.Scale(type="log", nice=False, padding=12),
    c.WORK: alt.Scale(zero=False, nice=False, padding=12),  # by some per cent
}
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
_ROW = 46
"""Height of a change, pixels."""


def answer(log: str, runs: Runs) -> Figure | None:
    """Return mean waits and submitted work beside those as it is; none without any change."""
    found = list(c.cases(runs))
    if not found:
        return None
    rows = [
        {"change": case.change, "users": case.people, "panel": name, **drawn(case.ratio(name))}
        for case in found
        for name in _PANELS
    ]
    rows = [row for row in rows if isfinite(row["ours"]) and row["ours"] > 0]
    if not rows:
        return None
    order, kinds = c.changes(runs), c.people(runs)
    chart = alt.hconcat(
        *(_panel(rows, name, order, kinds, first=name == _PANELS[0]) for name in _PANELS)
    )
    return TEXTS.figure("answer", chart, slug("figure_answer", log), log=log)


def _panel(
    rows: list[dict[str, Any]], name: str, order: list[str], kinds: list[str], *, first: bool
) -> Chart:
    of_panel = [row for row in rows if row["panel"] == name]
    frame = pd.DataFrame(of_panel, columns=[*rows[0]])
    colours = dict(zip(kinds, (palette.BLACK, *palette.CATEGORIES), strict=False))
    shapes = dict(zip(kinds, _SHAPES, strict=False))
    title = TEXTS[f"axis_{name}"]
    base = alt.Chart(frame).encode(
        y=alt.Y("change:N", title=None, sort=order, axis=alt.Axis(labels=first, labelLimit=200)),
        yOffset=alt.YOffset("users:N", sort=kinds),
        color=alt.Color("users:N", title=None, scale=scale_of(colours, kinds)),
        tooltip=["change:N", "users:N", *numbers("ours", "low", "high", digits=".3g")],
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("ours:Q", title=title, scale=_SCALES[name]),
        shape=alt.Shape("users:N", title=None, scale=scale_of(shapes, kinds)),
    )
    one = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(x=alt.datum(1))
    lines = (
        [base.transform_filter("isValid(datum.low)").mark_rule().encode(x="low:Q", x2="high:Q")]
        if frame["low"].notna().any()
        else []
    )
    height = _ROW * len(order)
    return alt.layer(one, *lines, points).properties(width=360, height=height)
