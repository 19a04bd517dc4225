"""The figures of the study, as Vega-Lite charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report import Figure
from batsched_py.report.kit import Chart, Runs, cells, inline_data, numbers, paired, rows, scale_of
from batsched_py.support import palette
from batsched_py.support.statistics import finite
from batsched_py.units import HOUR
from batsched_studies.tbuos_ups import TEXTS
from batsched_studies.tbuos_ups.claims import CASE, EASY, REPLAYS, THROUGHPUT, WAIT
from batsched_studies.tbuos_ups.measures import LENGTHS

USERS = {"resampled": "open resampling", "tbuos": "TBUOS"}
COLOURS = {
    "open replay": palette.RECORDED,
    "fluid": palette.GREEN,
    "open resampling": palette.VERMILION,
    "TBUOS": palette.BLUE,
}
WIDTH, HEIGHT, COLUMNS = 320, 220, 2
STEPS = 60
"""The largest number of steps in a line of a distribution."""
Rows = Sequence[Mapping[str, Any]]


def draw_figures(runs: Runs) -> Iterator[Figure | None]:
    """Yield the figures that do not belong to a table."""
    yield draw_wait_distribution(runs)
    yield draw_throughput_pairs(runs)
    yield draw_ups_sweep(runs)
    yield draw_queue(runs)


def _users(there: Sequence[str] = tuple(USERS.values())) -> alt.Color:
    return alt.Color("users:N", title="users", scale=scale_of(COLOURS, there))


def draw_wait_distribution(runs: Runs) -> Figure | None:
    """Draw the distribution of the mean wait over the seeds, by users and system."""
    lines: list[dict[str, Any]] = []
    for (log, replay, system), of_case in runs.groups(*CASE):
        waits = finite(of_case.values(WAIT)) / HOUR
        if replay in USERS and system in ("easy", "fcfs") and len(waits) > 1:
            share = np.linspace(0, 1, min(len(waits), STEPS) + 1)
            steps = np.quantile(waits, share, method="inverted_cdf")
            names = {"log": log, "users": USERS[replay], "system": system}
            lines += [{**names, "wait": w, "share": s} for w, s in zip(steps, share, strict=True)]
    if not lines:
        return None
    hours = alt.Scale(type="log", nice=False)
    chart = _lines("step-after", _users()).encode(
        x=alt.X("wait:Q", title="mean wait of a run (h)", scale=hours),
        y=alt.Y("share:Q", title="share of runs up to it", scale=alt.Scale(domain=[0, 1])),
        tooltip=["users:N", "system:N", *numbers(wait="mean wait (h)", share="share")],
    )
    return TEXTS.figure("wait_distribution", _by_log(chart, lines), steps=STEPS)


def draw_throughput_pairs(runs: Runs) -> Figure | None:
    """Draw EASY's throughput against FCFS's, a point for each pair of equal seeds."""
    points: list[dict[str, Any]] = []
    for (log, replay), of_users in runs.groups("log", "replay"):
        if replay in USERS:
            sides = (of_users.where(system=system) for system in ("easy", "fcfs"))
            easy, fcfs = paired(*(of_system.values(THROUGHPUT) for of_system in sides))
            pairs = enumerate(zip(fcfs, easy, strict=True), 1)
            place = {"log": log, "users": USERS[replay]}
            points += [{**place, "seed": n, "fcfs": f, "easy": e} for n, (f, e) in pairs]
    if not points:
        return None
    axis = alt.Scale(zero=False, nice=False, padding=10)
    dots = alt.Chart().mark_circle(size=35, opacity=0.6)
    dots = dots.encode(
        x=alt.X("fcfs:Q", title="FCFS (jobs/h)", scale=axis),
        y=alt.Y("easy:Q", title="EASY (jobs/h)", scale=axis),
        color=_users(),
        tooltip=["users:N", "seed:O", *numbers(fcfs="FCFS", easy="EASY")],
    )
    equal = alt.Chart().mark_line(color=palette.LINES, strokeDash=[4, 3])
    equal = equal.encode(x="fcfs:Q", y="fcfs:Q")
    chart = alt.layer(equal, dots).properties(width=WIDTH, height=HEIGHT)
    return TEXTS.figure("throughput", _by_log(chart, points))


def draw_ups_sweep(runs: Runs) -> Figure | None:
    """Draw the throughput of UPS relative to EASY over the weight of the users' rank."""
    points = list(_ups_points(runs))
    if not points:
        return None
    title, scale = "throughput relative to EASY", alt.Scale(zero=False)
    dashes, shapes = (
        alt.Scale(domain=["load", "recency"], range=styles)
        for styles in ([[1, 0], [5, 3]], ["circle", "diamond"])
    )
    x = alt.X("beside:Q", title="a_user", scale=alt.Scale(domain=[-0.03, 1.03], nice=False))
    base = alt.Chart().encode(x=x, color=_users())
    bars = base.mark_rule(strokeWidth=2).encode(
        y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q", opacity=alt.value(0.5)
    )
    ratio = alt.Y("ratio:Q", title=title, scale=scale)
    line = base.mark_line().encode(
        y=ratio, strokeDash=alt.StrokeDash("rank:N", title="rank by", scale=dashes)
    )
    read = numbers(ratio="ratio", low="low", high="high")
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(
        y=ratio,
        shape=alt.Shape("rank:N", title="rank by", scale=shapes),
        tooltip=["users:N", "rank:N", "a_user:Q", *read, "n:Q"],
    )
    chart = alt.layer(bars, line, dots).properties(width=WIDTH, height=HEIGHT)
    return TEXTS.figure("ups", _by_log(chart, points))


def _ups_points(runs: Runs) -> Iterator[dict[str, Any]]:
    for (log, replay, system), of_case in runs.groups(*CASE):
        if not system.startswith("ups ") or replay not in USERS:
            continue
        ratio = of_case.ratio(THROUGHPUT, runs.where(log=log, replay=replay, system="easy"))
        if ratio.nb:
            _, rank, a_user = system.split()
            aside = 0.01 if rank == "recency" else 0  # bars side by side
            place = {"log": log, "users": USERS[replay], "rank": rank, "a_user": float(a_user)}
            yield {**place, "beside": float(a_user) + aside, **cells(ratio, "ratio", nb="n")}


def draw_ratios(spreads: pd.DataFrame) -> Figure | None:
    """Draw the ratio of the largest to the smallest mean wait, here and in the thesis."""
    points = list(_ratio_points(spreads))
    if not points:
        return None
    users = list(USERS.values())
    base = alt.Chart(inline_data(points)).encode(
        y=alt.Y("log:N", title=None, axis=alt.Axis(labelLimit=240)),
        yOffset=alt.YOffset("users:N", scale=alt.Scale(domain=users)),
        color=_users(),
    )
    title = "largest over smallest mean wait"
    scale = alt.Scale(type="log", nice=False, domainMin=1)
    shapes = alt.Scale(domain=["here", "thesis"], range=["circle", "diamond"])
    dots = base.mark_point(filled=True, size=80).encode(
        x=alt.X("ratio:Q", title=title, scale=scale),
        shape=alt.Shape("from:N", title=None, scale=shapes),
        opacity=alt.condition("datum.from == 'here'", alt.value(1), alt.value(0.6)),
        tooltip=["log:N", "users:N", "from:N", *numbers(ratio="ratio"), "seeds:Q"],
    )
    lines = len({(point["log"], point["users"]) for point in points})
    chart = dots.properties(width="container", height=22 * max(lines, 2))
    return TEXTS.figure("ratios_and_thesis", chart.interactive(bind_y=False))


def _ratio_points(spreads: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for spread in rows(spreads[spreads["system"] == "easy"]):
        if spread.which == "all" and spread.replay in USERS:
            place = {"log": spread.log, "users": USERS[spread.replay], "seeds": spread.seeds}
            yield {**place, "ratio": spread.ratio, "from": "here"}
            if pd.notna(spread.thesis):
                yield {**place, "ratio": spread.thesis, "from": "thesis"}


def draw_waits(waits: pd.DataFrame) -> Figure:
    """Draw the average waits of chapter 4, here and in the thesis."""
    points = []
    for wait in rows(waits):
        place = {"log": wait.log, "users": wait.replay}
        points.append({**place, "wait": wait.ours / HOUR, "from": wait.system})
        if pd.notna(wait.thesis) and wait.replay != "fluid 5":
            points.append({**place, "wait": wait.thesis / HOUR, "from": "thesis"})
    domain = [*EASY, "thesis"]
    colours = alt.Scale(domain=domain, range=[palette.BLUE, palette.GREEN, palette.VERMILION])
    shapes = alt.Scale(domain=domain, range=["circle", "square", "diamond"])
    chart = alt.Chart().mark_point(filled=True, size=70, opacity=0.8)
    chart = chart.encode(
        x=alt.X("wait:Q", title="average wait (h)", scale=alt.Scale(zero=True)),
        y=alt.Y("users:N", title=None, sort=list(REPLAYS)),
        color=alt.Color("from:N", title=None, scale=colours),
        shape=alt.Shape("from:N", title=None, scale=shapes),
        tooltip=["log:N", "users:N", "from:N", *numbers(wait="wait (h)")],
    )
    return TEXTS.figure(
        "waits_and_thesis", _by_log(chart.properties(width=WIDTH, height=130), points)
    )


def draw_queue(runs: Runs) -> Figure | None:
    """Draw the share of time in which more than some number of jobs wait."""
    users = {"rigid": "open replay", "fluid": "fluid"} | USERS
    lines = []
    for (log, replay, system), of_case in runs.groups(*CASE):
        for length in LENGTHS if replay in users and system in ("easy", "fcfs") else ():
            shares = finite(of_case.values(f"queue_above_{length}"))
            if len(shares) and shares.mean() > 0:
                names = {"log": log, "users": users[replay], "system": system}
                lines.append({**names, "length": max(length, 0.5), "share": shares.mean()})
    if not lines:
        return None
    chart = _lines("monotone", _users([line["users"] for line in lines])).encode(
        x=alt.X("length:Q", title="waiting jobs", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y("share:Q", title="share of time with more", scale=alt.Scale(domain=[0, 1])),
        tooltip=["users:N", "system:N", "length:Q", *numbers(share="share of time")],
    )
    return TEXTS.figure("queue", _by_log(chart, lines))


def _lines(interpolate: Any, colour: alt.Color) -> Chart:
    dashes = alt.Scale(domain=["easy", "fcfs"], range=[[1, 0], [5, 3]])
    chart = alt.Chart().mark_line(interpolate=interpolate, strokeWidth=2)
    dash = alt.StrokeDash("system:N", title="system", scale=dashes)
    return chart.encode(color=colour, strokeDash=dash).properties(width=WIDTH, height=HEIGHT)


def _by_log(chart: Chart, lines: Rows) -> Chart:
    """Return a chart for each log, in two columns."""
    logs = list(dict.fromkeys(line["log"] for line in lines))
    header = alt.Header(labelFontWeight="bold", labelLimit=WIDTH)
    facet = alt.Facet("log:N", title=None, sort=logs, header=header)
    data = inline_data(lines)
    faceted = chart.interactive().facet(facet=facet, columns=COLUMNS, data=data)
    return faceted.resolve_scale(x="independent", y="independent")
