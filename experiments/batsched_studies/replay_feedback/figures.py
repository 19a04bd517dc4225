"""Figures 2 to 11 of the study, drawn from the runs of a campaign.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024). Each function that draws
a figure takes a ``Study`` (:mod:`replays`) and returns a chart; it raises ``MissingError`` where
runs that it needs are not there. Time axes are in days from the first recorded submission. Curves
are thinned: a figure has some 2,000 points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py import metrics
from batsched_py.report import Figure
from batsched_py.report.kit import Chart, slug
from batsched_py.support import palette
from batsched_py.units import DAY, MONTH
from batsched_py.workload.logs.clock import local_hours
from batsched_studies.replay_feedback import TEXTS, measures, replays, session_graphs, tables
from batsched_studies.replay_feedback.measures import WINDOW_MONTHS, WINDOW_START

_BINS = 160
"""Bars of a histogram over time, at most."""
_WIDTH, _HEIGHT = 210, 130
"""The size of one of six panels, in pixels."""
_EDGE = 5
"""Pixels between the outermost points and the edge of a panel, so that no point is cut."""
_SINCE = "from the first recorded submission"
_BY_REPLAY = alt.Color(
    "replay:N",
    title=None,
    scale=alt.Scale(domain=["rigid", "a60"], range=[palette.RECORDED, palette.BLUE]),
    legend=alt.Legend(
        labelExpr="datum.value + (datum.value == 'rigid' ? ' (as recorded)' : ' (with feedback)')"
    ),
)
_WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def draw_figures(study: replays.Study) -> list[Figure]:
    """Draw the figures of a log; list those that cannot be drawn in ``study.left_out``."""
    made = []
    for name, draw in FIGURES.items():
        try:
            chart = draw(study)
        except replays.MissingError as missing:
            study.left_out.append(f"{TEXTS.title(name, log='')} is left out: {missing}.")
            continue
        texts = {"log": f" ({study.log})", "more": study.captions.get(name, "")}
        made.append(TEXTS.figure(name, chart, f"{name}_{slug(study.log)}", **texts))
    return made


def draw_submissions(study: replays.Study) -> Chart:
    """Draw Fig. 2: histogram of submissions over time, rigid against feedback (a60)."""
    names = study.list_infrastructures("rigid", "a60")
    times = [study.replays[name, replay].submit for name in names for replay in ("rigid", "a60")]
    first, last = min(map(np.min, times)) / DAY, max(map(np.max, times)) / DAY
    width = next(days for days in (1, 7, 14, 28, 56) if last / days <= _BINS or days == 56)
    edges = np.arange(first // width * width, last + width, width)
    frame = _counts(study, "day", edges, lambda times: np.histogram(times / DAY, edges)[0])
    per = "day" if width == 1 else f"{width} days"
    return replays.make_panels(
        _bars_and_steps("day", alt.Axis(title="days"), f"jobs per {per}"), frame
    )


def _counts(
    study: replays.Study, x: str, edges: Any, count: Callable[[replays.Column], Any]
) -> pd.DataFrame:
    """Return the submissions from edge to edge of each infrastructure, by replay."""
    frames = []
    for name in study.list_infrastructures("rigid", "a60"):
        counts = {replay: count(study.replays[name, replay].submit) for replay in ("rigid", "a60")}
        ends = {"infrastructure": name, x: edges[:-1], "end": edges[1:]}
        frames.append(pd.DataFrame(ends | counts))
    return pd.concat(frames)


def _bars_and_steps(x: str, axis: alt.Axis, y_title: str) -> Chart:
    """Return grey bars of ``rigid`` from ``x`` to ``end``, and coloured steps of ``a60``."""
    base = alt.Chart(width=_WIDTH, height=_HEIGHT).encode(
        x=alt.X(f"{x}:Q", axis=axis, scale=alt.Scale(nice=False)),
        tooltip=["infrastructure", x, "rigid", "a60"],
        color=_BY_REPLAY,
    )
    bars = base.mark_rect(opacity=0.6).encode(
        x2="end", y=alt.Y("rigid:Q", title=y_title), y2=alt.datum(0)
    )
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.3).encode(y="a60:Q")
    return bars.transform_calculate(replay="'rigid'") + steps.transform_calculate(replay="'a60'")


def draw_cumulative(study: replays.Study) -> Chart:
    """Draw Fig. 3: cumulative number of submitted and finished jobs."""
    frames = []
    for name in study.list_infrastructures("rigid", "a60"):
        for replay in ("rigid", "a60"):
            jobs = study.replays[name, replay]
            for kind, times in (("submitted", jobs.submit), ("finished", jobs.finish)):
                curve = _count_curve(times / DAY, 60)
                place = {"infrastructure": name, "replay": replay, "jobs_are": kind}
                frames.append(curve.assign(**place))
    base = alt.Chart(width=_WIDTH, height=_HEIGHT).encode(
        x=alt.X("day:Q", title="days"),
        y=alt.Y("jobs:Q"),
        color=_BY_REPLAY,
        strokeDash=alt.StrokeDash("jobs_are:N", title=None, sort=["submitted", "finished"]),
        tooltip=["infrastructure", "replay", "jobs_are", "day", "jobs"],
    )
    return replays.make_panels(alt.layer(base.mark_line(strokeWidth=1.3)), pd.concat(frames))


def _count_curve(days: Any, points: int) -> pd.DataFrame:
    """Return the number of jobs up to some days, from the day of each job (nan = never)."""
    ordered = np.sort(days[np.isfinite(days)])
    count = np.unique(np.linspace(0, len(ordered), points + 1).astype(int))[1:]
    return pd.DataFrame({"day": ordered[count - 1].round(3), "jobs": count})


def draw_lateness_of_users(study: replays.Study) -> Chart:
    """Draw Fig. 4: mean lateness of each user against the number of their jobs (a60)."""
    names = study.list_infrastructures("a60")
    frame = pd.concat(
        measures.compute_user_lateness(study.replays[name, "a60"]).assign(infrastructure=name)
        for name in names
    )
    frame["days"] = (frame["lateness"] / DAY).round(3)
    base = alt.Chart(width=_WIDTH, height=_HEIGHT)
    points = base.mark_point(filled=True, size=18, opacity=0.6).encode(
        x=alt.X(
            "jobs:Q",
            title="jobs (logarithmic)",
            scale=alt.Scale(type="log", nice=False, padding=_EDGE),
            axis=replays.make_log_axis(frame["jobs"]),
        ),
        y=alt.Y("days:Q", title="mean lateness (d)", scale=alt.Scale(padding=_EDGE)),
        color=replays.encode_colour(names, legend=None),
        tooltip=["infrastructure", "user", "jobs", "days"],
    )
    zero = base.mark_rule().encode(y=alt.datum(0))
    return replays.make_panels(points + zero, frame.drop(columns="lateness"))


def draw_additional_lateness(study: replays.Study) -> Chart:
    """Draw Fig. 5: additional lateness per user, as points and box plots (a60)."""
    names = study.list_infrastructures("a60")
    spread = np.random.default_rng(0)  # sideways only, so that points do not hide each other
    frames = []
    for name in names:
        users = measures.compute_additional_lateness(study.replays[name, "a60"])
        aside = spread.uniform(0.55, 0.95, len(users)).round(3)
        seconds = users["seconds"].round(2)
        drawn = users.assign(infrastructure=name, seconds=seconds, aside=aside)
        frames.append(drawn.drop(columns="lateness"))
    frame = pd.concat(frames)
    names_axis = alt.Axis(labelAngle=0, labelFontSize=11)
    base = alt.Chart(frame, width="container", height=380).encode(
        x=alt.X("infrastructure:N", sort=names, title=None, axis=names_axis),
        y=alt.Y(
            "seconds:Q",
            title="additional lateness (s; logarithmic beyond ±100)",
            scale=alt.Scale(type="symlog", constant=100, nice=False, padding=_EDGE),
            axis=replays.make_log_axis(frame["seconds"], least=100),
        ),
        color=replays.encode_colour(names, legend=None),
    )
    place = alt.Scale(domain=[0, 1])
    points = base.mark_point(filled=True, size=14, opacity=0.5).encode(
        xOffset=alt.XOffset("aside:Q", scale=place),
        tooltip=["infrastructure", "user", "jobs", "seconds"],
    )
    box = base.mark_boxplot(extent=1.5, outliers=False, size=22, median={"color": "black"})
    zero = alt.Chart(frame).mark_rule().encode(y=alt.datum(0))
    return zero + points + box.encode(xOffset=alt.XOffset(datum=0.3, scale=place))


def draw_session_graphs(study: replays.Study) -> Chart:
    """Draw Fig. 6: longest path, arity and think times of the session graphs, a0 against a60."""
    graphs = session_graphs.build_graphs(study)
    if graphs.published:
        study.captions["fig06_session_graphs"] = TEXTS["paper_shares"]
    return session_graphs.draw_graphs(graphs)


def draw_differences(study: replays.Study) -> Chart:
    """Draw Fig. 7: distribution of the differences of submission times between replays."""
    names = study.list_infrastructures("a60")
    frames = []
    for before, after in (("rigid", "a60"), ("a60", "a0")):
        for name in names:
            if (name, before) in study.replays and (name, after) in study.replays:
                earlier, later = study.replays[name, before], study.replays[name, after]
                days, shares = replays.make_curve((later.submit - earlier.submit) / DAY, 80)
                curve = {"days": days.round(4), "share": shares.round(4), "infrastructure": name}
                frames.append(pd.DataFrame({**curve, "replays": f"from {before} to {after}"}))
    if not frames:
        raise replays.MissingError("no infrastructure has two replays to compare")
    base = alt.Chart(width=330, height=250)
    lines = base.mark_line(strokeWidth=1.5).encode(
        x=alt.X("days:Q", title="difference of submission times (d)", axis=alt.Axis(tickCount=6)),
        y=alt.Y("share:Q", title="share of jobs with a smaller one", axis=alt.Axis(format="%")),
        color=replays.encode_colour(names, title=None),
        tooltip=["replays", "infrastructure", "days", "share"],
    )
    zero = base.mark_rule(strokeWidth=0.5).encode(x=alt.datum(0))
    there = [text for text in _PAIRS if any((frame["replays"] == text).any() for frame in frames)]
    facet = alt.Facet("replays:N", sort=there, title=None)
    return (zero + lines).facet(facet, data=pd.concat(frames), columns=2)


_PAIRS = ("from rigid to a60", "from a60 to a0")


def draw_week(study: replays.Study) -> Chart:
    """Draw Fig. 8: mean submissions in each hour of the week, by local clock time."""
    workload = study.workload
    if workload.unix_start_time is None:
        raise replays.MissingError(
            "the log does not say when it began, so hours and weekdays are unknown"
        )
    origin = min(job.submit_time for job in workload.jobs)

    def counts(times: Any) -> Any:
        hours = local_hours(times + origin, workload.unix_start_time, workload.time_zone)
        weeks = max(np.ptp(times) / (7 * DAY), 1)
        return (np.bincount(hours.astype(int), minlength=168) / weeks).round(3)

    frame = _counts(study, "hour", np.arange(169), counts)
    axis = alt.Axis(
        title="day of the week, local time",
        values=list(range(0, 168, 24)),
        labelExpr=f"{_WEEKDAYS}[datum.value / 24]",
        labelAlign="left",
        labelOverlap="parity",
        labelSeparation=4,
    )
    return replays.make_panels(_bars_and_steps("hour", axis, "jobs per hour"), frame)


def draw_windows(study: replays.Study) -> Chart:
    """Draw Fig. 9: throughput and mean utilisation in windows that begin after two weeks."""
    names = study.list_infrastructures()
    lengths = list(_window_lengths(study))
    rows = []
    for length, text in lengths:
        for (name, replay), jobs in study.replays.items():
            values = metrics.window(jobs, WINDOW_START, length)
            row: dict[str, Any] = {"window": text, "infrastructure": name, "replay": replay}
            row["nodes"] = jobs.nb_processors
            row["jobs_per_day"] = round(values["throughput_per_day"], 3)
            rows.append(row | {"busy_nodes": round(values["mean_busy_processors"], 3)})
    frame = pd.DataFrame(rows)
    names_axis = alt.Axis(labelAngle=-40 if len(lengths) > 1 else 0)
    base = alt.Chart(width=_WIDTH, height=150).encode(
        x=alt.X("infrastructure:N", sort=names, title=None, axis=names_axis)
    )
    bars = base.mark_bar().encode(
        xOffset=alt.XOffset("replay:N", sort=list(tables.REPLAYS)),
        color=replays.encode_colour(names, legend=None),
        opacity=alt.Opacity(
            "replay:N",
            sort=list(tables.REPLAYS),
            title=None,
            scale=alt.Scale(domain=list(tables.REPLAYS), range=[0.3, 1.0]),
        ),
        tooltip=["window", "infrastructure", "replay", "jobs_per_day", "busy_nodes", "nodes"],
    )
    facet = alt.Facet("window:N", sort=[text for _, text in lengths], title=None)
    jobs = bars.encode(y=alt.Y("jobs_per_day:Q", title="jobs ended per day"))
    top = alt.Scale(domain=[0, 1.05 * max(frame["nodes"])])  # its tick is seen as well
    busy = bars.encode(y=alt.Y("busy_nodes:Q", title="mean busy nodes", scale=top))
    all_nodes = base.mark_tick(color="black", width=26).encode(y="nodes:Q")
    columns = len(lengths)
    return alt.vconcat(
        alt.layer(jobs).facet(facet, data=frame, columns=columns),
        (busy + all_nodes).facet(facet, data=frame, columns=columns),
    )


def _window_lengths(study: replays.Study) -> Iterator[tuple[float, str]]:
    """Yield length (seconds) and title of the windows that fit into the recorded log."""
    span, fitting = study.span, list_fitting_months(study)
    for months in fitting:
        yield months * MONTH, f"{months} months of 30 days"
    if len(fitting) == len(WINDOW_MONTHS):
        return
    left_out = ", ".join(str(m) for m in WINDOW_MONTHS if m not in fitting)
    caption = f"Windows of {left_out} months do not fit into the {span / DAY:.0f} days of the log"
    if not fitting:
        rest = span - WINDOW_START
        if rest <= 0:
            raise replays.MissingError("the log is shorter than two weeks")
        yield rest, f"the rest of the log, {rest / DAY:.0f} days"
        caption += "; the one shown goes to its end"
    study.captions["fig09_windows"] = f" {caption}."


def list_fitting_months(study: replays.Study) -> list[int]:
    """Return the lengths (months) of the windows that fit into the recorded log."""
    return [m for m in WINDOW_MONTHS if WINDOW_START + m * MONTH <= study.span]


def draw_first_submissions(study: replays.Study) -> Chart:
    """Draw Fig. 10: the first submission of each user, which waits for no other job."""
    first: dict[str, float] = {}
    for job in study.workload.jobs:
        first.setdefault(job.user or "", job.submit_time)
    frame = pd.DataFrame(sorted(first.items(), key=itemgetter(1)), columns=["user", "day"])
    frame["day"] = ((frame["day"] - frame["day"].min()) / DAY).round(3)
    frame["users"] = np.arange(1, len(frame) + 1)
    base = alt.Chart(frame, width="container", height=300).encode(
        x=alt.X("day:Q", title=f"days {_SINCE}"), tooltip=["user", "day", "users"]
    )
    line = base.mark_line(interpolate="step-after", color="black").encode(
        y=alt.Y("users:Q", title="users who have submitted a job")
    )
    ticks = base.mark_tick(color="black", opacity=0.4, height=10).encode(y=alt.datum(0))
    return (line + ticks).interactive(bind_y=False)


def draw_first_jobs(study: replays.Study) -> Chart:
    """Draw Fig. 11: additional lateness when only the first n jobs of the log are replayed.

    Points are replays of the first n jobs, if there are any; lines are the first n jobs of one
    replay of the whole log, which knows the load of all later jobs too.
    """
    there = [r for r in ("a60", "a0") if any(replay == r for _, replay in study.replays)]
    if not there:
        raise replays.MissingError("there is no replay with feedback")
    lines = pd.concat(
        _first_jobs(jobs.lateness).assign(infrastructure=name, replay=replay, of="whole replay")
        for (name, replay), jobs in study.replays.items()
        if replay in there
    )
    points = study.prefixes
    if len(points):
        points = points[points["replay"].isin(there)].assign(
            jobs=pd.to_numeric(points["first"]),
            seconds=pd.to_numeric(points["additional_lateness"]).round(3),
            of="first jobs alone",
        )
        points = points[[*lines.columns]]
        study.captions["fig11_first_jobs"] = TEXTS["first_jobs_alone"]
    frame = pd.concat([lines, points]) if len(points) else lines
    names = [name for name in replays.BY_LATENESS if name in set(frame["infrastructure"])]
    base = alt.Chart(width=330, height=250).encode(
        x=alt.X("jobs:Q", title="n (jobs in recorded order)"),
        y=alt.Y("seconds:Q", title="additional lateness (s per job)"),
        color=replays.encode_colour(names, title=None),
        tooltip=["infrastructure", "replay", "of", "jobs", "seconds"],
    )
    whole = base.mark_line().transform_filter("datum.of == 'whole replay'")
    layers = [alt.Chart().mark_rule(strokeWidth=0.5).encode(y=alt.datum(0)), whole]
    if len(points):
        alone = base.mark_point(filled=True, size=40, opacity=1)
        layers.append(alone.transform_filter("datum.of == 'first jobs alone'"))
    facet = alt.Facet("replay:N", sort=there, title=None)
    return alt.layer(*layers).facet(facet, data=frame, columns=2)


def _first_jobs(lateness: Any) -> pd.DataFrame:
    seconds = replays.compute_first_jobs_lateness(lateness)
    n = np.arange(2, len(seconds) + 2)
    shown = n >= len(lateness) // 50  # before, single jobs make it jump
    n, seconds = n[shown], seconds[shown]
    at = np.unique(np.linspace(0, len(n) - 1, 80).astype(int))[: len(n)]
    return pd.DataFrame({"jobs": n[at], "seconds": seconds[at].round(3)})


FIGURES = {
    "fig02_submissions": draw_submissions,
    "fig03_cumulative": draw_cumulative,
    "fig04_lateness_of_users": draw_lateness_of_users,
    "fig05_additional_lateness": draw_additional_lateness,
    "fig06_session_graphs": draw_session_graphs,
    "fig07_differences": draw_differences,
    "fig08_week": draw_week,
    "fig09_windows": draw_windows,
    "fig10_first_submissions": draw_first_submissions,
    "fig11_first_jobs": draw_first_jobs,
}
"""The figures in the order of the paper."""
