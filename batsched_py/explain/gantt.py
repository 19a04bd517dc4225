"""A picture of the schedule around one job, from its submission to its end."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from batsched_py.errors import InputError
from batsched_py.explain.job_history import Life
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.waiting_lines import overtakers
from batsched_py.explain.wording import lasting
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.support import palette
from batsched_py.support.atomic_files import write_whole
from batsched_py.support.extras import extra
from batsched_py.support.processor_sets import intervals
from batsched_py.units import DAY, HOUR, MINUTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Role = Literal["other", "overtook", "reserved", "explained"]
NAMES: dict[Role, str] = {
    "other": "other jobs",
    "overtook": "overtook it",
    "reserved": "its reservation held it",
    "explained": "the job",
}
_LOOKS: dict[Role, dict[str, Any]] = {
    "other": {"facecolor": "#D9D9D9", "edgecolor": "#808080"},
    "overtook": {"facecolor": "#F6CE7B", "edgecolor": "#9C6B00", "hatch": "///"},
    "reserved": {"facecolor": palette.SKY, "edgecolor": "#003A5C"},
    "explained": {"facecolor": palette.VERMILION, "edgecolor": palette.BLACK},
}
WAITING = palette.BLUE
DPI = 120
LABELS = 40
"""Jobs that are labelled at most."""
_WIDE, _HIGH = 0.012, 0.028
"""What a letter of a label needs, as shares of the axes."""
_UNITS = ((3 * DAY, DAY, "days"), (HOUR, HOUR, "hours"), (0.0, MINUTE, "minutes"))
"""Units of the time axis: from which span on, seconds, name."""


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
            bars += [Bar(job.id, *shown, *ends) for ends in intervals(job.processors)]
    return Picture(life.id, life.submit_time, left, begin, end, watch.history.nb_processors, bars)


def _roles(watch: Watch, life: Life, left: float) -> dict[str, Role]:
    roles: dict[str, Role] = dict.fromkeys(overtakers(watch.history, life, left), "overtook")
    for waited in watch.passes:
        if waited.held.why in ("reservation", "behind") and waited.held.by is not None:
            roles[waited.held.by] = "reserved"
    roles[life.id] = "explained"
    return roles


def draw(watch: Watch, path: Path, margin: float) -> None:
    """Write the picture as PNG."""
    figure = figure_of(picture(watch, margin))
    content = io.BytesIO()
    # Software names the version of matplotlib; without it the bytes depend on data only.
    figure.savefig(content, dpi=DPI, metadata={"Software": None})
    write_whole(path, content.getvalue())


@extra("figures")
def figure_of(shown: Picture) -> Figure:
    """Draw: processors upwards, hours or days since the submission to the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.add_subplot()
    unit, name = next(
        (unit, name) for least, unit, name in _UNITS if shown.end - shown.begin >= least
    )
    axes.set_xlim((shown.begin - shown.submit_time) / unit, (shown.end - shown.submit_time) / unit)
    axes.set_ylim(-0.5, shown.nb_processors - 0.5)
    axes.set_xlabel(f"{name} since the submission of {shown.job}")
    axes.set_ylabel("processor")
    axes.set_title(f"{shown.job} waited {lasting(shown.left - shown.submit_time)}", loc="left")
    for role in NAMES:
        _draw_bars(axes, shown, [bar for bar in shown.bars if bar.role == role], unit)
    _draw_waiting(axes, shown, unit)
    _label(axes, shown, unit)
    figure.legend(handles=_legend(shown), loc="outside right upper", frameon=False)
    return figure


def _draw_bars(axes: Axes, shown: Picture, bars: Sequence[Bar], unit: float) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    if not bars:
        return
    role = bars[0].role
    many = len(shown.bars) > 400
    width = {"other": 0.2 if many else 0.6, "overtook": 0.5, "reserved": 1.8, "explained": 1.2}
    axes.add_collection(
        PatchCollection(
            [
                Rectangle(
                    ((bar.begin - shown.submit_time) / unit, bar.first - 0.5),
                    (bar.end - bar.begin) / unit,
                    bar.last - bar.first + 1,
                )
                for bar in bars
            ],
            linewidth=width[role],
            label=role,
            **_LOOKS[role],
        )
    )


def _draw_waiting(axes: Axes, shown: Picture, unit: float) -> None:
    """Draw an arrow from submission to start, at the height of the job's largest rectangle."""
    rows = [(bar.first, bar.last) for bar in shown.bars if bar.role == "explained"]
    whole = (0, shown.nb_processors - 1)
    first, last = max(rows, key=lambda row: row[1] - row[0], default=whole)
    height = (first + last) / 2
    start = (shown.left - shown.submit_time) / unit
    for time in {0.0, start}:
        axes.axvline(time, color=WAITING, linestyle="--", linewidth=1.0)
    ends = {"shrinkA": 0, "shrinkB": 0}
    if start:
        for style, colour, width in (("-", "white", 5.0), ("->", WAITING, 2.2)):
            axes.annotate(
                "",
                (start, height),
                (0.0, height),
                arrowprops=ends | {"arrowstyle": style, "color": colour, "linewidth": width},
            )


def _label(axes: Axes, shown: Picture, unit: float) -> None:
    """Write the names of the largest jobs into their largest rectangles, where they fit."""
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
    for bar in fitting[:LABELS]:
        axes.text(
            ((bar.begin + bar.end) / 2 - shown.submit_time) / unit,
            (bar.first + bar.last) / 2,
            bar.job,
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "linewidth": 0},
        )


def _legend(shown: Picture) -> list[object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    roles = {bar.role for bar in shown.bars}
    handles: list[object] = [
        Patch(label=name, linewidth=1.5 if role == "reserved" else 0.6, **_LOOKS[role])
        for role, name in reversed(NAMES.items())
        if role in roles
    ]
    if shown.left > shown.submit_time:
        handles.append(Line2D([], [], color=WAITING, linewidth=2.2, label="it waits"))
    return handles
