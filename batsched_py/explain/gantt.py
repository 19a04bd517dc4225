"""Draws the schedule around one job, from its submission to its end."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.errors import InputError
from batsched_py.explain.job_history import Life
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.waiting_lines import find_overtakers
from batsched_py.figures.run_figures import JobsOfRun, draw_schedule, draw_sleep
from batsched_py.figures.step_charts import Chart
from batsched_py.figures.time_axis import TimeAxis
from batsched_py.options.durations import format_exact_duration
from batsched_py.processors.sets import to_text
from batsched_py.protocol.batsim_jobs_columns import REJECTED, WITHDRAWN
from batsched_py.support import palette

EXPLAINED, RESERVED = "the job", "its reservation held it"
OVERTOOK, OTHER = "overtook it", "other jobs"
_FILLS = {
    EXPLAINED: palette.VERMILION,
    RESERVED: palette.SKY,
    OVERTOOK: "#F6CE7B",
    OTHER: "#D9D9D9",
}
WIDTH, HEIGHT = 820, 460
"""Pixels of the axes."""
LABELS = 40
"""Jobs that are labelled at most."""
_WIDE, _HIGH = 0.009, 0.028
"""Size of a letter of a label, as shares of the axes."""


def draw_job(watch: Watch, margin: float) -> Chart:
    """Draw the schedule around the watched job, with its wait as an arrow.

    ``margin`` is shown on both sides, as a share of the time from its submission to its end.
    Raises :class:`InputError` for a job that was rejected.
    """
    life = watch.life
    assert life is not None  # find_job knew it
    if life.state == REJECTED:
        raise InputError(f"job {life.id} was rejected: there is nothing to draw")
    end = watch.now if life.end is None else life.end
    left = end if life.start is None else life.start
    room = margin * (end - life.submit_time) or 1.0
    begin, end = life.submit_time - room, end + room
    jobs = _jobs(watch, _roles(watch, life, left), end)
    run = JobsOfRun(jobs, {"nb_processors": watch.nb_processors})
    schedule = draw_schedule(run, colour="role", begin=begin, end=end)
    bars = schedule.data
    axis = TimeAxis.for_run(jobs, {}, end - begin, None)
    times = axis.to_axis(np.array([begin, end, life.submit_time, left])).tolist()
    there = [role for role in _FILLS if role in set(bars["colour"])]
    fills = alt.Scale(domain=there, range=[_FILLS[role] for role in there])
    colour = alt.Color("colour:N", title=None, scale=fills)
    layers = [
        *draw_sleep(watch.power_changes, axis, begin, end),
        schedule.properties(title="").encode(color=colour, stroke=alt.value(palette.BLACK)),
        *_waiting(bars[bars["colour"] == EXPLAINED], times[2:], watch.nb_processors),
        *_labels(bars, times[:2], watch.nb_processors),
    ]
    title = f"{life.id} waited {format_exact_duration(left - life.submit_time)}"
    if life.state == WITHDRAWN:
        title += ", then its user withdrew it"
    heading = alt.TitleParams(title, anchor="start")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading)


def _roles(watch: Watch, life: Life, left: float) -> dict[str, str]:
    roles = dict.fromkeys(find_overtakers(watch.jobs, life, left), OVERTOOK)
    for waited in watch.passes:
        if waited.held.why in ("reservation", "behind") and waited.held.by is not None:
            roles[waited.held.by] = RESERVED
    return roles | {life.id: EXPLAINED}


def _jobs(watch: Watch, roles: dict[str, str], end: float) -> pd.DataFrame:
    """Return the jobs that started, as a table of jobs; unfinished jobs run on to the edge."""
    rows = [
        (
            *(job.id, job.submit_time, job.start, end if job.end is None else job.end),
            *(job.size, to_text(job.processors), roles.get(job.id, OTHER)),
        )
        for job in watch.jobs.values()
        if job.start is not None
    ]
    times = ("submission_time", "starting_time", "finish_time")
    processors = ("requested_number_of_resources", "allocated_resources")
    return pd.DataFrame(rows, columns=["job_id", *times, *processors, "role"])


def _waiting(own: pd.DataFrame, ends: list[float], nb_processors: int) -> list[Chart]:
    """Return an arrow from submission to start or withdrawal, where the job is largest."""
    whole = own if len(own) else pd.DataFrame({"low": [0], "high": [nb_processors - 1]})
    tallest = whole.iloc[int((whole["high"] - whole["low"]).argmax())]
    height = (tallest["low"] + tallest["high"]) / 2
    arrow = alt.Chart(pd.DataFrame({"from": ends[:1], "until": ends[1:], "height": [height]}))
    upright = arrow.mark_rule(color=palette.BLUE, strokeDash=[5, 3])
    uprights = [upright.encode(x=f"{end}:Q") for end in ("from", "until")]
    if ends[0] == ends[1]:
        return uprights[:1]
    line = arrow.encode(x="from:Q", x2="until", y="height:Q")
    head: dict[str, Any] = {"shape": "triangle-right", "filled": True, "size": 160, "xOffset": -6}
    return [
        *uprights,
        line.mark_rule(color="white", strokeWidth=6),
        line.mark_rule(color=palette.BLUE, strokeWidth=3),
        arrow.mark_point(color=palette.BLUE, opacity=1, **head).encode(x="until:Q", y="height:Q"),
    ]


def _labels(bars: pd.DataFrame, ends: list[float], nb_processors: int) -> list[Chart]:
    """Return the names of the largest jobs in their largest rectangles, where they fit."""
    begin, end = ends
    bars = bars.assign(time=bars["time"].clip(lower=begin), until=bars["until"].clip(upper=end))
    long, high = bars["until"] - bars["time"], bars["high"] - bars["low"]
    sized = bars.assign(
        area=long * high,
        middle=(bars["time"] + bars["until"]) / 2,
        height=(bars["low"] + bars["high"]) / 2,
        has_room=(long / (end - begin) > _WIDE * bars["job_id"].str.len())
        & (high / nb_processors > _HIGH),
    )
    largest = sized.sort_values("area", ascending=False, kind="stable").drop_duplicates("job_id")
    places = largest.loc[largest["has_room"], ["job_id", "middle", "height"]].head(LABELS)
    texts = alt.Chart(places).encode(x="middle:Q", y="height:Q", text="job_id:N")
    halo: dict[str, Any] = {"stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    return [texts.mark_text(clip=True, **halo), texts.mark_text(clip=True)]
