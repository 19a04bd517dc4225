"""Figures 2 to 11 of the study, as PNG, drawn from the runs of a campaign.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024). Each function that
draws a figure takes a :class:`Study` and returns the figure; it raises :class:`MissingError` where
runs it needs are not there. Time axes are in days from the first recorded submission.

An infrastructure has one colour everywhere (Okabe and Ito's palette, safe for the colour-blind);
replays differ by lightness or dashes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from batsched_py import metrics
from batsched_py.errors import UsageError
from batsched_py.files import write_whole
from batsched_py.workload import Workload
from batsched_py.workload.clock import local_hours

if TYPE_CHECKING:
    from report import Results

DAY = 86_400.0
HOUR = 3_600.0
COLOURS = {
    "easy": "#009E73",
    "fcfs": "#CC79A7",
    "perf*2": "#0072B2",
    "infra*2": "#56B4E9",
    "infra/2": "#E69F00",
    "perf/2": "#D55E00",
}
GREY = "#B0B0B0"
DPI = 120
WINDOW_START = 14 * DAY
WINDOW_MONTHS = (4, 6, 8)
_GRID = ("easy", "perf*2", "infra*2", "fcfs", "perf/2", "infra/2")
"""Infrastructures in two rows of panels: the better half above the worse one."""
_BY_LATENESS = ("perf*2", "infra*2", "easy", "fcfs", "infra/2", "perf/2")

Column = NDArray[np.float64]


class MissingError(Exception):
    """A figure cannot be drawn; the message says why."""


@dataclass(frozen=True)
class Replay:
    """The jobs of one run, in recorded order; all columns of shape (n,), seconds, nan = none."""

    nb_res: int
    """Processors of the platform."""
    original: Column
    """Recorded submission times; 0 is the first of them."""
    submit: Column
    start: Column
    finish: Column
    size: Column
    user: pd.Series[str]

    @property
    def lateness(self) -> Column:
        """Replayed minus recorded submission time."""
        return self.submit - self.original

    def of_users(self) -> tuple[Column, Column]:
        """Return number of jobs and mean lateness (seconds) of each user, shapes (users,)."""
        groups = pd.Series(self.lateness).groupby(self.user.to_numpy())
        return np.asarray(groups.size(), dtype=float), np.asarray(groups.mean(), dtype=float)


@dataclass
class Study:
    """All that the figures of one log are drawn from."""

    log: str
    workload: Workload
    replays: dict[tuple[str, str], Replay]
    """Runs of the whole log by (infrastructure, replay)."""
    prefixes: pd.DataFrame
    """Runs of the first jobs of the log only: infrastructure, replay, first, and metrics."""
    notes: list[str] = field(default_factory=list)

    def infrastructures(self, *replays: str) -> list[str]:
        """Return the infrastructures that have all these replays; raises MissingError if none."""
        names = [n for n in _BY_LATENESS if all((n, replay) in self.replays for replay in replays)]
        if not names:
            raise MissingError(f"no infrastructure has been replayed as {' and '.join(replays)}")
        return names


def draw_figures(results: Results) -> tuple[list[Path], list[str]]:
    """Write the figures of each log to ``results.out``; return the files, and notes.

    Of several job sizes or orders of simultaneous events the first is drawn (requested; the
    given order). Notes say what could not be drawn, or was drawn otherwise, and why.
    """
    paths, notes = [], []
    for study in _studies(results):
        for name, draw in FIGURES.items():
            try:
                figure = draw(study)
            except MissingError as missing:
                study.notes.append(f"{name} is left out: {missing}.")
                continue
            path = results.out / f"{study.log}_{name}.png"
            picture = io.BytesIO()
            # Software names the version of matplotlib; without it the bytes depend on data only.
            figure.savefig(picture, dpi=DPI, metadata={"Software": None})
            write_whole(path, picture.getvalue())
            paths.append(path)
        notes += [f"{study.log}: {note}" for note in study.notes]
    return paths, notes


def _studies(results: Results) -> Iterator[Study]:
    runs = results.runs
    runs = runs.assign(log=[_log_name(log) for log in runs["log"]])
    for column in ("first", "shake"):
        if column not in runs:
            runs[column] = np.nan
    runs = runs.sort_values("shake", kind="stable", na_position="first")
    for log, own in runs.groupby("log"):
        size = "requested" if "requested" in set(own["size"]) else own["size"].iloc[0]
        own = own[own["size"] == size].drop_duplicates(["infrastructure", "replay", "first"])
        whole = own[own["first"].isna()]
        if whole.empty:
            continue
        replays = {
            (run["infrastructure"], run["replay"]): _replay(run, results.jobs(run))
            for _, run in whole.iterrows()
        }
        workload = results.workload(whole.iloc[0])
        yield Study(str(log), workload, replays, own[own["first"].notna()])


def _log_name(log: object) -> str:
    return Path(str(log)).name.removesuffix(".gz").removesuffix(".swf")


def _replay(run: Any, jobs: pd.DataFrame) -> Replay:
    number = pd.to_numeric(jobs["job_id"], errors="coerce").to_numpy(dtype=float)
    original = jobs["original_submission_time"].to_numpy(dtype=float)
    jobs = jobs.iloc[np.lexsort((number, original))]
    origin = original.min()
    return Replay(
        nb_res=int(run["nb_res"]),
        original=jobs["original_submission_time"].to_numpy(dtype=float) - origin,
        submit=jobs["submission_time"].to_numpy(dtype=float) - origin,
        start=jobs["starting_time"].to_numpy(dtype=float) - origin,
        finish=jobs["finish_time"].to_numpy(dtype=float) - origin,
        size=jobs["requested_number_of_resources"].to_numpy(dtype=float),
        user=jobs["user"].astype(str),
    )


def fig02_submissions(study: Study) -> Figure:
    """Histogram of submissions over time, rigid against feedback (a60)."""
    names = study.infrastructures("rigid", "a60")
    last = max(study.replays[name, "a60"].submit.max() for name in names) / DAY
    width, unit = (7, "week") if last > 200 else (1, "day")
    edges = np.arange(0, last + width, width).tolist()
    figure, axes = _panels(study, names, "Fig. 2: submissions over time")
    for name, ax in axes.items():
        rigid, feedback = study.replays[name, "rigid"], study.replays[name, "a60"]
        ax.hist(rigid.submit / DAY, edges, color=GREY)
        ax.hist(feedback.submit / DAY, edges, histtype="step", color=COLOURS[name], linewidth=1.2)
    handles = [Patch(color=GREY), Line2D([], [], color="black")]
    _legend(figure, handles, ["rigid (as recorded)", "with feedback, a60 (coloured)"])
    _labels(figure, "days from the first recorded submission", f"jobs submitted per {unit}")
    return figure


def fig03_cumulative(study: Study) -> Figure:
    """Cumulative number of submitted and finished jobs."""
    names = study.infrastructures("rigid", "a60")
    figure, axes = _panels(study, names, "Fig. 3: submitted and finished jobs")
    for name, ax in axes.items():
        for replay, colour in (("rigid", "#888888"), ("a60", COLOURS[name])):
            jobs = study.replays[name, replay]
            _cumulative(ax, jobs.submit / DAY, color=colour)
            _cumulative(ax, jobs.finish / DAY, color=colour, linestyle="--")
    handles = [
        Line2D([], [], color=colour, dashes=dashes)
        for colour in ("#888888", "black")
        for dashes in ((None, None), (4, 2))
    ]
    texts = ["rigid: submitted", "rigid: finished"]
    _legend(figure, handles, [*texts, "a60 (coloured): submitted", "a60: finished"])
    _labels(figure, "days from the first recorded submission", "jobs")
    return figure


def fig04_lateness_of_users(study: Study) -> Figure:
    """Mean lateness of each user against the number of its jobs (a60)."""
    names = study.infrastructures("a60")
    title = "Fig. 4: mean lateness of each user (a60)"
    figure, axes = _panels(study, names, title)
    for name, ax in axes.items():
        number, lateness = study.replays[name, "a60"].of_users()
        ax.axhline(0, color="black", linewidth=0.8)
        ax.scatter(number, lateness / DAY, s=9, color=COLOURS[name], alpha=0.7, linewidths=0)
        ax.set_xscale("log")
    _labels(figure, "jobs of the user (log scale)", "mean lateness (days)")
    return figure


def fig05_additional_lateness(study: Study) -> Figure:
    """Additional lateness per user: points and box plots (a60)."""
    names = study.infrastructures("a60")
    figure, ax = _single(
        study, "Fig. 5: additional lateness of each user with 2 jobs or more (a60)"
    )
    spread = np.random.default_rng(0)  # sideways only, so that points do not hide each other
    ax.axhline(0, color="black", linewidth=0.8)
    for at, name in enumerate(names):
        number, lateness = study.replays[name, "a60"].of_users()
        several = number > 1
        values = 2 * lateness[several] / (number[several] - 1)
        side = at + spread.uniform(0.08, 0.38, len(values))
        ax.scatter(side, values, s=8, color=COLOURS[name], alpha=0.6, linewidths=0)
        _box(ax, values, at - 0.17, COLOURS[name])
    ax.set_yscale("symlog", linthresh=100)
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel("additional lateness (s; log scale beyond ±100 s)")
    ax.set_xlabel("infrastructure (box: quartiles and median; whiskers: 1.5 box lengths)")
    return figure


def fig06_session_graphs(study: Study) -> Figure:
    """Longest path, arity and think times of the session graphs, a0 against a60."""
    graphs = {minutes: _graphs(study.workload, minutes) for minutes in (0, 60)}
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    _title(figure, study, "Fig. 6: session graphs of the users")
    paths, arity, think = figure.subplots(1, 3)
    many = "(larger points: more users)"
    longest = [[graph.longest_path() for graph in graphs[m]] for m in (0, 60)]
    _counted_points(paths, *longest)
    paths.set(xscale="log", yscale="log", xlabel=f"a0 {many}", ylabel="a60")
    paths.set_title("longest path of a user (sessions)", fontsize="medium")
    widest = [[max(graph.arity(), default=0) for graph in graphs[m]] for m in (0, 60)]
    _counted_points(arity, *widest)
    arity.set(xlabel=f"a0 {many}", ylabel="a60")
    arity.yaxis.get_major_locator().set_params(integer=True)
    arity.set_title("largest arity of a user (sessions that one waits for)", fontsize="medium")
    for minutes, style in ((0, "--"), (60, "-")):
        times = np.array([t for graph in graphs[minutes] for t in graph.think_times()])
        shares = [np.mean(times < hours * HOUR) if len(times) else 0 for hours in (1, 10)]
        label = f"a{minutes}: {shares[0]:.0%} < 1 h, {shares[1]:.0%} < 10 h"
        _distribution(
            think, np.maximum(times, 1) / HOUR, color="black", linestyle=style, label=label
        )
    for hours in (1, 10):
        think.axvline(hours, color=GREY, linewidth=0.8)
    think.set(xscale="log", xlabel="think time (h, log scale; at least 1 s)", ylim=(0, 1))
    think.set_ylabel("share of think times that are shorter")
    think.set_title("think times", fontsize="medium")
    think.legend(loc="upper left", fontsize="small", handlelength=1.4, frameon=False)
    return figure


def _graphs(workload: Workload, minutes: int) -> list[Any]:
    # Part of the distribution, but not of batsched_py, which must not need it.
    from users.graph import build_graph
    from users.sessions import Delimitation, partition

    try:
        sessions = partition(workload.jobs, Delimitation.parse(f"arrival:{minutes}"))
        return [build_graph(own) for own in sessions.values()]
    except UsageError as error:
        raise MissingError(f"there are no session graphs: {error}") from None


def fig07_differences(study: Study) -> Figure:
    """Distribution of the differences of submission times between replays."""
    names = study.infrastructures("a60")
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    _title(figure, study, "Fig. 7: how much later a job is submitted")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (before, after) in zip(axes, (("rigid", "a60"), ("a60", "a0")), strict=True):
        for name in names:
            if (name, before) in study.replays and (name, after) in study.replays:
                earlier, later = study.replays[name, before], study.replays[name, after]
                days = (later.submit - earlier.submit) / DAY
                _distribution(ax, days, color=COLOURS[name], label=name)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(f"from {before} to {after}", fontsize="medium")
        ax.set_xlabel(f"submission in {after} minus submission in {before} (days)")
        ax.set_ylim(0, 1)
    axes[0].set_ylabel("share of jobs with a smaller difference")
    handles = [Line2D([], [], color=COLOURS[name]) for name in names]
    _legend(figure, handles, names)
    return figure


def fig08_week(study: Study) -> Figure:
    """Submissions per hour, all weeks laid over each other, by local clock time."""
    workload = study.workload
    if workload.unix_start_time is None:
        raise MissingError("the log does not say when it began, so hours and weekdays are unknown")
    names = study.infrastructures("rigid", "a60")
    origin = min(job.submit_time for job in workload.jobs)
    figure, axes = _panels(study, names, "Fig. 8: submissions over the week")
    for name, ax in axes.items():
        for replay in ("rigid", "a60"):
            times = study.replays[name, replay].submit
            hours = local_hours(times + origin, workload.unix_start_time, workload.time_zone)
            counts = np.bincount(hours.astype(int), minlength=168).astype(float)
            counts /= max(np.ptp(times) / (7 * DAY), 1)
            if replay == "rigid":
                ax.stairs(counts, color=GREY, fill=True)
            else:
                ax.stairs(counts, color=COLOURS[name], linewidth=1.2)
        ax.set_xticks(range(12, 168, 24), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
        ax.tick_params(axis="x", length=0)
        for midnight in range(24, 168, 24):
            ax.axvline(midnight, color="black", linewidth=0.4, alpha=0.4)
        ax.set_xlim(0, 168)
    handles = [Patch(color=GREY), Line2D([], [], color="black")]
    _legend(figure, handles, ["rigid (as recorded)", "with feedback, a60 (coloured)"])
    _labels(
        figure, f"local time ({workload.time_zone})", "jobs submitted per hour, mean of all weeks"
    )
    return figure


def fig09_windows(study: Study) -> Figure:
    """Throughput and mean utilisation on windows that begin after two weeks."""
    names = study.infrastructures()
    lengths = _window_lengths(study)
    figure = Figure(figsize=(max(7.0, 4.4 * len(lengths)), 6.4), layout="constrained")
    _title(figure, study, "Fig. 9: throughput and utilisation on windows beginning after 2 weeks")
    axes = figure.subplots(2, len(lengths), sharey="row", sharex=True, squeeze=False)
    for column, (length, text) in enumerate(lengths):
        axes[0, column].set_title(text, fontsize="medium")
        _window_bars(study, names, length, axes[:, column])
    axes[0, 0].set_ylabel("throughput (jobs ended per day)")
    axes[1, 0].set_ylabel("mean busy nodes (line: all nodes)")
    handles = [Patch(color="black", alpha=alpha, linewidth=0) for alpha in _LIGHTNESS.values()]
    _legend(figure, handles, list(_LIGHTNESS))
    return figure


_LIGHTNESS = {"rigid": 0.3, "a0": 0.6, "a60": 1.0}


def _window_lengths(study: Study) -> list[tuple[float, str]]:
    """Return length (seconds) and title of the windows that fit into the recorded log."""
    span = max(replay.original.max() for replay in study.replays.values())
    fitting = [m for m in WINDOW_MONTHS if WINDOW_START + m * metrics.MONTH <= span]
    lengths = [(m * metrics.MONTH, f"{m} months of 30 days") for m in fitting]
    if len(fitting) < len(WINDOW_MONTHS):
        left_out = ", ".join(str(m) for m in WINDOW_MONTHS if m not in fitting)
        note = f"windows of {left_out} months do not fit into the {span / DAY:.0f} days of the log"
        if not lengths:
            if span <= WINDOW_START:
                raise MissingError("the log is shorter than two weeks")
            rest = span - WINDOW_START
            text = f"the rest of the log, {rest / DAY:.0f} days (too short for 4 months)"
            lengths = [(rest, text)]
            note += "; one window goes to the end of the log instead"
        study.notes.append(f"fig09: {note}.")
    return lengths


def _window_bars(study: Study, names: list[str], length: float, axes: Any) -> None:
    for at, name in enumerate(names):
        for side, (replay, alpha) in enumerate(_LIGHTNESS.items()):
            if (name, replay) not in study.replays:
                continue
            jobs = study.replays[name, replay]
            table = metrics.JobTable(
                submit=jobs.submit,
                start=jobs.start,
                finish=jobs.finish,
                execution=jobs.finish - jobs.start,
                size=jobs.size,
                original_submit=jobs.original,
                user=jobs.user.to_list(),
            )
            values = metrics.window(table, WINDOW_START, length)
            x = at + 0.27 * (side - 1)
            for ax, key in zip(axes, ("throughput_per_day", "mean_busy_processors"), strict=True):
                ax.bar(x, values[key], 0.25, color=COLOURS[name], alpha=alpha, linewidth=0)
            axes[1].plot([at - 0.42, at + 0.42], [jobs.nb_res] * 2, color="black", linewidth=1)
    axes[1].set_xticks(range(len(names)), names, fontsize="small")


def fig10_first_submissions(study: Study) -> Figure:
    """First submission of each user over time.

    It is the same in all replays: a user's first session waits for nothing.
    """
    first: dict[str, float] = {}
    for job in study.workload.jobs:
        first.setdefault(job.user or "", job.submit_time)
    days = np.sort(np.array(list(first.values()))) / DAY
    figure, ax = _single(study, "Fig. 10: first submission of each user (the same in all replays)")
    days -= days[0]
    ax.step(days, np.arange(1, len(days) + 1), where="post", color="black")
    ax.plot(days, np.zeros(len(days)), "|", color="black", markersize=8, alpha=0.4, clip_on=False)
    ax.set_xlabel("days from the first recorded submission (ticks: one per user)")
    ax.set_ylabel("users who have submitted a job")
    ax.set_ylim(bottom=0)
    return figure


def fig11_first_jobs(study: Study) -> Figure:
    """Additional lateness when only the first n jobs of the log are replayed.

    Drawn from runs of the first jobs if there are any (points), and from the first jobs of each
    run of the whole log (lines), which knows the load of all later jobs too.
    """
    replays = [r for r in ("a60", "a0") if any(replay == r for _, replay in study.replays)]
    if not replays:
        raise MissingError("there is no replay with feedback")
    figure = Figure(figsize=(5.6 * len(replays), 4.8), layout="constrained")
    _title(figure, study, "Fig. 11: additional lateness of the first n jobs")
    axes = figure.subplots(1, len(replays), sharey=True, squeeze=False)[0]
    for ax, replay in zip(axes, replays, strict=True):
        own = study.prefixes[study.prefixes["replay"] == replay]
        for name in study.infrastructures(replay):
            _first_jobs(ax, study.replays[name, replay], COLOURS[name])
            points = own[own["infrastructure"] == name].sort_values("first")
            ax.plot(points["first"], points["additional_lateness"], "o", color=COLOURS[name])
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_title(replay, fontsize="medium")
        ax.set_xlabel("n (jobs in recorded order)")
    axes[0].set_ylabel("additional lateness (s per job)")
    names = study.infrastructures()
    handles: list[Any] = [Line2D([], [], color=COLOURS[name]) for name in names]
    if len(study.prefixes):
        note = "line: first n jobs of ONE replay of the whole log; points: replays of n jobs alone"
    else:
        note = "lines: first n jobs of ONE replay of the whole log, NOT replays of n jobs alone"
        study.notes.append("fig11 shows prefixes of the full replays: no run has set `first`.")
    figure.suptitle(f"{figure.get_suptitle()}\n{note}", fontsize="medium")
    _legend(figure, handles, names)
    return figure


def _first_jobs(ax: Axes, replay: Replay, colour: str) -> None:
    n = np.arange(1, len(replay.submit) + 1)
    sums = np.cumsum(replay.lateness)
    shown = n >= max(2, len(n) // 50)  # before, single jobs make it jump
    n, sums = n[shown], sums[shown]
    step = max(1, len(n) // 1000)
    at = np.append(np.arange(0, len(n) - 1, step), len(n) - 1)
    ax.plot(n[at], 2 * sums[at] / n[at] / (n[at] - 1), color=colour)


FIGURES: dict[str, Callable[[Study], Figure]] = {
    function.__name__: function
    for function in (
        fig02_submissions,
        fig03_cumulative,
        fig04_lateness_of_users,
        fig05_additional_lateness,
        fig06_session_graphs,
        fig07_differences,
        fig08_week,
        fig09_windows,
        fig10_first_submissions,
        fig11_first_jobs,
    )
}
"""The figures by the names of their files."""


def _title(figure: Figure, study: Study, text: str) -> None:
    figure.suptitle(f"{text}\n{study.log}", fontsize="large")


def _single(study: Study, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 5), layout="constrained")
    _title(figure, study, title)
    return figure, figure.subplots()


def _panels(study: Study, names: list[str], title: str) -> tuple[Figure, dict[str, Axes]]:
    """Return a figure with a panel per infrastructure; all have the same axes."""
    shown = [name for name in _GRID if name in names]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(max(6.0, 3.7 * columns), 1.4 + 2.5 * rows), layout="constrained")
    _title(figure, study, title)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for ax, name in zip(grid, shown, strict=False):
        ax.set_title(name, fontsize="medium")
    for ax in grid[len(shown) :]:
        ax.remove()
    return figure, dict(zip(shown, grid, strict=False))


def _legend(figure: Figure, handles: list[Any], texts: list[str]) -> None:
    figure.legend(handles, texts, loc="outside lower center", ncols=len(texts), frameon=False)


def _labels(figure: Figure, x: str, y: str) -> None:
    """Name the axes of panels: x below each column, for a legend may stand below the figure."""
    figure.supylabel(y, fontsize="medium")
    for ax in figure.axes:
        spec = ax.get_subplotspec()
        if spec is not None and spec.is_last_row():
            ax.set_xlabel(x)


def _cumulative(ax: Axes, times: Column, **style: Any) -> None:
    """Draw how many of ``times`` are over (nan = never); 500 points are enough for the eye."""
    ordered = np.sort(times[np.isfinite(times)])
    count = np.unique(np.linspace(0, len(ordered), 500).astype(int))[1:]
    ax.plot(ordered[count - 1], count, **style)


def _distribution(ax: Axes, values: Column, **style: Any) -> None:
    """Draw the empirical distribution function."""
    if len(values):
        shares = np.linspace(0, 1, 500)
        ax.plot(np.quantile(values, shares), shares, **style)


def _counted_points(ax: Axes, x: list[int], y: list[int]) -> None:
    """Draw pairs of integers, larger points where there are more users; and the diagonal."""
    pairs, counts = np.unique(np.array([x, y]), axis=1, return_counts=True)
    ends = [pairs.min(), min(max(x), max(y))]
    ax.plot(ends, ends, color=GREY, linewidth=0.8)
    ax.scatter(pairs[0], pairs[1], s=12 * np.sqrt(counts), color="black", alpha=0.45, linewidths=0)


def _box(ax: Axes, values: Column, at: float, colour: str) -> None:
    boxes = ax.boxplot(values, positions=[at], widths=0.26, patch_artist=True, showfliers=False)
    for patch in boxes["boxes"]:
        patch.set(facecolor=colour, alpha=0.8)
    for median in boxes["medians"]:
        median.set(color="black", linewidth=1.5)
