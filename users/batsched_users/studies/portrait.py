"""Draws portraits of users: when they submit, their session lengths, and their think times.

Several portraits may be laid over each other, such as a log and a simulation of a model that was
learnt from it. Functions that measure are separate from functions that draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.errors import UsageError, parameter
from batsched_py.units import DAY, MINUTE
from batsched_users.learning.learn_think_times import BOUND, find_think_time_pairs
from batsched_users.measures.job_columns import Column, JobColumns
from batsched_users.measures.marginals import jobs_by_hour_of_week
from batsched_users.measures.session_columns import BY_ARRIVAL, cut_sessions
from batsched_users.studies.figure_style import (
    add_title,
    distinguish_curves,
    draw_lines,
    label_ticks,
    make_minutes_axis,
    make_percent_axis,
)

Looks = dict[str, Any]
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

LONGEST_THINK_TIME = BOUND
"""Seconds; users who return later were away (Schlagkamp 2015: think times below 28,800 s)."""
RESPONSES: Column = np.array([0, 1, 2, 5, 10, 20, 60, 120, 240, 480, 1440]) * MINUTE
"""Edges of the bins of response times, seconds; the last bin has no upper edge."""
FEWEST = 10
"""Smallest number of pairs in a bin whose quartiles are drawn."""
_NO_PAIR = 0.7
"""Position of a bin without pairs, since a logarithmic axis has no 0."""
_LEAST_DRAWN = 0.1
"""Minutes at which shorter think times are drawn, since a logarithmic axis has no 0."""


class Portrait(msgspec.Struct, frozen=True, eq=False):
    """The numbers of a portrait of users, which the figure shows."""

    label: str
    hours: Column
    """Share of the submissions in each hour of the week from Monday 0:00; shape (168,), sum 1."""
    session_lengths: Column
    """Minutes from first to last submission, ascending; shape (sessions,). One job: 0."""
    think_times: Column
    """Quartiles (25 %, 50 %, 75 %) in seconds of the think times in each bin of response times,
    :data:`RESPONSES`; nan without pairs. Shape (bins, 3)."""
    pairs: NDArray[np.int64]
    """Number of think times in each bin; shape (bins,)."""
    clock_known: bool


def measure_portrait(jobs: JobColumns, label: str) -> Portrait:
    """Measure the numbers of a portrait: submissions, session lengths and think times.

    Raises :class:`UsageError` without jobs, and for jobs without user.
    """
    if not len(jobs):
        raise UsageError(f"{label}: there are no jobs, so there is nothing to draw")
    if nobodys := int((jobs.user < 0).sum()):
        raise UsageError(
            f"{label}: {nobodys} of {len(jobs)} jobs have no user, but a portrait is one of users; "
            f"for a log, {parameter('unknown_user')} each takes each as one of its own"
        )
    quartiles, pairs = bin_think_times(jobs)
    hours = jobs_by_hour_of_week(jobs) / len(jobs)
    clock_known = jobs.calendar.known
    return Portrait(label, hours, measure_session_lengths(jobs), quartiles, pairs, clock_known)


def measure_session_lengths(jobs: JobColumns) -> Column:
    """Measure the lengths of sessions by arrival:60:> in minutes, ascending.

    Source: Zakay, PhD thesis, chapter 2.
    """
    first, last = cut_sessions(jobs, BY_ARRIVAL).spans(jobs)
    return np.sort(last - first) / MINUTE


def bin_think_times(jobs: JobColumns) -> tuple[Column, NDArray[np.int64]]:
    """Return quartiles in seconds (bins, 3) and numbers (bins,) of think times by response time.

    A think time is the time from the end of a user's job to the next submission, if that is after
    the end and less than 8 hours later. The response time of the job selects the bin, lower edges
    included.

    Source: the pairs of S. Schlagkamp, JSSPP 2015, section 3.
    """
    pairs = find_think_time_pairs(jobs, LONGEST_THINK_TIME)
    bins = np.searchsorted(RESPONSES, pairs.response, side="right") - 1
    quartiles = np.full((len(RESPONSES), 3), np.nan)
    for index in np.unique(bins).tolist():
        quartiles[index] = np.quantile(pairs.think[bins == index], (0.25, 0.5, 0.75))
    return quartiles, np.bincount(bins, minlength=len(RESPONSES))


def draw_portraits(portraits: Sequence[Portrait]) -> Any:
    """Draw one or more portraits over each other, distinguished by colour and line style."""
    looks = distinguish_curves([view.label for view in portraits], orient="top", columns=3)
    thinking = alt.vconcat(_thinking(portraits, looks), _pairs(portraits, looks), spacing=4)
    below = alt.hconcat(_lengths(portraits, looks), thinking, spacing=40)
    return alt.vconcat(_week(portraits, looks), below, spacing=16)


def _week(portraits: Sequence[Portrait], looks: Looks) -> Any:
    known = all(view.clock_known for view in portraits)
    axis: Any = alt.Axis(values=list(range(0, 169, 24)))
    if known:
        axis = label_ticks({24.0 * day + 12: name for day, name in enumerate(_DAYS)}, ticks=False)
    axis.grid = False
    hours = None if known else "hours (where the clock is unknown, from second 0)"
    x = alt.X("x:Q", title=hours, axis=axis, scale=alt.Scale(domain=[0, 168], nice=False))
    midnights = alt.Chart(pd.DataFrame({"x": range(24, 168, 24)})).mark_rule(color="#cccccc")
    percent = [(np.arange(169), np.append(view.hours, view.hours[-1]) * 100) for view in portraits]
    steps = draw_lines(percent, interpolate="step-after", strokeWidth=1.6)
    y = alt.Y("y:Q", title="% of the jobs, per hour")
    drawn = midnights.encode(x=x) + steps.encode(x=x, y=y, **looks)
    return add_title(drawn, "When they submit" + " (local time)" * known, 1000, 230)


def _lengths(portraits: Sequence[Portrait], looks: Looks) -> Any:
    longest = max(view.session_lengths[-1] for view in portraits)
    at = np.geomspace(1, max(2 * DAY / MINUTE, longest), 500)
    shares = [
        np.searchsorted(view.session_lengths, at, side="right") / len(view.session_lengths)
        for view in portraits
    ]
    drawn = draw_lines([(at, share) for share in shares], strokeWidth=1.8).encode(
        x=alt.X("x:Q", title="from first to last submission", **make_minutes_axis(1, at[-1])),
        y=alt.Y("y:Q", title="of the sessions, at most so long", **make_percent_axis()),
        **looks,
    )
    return add_title(drawn, "How long their sessions are", 450, 360)


def _bins(column: str, *, labels: bool) -> Any:
    """Return the axis of response times in bins, with or without labels."""
    names = dict(enumerate(("0", "1", "2", "5", "10", "20 min", "1 h", "2", "4", "8 h", "1 d")))
    scale = alt.Scale(domain=[0, len(RESPONSES)], nice=False)
    title = "response time of the job" if labels else None
    return alt.X(f"{column}:Q", title=title, scale=scale, axis=label_ticks(names, labels=labels))


def _thinking(portraits: Sequence[Portrait], looks: Looks) -> Any:
    rows = []
    for index, view in enumerate(portraits):
        # Side by side in their bin, so that the quartiles of one do not hide another's.
        place = 0.5 + (index - (len(portraits) - 1) / 2) * 0.6 / len(portraits)
        for at in np.flatnonzero(view.pairs >= FEWEST).tolist():
            low, middle, high = np.maximum(view.think_times[at] / MINUTE, _LEAST_DRAWN).tolist()
            rows.append((index, at + place, low, middle, high))
    columns = ["curve", "bin", "low", "minutes", "high"]
    frame = pd.DataFrame(rows, columns=columns, dtype=float)
    base = alt.Chart(frame).encode(x=_bins("bin", labels=False))
    names = {_LEAST_DRAWN: "\u2264 6 s", 1: "1 min", 10: "10 min", 60: "1 h", 480: "8 h"}
    domain = [_LEAST_DRAWN, LONGEST_THINK_TIME / MINUTE]
    log = alt.Scale(type="log", domain=domain, nice=False)
    y = {"title": "think time", "scale": log, "axis": label_ticks(names)}
    colour = {"color": looks["color"]}
    drawn = (
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(
            y=alt.Y("low:Q", **y), y2="high", **colour
        )
        + base.mark_line(strokeWidth=1.2).encode(y=alt.Y("minutes:Q", **y), **looks)
        + base.mark_point(filled=True, size=45, opacity=1).encode(y="minutes:Q", **colour)
    )
    return add_title(drawn, "How long they think after a job (median, quartiles)", 450, 260)


def _pairs(portraits: Sequence[Portrait], looks: Looks) -> Any:
    bins = np.arange(len(RESPONSES) + 1)
    pairs = [np.maximum(np.append(view.pairs, view.pairs[-1]), _NO_PAIR) for view in portraits]
    most = max(of.max() for of in pairs)
    scale = alt.Scale(type="log", domain=[_NO_PAIR, max(most, 10)], nice=False)
    axis = alt.Axis(values=[1, 10, 100, 1000, 10_000, 100_000], format="~s")
    steps = draw_lines([(bins, of) for of in pairs], interpolate="step-after", strokeWidth=1.4)
    y = alt.Y("y:Q", title="pairs", scale=scale, axis=axis)
    return steps.encode(x=_bins("x", labels=True), y=y, **looks).properties(width=450, height=70)
