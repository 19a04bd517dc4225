"""Draws the figures of a calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import altair as alt
import numpy as np

from batsched_py.calibration.policy_calibrations import PolicyCalibrations
from batsched_py.calibration.time_series import Series
from batsched_py.figures.time_axis import TimeAxis
from batsched_py.report.calibrating.tables import RECORDED
from batsched_py.report.document import Figure
from batsched_py.report.kit.charts import Chart, inline_data, numbers, scale_of
from batsched_py.results.job_table import Column
from batsched_py.support import palette
from batsched_py.units import DAY, HOUR, MINUTE, WEEK

POINTS = 2_000
"""Most points of a line."""
_HIGH = 320
_ROOM = 1.5
"""Times the largest value of the record and of the site's policy that a figure shows."""
_CUT = "Values far above those of the log and the site's policy are cut."
_NAMES = {HOUR: "hour", DAY: "day", WEEK: "week"}
_PER_DECADE = 5
"""Bins of waits in a factor of ten."""
_LEAST = 0.5
"""Minutes where the bin of the waits below 1 minute begins."""

Waits = Mapping[str, tuple[Column, Column]]
"""Recorded and simulated waits of the jobs of each policy, seconds."""


def draw_waits(waits: Waits) -> Figure:
    """Draw the number of jobs by recorded and simulated wait."""
    rows = [row for name, pair in waits.items() for row in _binned(name, *pair)]
    ends = [row[name] for row in rows for name in ("recorded_end", "simulated_end")]
    longest = max(1.0, *ends)
    scale = alt.Scale(type="log", domain=[_LEAST / 60, longest], nice=False)
    ticks: dict[str, Any] = {"values": [0.1, 1, 10, 100, 1000], "format": "~r"}
    base = alt.Chart().encode(
        x=alt.X("recorded:Q", title="recorded wait (h)", scale=scale).axis(**ticks),
        y=alt.Y("simulated:Q", title="simulated wait (h)", scale=scale).axis(**ticks),
    )
    cells = base.mark_rect().encode(
        x2="recorded_end:Q",
        y2="simulated_end:Q",
        color=alt.Color("jobs:Q", title="jobs")
        .scale(type="log", scheme="blues", domain=[0.5, max(10, *(row["jobs"] for row in rows))])
        .legend(format="~s", tickCount=4),
        tooltip=[
            "policy:N",
            "jobs:Q",
            *numbers(recorded="recorded from (h)", recorded_end="to"),
            *numbers(simulated="simulated from (h)", simulated_end="to"),
        ],
    )
    least, most = alt.datum(_LEAST / 60), alt.datum(longest)
    line = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4])
    diagonal = line.encode(x=least, y=least, x2=most, y2=most)
    chart = alt.layer(cells, diagonal, data=inline_data(rows)).properties(width=300, height=300)
    chart = chart.facet(
        facet=alt.Facet("policy:N", title=None, sort=list(waits)),
        columns=3 if len(waits) == 3 else 2,
    )
    caption = (
        "Jobs on the dashed line waited as recorded; jobs above it waited longer. The first bins "
        "hold the jobs that started within a minute. Colours are logarithmic."
    )
    return Figure("waits", "Recorded against simulated waits", chart, caption)


def _binned(policy: str, recorded: Column, simulated: Column) -> Iterator[dict[str, Any]]:
    """Yield the bins that have jobs, edges in hours."""
    a, b = (_bin(wait) for wait in (recorded, simulated))
    pairs, number = np.unique(np.column_stack([a, b]), axis=0, return_counts=True)
    for (first, second), jobs in zip(pairs.tolist(), number.tolist(), strict=True):
        low, high = _edge(first), _edge(first + 1)
        row = {"policy": policy, "recorded": low, "recorded_end": high}
        yield row | {"simulated": _edge(second), "simulated_end": _edge(second + 1), "jobs": jobs}


def _bin(wait: Column) -> Any:
    """Return the number of each wait's bin: 0 is below a minute."""
    minutes = np.maximum(wait / MINUTE, _LEAST)
    return np.maximum(np.floor(np.log10(minutes) * _PER_DECADE) + 1, 0).astype(np.int64)


def _edge(number: int) -> float:
    """Return where a bin begins, in hours."""
    minutes = _LEAST if number == 0 else 10 ** ((number - 1) / _PER_DECADE)
    return float(f"{minutes / 60:.5g}")


def draw_waits_by_hour(found: PolicyCalibrations) -> Figure:
    """Draw the mean wait by the hour of submission, recorded and under each policy."""
    rows = [
        {"line": line, "hour": int(group.name[:2]), "wait": wait / HOUR, "jobs": group.jobs}
        for name, of in found.policies.items()
        for group in of.of_kind("hour")
        for line, wait in ((name, group.mean_simulated), (RECORDED, group.mean_recorded))
        if line != RECORDED or name == found.site
    ]
    chart = (
        alt.Chart(inline_data(rows))
        .mark_line(point=True, clip=True)
        .encode(
            x=alt.X("hour:Q", title="hour of submission")
            .axis(values=list(range(0, 24, 3)))
            .scale(domain=[-0.5, 23.5], nice=False),
            y=alt.Y("wait:Q", title="mean wait (h)", scale=_seen(rows, "wait", found.site)),
            color=_colour(found),
            tooltip=["line:N", "hour:Q", *numbers(wait="mean wait (h)"), "jobs:Q"],
        )
        .properties(width="container", height=_HIGH)
    )
    return Figure("waits_by_hour", "Mean wait by hour of day", chart, f"By the log's clock. {_CUT}")


def draw_backlog(found: PolicyCalibrations, axis: TimeAxis) -> Figure | None:
    """Draw the waiting work in processor-hours over time, recorded and under each policy.

    None of a log of less than an hour.
    """
    series = {name: of.backlog.work for name, of in found.policies.items()}
    rows = list(_over_time(series, found.site, axis))
    if not rows:
        return None
    every = _NAMES[_shown_step(series[found.site])]
    caption = "Processors x recorded run time of the waiting jobs, with those of a warm-up: the "
    caption += f"mean of each {every}. {_CUT}"
    chart = _lines(found, rows, axis, "waiting work (processor-hours)")
    return Figure("backlog", "Backlog", chart, caption)


def draw_utilisation(found: PolicyCalibrations, axis: TimeAxis) -> Figure | None:
    """Draw the utilisation by week; None if the machine is unknown, or for less than a week."""
    series = {name: of.utilisation.weeks for name, of in found.policies.items()}
    rows = list(_over_time(series, found.site, axis))
    if not rows or not all(isfinite(row["value"]) for row in rows):
        return None
    chart = _lines(found, rows, axis, "share of processors in use")
    caption = "By week, of the compared jobs and those of a warm-up."
    return Figure("utilisation", "Utilisation by week", chart, caption)


def _lines(found: PolicyCalibrations, rows: list[dict[str, Any]], axis: TimeAxis, y: str) -> Chart:
    return (
        alt.Chart(inline_data(rows))
        .mark_line(interpolate="step-after", strokeWidth=1.5, clip=True)
        .encode(
            x=axis.encode_x("time"),
            y=alt.Y("value:Q", title=y, scale=_seen(rows, "value", found.site)),
            color=_colour(found),
            tooltip=["line:N", axis.make_tooltip("time", "from"), *numbers(value=y)],
        )
        .properties(width="container", height=_HIGH)
        .interactive(bind_y=False)
    )


def _seen(rows: list[dict[str, Any]], name: str, site: str) -> alt.Scale:
    """Return the scale that shows the log and the site's policy whole."""
    most = max(row[name] for row in rows)
    main = max(row[name] for row in rows if row["line"] in (RECORDED, site))
    return alt.Scale(domain=[0, min(most, _ROOM * main) or 1.0])


def _colour(found: PolicyCalibrations) -> alt.Color:
    styles = dict(zip(found.policies, palette.CATEGORIES, strict=False))
    lines = {RECORDED: palette.BLACK} | styles
    return alt.Color("line:N", title=None, scale=scale_of(lines, list(lines)))


def _over_time(series: Mapping[str, Series], site: str, axis: TimeAxis) -> Iterator[dict[str, Any]]:
    """Yield the points of lines, thinned by means over more of the time."""
    for name, of in series.items():
        lines = {name: of.simulated} | ({RECORDED: of.recorded} if name == site else {})
        for line, values in lines.items():
            if not values:
                continue
            times, means = _thinned(of, values)
            for at, value in zip(_texts(axis, times), means, strict=True):
                yield {"line": line, "time": at, "value": float(f"{value:.4g}")}


def _thinned(series: Series, values: Sequence[float]) -> tuple[Column, Column]:
    """Return times and means from these on; the last is there twice, from begin to end."""
    many = round(_shown_step(series) / series.step)
    first = np.arange(0, len(values), many)
    edges = np.append(first, len(values))
    means = np.add.reduceat(np.asarray(values), first) / np.diff(edges)
    return series.begin + series.step * edges.astype(np.float64), np.append(means, means[-1])


def _shown_step(series: Series) -> float:
    """Return the step for at most :data:`POINTS`: that of the series, else days, else weeks."""
    steps = [step for step in (series.step, DAY) if step >= series.step]
    span = len(series.recorded) * series.step
    return next((step for step in steps if span / step <= POINTS), float(WEEK))


def _texts(axis: TimeAxis, times: Column) -> list[Any]:
    """Return times as JSON has them."""
    written = axis.to_axis(times)
    shown = written.astype(str) if axis.has_dates else np.round(written, 4)
    return list(shown.tolist())
