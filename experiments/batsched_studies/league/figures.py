"""The figures of the study: skill by model and log, and the submissions around the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import chart_cells, intervals, numbers, scale_of, slug
from batsched_py.support import palette
from batsched_py.units import DAY
from batsched_studies.league import RIGID, TEXTS
from batsched_studies.league.days import Floats, Jobs
from batsched_studies.league.standings import GROUPS, Case

SHOWN = {RIGID: palette.RECORDED, "a60": palette.GREEN, "site": palette.ORANGE}
"""The models whose submissions are drawn: one that does not react, one that reacts but has only the
recorded work, and one that reacts."""
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_WEEKS_BEFORE = 6
_LEAST = -1.0
"""Lower skills are drawn at this value: how bad a bad forecast is does not matter."""


def draw_skills(cases: Sequence[Case]) -> Figure:
    """Draw the skill of each model, a panel for each group of quantities."""
    names = [case.name for case in cases]
    models = [m for m in dict.fromkeys(m for c in cases for m in c.models) if m != RIGID]
    rows = [
        {"case": case.name, "model": model, "what": TEXTS[group], **_skill(case, group, model)}
        for case in cases
        for group in GROUPS
        for model in models
        if model in case.models
    ]
    colours = dict(zip(names, palette.CATEGORIES, strict=False))
    shapes = dict(zip(names, _SHAPES, strict=False))
    base = alt.Chart().encode(
        x=alt.X("model:N", title=None, sort=models, axis=alt.Axis(labelAngle=-40)),
        xOffset=alt.XOffset("case:N", sort=names),
        color=alt.Color("case:N", title=None, scale=scale_of(colours, names)),
        tooltip=["case:N", "model:N", "what:N", *numbers("ours", "low", "high", digits=".2f")],
    )
    title = "skill over rigid replay"
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        y=alt.Y("ours:Q", title=title),
        shape=alt.Shape("case:N", title=None, scale=scale_of(shapes, names)),
    )
    zero = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(y=alt.datum(0))
    panels = alt.Facet("what:N", title=None, sort=[TEXTS[group] for group in GROUPS])
    layers = alt.layer(zero, *intervals(base, rows, title), points)
    chart = layers.properties(width=620, height=190).facet(
        facet=panels, data=pd.DataFrame(rows), columns=1
    )
    return TEXTS.figure("skill", chart, "figure_skill")


def _skill(case: Case, group: str, model: str) -> dict[str, Any]:
    found = chart_cells(case.skill(group, model))
    return {key: end and max(end, _LEAST) for key, end in found.items()}


def draw_days(case: Case) -> Figure | None:
    """Draw the recorded and predicted jobs per day, a panel for each model of :data:`SHOWN`."""
    there = [model for model in SHOWN if model in case.models]
    rows = [row for model in there for row in _days(case, model)]
    if not rows:
        return None
    base = alt.Chart().encode(x=alt.X("day:Q", title="days from the change on"))
    y = alt.Y("recorded:Q", title="jobs a day", scale=alt.Scale(type="symlog", constant=20))
    hue = alt.Color("model:N", legend=None, scale=scale_of(SHOWN, there))
    band = base.mark_area(opacity=0.35).encode(y=alt.Y("low:Q", title="jobs a day"), y2="high:Q")
    middle = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("middle:Q", title="jobs a day"))
    recorded = base.mark_line(strokeWidth=1, color=palette.BLACK).encode(y=y)
    change = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(x=alt.datum(0))
    layers = alt.layer(band.encode(color=hue), middle.encode(color=hue), recorded, change)
    panels = alt.Facet("model:N", title=None, sort=there)
    chart = layers.properties(width=620, height=130).facet(
        facet=panels, data=pd.DataFrame(rows), columns=1
    )
    members = len(case.forecasts[there[0]])
    return TEXTS.figure(
        "days", chart, slug("figure_days", case.name), case=case.name, members=members
    )


def _days(case: Case, model: str) -> list[dict[str, Any]]:
    horizon = case.change.horizon * 7
    first = -min(_WEEKS_BEFORE, case.change.learnt) * 7
    recorded = count_jobs_by_day(case.recorded.jobs, first, horizon)
    members = [count_jobs_by_day(member.jobs, 0, horizon) for member in case.forecasts[model]]
    low, middle, high = np.quantile(members, (0, 0.5, 1), axis=0)
    rows: list[dict[str, Any]] = []
    for day, count in zip(range(first, horizon), recorded.tolist(), strict=True):
        row = {"model": model, "day": day, "recorded": count}
        if day >= 0:
            row |= {"low": low[day], "middle": middle[day], "high": high[day]}
        rows.append(row)
    return rows


def count_jobs_by_day(jobs: Jobs, begin: int, end: int) -> Floats:
    """Return the number of jobs submitted on each day, from day ``begin`` to day ``end``."""
    edges = DAY * np.arange(begin, end + 1)
    return np.histogram(jobs.submit, edges)[0].astype(float)
