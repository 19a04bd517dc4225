"""Figures 10 to 13 of the paper, and figures on machine sizes and possible gains.

Policies differ by shape as well as by colour. Filled points and lines are simulated,
with 95 % intervals; open points are the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import (
    Chart,
    Runs,
    chart_cells,
    find_published,
    intervals,
    numbers,
    scale_of,
)
from batsched_py.support import palette
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_studies.creasy.tables import CLASSES, EASY, MORE, MOST, TITLES, name_policy

STYLES = {
    0: (palette.BLACK, "circle"),
    1500: (palette.ORANGE, "square"),
    3000: (palette.SKY, "triangle-up"),
    4500: (palette.GREEN, "diamond"),
    MOST: (palette.BLUE, "cross"),
    MORE: (palette.VERMILION, "triangle-down"),
}
"""Colour and shape of each alpha."""
ALPHAS = tuple(STYLES)
POLICIES = [name_policy(alpha) for alpha in ALPHAS]
COLOURS = {name_policy(alpha): colour for alpha, (colour, _) in STYLES.items()}
SHAPES = {name_policy(alpha): shape for alpha, (_, shape) in STYLES.items()}
OF_CLASSES = dict(zip(CLASSES, (palette.GREEN, palette.ORANGE, palette.BLUE), strict=True))
BY_USERS = {"throughput": 10, "session_length": 10, "response": 11, "slowdown": 11}
"""The number of the paper's figure for each quantity."""
SIZE = {"width": "container", "height": 300}


def draw_figures(runs: Runs) -> Iterator[Figure | None]:
    """Yield the figures of a campaign that varies the number of users."""
    for name in BY_USERS if len(runs.labels("nb_users")) > 1 else ():
        yield _by_users(runs, name)
    yield _by_class(runs, "response_by_run_time", "", "mean turnaround time (min, square root)")
    yield _by_class(runs, "slowdown_by_run_time", "slowdown_", "mean slowdown (square root)")
    yield from draw_by_alpha(runs)


def _by_users(runs: Runs, name: str) -> Figure:
    rows, theirs = [], []
    for alpha, policy in zip(ALPHAS, POLICIES, strict=True):
        for users, of_users in runs.by("nb_users").items():
            of_case = of_users.where(alpha=alpha)
            value = find_published(PUBLISHED, f"at_{users}", name, alpha)
            if of_case:
                rows.append({"policy": policy, "x": users, **chart_cells(of_case.mean(name))})
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


def _by_class(runs: Runs, key: str, prefix: str, title: str) -> Figure | None:
    rows = []
    for alpha, policy in zip(ALPHAS, POLICIES, strict=True):
        of_policy = runs.where(alpha=alpha, nb_users=250)
        for name in CLASSES if of_policy else ():
            mean = of_policy.mean(f"{prefix}{name}")
            rows.append({"policy": policy, "x": TITLES[name], **chart_cells(mean)})
    if not rows or all(row["ours"] != row["ours"] for row in rows):
        return None
    policies = {row["policy"] for row in rows}
    chart = alt.Chart(pd.DataFrame(rows)).mark_bar()
    chart = chart.encode(
        x=alt.X("x:N", title="run time", sort=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("policy:N", sort=POLICIES),
        y=alt.Y("ours:Q", title=title, scale=alt.Scale(type="sqrt")),
        color=alt.Color("policy:N", title=None, scale=scale_of(COLOURS, policies)),
        tooltip=["policy:N", "x:N", *numbers("ours")],
    )
    return TEXTS.figure(key, chart.properties(**SIZE))


def draw_by_alpha(runs: Runs, suffix: str = "", reading: str = "") -> Iterator[Figure | None]:
    """Yield figures of throughput, and turnaround time by class, over alpha, with 250 users."""
    of_250 = runs.where(nb_users=250)
    easy = of_250.where(alpha=EASY)
    alphas = {alpha: own for alpha, own in of_250.by("alpha").items() if alpha != EASY}
    if not easy or len(alphas) < 2:
        return
    gains, classes = [], []
    for alpha, creasy in alphas.items():
        paper = find_published(PUBLISHED, "throughput_gain", alpha)
        gains.append({"x": alpha, "paper": paper, **chart_cells(creasy.change("throughput", easy))})
        for name in CLASSES:
            paper = PUBLISHED["response_change"][name] if alpha == MOST else None
            change = chart_cells(creasy.change(name, easy))
            classes.append({"x": alpha, "class": TITLES[name], "paper": paper, **change})
    texts = {"reading": f", {reading}" if reading else ""}
    chart = _over_alpha(gains, "throughput against EASY (%)")
    yield TEXTS.figure("gain_by_alpha", chart, f"gain_by_alpha{suffix}", **texts)
    chart = _over_alpha(classes, "turnaround time against EASY (%)")
    yield TEXTS.figure("classes_by_alpha", chart, f"classes_by_alpha{suffix}", **texts)


def _over_alpha(rows: list[dict[str, Any]], title: str) -> Chart:
    """Return changes over alpha, in a colour for each class of run time if there are classes."""
    ticks = alt.Axis(values=sorted({row["x"] for row in rows}), labelAngle=-60, format=",d")
    scale = alt.Scale(type="log", padding=12)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("x:Q", title="alpha (logarithmic)", scale=scale, axis=ticks),
        tooltip=[alt.Tooltip("x:Q", title="alpha"), *numbers("ours", "low", "high", "paper")],
    )
    if "class" in rows[0]:
        titles = {TITLES[name]: colour for name, colour in OF_CLASSES.items()}
        domain = scale_of(titles, titles)
        base = base.encode(color=alt.Color("class:N", title="run time", scale=domain))
    else:
        base = base.encode(color=alt.value(palette.BLUE))
    points = base.mark_point(size=110, strokeWidth=2).transform_filter("isValid(datum.paper)")
    return alt.layer(
        base.mark_line(point=True).encode(y=alt.Y("ours:Q", title=title)),
        points.encode(y=alt.Y("paper:Q", title=title)),
        *intervals(base, rows, title),
    ).properties(**SIZE)


def draw_machines(frame: pd.DataFrame) -> Figure:
    """Draw utilisation and response under EASY by machine size, one line per interpretation."""
    there = PUBLISHED["at_250"]
    paper = pd.DataFrame([{"x": there["utilisation"]["0"], "y": there["response"]["0"]}])
    base = alt.Chart(frame).encode(
        x=alt.X("utilisation:Q", title="utilisation (%)", scale=alt.Scale(zero=False)),
        y=alt.Y("response:Q", title="mean turnaround time (min)", scale=alt.Scale(zero=False)),
        color=alt.Color(
            "reading:N", title=None, sort=None, scale=alt.Scale(range=list(palette.MANY))
        ),
        tooltip=["reading:N", *numbers("nodes", "utilisation", "response", "slowdown")],
    )
    line = base.mark_line(strokeWidth=1).encode(order="nodes:Q")
    nearest = base.mark_point(filled=True, size=90).transform_filter("datum.nearest == 'nearest'")
    layers = [line, base.mark_point(filled=True, size=20), nearest]
    cross = alt.Chart(paper).mark_point(shape="cross", size=160, color=palette.BLACK)
    layers.append(cross.encode(x="x:Q", y="y:Q"))
    chart = alt.layer(*layers).properties(**SIZE | {"height": 400})
    return TEXTS.figure("machines", chart, "response_by_utilisation")


def draw_room(frame: pd.DataFrame, name: str, label: str) -> Figure | None:
    """Draw CREASY's gain over EASY against the largest possible gain, a point for each row."""
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
