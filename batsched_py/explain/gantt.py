"""A picture of the schedule around one job, from its submission to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import altair as alt
import msgspec
import pandas as pd

from batsched_py.errors import InputError
from batsched_py.explain.job_history import Life
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.waiting_lines import overtakers
from batsched_py.figures.chart_files import write_chart
from batsched_py.figures.run_figures import over_processors, rectangles
from batsched_py.options.durations import format_exact_duration
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.support import palette
from batsched_py.units import UNITS, unit_of

Role = Literal["other", "overtook", "reserved", "explained"]
NAMES: dict[Role, str] = {
    "other": "other jobs",
    "overtook": "overtook it",
    "reserved": "its reservation held it",
    "explained": "the job",
}
_LOOKS: dict[Role, dict[str, Any]] = {
    "other": {"fill": "#D9D9D9", "stroke": "#808080", "strokeWidth": 0.5, "strokeDash": [1, 0]},
    "overtook": {"fill": "#F6CE7B", "stroke": "#9C6B00", "strokeWidth": 1.5, "strokeDash": [3, 2]},
    "reserved": {"fill": palette.SKY, "stroke": "#003A5C", "strokeWidth": 2, "strokeDash": [1, 0]},
    "explained": {
        "fill": palette.VERMILION,
        "stroke": palette.BLACK,
        "strokeWidth": 1.5,
        "strokeDash": [1, 0],
    },
}
WAITING = palette.BLUE
WIDTH, HEIGHT = 820, 460
"""Pixels of the axes."""
LABELS = 40
"""Jobs that are labelled at most."""
_WIDE, _HIGH = 0.009, 0.028
"""What a letter of a label needs, as shares of the axes."""


class Picture(msgspec.Struct, frozen=True):
    """What is to be drawn; times in seconds of the simulation."""

    job: str
    submit_time: float
    left: float
    """When it waited no more."""
    begin: float
    end: float
    nb_processors: int
    bars: pd.DataFrame
    """A row for each rectangle, as :func:`over_processors` returns it: ``job``, ``role``, ``time``
    and ``until``."""


def picture(watch: Watch, margin: float) -> Picture:
    """Return the schedule around the job, with ``margin`` (share of its time) on both sides."""
    life = watch.life
    assert life is not None  # find_job knew it
    if life.state == REJECTED:
        raise InputError(f"job {life.id} was rejected: there is nothing to draw")
    end = watch.now if life.end is None else life.end
    left = watch.now if life.start is None else life.start
    room = margin * (end - life.submit_time) or 1.0
    begin, end = life.submit_time - room, end + room
    roles = _roles(watch, life, left)
    rows, processors = [], []
    for job in watch.jobs.values():
        stop = end if job.end is None else job.end
        if job.start is not None and job.start < end and stop > begin:
            role = roles.get(job.id, "other")
            rows.append((job.id, role, max(job.start, begin), min(stop, end)))
            processors.append(job.processors)
    jobs = pd.DataFrame(rows, columns=["job", "role", "time", "until"])
    bars = over_processors(jobs, processors)
    return Picture(life.id, life.submit_time, left, begin, end, watch.nb_processors, bars)


def _roles(watch: Watch, life: Life, left: float) -> dict[str, Role]:
    roles: dict[str, Role] = dict.fromkeys(overtakers(watch.jobs, life, left), "overtook")
    for waited in watch.passes:
        if waited.held.why in ("reservation", "behind") and waited.held.by is not None:
            roles[waited.held.by] = "reserved"
    roles[life.id] = "explained"
    return roles


def draw(watch: Watch, path: Path, margin: float) -> None:
    """Write the picture, in the format of the file's name."""
    write_chart(figure_of(picture(watch, margin)), path)


def figure_of(shown: Picture) -> Any:
    """Draw: processors upwards, hours or days since the submission to the right."""
    unit = unit_of(shown.end - shown.begin)
    ends = [(time - shown.submit_time) / UNITS[unit] for time in (shown.begin, shown.end)]
    bars = shown.bars.copy()
    bars[["time", "until"]] = (bars[["time", "until"]] - shown.submit_time) / UNITS[unit]
    x = alt.X(
        "time:Q",
        title=f"{unit} since the submission of {shown.job}",
        scale=alt.Scale(domain=ends, nice=False),
    )
    layers = _rectangles(bars, x, shown.nb_processors)
    layers += [*_waiting(shown, bars, UNITS[unit]), *_labels(shown, bars, ends)]
    title = f"{shown.job} waited {format_exact_duration(shown.left - shown.submit_time)}"
    heading = alt.TitleParams(title, anchor="start")
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading)


def _rectangles(bars: pd.DataFrame, x: alt.X, nb_processors: int) -> list[Any]:
    """Return a chart for each role, what matters most last: it is over the others."""
    there = [role for role in reversed(NAMES) if role in set(bars["role"])]
    colours = {}
    for name, channel in (("fill", alt.Fill), ("stroke", alt.Stroke)):
        looks = [_LOOKS[role][name] for role in there]
        scale = alt.Scale(domain=[NAMES[role] for role in there], range=looks)
        colours[name] = channel("role:N", title=None, scale=scale)
    drawn = []
    for role in reversed(there):
        rows = bars[bars["role"] == role].assign(role=NAMES[role])
        edge = {name: _LOOKS[role][name] for name in ("strokeWidth", "strokeDash")}
        tooltip = ["job:N", "role:N"]
        drawn.append(rectangles(rows, x, nb_processors, edge, tooltip=tooltip, **colours))
    return drawn


def _waiting(shown: Picture, bars: pd.DataFrame, unit: float) -> list[Any]:
    """Return an arrow from submission to start, at the height of the job's largest rectangle."""
    own = bars[bars["role"] == "explained"]
    whole = own if len(own) else pd.DataFrame({"low": [0], "high": [shown.nb_processors - 1]})
    tallest = int((whole["high"] - whole["low"]).argmax())
    height = float(whole[["low", "high"]].mean(axis=1).iloc[tallest])
    start = (shown.left - shown.submit_time) / unit
    ends = alt.Chart(pd.DataFrame({"time": sorted({0.0, start})}))
    upright = ends.mark_rule(color=WAITING, strokeDash=[5, 3]).encode(x="time:Q")
    if not start:
        return [upright]
    row = pd.DataFrame({"from": [0.0], "until": [start], "height": [height]})
    arrow = alt.Chart(row.assign(sign="it waits"))
    colour = alt.Color("sign:N", title=None, scale=alt.Scale(range=[WAITING]))
    return [
        upright,
        arrow.mark_rule(color="white", strokeWidth=6).encode(x="from:Q", x2="until", y="height:Q"),
        arrow.mark_rule(strokeWidth=3).encode(x="from:Q", x2="until", y="height:Q", color=colour),
        arrow.mark_point(
            shape="triangle-right", filled=True, size=160, color=WAITING, opacity=1, xOffset=-6
        ).encode(x="until:Q", y="height:Q"),
    ]


def _labels(shown: Picture, bars: pd.DataFrame, ends: list[float]) -> list[Any]:
    """Return the names of the largest jobs in their largest rectangles, where they fit."""
    long, high = bars["until"] - bars["time"], bars["high"] - bars["low"]
    sized = bars.assign(
        area=long * high,
        middle=(bars["time"] + bars["until"]) / 2,
        height=(bars["low"] + bars["high"]) / 2,
        has_room=(long / (ends[1] - ends[0]) > _WIDE * bars["job"].str.len())
        & (high / shown.nb_processors > _HIGH),
    )
    largest = sized.sort_values("area", ascending=False, kind="stable").drop_duplicates("job")
    places = largest.loc[largest["has_room"], ["job", "middle", "height"]].head(LABELS)
    texts = alt.Chart(places).encode(x="middle:Q", y="height:Q", text="job:N")
    halo: dict[str, Any] = {"stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    return [texts.mark_text(**halo), texts.mark_text()]
