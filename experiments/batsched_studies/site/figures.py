"""The figure of the report: the effect of each change on each kind of users."""

from __future__ import annotations

from itertools import cycle
from math import isfinite, log10
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import Chart, Runs, chart_cells, numbers, scale_of, slug
from batsched_py.support import palette
from batsched_studies.site import TEXTS, fidelity
from batsched_studies.site import cases as c

_PANELS = (c.WAIT, c.WORK, c.BUSY)
_LOGARITHMIC = alt.Scale(type="log", nice=False, padding=12)
_LINEAR = alt.Scale(zero=False, nice=False, padding=12)
"""The scale of quantities that change by some per cent."""
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
_ROW, _WIDTH = 40, 160
"""Height of a change, and width of a panel, pixels."""
_FEW_DECADES = 2
"""With fewer decades, 2 and 5 have ticks too."""


def draw_answer(log: str, runs: Runs) -> Figure | None:
    """Draw mean waits, work and utilisation with each change, relative to the present site.

    A panel without waits on the present site has no ratios and is left out.
    """
    found = list(c.find_cases(runs))
    if not found:
        return None
    rows = [
        {
            "change": case.change,
            "users": case.users,
            "panel": name,
            **chart_cells(case.ratio(name)),
        }
        for case in found
        for name in _PANELS
    ]
    rows = [row for row in rows if isfinite(row["ours"]) and row["ours"] > 0]
    if not rows:
        return None
    order, kinds = c.list_changes(runs), c.list_user_kinds(runs)
    panels = [name for name in _PANELS if any(row["panel"] == name for row in rows)]
    chart = alt.hconcat(
        *(_panel(rows, name, order, kinds, first=name == panels[0]) for name in panels)
    )
    is_poor = fidelity.judge_fidelity(runs) == fidelity.POOR
    warning = TEXTS["caption_warning"] if is_poor else ""
    return TEXTS.figure("answer", chart, slug("figure_answer", log), log=log, warning=warning)


def _panel(
    rows: list[dict[str, Any]], name: str, order: list[str], kinds: list[str], *, first: bool
) -> Chart:
    of_panel = [row for row in rows if row["panel"] == name]
    frame = pd.DataFrame(of_panel, columns=[*rows[0]])
    colours = dict(zip(kinds, cycle((palette.BLACK, *palette.CATEGORIES)), strict=False))
    shapes = dict(zip(kinds, cycle(_SHAPES), strict=False))
    scale = _LOGARITHMIC if name == c.WAIT else _LINEAR
    base = alt.Chart(frame).encode(
        y=alt.Y("change:N", title=None, sort=order, axis=alt.Axis(labels=first, labelLimit=200)),
        yOffset=alt.YOffset("users:N", sort=kinds),
        color=alt.Color("users:N", title=None, scale=scale_of(colours, kinds)),
        tooltip=["change:N", "users:N", *numbers("ours", "low", "high", digits=".3g")],
    )
    axis = alt.Axis(values=_ticks(frame)) if name == c.WAIT else alt.Axis()
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("ours:Q", title=TEXTS[f"axis_{name}"], scale=scale, axis=axis),
        shape=alt.Shape("users:N", title=None, scale=scale_of(shapes, kinds)),
    )
    one = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(x=alt.datum(1))
    lines = (
        [base.transform_filter("isValid(datum.low)").mark_rule().encode(x="low:Q", x2="high:Q")]
        if frame["low"].notna().any()
        else []
    )
    return alt.layer(one, *lines, points).properties(width=_WIDTH, height=_ROW * len(order))


def _ticks(frame: pd.DataFrame) -> list[float]:
    """Return the ticks of a logarithmic axis: 1 is one, and there are not too many."""
    ends = frame[["ours", "low", "high"]].to_numpy(dtype=float)
    decades = log10(np.nanmax(ends) / np.nanmin(ends))
    steps = (1, 2, 5) if decades < _FEW_DECADES else (1,)
    return [float(f"{step}e{power}") for power in range(-9, 10) for step in steps]
