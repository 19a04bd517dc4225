"""Draws figures of one run: its schedule, busy processors, the queue, submissions.

Each function takes a :class:`batsched_py.Result` and returns a chart of altair whose ``data`` is a
frame. The time axis has dates if the log has them, unless you choose a ``unit``. Step functions are
exact; very many steps become means over equal parts, with a band from the least to the most, and a
note in the subtitle. No chart has more rows than altair accepts. ``chart.properties(width=...)``
sets the width in pixels, or ``"container"``. Notebooks show charts without a network.

>>> draw_schedule(result) & draw_queue(result)  # doctest: +SKIP
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import inf
from typing import Any, Unpack

import altair as alt
import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from batsched_py.errors import UsageError, parameter
from batsched_py.figures.chart_files import show_charts_offline
from batsched_py.figures.step_charts import MOST_STEPS, Chart, StepLayers, Steps
from batsched_py.figures.time_axis import TimeAxis, TimeOptions
from batsched_py.processors.sets import from_text
from batsched_py.protocol.batsim_jobs_columns import LEAST_EXECUTION_TIME, NEVER_RAN, WITHDRAWN
from batsched_py.protocol.own_job_fields import WITHDRAWAL
from batsched_py.results.jobs_file import count_processors
from batsched_py.results.machine_power import Change, find_spells
from batsched_py.run.result import Result
from batsched_py.support import palette
from batsched_py.support.step_functions import Array, Intervals
from batsched_py.units import DAY, HOUR, WEEK

show_charts_offline()

WIDTH, HEIGHT = 640, 300
"""Default size of a chart in pixels."""
MOST_RECTANGLES = 4_000
"""Most rectangles of a schedule; altair refuses frames of more than 5000 rows."""
READABLE_RECTANGLES = 1_500
"""Most rectangles of a schedule without a chosen window."""
_MOST_BINS = 300
"""Most bins of submissions, unless you choose the width of a bin."""
_BINS = {"hour": HOUR, "day": DAY, "week": WEEK}
_COLOURED = len(palette.CATEGORIES) - 1
_CARRIED = ("job_id", "user", "requested_number_of_resources", "allocated_resources", "colour")
_WHOLE = alt.Axis(tickMinStep=1)
_UNKNOWN, _OTHERS = "unknown", "others"
_ASLEEP, _SWITCHED = "asleep", "being switched"


class JobsOfRun(msgspec.Struct, frozen=True, eq=False):
    """The jobs of a run and its settings, as :class:`batsched_py.Result` has them."""

    jobs: pd.DataFrame
    """A row for each job with the columns of ``_jobs.csv``, times in seconds."""
    settings: dict[str, Any]
    """``nb_processors``; ``unix_start_time`` and ``time_zone`` if they are known."""
    power_changes: Sequence[Change] = ()
    """When processors were switched off and on, ascending."""


def draw_schedule(
    run: Result | JobsOfRun, *, colour: str | None = "user", **time: Unpack[TimeOptions]
) -> Chart:
    """Draw the schedule: time to the right, processors upwards, a rectangle for each job.

    ``colour`` is a column of the run's jobs: numbers have a scale; of texts, those with most
    processor-seconds have colours of their own and the others share one; ``job_id`` takes turns;
    None is one colour for all. Without ``begin`` and ``end`` a schedule of too many jobs is shown
    around the time at which most jobs waited. A click on the legend picks a colour. Behind the
    jobs, processors that sleep or are being switched are grey. ``time`` is as in
    :class:`TimeOptions`. ``data`` has a row for each rectangle of a job, from ``time`` to
    ``until``. Raises :class:`UsageError` for a column that is not there.
    """
    jobs = run.jobs
    if colour not in (None, "user", *jobs):
        raise UsageError(
            f"{parameter('colour')} {colour!r}: expected one of {', '.join(map(str, jobs))}"
        )
    ran = _that_ran(jobs).sort_values("starting_time", kind="stable", ignore_index=True)
    begin, end = find_window(jobs, **time)
    shown = _jobs_inside(ran, begin, end, MOST_RECTANGLES)
    colours = Colours.by_column(shown, colour)
    axis = _axis(run, begin, end, time)
    data = _rows(shown.assign(colour=colours.values), axis)
    highest = int(data["last_processor"].max()) if len(data) else 0
    top = max(run.settings["nb_processors"], highest + 1)
    processors = alt.Scale(domain=[-0.5, top - 0.5], nice=False)
    marked: Chart = alt.Chart(data).mark_rect(clip=True, fillOpacity=0.7, strokeWidth=0.5)
    chart = marked.encode(
        x=axis.encode_x("time", *axis.to_axis(np.array([begin, end]))),
        x2=alt.X2("until"),
        y=alt.Y("low:Q", title="processor", scale=processors),
        y2=alt.Y2("high"),
        tooltip=_job_tooltips(axis, colours.title),
        **colours.encodings(),
    )
    if colours.groups and colours.title:
        picked = alt.selection_point(name="picked", fields=["colour"], bind="legend")
        opacity = alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.15))
        chart = chart.encode(opacity=opacity).add_params(picked)
    notes = _window_notes(ran, begin, end, time)
    return _finished(chart, "Schedule", notes, draw_sleep(run.power_changes, axis, begin, end))


def draw_sleep(changes: Sequence[Change], axis: TimeAxis, begin: float, end: float) -> list[Chart]:
    """Draw the processors that sleep or are being switched in a window, as grey rectangles.

    Returns a layer for a schedule, or none if no processor does. Of too many rectangles, those
    that last longest are drawn, and the legend says so.
    """
    rows = [
        (max(since, begin), until, _ASLEEP if state == _ASLEEP else _SWITCHED, *ends)
        for since, until, processors, state in find_spells(changes, end)
        for ends in processors.intervals()
        if until > begin
    ]
    if not rows:
        return []
    longest = sorted(rows, key=lambda row: row[0] - row[1])[:MOST_RECTANGLES]
    since, until, state, first, last = map(np.array, zip(*longest, strict=True))
    times = {"time": axis.to_axis(since), "until": axis.to_axis(until)}
    data = pd.DataFrame({**times, "state": state, "low": first - 0.5, "high": last + 0.5})
    title = "processors" if len(longest) == len(rows) else f"longest {len(longest):,} sleeps"
    greys = alt.Scale(domain=[_ASLEEP, _SWITCHED], range=["#E1E7EE", "#BAC6D2"])
    zero = alt.Undefined if axis.has_dates else False  # else the whole schedule begins at 0
    rectangles: Chart = alt.Chart(data).mark_rect(clip=True)
    layer = rectangles.encode(
        x=axis.encode_x("time").scale(zero=zero),
        x2=alt.X2("until"),
        y=alt.Y("low:Q"),
        y2=alt.Y2("high"),
        fill=alt.Fill("state:N", title=title, scale=greys, legend=alt.Legend(orient="top")),
        tooltip=["state:N", axis.make_tooltip("time", "from"), axis.make_tooltip("until", "until")],
    )
    return [layer]


def draw_utilisation(run: Result | JobsOfRun, **time: Unpack[TimeOptions]) -> Chart:
    """Draw the busy processors, the demand of running and waiting jobs, and the machine's size.

    Demand beyond twice the machine is cut. If processors were switched, a line shows how many were
    ``awake``, neither asleep nor being switched. ``time`` is as in :class:`TimeOptions`. ``data``
    has a row for each step: ``time`` and ``until`` as along the axis, ``busy`` and ``demand``.
    """
    ran, nb_processors = _that_ran(run.jobs), run.settings["nb_processors"]
    submit, start, finish = _times(ran)
    busy = Intervals(start, finish, _sizes(ran))
    demand = _add_withdrawn(run.jobs, submit, finish, _sizes(ran))
    window = _chosen(np.concatenate([start, demand.begin, demand.end]), time)
    functions = {"busy": busy, "demand": demand}
    if run.power_changes:
        functions["awake"] = _count_awake(run, *window)
    steps = Steps.from_intervals(functions, *window)
    notes = steps.notes
    top = max(steps.highest("demand"), nb_processors)
    if top > 2 * nb_processors:
        top = 2 * nb_processors
        notes = [*notes, "demand is cut at twice the machine"]
    colours = {"busy": palette.BLUE, "demand": palette.VERMILION, "machine": palette.BLACK}
    colours |= {"awake": palette.GREEN} if "awake" in functions else {}
    layers = _layers(run, steps, time, colours)
    y = {"title": "processors", "scale": alt.Scale(domain=[0, top], nice=False)}
    chart = alt.layer(
        layers.draw_area("busy", y),
        layers.draw_line("demand", y, strokeWidth=0.8),
        *(layers.draw_line(name, y) for name in functions if name == "awake"),
        layers.draw_line("busy", y),
        layers.draw_level("machine", nb_processors, y),
        layers.draw_hover(),
        *layers.draw_names(),
    )
    return _finished(chart, "Utilisation", _notes_of(ran, notes))


def _count_awake(run: Result | JobsOfRun, begin: float, end: float) -> Intervals:
    """Return how many processors neither sleep nor are being switched in a window."""
    spells = find_spells(run.power_changes, end)
    rows = [(begin, end, run.settings["nb_processors"])]
    rows += [(since, until, -processors.size) for since, until, processors, _ in spells]
    return Intervals(*map(np.array, zip(*rows, strict=True)))


def draw_queue(run: Result | JobsOfRun, **time: Unpack[TimeOptions]) -> Chart:
    """Draw the number of waiting jobs (left axis), and of processors they request (right axis).

    A job waits until its start, or until its user withdraws it.

    ``time`` is as in :class:`TimeOptions`. ``data`` has a row for each step: ``time`` and
    ``until`` as along the axis, ``jobs`` and ``processors``.
    """
    ran = _that_ran(run.jobs)
    submit, start, _ = _times(ran)
    processors = _add_withdrawn(run.jobs, submit, start, _sizes(ran))
    number = Intervals(processors.begin, processors.end)
    window = _chosen(np.concatenate([*_times(ran), processors.begin, processors.end]), time)
    steps = Steps.from_intervals({"jobs": number, "processors": processors}, *window)
    layers = _layers(run, steps, time, {"jobs": palette.BLUE, "processors": palette.ORANGE})
    scales = {
        name: alt.Scale(domain=[0, max(steps.highest(name), 1)], nice=True)
        for name in layers.colours
    }
    left = {"title": "waiting jobs", "scale": scales["jobs"], "axis": _WHOLE}
    right = {"title": "processors they ask for", "scale": scales["processors"], "axis": _WHOLE}
    chart = alt.layer(
        alt.layer(layers.draw_area("jobs", left), layers.draw_line("jobs", left)),
        layers.draw_line("processors", right, strokeWidth=1),
        layers.draw_hover(),
        *layers.draw_names(),
    ).resolve_scale(y="independent")
    return _finished(chart, "Queue", _notes_of(ran, steps.notes))


def draw_submissions(
    run: Result | JobsOfRun, *, every: str | None = None, **time: Unpack[TimeOptions]
) -> Chart:
    """Draw the number of submissions per hour, day or week, simulated and recorded.

    ``every`` is ``hour``, ``day`` or ``week``; None: what gives a readable number of bins. With
    dates they begin as those of the clock do, weeks on Monday. Recorded are the jobs whose
    ``original_submission_time`` is known. ``time`` is as in :class:`TimeOptions`. ``data`` has a
    row for each bin. Raises :class:`UsageError` for another bin, or one that gives too many.
    """
    if every not in (None, *_BINS):
        raise UsageError(f"{parameter('every')} {every!r}: expected {', '.join(_BINS)}")
    jobs = run.jobs
    times = {"submitted": jobs["submission_time"].to_numpy(float)}
    if "original_submission_time" in jobs and jobs["original_submission_time"].notna().any():
        times["recorded"] = jobs["original_submission_time"].dropna().to_numpy(float)
    begin, end = _chosen(np.concatenate(list(times.values())), time)
    axis = _axis(run, begin, end, time)
    if every is None:
        fitting = [name for name, width in _BINS.items() if (end - begin) / width <= _MOST_BINS]
        every = fitting[0] if fitting else "week"
    edges = axis.make_bins(begin, end, _BINS[every])
    if len(edges) > MOST_STEPS:
        raise UsageError(f"{parameter('every')} {every!r} gives {len(edges) - 1:,} bins: too many")
    counts = {
        name: np.histogram(axis.to_clock(of), edges)[0].astype(float) for name, of in times.items()
    }
    steps = Steps(edges, counts, len(edges) - 1)
    colours = {"recorded": palette.RECORDED} if "recorded" in times else {}
    layers = StepLayers.from_steps(
        steps, axis.from_clock(edges), axis, {"submitted": palette.BLUE} | colours
    )
    y = {"title": f"jobs per {every}", "axis": _WHOLE}
    drawn = [layers.draw_area(name, y) for name in colours]
    drawn += [layers.draw_line(name, y) for name in layers.colours]
    notes = [] if len(jobs) else ["no jobs"]
    return _finished(
        alt.layer(*drawn, layers.draw_hover(), *layers.draw_names()), "Submissions", notes
    )


def _that_ran(jobs: pd.DataFrame) -> pd.DataFrame:
    ran = jobs["finish_time"].notna() & jobs["starting_time"].notna()
    if "final_state" in jobs:
        ran &= ~jobs["final_state"].isin(NEVER_RAN)
    # pandas takes 7 for a number if it reads the file itself
    return jobs[ran].astype({"allocated_resources": str})


def _add_withdrawn(jobs: pd.DataFrame, begin: Array, end: Array, size: Array) -> Intervals:
    """Return intervals of the jobs that ran with these sizes, and the waits of withdrawn jobs."""
    if WITHDRAWAL not in jobs:
        return Intervals(begin, end, size)
    withdrawn = jobs[jobs["final_state"] == WITHDRAWN]
    names = ("submission_time", WITHDRAWAL, "requested_number_of_resources")
    waits = (withdrawn[name].to_numpy(float) for name in names)
    return Intervals(*map(np.concatenate, zip((begin, end, size), waits, strict=True)))


def _times(ran: pd.DataFrame) -> tuple[Array, Array, Array]:
    """Return submission, start and end of each job.

    A job that took no time ends when it starts: what Batsim writes for it would overlap with the
    next job on its processors.
    """
    submit, start, finish = (
        ran[name].to_numpy(float) for name in ("submission_time", "starting_time", "finish_time")
    )
    return submit, start, np.where(finish - start < 2 * LEAST_EXECUTION_TIME, start, finish)


def _sizes(ran: pd.DataFrame) -> Array:
    """Return how many processors each job got."""
    return np.array(list(map(count_processors, ran["allocated_resources"].tolist())), dtype=float)


def _chosen(times: Array, time: TimeOptions) -> tuple[float, float]:
    """Return the begin and the end that are asked for, else those of ``times``."""
    begin, end = time.get("begin"), time.get("end")
    if begin is None:
        begin = float(times.min()) if len(times) else 0.0
    if end is None:
        end = max(float(times.max()) if len(times) else 0.0, begin)
    if end < begin:
        raise UsageError(f"{parameter('end')} {end:g} is before {parameter('begin')} {begin:g}")
    return begin, end if end > begin else begin + 1.0  # an axis of one instant has no length


def find_window(jobs: pd.DataFrame, **time: Unpack[TimeOptions]) -> tuple[float, float]:
    """Return begin and end of the part of a schedule that :func:`draw_schedule` shows."""
    ran = _that_ran(jobs)
    if len(ran) and _shows_a_part(time):
        return _chosen(np.array(_widest_window(ran)), {})
    return _chosen(np.concatenate(_times(ran)), time)


def _shows_a_part(time: TimeOptions) -> bool:
    return time.get("begin") is None and time.get("end") is None


def _window_notes(ran: pd.DataFrame, begin: float, end: float, time: TimeOptions) -> list[str]:
    """Return sentences on which part of a schedule is shown."""
    if not len(ran):
        return ["no job ran"]
    notes = []
    inside = len(_jobs_inside(ran, begin, end, sys.maxsize))
    shown = len(_jobs_inside(ran, begin, end, MOST_RECTANGLES))
    if inside < len(ran):
        notes.append(f"{inside:,} of {len(ran):,} jobs: those that run in this window")
        if _shows_a_part(time):
            notes.append("around the time at which most jobs waited")
    if shown < inside:
        notes.append(f"of these the {shown:,} widest")
    return notes


def _rows(shown: pd.DataFrame, axis: TimeAxis) -> pd.DataFrame:
    """Return a row for each job on neighbouring processors."""
    submit, start, finish = _times(shown)
    frame = shown[[name for name in _CARRIED if name in shown]].assign(
        submission=axis.to_axis(submit),
        time=axis.to_axis(start),
        until=axis.to_axis(finish),
        waited=(start - submit) / HOUR,
        ran=(finish - start) / HOUR,
    )
    intervals = [list(from_text(text).intervals()) for text in shown["allocated_resources"]]
    frame = frame.loc[frame.index.repeat([len(of) for of in intervals])].reset_index(drop=True)
    ends = np.array([ends for of in intervals for ends in of], dtype=int).reshape(-1, 2)
    frame["first_processor"], frame["last_processor"] = ends.T
    return frame.assign(low=ends[:, 0] - 0.5, high=ends[:, 1] + 0.5)


def _job_tooltips(axis: TimeAxis, colour: str | None) -> list[alt.Tooltip]:
    further = [] if colour is None or colour in _CARRIED else [alt.Tooltip("colour", title=colour)]
    return [
        alt.Tooltip("job_id:N", title="job"),
        alt.Tooltip("user:N"),
        alt.Tooltip("requested_number_of_resources:Q", title="processors"),
        alt.Tooltip("allocated_resources:N", title="on processors"),
        axis.make_tooltip("submission", "submitted"),
        axis.make_tooltip("time", "started"),
        axis.make_tooltip("until", "ended"),
        alt.Tooltip("waited:Q", title="waited [h]", format=",.4~f"),
        alt.Tooltip("ran:Q", title="ran [h]", format=",.4~f"),
        *further,
    ]


class Colours(msgspec.Struct, frozen=True, eq=False):
    """The colours of the jobs in a schedule."""

    values: pd.Series[Any]
    """For each job: a number, or the name of its group."""
    groups: tuple[str, ...] = ()
    """The groups in the order of the legend; none for numbers."""
    title: str | None = None
    """The title of the legend; None: no legend."""

    @classmethod
    def by_column(cls, shown: pd.DataFrame, colour: str | None) -> Colours:
        """Choose the colours by a column of the jobs, see :func:`draw_schedule`."""
        if colour is None:
            return cls(pd.Series("", index=shown.index), ("",))
        if colour == "job_id":
            turns = [str(row % _COLOURED) for row in range(len(shown))]
            return cls(pd.Series(turns, shown.index, dtype=str), tuple(sorted(set(turns))))
        column = shown[colour] if colour in shown else pd.Series(pd.NA, shown.index, dtype=str)
        if colour != "user" and is_numeric_dtype(column) and not is_bool_dtype(column):
            return cls(column, title=colour)
        texts = column.astype(object).where(column.notna(), _UNKNOWN).astype(str)
        _, start, finish = _times(shown)
        areas = pd.Series((finish - start) * _sizes(shown), shown.index).groupby(texts).sum()
        names = list(areas.sort_values(ascending=False, kind="stable").index)
        if len(names) <= _COLOURED + 1:
            return cls(texts, tuple(names), colour)
        largest = names[:_COLOURED]
        return cls(texts.where(texts.isin(largest), _OTHERS), (*largest, _OTHERS), colour)

    def encodings(self) -> dict[str, Any]:
        """Return altair's encodings of the column ``colour``: fill and edge of rectangles."""
        kind, scale = "Q", alt.Scale(scheme="viridis")
        if self.groups:
            colours = palette.CATEGORIES[: len(self.groups)]
            kind, scale = "N", alt.Scale(domain=list(self.groups), range=list(colours))
        legend = alt.Legend(orient="top") if self.title else None
        options: dict[str, Any] = {"title": self.title, "scale": scale, "legend": legend}
        field = f"colour:{kind}"
        return {"color": alt.Color(field, **options), "stroke": alt.Stroke(field, **options)}


def _axis(run: Result | JobsOfRun, begin: float, end: float, time: TimeOptions) -> TimeAxis:
    return TimeAxis.for_run(run.jobs, run.settings, end - begin, time.get("unit"))


def _layers(
    run: Result | JobsOfRun, steps: Steps, time: TimeOptions, colours: dict[str, str]
) -> StepLayers:
    begin, end = steps.edges[[0, -1]].tolist()
    axis = _axis(run, begin, end, time)
    return StepLayers.from_steps(steps, axis.to_axis(steps.edges), axis, colours)


def _notes_of(ran: pd.DataFrame, notes: list[str]) -> list[str]:
    return notes if len(ran) else ["no job ran"]


def _finished(chart: Chart, title: str, notes: list[str], behind: Sequence[Chart] = ()) -> Chart:
    """Return a chart with its title and size that can be moved; ``behind`` are further layers."""
    chart = chart.interactive(name=f"{title.lower()}_shown", bind_y=False)
    if behind:  # what can be done to a chart must be in one of its layers
        data, chart.data = chart.data, alt.Undefined
        chart = alt.layer(*behind, chart, data=data)
    chart.title = alt.TitleParams(title, subtitle=notes, anchor="start")
    chart.width, chart.height = WIDTH, HEIGHT  # of a new chart: `properties` would copy it first
    return chart


def _widest_window(ran: pd.DataFrame) -> tuple[float, float]:
    """Return begin and end of the widest window around the longest queue that can be read.

    A job on processors that are no neighbours has several rectangles. There is at least one job.
    """
    start, finish = ran["starting_time"].to_numpy(float), ran["finish_time"].to_numpy(float)
    middle = _fullest(ran)
    apart = np.maximum(start - middle, middle - finish)  # a wider half of the window shows the job
    nearest = np.argsort(apart, kind="stable")
    too_many = np.cumsum(_pieces(ran)[nearest]) > READABLE_RECTANGLES
    half = max(float(apart[nearest][too_many].min()), 1.0) if too_many.any() else inf
    return max(middle - half, float(start.min())), min(middle + half, float(finish.max()))


def _jobs_inside(ran: pd.DataFrame, begin: float, end: float, most: int) -> pd.DataFrame:
    """Return the jobs that run in a window: of too many rectangles the widest jobs."""
    start, finish = ran["starting_time"], ran["finish_time"]
    at_once = (start == finish) & (start >= begin) & (start <= end)
    rows = ran[((start < end) & (finish > begin)) | at_once]
    widest = rows.sort_values("requested_number_of_resources", ascending=False, kind="stable")
    return widest[np.cumsum(_pieces(widest)) <= most].sort_index()


def _pieces(jobs: pd.DataFrame) -> NDArray[np.int64]:
    """Return how many rectangles each job is at most."""
    texts = jobs["allocated_resources"].tolist()
    return np.array([text.count(" ") + 1 for text in texts], dtype=int)


def _fullest(ran: pd.DataFrame) -> float:
    """Return when most jobs waited; when most processors were busy if none ever did."""
    submit, start = ran["submission_time"].to_numpy(float), ran["starting_time"].to_numpy(float)
    waiting = Intervals(submit, start)
    level = waiting.at(waiting.instants)
    if level.max() <= 0:
        size = ran["requested_number_of_resources"].to_numpy(float)
        waiting = Intervals(start, ran["finish_time"].to_numpy(float), size)
        level = waiting.at(waiting.instants)
    return float(waiting.instants[level.argmax()])
