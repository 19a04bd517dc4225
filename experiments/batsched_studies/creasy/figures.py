"""The figures: 10 to 13 of the paper, and what there is to gain.

Policies differ by shape as well as by colour. Filled points and lines are ours, with 95 % bootstrap
intervals; open points are the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import Chart, Runs, drawn, intervals, numbers, printed, scale_of
from batsched_py.support import palette
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MOST, TITLES, system

ALPHAS = (0, 1500, 3000, 4500, 6000)
POLICIES = [system(alpha) for alpha in ALPHAS]
_COLOURS = (palette.BLACK, palette.ORANGE, palette.SKY, palette.GREEN, palette.BLUE)
COLOURS = dict(zip(POLICIES, _COLOURS, strict=True))
SHAPES = dict(zip(POLICIES, ("circle", "square", "triangle-up", "diamond", "cross"), strict=True))
BY_USERS = {"throughput": 10, "session_length": 10, "response": 11, "slowdown": 11}
"""To each quantity the figure of the paper."""
SIZE = {"width": "container", "height": 300}


def figures(runs: Runs) -> Iterator[Figure | None]:
    """Yield the figures that a campaign over users allows."""
    for name in BY_USERS if len(runs.labels("nb_users")) > 1 else ():
        yield _by_users(runs, name)
    yield _by_class(runs)
    yield _by_alpha(runs)


def _by_users(runs: Runs, name: str) -> Figure:
    rows, theirs = [], []
    for alpha, policy in zip(ALPHAS, POLICIES, strict=True):
        for users, of_users in runs.by("nb_users").items():
            of_case = of_users.where(alpha=alpha)
            value = printed(PUBLISHED, f"at_{users}", name, alpha)
            if of_case:
                rows.append({"policy": policy, "x": users, **drawn(of_case.mean(name))})
            if value is not None:
                theirs.append({"policy": policy, "x": users, "paper": value})
    title = TITLES[name]
    chart = _lines(rows, theirs, "users", title)
    texts = {"title": title[0].upper() + title[1:], "number": BY_USERS[name]}
    return TEXTS.figure("by_users", chart, f"{name}_by_users", **texts)


def _lines(rows: list[dict[str, Any]], theirs: list[dict[str, Any]], x: str, y: str) -> Chart:
    policies = {row["policy"] for row in (*rows, *theirs)}
    colour = alt.Color("policy:N", title=None, scale=scale_of(COLOURS, policies))
    shape = alt.Shape("policy:N", title=None, scale=scale_of(SHAPES, policies))
    ticks = alt.Axis(values=sorted({row["x"] for row in rows}))
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False, padding=12), axis=ticks),
        color=colour,
        tooltip=["policy:N", alt.Tooltip("x:Q", title=x), *numbers("ours", "low", "high")],
    )
    scale = alt.Scale(zero=True)
    ours = alt.Y("ours:Q", title=y, scale=scale)
    layers = [base.mark_line(strokeWidth=1.2).encode(y=ours), *intervals(base, rows, y)]
    layers.append(base.mark_point(filled=True, size=45).encode(y=ours, shape=shape))
    if theirs:
        points = alt.Chart(pd.DataFrame(theirs)).mark_point(size=110, strokeWidth=2)
        paper = points.encode(
            x="x:Q",
            y=alt.Y("paper:Q", title=y, scale=scale),
            color=colour,
            shape=shape,
            tooltip=["policy:N", alt.Tooltip("x:Q", title=x), "paper:Q"],
        )
        layers.append(paper)
    return alt.layer(*layers).properties(**SIZE)


def _by_class(runs: Runs) -> Figure | None:
    rows = []
    for alpha, policy in zip(ALPHAS, POLICIES, strict=True):
        of_policy = runs.where(alpha=alpha, nb_users=250)
        for name in CLASSES if of_policy else ():
            rows.append({"policy": policy, "x": TITLES[name], **drawn(of_policy.mean(name))})
    if not rows:
        return None
    policies = {row["policy"] for row in rows}
    title = "mean response (min, square root)"
    chart = alt.Chart(pd.DataFrame(rows)).mark_bar()
    chart = chart.encode(
        x=alt.X("x:N", title="run time", sort=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("policy:N", sort=POLICIES),
        y=alt.Y("ours:Q", title=title, scale=alt.Scale(type="sqrt")),
        color=alt.Color("policy:N", title=None, scale=scale_of(COLOURS, policies)),
        tooltip=["policy:N", "x:N", *numbers("ours")],
    )
    return TEXTS.figure("response_by_run_time", chart.properties(**SIZE))


def _by_alpha(runs: Runs) -> Figure | None:
    easy, rows = runs.where(nb_users=250, alpha=EASY), []
    for alpha in ALPHAS[1:]:
        creasy = runs.where(nb_users=250, alpha=alpha)
        if creasy and easy:
            change = creasy.change("throughput", easy)
            paper = PUBLISHED["throughput_gain"][str(alpha)]
            rows.append({"policy": "ours", "x": alpha, **drawn(change), "paper": paper})
    if not rows:
        return None
    scale, ticks = alt.Scale(domain=[0, MOST], padding=12), alt.Axis(values=ALPHAS)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("x:Q", title="alpha", scale=scale, axis=ticks)
    )
    names = ("ours", "low", "high", "paper")
    tooltip = [alt.Tooltip("x:Q", title="alpha"), *numbers(*names, digits=".3~g")]
    title, colour = "throughput against EASY (%)", palette.BLUE
    points = base.mark_point(size=110, strokeWidth=2, color=palette.BLACK)
    layers = [
        base.mark_line(point=True, color=colour).encode(
            y=alt.Y("ours:Q", title=title), tooltip=tooltip
        ),
        points.encode(y=alt.Y("paper:Q", title=title), tooltip=tooltip),
        *intervals(base, rows, title, color=colour),
    ]
    return TEXTS.figure("gain_by_alpha", alt.layer(*layers).properties(**SIZE))


def room_figure(frame: pd.DataFrame, name: str, label: str) -> Figure | None:
    """Return CREASY's gain against the room that EASY leaves, a point per row where both are."""
    shown = frame.dropna(subset=["room", "gain"])
    if shown.empty:
        return None
    title = "CREASY 6000: gain (%)"
    gain = alt.Y("gain:Q", title=title)
    names = ("nodes", "utilisation", "room", "gain", "low", "high")
    base = alt.Chart(shown.where(shown.notna(), None)).encode(
        x=alt.X("room:Q", title="room above EASY for any policy (%)", scale=alt.Scale(padding=20)),
        tooltip=[f"{label}:N", *numbers(*names, digits=".3~g")],
    )
    layers = [base.mark_point(filled=True, size=60, color=palette.BLUE).encode(y=gain)]
    layers += intervals(base, shown, title, color=palette.BLUE)
    texts = base.mark_text(align="left", dx=7, dy=-5, fontSize=10)
    layers.append(texts.encode(y=gain, text=f"{label}:N"))
    return TEXTS.figure(
        "room_figure",
        alt.layer(*layers).properties(**SIZE | {"height": 400}),
        name=f"room_by_{name}",
    )
