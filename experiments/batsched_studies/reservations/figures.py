"""The figure of the study: what a reservation costs the others, by its lead time and width."""

from __future__ import annotations

import altair as alt
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import Runs, drawn, intervals, numbers, scale_of, slug
from batsched_py.support import palette
from batsched_studies.reservations import TEXTS
from batsched_studies.reservations.costs import OTHERS, REQUEST, cases

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "stroke")
_TITLE = "change of the others' mean wait (%)"


def cost(log: str, runs: Runs) -> Figure | None:
    """Return the changes of the others' mean wait; none without reservations.

    A panel for each width, with an axis of its own: wide reservations cost far more.
    """
    found = list(cases(runs, REQUEST))
    if not found:
        return None
    rows = [
        {
            "policy": case.labels["policy"],
            "width": _share(case.labels["width"]),
            "request": case.labels[REQUEST],
            **drawn(case.change(OTHERS)),
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
        color=alt.Color("policy:N", title=None, scale=scale_of(colours, policies)),
        tooltip=["policy:N", "width:N", "request:N", *numbers("ours", "low", "high", digits=".3g")],
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("ours:Q", title=_TITLE),
        shape=alt.Shape("policy:N", title=None, scale=scale_of(shapes, policies)),
    )
    zero = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(y=alt.datum(0))
    layers = alt.layer(zero, *intervals(base, rows, _TITLE), points)
    panels = alt.Facet("width:N", title=None, sort=widths)
    chart = layers.properties(width=340, height=280).facet(
        facet=panels, data=frame, columns=len(widths)
    )
    chart = chart.resolve_scale(y="independent")
    return TEXTS.figure("cost", chart, slug("figure_cost", log), log=log)


def _share(width: float) -> str:
    return f"{100 * width:g} % of the machine"
