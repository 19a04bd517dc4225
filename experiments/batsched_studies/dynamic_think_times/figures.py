"""The figures of the report; each is None if the campaign has no runs for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Figure, kit
from batsched_py.report.kit import Chart, Interval, Quantity, Runs
from batsched_py.support import palette
from batsched_py.units import WEEK
from batsched_studies.dynamic_think_times import TEXTS
from batsched_studies.dynamic_think_times import cases as c

SYSTEMS = {
    "fcfs": palette.BLUE,
    "fcfs paper": palette.SKY,
    "easy": palette.VERMILION,
    "easy paper": palette.ORANGE,
}
SCHEDULERS = alt.Scale(domain=["fcfs", "easy"], range=[SYSTEMS["fcfs"], SYSTEMS["easy"]])
TOP = alt.Legend(orient="top")
AT = (0.025, 0.25, 0.5, 0.75, 0.975)
NAMES = ("low", "quarter", "median", "three_quarters", "high")
Rows = list[dict[str, Any]]


def draw_distributions(runs: Runs) -> Iterator[Figure | None]:
    """Yield a figure for each metric: the simulated and the published quantiles of each case."""
    for metric in c.METRICS:
        rows = []
        for case, replications in c.group_by_case(runs):
            ours = zip(NAMES, kit.quantiles(replications.values(metric.name), AT), strict=True)
            rows.append(_place(case["scheduler"], case) | dict(ours))
        there = {(row["nodes"], row["think"]) for row in rows}
        for case, medians in c.list_published_cases():
            if metric.name in medians and (case["nodes"], case["think"]) in there:
                theirs = zip(("low", "median", "high"), medians[metric.name], strict=True)
                rows.append(_place(f"{case['scheduler']} paper", case) | dict(theirs))
        thinks = list(dict.fromkeys(case["think"] for case, _ in c.group_by_case(runs)))
        yield _distribution(rows, metric, thinks) if rows else None


def _place(who: str, case: Mapping[str, Any]) -> dict[str, Any]:
    return {"who": who, "nodes": case["nodes"], "think": case["think"]}


def _distribution(rows: Rows, metric: Quantity, thinks: list[str]) -> Figure:
    order = list(SYSTEMS)
    scale = alt.Scale(domain=order, range=list(SYSTEMS.values()))
    squares = alt.Legend(orient="top", symbolType="square", symbolSize=110)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("think:N", sort=thinks, title="think time", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("who:N", sort=order),
        color=alt.Color("who:N", scale=scale, sort=order, title=None, legend=squares),
        tooltip=["who", "think", "nodes", *(alt.Tooltip(name, format=".4g") for name in NAMES)],
    )
    title = f"{metric.title} ({metric.unit})"
    value = alt.Y("low:Q", title=title, scale=alt.Scale(zero=False))
    line = base.mark_rule().encode(y=value, y2="high:Q")
    box = base.mark_bar(size=8).encode(y="quarter:Q", y2="three_quarters:Q")
    middle = base.mark_tick(thickness=2, size=10, color="black").encode(
        y="median:Q", color=alt.value("black")
    )
    name = f"distribution_{metric.name}"
    chart = _by_machine(line, box, middle)
    return TEXTS.figure("distribution", chart, name=name, title=metric.title)


def _by_machine(*layers: Chart) -> Chart:
    """Return a panel for each machine, two side by side."""
    facet = alt.Facet("nodes:O", sort="descending", title="cores")
    chart = alt.layer(*layers).properties(width=360, height=190).facet(facet=facet, columns=2)
    return chart.resolve_scale(y="independent")


def draw_workload(runs: Runs) -> Figure | None:
    """Draw the workload against the mean think time, here and in the paper."""
    rows: Rows = []
    for case, replications in c.group_by_case(runs):
        work = kit.quantiles(replications.values("work"))
        rows.append(_point("ours", case, work, replications.median("art")))
    if not rows:
        return None
    for case, medians in c.list_published_cases():
        if any(row["nodes"] == case["nodes"] for row in rows):
            rows.append(_point("paper", case, medians["work"], medians["art"][1]))
    names = ("minutes", "low", "median", "high")
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("minutes:Q", title="mean think time (min)", scale=alt.Scale(padding=8)),
        color=alt.Color("scheduler:N", scale=SCHEDULERS, sort=["fcfs", "easy"], legend=TOP),
        tooltip=["from", "scheduler", "nodes", "think", *kit.numbers(*names, digits=".4g")],
    )
    median = alt.Y("median:Q", title="workload (G core-s)")
    line = base.transform_filter("datum.from == 'ours' && datum.think != 'lin'")
    marks = ("constant", "lin", "constant, paper", "lin, paper")
    shape = _shape(*marks, range=["circle", "square", "cross", "diamond"], sort=list(marks))
    chart = _by_machine(
        line.mark_line().encode(y=median),
        base.mark_rule(opacity=0.6).encode(y="low:Q", y2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(y=median, shape=shape),
    )
    return TEXTS.figure("workload", chart)


def _shape(*marks: str, range: list[str], **options: Any) -> alt.Shape:
    scale = alt.Scale(domain=list(marks), range=range)
    return alt.Shape("mark:N", scale=scale, title="think time", legend=TOP, **options)


def _point(whose: str, case: Mapping[str, Any], work: list[float], art: float) -> dict[str, Any]:
    mean = c.compute_busy_weeks(1, art, case["think"]) * WEEK - art
    kind = "lin" if case["think"] == "lin" else "constant"
    row = {"from": whose, **{name: case[name] for name in ("scheduler", "nodes", "think")}}
    row |= {"minutes": mean / 60, "mark": kind if whose == "ours" else f"{kind}, paper"}
    return row | dict(zip(("low", "median", "high"), work, strict=True))


def draw_metrics(runs: Runs) -> Figure | None:
    """Draw each metric against the work, with a line through the constant think times."""
    rows = []
    for case, replications in c.group_by_case(runs):
        work = replications.median("work")
        for metric in c.QUALITY:
            row = {name: case[name] for name in ("scheduler", "nodes", "think")} | {"work": work}
            row |= {"metric": metric.title, "value": replications.median(metric.name)}
            rows.append(row | {"mark": "lin" if case["think"] == "lin" else "constant"})
    if not {"lin", "constant"} <= {row["mark"] for row in rows}:
        return None
    names = ("scheduler", "nodes", "think", "metric")
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("work:Q", title="workload (G core-s)", scale=alt.Scale(zero=False)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        color=alt.Color("scheduler:N", scale=SCHEDULERS, sort=["fcfs", "easy"], legend=TOP),
        tooltip=[*names, *kit.numbers("work", "value", digits=".4g")],
    )
    shape = _shape("constant", "lin", range=["circle", "square"])
    chart = (
        alt.layer(
            base.transform_filter("datum.mark == 'constant'").mark_line(),
            base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape),
        )
        .properties(width=160, height=120)
        .facet(
            column=alt.Column("nodes:O", sort="descending", title="cores"),
            row=alt.Row("metric:N", sort=[m.title for m in c.QUALITY], title=None),
        )
        .resolve_scale(x="independent", y="independent")
    )
    return TEXTS.figure("equal_work_curves", chart)


def draw_readings(runs: Runs) -> Figure | None:
    """Draw mean turnaround time against work for each interpretation, and the paper's medians."""
    names = ["paper", *runs.labels("reading")]
    rows: Rows = []
    for case, medians in c.list_published_cases() if len(names) > 2 else ():
        place = {"system": f"{case['scheduler']}, {case['nodes']} cores", "think": case["think"]}
        of_case = runs.where(**case)
        for (reading,), replications in of_case.groups("reading"):
            work, art = (kit.median_interval(replications.values(name)) for name in ("work", "art"))
            rows.append({**place, "reading": reading} | _crossed(work, art))
        if of_case:
            work, art = (c.estimate_printed_median(medians[name]) for name in ("work", "art"))
            rows.append({**place, "reading": "paper"} | _crossed(work, art))
    if not rows:
        return None
    scale = alt.Scale(domain=names, range=list(palette.MANY[: len(names)]))
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("work:Q", title="workload (G core-s)", axis=alt.Axis(tickCount=5)),
        y=alt.Y("art:Q", title="ART (s)"),
        color=alt.Color("reading:N", sort=names, scale=scale),
        tooltip=["reading", "system", "think", *kit.numbers("work", "art", digits=".4g")],
    )
    known = base.transform_filter("isValid(datum.art_low)")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        shape=alt.Shape("think:N", title="think time")
    )
    chart = (
        alt.layer(
            known.mark_rule().encode(y="art_low:Q", y2="art_high:Q"),
            known.mark_rule().encode(x="work_low:Q", x2="work_high:Q"),
            points,
        )
        .properties(width=260, height=200)
        .facet(facet=alt.Facet("system:N", title=None), columns=2)
        .resolve_scale(x="independent")
    )
    return TEXTS.figure("readings_work", chart)


def _crossed(work: Interval, art: Interval) -> dict[str, float | None]:
    """Return a point and its intervals in both directions."""
    row = {"work": kit.chart_cells(work), "art": kit.chart_cells(art)}
    return {
        name if end == "ours" else f"{name}_{end}": value
        for name, ends in row.items()
        for end, value in ends.items()
    }
