"""The figures of the study, as Vega-Lite charts: by month, and by load.

Colours are of Okabe and Ito's palette, safe for the colour-blind; policies differ by shape as well.
Filled points and lines are ours, open points the thesis's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report.document import Figure
from batsched_studies.dynp import layout as LAYOUT
from batsched_studies.dynp import load as LOAD
from batsched_studies.dynp.load import Load
from batsched_studies.dynp.measures import Measured

STYLES = {
    "fcfs": ("FCFS", "#CC79A7", "circle"),
    "sjf": ("SJF", "#0072B2", "square"),
    "ljf": ("LJF", "#E69F00", "triangle-up"),
    "advanced full": ("dynP, advanced", "#000000", "diamond"),
    "sjf-preferred full": ("dynP, SJF-preferred", "#009E73", "cross"),
}
"""Label, colour and shape by policy; others are not drawn."""
MONTHLY = ("fcfs", "sjf", "ljf", "advanced full")
HEIGHT = 320
SLACKNESS = "gain over SJF (%)"


def figures(
    runs: Iterable[Measured], loads: Iterable[Load], published: Mapping[str, Any]
) -> Iterator[Figure]:
    """Yield the figures that the runs allow."""
    yield from monthly_figures(runs, published)
    for load in loads:
        for metric in ("SLDwA", "UTIL"):
            figure = load_figure(load, metric, published)
            if figure is not None:
                yield figure
        figure = slackness_figure(load, published)
        if figure is not None:
            yield figure


def monthly_figures(runs: Iterable[Measured], published: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield SLDwA by month of submission, for each log with two policies or more."""
    logs: dict[str, dict[str, Measured]] = {}
    for run in runs:
        if (
            run.policy.key in MONTHLY
            and run.policy.plain
            and run.estimates == "user"
            and run.months
        ):
            own = logs.setdefault(run.log, {})
            if not run.policy.legacy_fcfs_list_order or run.policy.key not in own:
                own[run.policy.key] = run
    for log, own in logs.items():
        if len(own) > 1:
            yield Figure(
                LAYOUT.name_of("sldwa_by_month", log),
                f"SLDwA by month of submission: {log}",
                _chart(_monthly(own, published), "month", "month of submission", "SLDwA", log=True),
                "Static policies and dynP with full self-tuning. Open points: Tables A.1 to A.4, "
                "A.9 to A.12.",
            )


def _monthly(runs: Mapping[str, Measured], published: Mapping[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for policy, run in runs.items():
        for month, own in run.months.items():
            thesis = LOAD.printed(published, ("monthly", run.trace, month), policy)
            lines.append(_point(policy, month, own.sldwa, thesis))
    return lines


def load_figure(load: Load, metric: str, published: Mapping[str, Any]) -> Figure | None:
    """Return a metric by shrinking factor; None if there is one factor only."""
    lines = []
    for policy in load.policies():
        for shrink in load.factors():
            own = load.value(LOAD.Cell(policy, 0, shrink), metric)
            if own is None or policy not in STYLES:
                continue
            path = ("load", metric, load.trace, f"{shrink:g}" if shrink < 1 else "1.0")
            thesis = LOAD.printed(published, path, policy)
            lines.append(_point(policy, shrink, own.value, thesis, own.low, own.high))
    if len({line["x"] for line in lines}) < 2:
        return None
    unit = " (%)" if metric == "UTIL" else ""
    return Figure(
        LAYOUT.name_of(metric, "by_load", load.log),
        f"{metric} of synthetic job sets by shrinking factor: {load.log}",
        _chart(lines, "factor", "shrinking factor", metric + unit, log=metric == "SLDwA"),
        "Less is more load. Bars: 95 % bootstrap intervals of the mean without the best and the "
        "worst set. Open points: Tables A.13 and A.15.",
    )


def slackness_figure(load: Load, published: Mapping[str, Any]) -> Figure | None:
    """Return the average gain over SJF by slackness."""
    lines = []
    for policy, values in LOAD.slacknesses(load):
        for slackness in values if policy in STYLES else ():
            own = LOAD.average_gain(load, policy, slackness, "SLDwA")
            if own is not None:
                path = ("load_slackness_gains", load.trace, policy)
                whole = LOAD.whole(load, policy, slackness)
                thesis = LOAD.printed(published, path, slackness) if whole else None
                lines.append(_point(policy, slackness, own.value, thesis, own.low, own.high))
    if not lines:
        return None
    return Figure(
        LAYOUT.name_of("gain_by_slackness", load.log),
        f"Gain over SJF by slackness: {load.log}",
        _chart(lines, "slackness", "slackness (%)", SLACKNESS),
        "SLDwA, averaged over the shrinking factors that were run. Open points: Table 5.13.",
    )


def _point(
    policy: str,
    x: Any,
    ours: float,
    thesis: float | None,
    low: float | None = None,
    high: float | None = None,
) -> dict[str, Any]:
    known = low is not None and low == low  # nan where there is one set only
    return {
        "policy": STYLES[policy][0],
        "x": x,
        "ours": ours,
        "thesis": thesis,
        "low": low if known else None,
        "high": high if known else None,
    }


def _chart(lines: list[dict[str, Any]], what: str, x: str, y: str, *, log: bool = False) -> Any:
    there = {line["policy"] for line in lines}
    styles = [style for style in STYLES.values() if style[0] in there]
    names, colours, shapes = (list(each) for each in zip(*styles, strict=True))
    colour = alt.Color("policy:N", title=None, scale=alt.Scale(domain=names, range=colours))
    shape = alt.Shape("policy:N", title=None, scale=alt.Scale(domain=names, range=shapes))
    scale = (
        alt.Scale(type="log", nice=False, padding=10)
        if log
        else alt.Scale(nice=False, zero=False, padding=10)
    )
    descending = "descending" if what == "factor" else "ascending"
    base = alt.Chart(pd.DataFrame(lines)).encode(
        x=alt.X("x:O", title=x, sort=descending, axis=alt.Axis(labelAngle=-45 * (what == "month"))),
        color=colour,
        **({} if what == "month" else {"xOffset": alt.XOffset("policy:N", sort=names)}),
        tooltip=[
            "policy:N",
            alt.Tooltip("x:O", title=what),
            alt.Tooltip("ours:Q", format=".4~g"),
            alt.Tooltip("thesis:Q", format=".4~g"),
        ],
    )
    ours = alt.Y("ours:Q", title=y, scale=scale)
    layers = [base.mark_line(strokeWidth=1.2).encode(y=ours)]
    if any(line["low"] is not None for line in lines):
        layers.append(
            base.transform_filter("datum.low != null").mark_rule().encode(y="low:Q", y2="high:Q")
        )
    layers.append(base.mark_point(filled=True, size=40, opacity=1).encode(y=ours, shape=shape))
    if any(line["thesis"] is not None for line in lines):
        published = base.transform_filter("datum.thesis != null").mark_point(size=90)
        layers.append(published.encode(y=alt.Y("thesis:Q", title=y, scale=scale), shape=shape))
    return alt.layer(*layers).properties(width="container", height=HEIGHT)
