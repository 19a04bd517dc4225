"""A picture of the schedule around one job, from its submission to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from batsched_py.errors import InputError
from batsched_py.explain.job_history import Life
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.waiting_lines import overtakers
from batsched_py.explain.wording import lasting
from batsched_py.figures.chart_files import write_chart
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
    "other": {"fill": "#D9D9D9", "edge": "#808080", "width": 0.5, "dash": [1, 0]},
    "overtook": {"fill": "#F6CE7B", "edge": "#9C6B00", "width": 1.5, "dash": [3, 2]},
    "reserved": {"fill": palette.SKY, "edge": "#003A5C", "width": 2, "dash": [1, 0]},
    "explained": {"fill": palette.VERMILION, "edge": palette.BLACK, "width": 1.5, "dash": [1, 0]},
}
WAITING = palette.BLUE
WIDTH, HEIGHT = 820, 460
"""Pixels of the axes."""
LABELS = 40
"""Jobs that are labelled at most."""
_WIDE, _HIGH = 0.009, 0.028
"""What a letter of a label needs, as shares of the axes."""


class Bar(msgspec.Struct, frozen=True):
    """A rectangle: a job on neighbouring processors, within the picture."""

    job: str
    role: Role
    begin: float
    end: float
    first: int
    last: int
    """Processors, both included."""

    @property
    def area(self) -> float:
        """Processor-seconds."""
        return (self.end - self.begin) * (self.last - self.first + 1)


class Picture(msgspec.Struct, frozen=True):
    """What is to be drawn; times in seconds of the simulation."""

    job: str
    submit_time: float
    left: float
    """When it waited no more."""
    begin: float
    end: float
    nb_processors: int
    bars: list[Bar]


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
    bars = []
    for job in watch.history.jobs.values():  # later ones are over others
        stop = end if job.end is None else job.end
        if job.start is not None and job.start < end and stop > begin:
            shown = (roles.get(job.id, "other"), max(job.start, begin), min(stop, end))
            bars += [Bar(job.id, *shown, *ends) for ends in job.processors.intervals()]
    return Picture(life.id, life.submit_time, left, begin, end, watch.history.nb_processors, bars)


def _roles(watch: Watch, life: Life, left: float) -> dict[str, Role]:
    roles: dict[str, Role] = dict.fromkeys(overtakers(watch.history, life, left), "overtook")
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
    import altair as alt

    unit = unit_of(shown.end - shown.begin)
    ends = [(time - shown.submit_time) / UNITS[unit] for time in (shown.begin, shown.end)]
    x = alt.X(
        "begin:Q",
        title=f"{unit} since the submission of {shown.job}",
        scale=alt.Scale(domain=ends, nice=False),
    )
    processors = alt.Scale(domain=[-0.5, shown.nb_processors - 0.5], nice=False)
    y = alt.Y("low:Q", title="processor", scale=processors)
    drawn = [bars.encode(x=x, x2="end", y=y, y2="high") for bars in _rectangles(shown, UNITS[unit])]
    drawn += _waiting(shown, UNITS[unit])
    drawn += _labels(shown, UNITS[unit])
    title = f"{shown.job} waited {lasting(shown.left - shown.submit_time)}"
    heading = alt.TitleParams(title, anchor="start")
    return alt.layer(*drawn).properties(width=WIDTH, height=HEIGHT, title=heading)


def _rectangles(shown: Picture, unit: float) -> list[Any]:
    """Return a chart without axes for each role, what matters last: it is over the others."""
    import altair as alt
    import pandas as pd

    bars: dict[Role, list[Bar]] = {role: [] for role in NAMES}
    for bar in shown.bars:
        bars[bar.role].append(bar)
    there = [role for role in reversed(NAMES) if bars[role]]

    def scale(look: str) -> alt.Scale:
        return alt.Scale(
            domain=[NAMES[role] for role in there], range=[_LOOKS[role][look] for role in there]
        )

    fill, edge = (
        channel("role:N", title=None, scale=scale(look))
        for channel, look in ((alt.Fill, "fill"), (alt.Stroke, "edge"))
    )
    drawn = []
    for role in reversed(there):
        times = np.array([(bar.begin, bar.end) for bar in bars[role]]) - shown.submit_time
        rows = pd.DataFrame(times / unit, columns=["begin", "end"]).assign(
            job=[bar.job for bar in bars[role]],
            role=NAMES[role],
            low=[bar.first - 0.5 for bar in bars[role]],
            high=[bar.last + 0.5 for bar in bars[role]],
        )
        looks: dict[str, Any] = {
            "strokeWidth": _LOOKS[role]["width"],
            "strokeDash": _LOOKS[role]["dash"],
        }
        marked = alt.Chart(rows).mark_rect(clip=True, **looks)
        drawn.append(marked.encode(fill=fill, stroke=edge, tooltip=["job:N", "role:N"]))
    return drawn


def _waiting(shown: Picture, unit: float) -> list[Any]:
    """Return an arrow from submission to start, at the height of the job's largest rectangle."""
    import altair as alt
    import pandas as pd

    rows = [(bar.first, bar.last) for bar in shown.bars if bar.role == "explained"]
    whole = (0, shown.nb_processors - 1)
    first, last = max(rows, key=lambda row: row[1] - row[0], default=whole)
    start = (shown.left - shown.submit_time) / unit
    ends = alt.Chart(pd.DataFrame({"time": sorted({0.0, start})}))
    upright = ends.mark_rule(color=WAITING, strokeDash=[5, 3]).encode(x="time:Q")
    if not start:
        return [upright]
    row = pd.DataFrame({"from": [0.0], "until": [start], "height": [(first + last) / 2]})
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


def _labels(shown: Picture, unit: float) -> list[Any]:
    """Return the names of the largest jobs in their largest rectangles, where they fit."""
    import altair as alt
    import pandas as pd

    span = shown.end - shown.begin
    largest: dict[str, Bar] = {}
    for bar in sorted(shown.bars, key=lambda bar: bar.area, reverse=True):
        largest.setdefault(bar.job, bar)
    fitting = [
        bar
        for bar in largest.values()
        if (bar.end - bar.begin) / span > _WIDE * len(bar.job)
        and (bar.last - bar.first + 1) / shown.nb_processors > _HIGH
    ]
    rows = [
        {
            "job": bar.job,
            "middle": ((bar.begin + bar.end) / 2 - shown.submit_time) / unit,
            "height": (bar.first + bar.last) / 2,
        }
        for bar in fitting[:LABELS]
    ]
    places = pd.DataFrame(rows, columns=["job", "middle", "height"])
    texts = alt.Chart(places).encode(x="middle:Q", y="height:Q", text="job:N")
    halo: dict[str, Any] = {"stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    return [texts.mark_text(**halo), texts.mark_text()]
