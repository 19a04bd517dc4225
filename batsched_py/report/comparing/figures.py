"""Draws the figures of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.report.comparing.run_tables import format_job_names
from batsched_py.report.document import Figure
from batsched_py.report.kit.charts import numbers
from batsched_py.report.metric_words import find_title
from batsched_py.support import palette
from batsched_py.support.statistics import FEWEST, quantiles
from batsched_py.units import DAY, HOUR

POINTS = 1_800
"""Most points of a figure."""
_EXTREMES = 300
_NEAR = 0.1
"""Hours below which a symlog axis is linear (6 min)."""
_HIGH = 380


def draw_shifts_of_starts(pairs: pd.DataFrame) -> Figure:
    """Draw the shift of each start over the start in A; the largest shifts are never left out."""
    rows = pairs[pairs["start_shift"].notna()]
    shift = rows["start_shift"].to_numpy()
    kept = rows.iloc[thin(shift)]
    data = pd.DataFrame(
        {
            "job": format_job_names(pairs)[kept.index],
            "user": kept["user"],
            "processors": kept["size"],
            "start": (kept["start_a"] - pairs["submit_a"].min()) / DAY,
            "shift": kept["start_shift"] / HOUR,
            "submission": kept["submit_shift"] / HOUR,
            "waiting": kept["wait_shift"] / HOUR,
            "moved": np.select(
                [kept["start_shift"] < 0, kept["start_shift"] > 0], ["earlier", "later"], "the same"
            ),
        }
    )
    scale, ticks = _symlog(data["shift"])
    chart = (
        alt.Chart(_rounded(data))
        .mark_circle(size=28, opacity=0.6)
        .encode(
            x=alt.X("start:Q", title="start in A (days after the first submission)"),
            y=alt.Y("shift:Q", title="shift of the start, B - A (h)", scale=scale).axis(**ticks),
            color=alt.Color("moved:N", title="in B").scale(
                domain=["earlier", "the same", "later"], range=palette.CHANGES
            ),
            tooltip=[
                *("job:N", "user:N", "processors:Q"),
                *numbers(
                    start="start in A (d)",
                    shift="shift of start (h)",
                    submission="... of submission (h)",
                    waiting="... of waiting time (h)",
                ),
            ],
        )
        .properties(width="container", height=_HIGH)
        .interactive()
    )
    part = f"{len(kept)} of {len(rows)} jobs, the largest shifts among them. "
    axis = f"The vertical axis is logarithmic beyond {60 * _NEAR:g} minutes on either side of 0."
    caption = part + axis if len(kept) < len(rows) else axis
    return Figure("shift_of_starts", "Shifts of starts", chart, caption)


def draw_waits_of_users(users: pd.DataFrame) -> Figure:
    """Draw the mean wait of each user in B over that in A."""
    kept = users.head(POINTS)
    waits = kept[["wait_a", "wait_b", "wait_shift"]].set_axis(["a", "b", "difference"], axis=1)
    data = kept[["user", "jobs"]].join(waits / HOUR)
    both = np.concatenate([data["a"], data["b"]])
    scale, ticks = _symlog(both)
    most = float(np.nanmax(both, initial=_NEAR))
    line = np.concatenate([[0.0], np.geomspace(_NEAR / 10, max(most, _NEAR), 40)])
    points = (
        alt.Chart(_rounded(data))
        .mark_circle(opacity=0.7)
        .encode(
            x=alt.X("a:Q", title="mean waiting time in A (h)", scale=scale).axis(**ticks),
            y=alt.Y("b:Q", title="mean waiting time in B (h)", scale=scale).axis(**ticks),
            size=alt.Size("jobs:Q", title="jobs")
            .scale(type="sqrt", range=[20, 400])
            .legend(values=sorted({int(at) for at in quantiles(data["jobs"], (0, 0.5, 1))})),
            tooltip=[
                *("user:N", "jobs:Q"),
                *numbers(a="mean wait, A (h)", b="mean wait, B (h)", difference="B - A (h)"),
            ],
        )
        .interactive()
    )
    diagonal = (
        alt.Chart(pd.DataFrame({"a": line, "b": line}))
        .mark_line(color=palette.LINES, strokeDash=[4, 4])
        .encode(x=alt.X("a:Q", scale=scale), y=alt.Y("b:Q", scale=scale))
    )
    chart = (diagonal + points).properties(width="container", height=_HIGH)
    caption = "A user above the diagonal waits longer in B. Axes are logarithmic beyond 6 minutes."
    return Figure("waits_of_users", "Mean waits of the users", chart, caption)


def draw_distribution_of_waits(runs: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the share of jobs that wait at most a given time, for each run by its name."""
    shares = [at / 300 for at in range(301)]
    waits = {run: np.array(quantiles(jobs["wait"], shares)) / HOUR for run, jobs in runs.items()}
    curves = (pd.DataFrame({"run": run, "wait": waits[run], "share": shares}) for run in runs)
    data = pd.concat(curves, ignore_index=True).dropna()
    scale, ticks = _symlog(data["wait"])
    chart = (
        alt.Chart(_rounded(data))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("wait:Q", title="waiting time (h)", scale=scale).axis(**ticks),
            y=alt.Y("share:Q", title="share of jobs with this wait or less"),
            color=alt.Color("run:N", title=None, sort=list(runs)).legend(
                orient="top", labelLimit=300
            ),
            order="share:Q",
            tooltip=["run:N", *numbers(wait="waiting time (h)", share="share of jobs")],
        )
        .properties(width="container", height=280)
        .interactive()
    )
    caption = "The horizontal axis is logarithmic beyond 6 minutes. Higher curve: shorter waits."
    return Figure("distribution_of_waits", "Waiting times of the jobs", chart, caption)


def draw_ratios(rows: pd.DataFrame, metrics: list[str]) -> Figure:
    """Draw the ratios B / A of metrics by group with intervals, a panel for each metric.

    ``rows`` has the columns ``group``, ``metric``, ``ratio``, ``ratio_low``, ``ratio_high``,
    ``a``, ``b`` and ``pairs``.
    """
    data = rows[["group", "metric", "ratio", "ratio_low", "ratio_high", "a", "b", "pairs"]]
    data = data.assign(metric=data["metric"].map(find_title))
    order = list(dict.fromkeys(data["group"]))
    base = alt.Chart().encode(
        y=alt.Y("group:N", title=None, sort=order).axis(labelLimit=240),
        tooltip=[
            *("group:N", "metric:N"),
            *numbers(ratio="B / A", ratio_low="from", ratio_high="to"),
            *numbers(a="mean, A", b="mean, B", pairs="pairs of runs"),
        ],
    )
    about: dict[str, Any] = {
        "title": "B / A",
        "scale": alt.Scale(type="log", nice=False, padding=12),
    }
    low = alt.X("ratio_low:Q", **about).axis(labelOverlap="greedy", labelSeparation=6)
    spans = base.mark_rule().encode(x=low, x2="ratio_high:Q")
    points = base.mark_point(filled=True, size=50).encode(x=alt.X("ratio:Q", **about))
    equal = alt.Chart().mark_rule(color=palette.LINES, strokeDash=[4, 4]).encode(x=alt.datum(1.0))
    chart = (
        alt.layer(equal, spans, points, data=_rounded(data))
        .properties(width=260, height=alt.Step(18))
        .facet(
            facet=alt.Facet("metric:N", title=None, sort=[*map(find_title, metrics)]).header(
                labelFontWeight="bold"
            ),
            columns=2,
        )
        .resolve_scale(x="independent")
    )
    caption = (
        "Ratios of means over pairs of runs with the same seed, with 95 % intervals for "
        f"{FEWEST} pairs or more. Dashed line: equal."
    )
    return Figure("ratios", "Metrics of B divided by those of A", chart, caption)


def thin(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    """Return the places of values to draw: the largest on either side, and a regular sample."""
    if len(values) <= POINTS:
        return list(range(len(values)))
    order = np.argsort(values, kind="stable")
    every = np.linspace(0, len(values) - 1, POINTS - 2 * _EXTREMES).astype(np.int64)
    return sorted({*order[:_EXTREMES].tolist(), *order[-_EXTREMES:].tolist(), *every.tolist()})


def _symlog(values: Iterable[float]) -> tuple[alt.Scale, dict[str, Any]]:
    """Return a scale that shows minutes and months, and 0; and its axis.

    The axis has powers of ten and 0: Vega's own ticks overlap at the end of a symlog axis.
    """
    array = np.asarray(list(values), dtype=np.float64)
    low, high = np.nanmin(array, initial=0.0), np.nanmax(array, initial=0.0)
    ends = [float(low * 1.2), float(max(high * 1.2, _NEAR if low == 0 else 0.0))]
    powers = [10.0**power for power in range(-1, 6)]
    below = [-power for power in reversed(powers) if -power >= low * 1.2]
    above = [power for power in powers if power <= max(high * 1.2, _NEAR)]
    scale = alt.Scale(type="symlog", constant=_NEAR, domain=ends)
    return scale, {"values": [*below, 0.0, *above], "format": "~r"}


def _rounded(data: pd.DataFrame) -> pd.DataFrame:
    """Return the data with five significant digits: they are inlined."""
    floats = data.select_dtypes("float")
    return data.assign(**floats.map(lambda value: float(f"{value:.5g}")))
