"""The figures: 10 to 13 of the paper, and what there is to gain.

Colours are of Okabe and Ito's palette, safe for the colour-blind; policies differ by shape as well.
Filled points and lines are ours, with 95 % bootstrap intervals; open points are the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report import Figure

if TYPE_CHECKING:
    from tables import Runs

TABLES: Any = study_module(Path(__file__).with_name("tables.py"))
EASY, MOST = TABLES.EASY, TABLES.MOST
ALPHAS = (0, 1500, 3000, 4500, 6000)
POLICIES = [TABLES.system(alpha) for alpha in ALPHAS]
COLOURS = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross"]
BY_USERS = (
    ("throughput", "10"),
    ("session_length", "10"),
    ("response", "11"),
    ("slowdown", "11"),
)
HEIGHT = 300


def figures(runs: Runs, published: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the figures that a campaign over users allows."""
    if len(runs.labels("nb_users")) > 1:
        for name, number in BY_USERS:
            yield _by_users(runs, name, number, published)
    yield from _by_class(runs)
    yield from _by_alpha(runs, published)


def _colour(policies: list[str]) -> alt.Color:
    there = [at for at, policy in enumerate(POLICIES) if policy in policies]
    domain, colours = [POLICIES[at] for at in there], [COLOURS[at] for at in there]
    return alt.Color("policy:N", title=None, scale=alt.Scale(domain=domain, range=colours))


def _shape(policies: list[str]) -> alt.Shape:
    there = [at for at, policy in enumerate(POLICIES) if policy in policies]
    domain, shapes = [POLICIES[at] for at in there], [SHAPES[at] for at in there]
    return alt.Shape("policy:N", title=None, scale=alt.Scale(domain=domain, range=shapes))


def _by_users(runs: Runs, name: str, number: str, published: Mapping[str, Any]) -> Figure:
    rows, printed = [], []
    for alpha in ALPHAS:
        for users in sorted(runs.labels("nb_users")):
            own = runs.where(alpha=alpha, nb_users=users)
            value = published.get(f"at_{users}", {}).get(name, {}).get(str(alpha))
            if own:
                rows.append(_point(TABLES.system(alpha), users, own.mean(name)))
            if value is not None:
                printed.append({"policy": TABLES.system(alpha), "x": users, "paper": value})
    title = TABLES.QUANTITIES[name].title
    return Figure(
        f"{name}_by_users",
        f"{title[0].upper()}{title[1:]} by number of users",
        _lines(rows, printed, "users", title),
        f"Beside figure {number} of the paper, of which open points are the numbers that its text "
        "gives.",
    )


def _point(policy: str, x: Any, mean: Any) -> dict[str, Any]:
    known = mean.low == mean.low
    return {
        "policy": policy,
        "x": x,
        "ours": mean.value,
        "low": mean.low if known else None,
        "high": mean.high if known else None,
    }


def _lines(
    rows: list[dict[str, Any]], printed: list[dict[str, Any]], x: str, y: str
) -> alt.LayerChart:
    policies = sorted({row["policy"] for row in (*rows, *printed)})
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X(
            "x:Q",
            title=x,
            scale=alt.Scale(zero=False, padding=12),
            axis=alt.Axis(values=sorted({row["x"] for row in rows})),
        ),
        color=_colour(policies),
        tooltip=[
            "policy:N",
            alt.Tooltip("x:Q", title=x),
            *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("ours", "low", "high")),
        ],
    )
    scale = alt.Scale(zero=True)
    ours = alt.Y("ours:Q", title=y, scale=scale)
    layers = [base.mark_line(strokeWidth=1.2).encode(y=ours)]
    if any(row["low"] is not None for row in rows):
        intervals = base.transform_filter("isValid(datum.low)").mark_rule()
        layers.append(intervals.encode(y=alt.Y("low:Q", title=y), y2="high:Q"))
    layers.append(base.mark_point(filled=True, size=45).encode(y=ours, shape=_shape(policies)))
    if printed:
        points = alt.Chart(pd.DataFrame(printed)).mark_point(size=110, strokeWidth=2)
        layers.append(
            points.encode(
                x="x:Q",
                y=alt.Y("paper:Q", title=y, scale=scale),
                color=_colour(policies),
                shape=_shape(policies),
                tooltip=["policy:N", alt.Tooltip("x:Q", title=x), "paper:Q"],
            )
        )
    return alt.layer(*layers).properties(width="container", height=HEIGHT)


def _by_class(runs: Runs) -> Iterator[Figure]:
    rows = []
    for alpha in ALPHAS:
        own = runs.where(alpha=alpha, nb_users=250)
        for name in TABLES.CLASSES if own else ():
            row = _point(TABLES.system(alpha), TABLES.QUANTITIES[name].title, own.mean(name))
            rows.append(row)
    if not rows:
        return
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("x:N", title="run time", sort=None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("policy:N", sort=POLICIES),
            y=alt.Y(
                "ours:Q", title="mean response (min, square root)", scale=alt.Scale(type="sqrt")
            ),
            color=_colour(sorted({row["policy"] for row in rows})),
            tooltip=["policy:N", "x:N", alt.Tooltip("ours:Q", format=".4~g")],
        )
    )
    yield Figure(
        "response_by_run_time",
        "Mean response by run time, 250 users",
        chart.properties(width="container", height=HEIGHT),
        "Beside figure 12 of the paper.",
    )


def _by_alpha(runs: Runs, published: Mapping[str, Any]) -> Iterator[Figure]:
    easy, rows = runs.where(nb_users=250, alpha=EASY), []
    printed = published["throughput_gain"]
    for alpha in ALPHAS[1:]:
        own = runs.where(nb_users=250, alpha=alpha)
        if own and easy:
            change = own.change("throughput", easy)
            rows.append({**_point("ours", alpha, change), "paper": printed[str(alpha)]})
    if not rows:
        return
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X(
            "x:Q",
            title="alpha",
            scale=alt.Scale(domain=[0, MOST], padding=12),
            axis=alt.Axis(values=ALPHAS),
        )
    )
    tooltip = [
        alt.Tooltip("x:Q", title="alpha"),
        *(alt.Tooltip(f"{name}:Q", format=".3~g") for name in ("ours", "low", "high", "paper")),
    ]
    title = "throughput against EASY (%)"
    layers = [
        base.mark_line(point=True, color=COLOURS[-1]).encode(
            y=alt.Y("ours:Q", title=title), tooltip=tooltip
        ),
        base.mark_point(size=110, strokeWidth=2, color=COLOURS[0]).encode(
            y=alt.Y("paper:Q", title=title), tooltip=tooltip
        ),
    ]
    if any(row["low"] is not None for row in rows):
        rule = base.mark_rule(color=COLOURS[-1])
        layers.append(rule.encode(y=alt.Y("low:Q", title=title), y2="high:Q"))
    yield Figure(
        "gain_by_alpha",
        "Throughput gained by alpha, 250 users",
        alt.layer(*layers).properties(width="container", height=HEIGHT),
        "Beside figure 13 of the paper (open points). The line is ours.",
    )


def room_figure(frame: pd.DataFrame, name: str, label: str) -> Iterator[Figure]:
    """Yield CREASY's gain against the room that EASY leaves, a point per row where both are."""
    known = frame.dropna(subset=["room", "gain"])
    if known.empty:
        return
    title = "CREASY 6000: gain (%)"
    base = alt.Chart(known.where(known.notna(), None)).encode(
        x=alt.X(
            "room:Q",
            title="room above EASY for any policy (%)",
            scale=alt.Scale(padding=20),
        ),
        tooltip=[
            f"{label}:N",
            *(
                alt.Tooltip(f"{column}:Q", format=".3~g")
                for column in ("nodes", "utilisation", "room", "gain", "low", "high")
            ),
        ],
    )
    layers = [
        base.mark_point(filled=True, size=60, color=COLOURS[-1]).encode(
            y=alt.Y("gain:Q", title=title)
        )
    ]
    if known["low"].notna().any():
        rule = base.mark_rule(color=COLOURS[-1])
        layers.append(rule.encode(y=alt.Y("low:Q", title=title), y2="high:Q"))
    texts = base.mark_text(align="left", dx=7, dy=-5, fontSize=10)
    layers.append(texts.encode(y=alt.Y("gain:Q", title=title), text=f"{label}:N"))
    yield Figure(
        f"room_by_{name}",
        "What CREASY gains of what there is to gain",
        alt.layer(*layers).properties(width="container", height=HEIGHT + 100),
        "250 users. The paper's gain is more than 50 % at 57 % utilisation.",
    )
