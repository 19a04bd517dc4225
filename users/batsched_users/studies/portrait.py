"""A portrait of users: when they submit, how long they stay, how they react to waiting.

Of a log, of a simulation, or of several laid over each other: a model beside the log it was learnt
from. The numbers are functions of their own; drawing only shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError, parameter
from batsched_py.support.extras import extra
from batsched_py.units import DAY, MINUTE
from batsched_users.learning.learn_think_times import BOUND, think_time_pairs
from batsched_users.measures.job_columns import Column, JobColumns
from batsched_users.measures.marginals import jobs_by_hour_of_week
from batsched_users.measures.session_columns import BY_ARRIVAL, cut_sessions
from batsched_users.studies.figure_style import look, minutes_axis, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_THINK_TIME = BOUND
"""Seconds; whoever comes back later was away (Schlagkamp 2015: think times below 28,800 s)."""
RESPONSES: Column = np.array([0, 1, 2, 5, 10, 20, 60, 120, 240, 480, 1440]) * MINUTE
"""Edges of the bins of response times, seconds; the last bin has no upper edge."""
FEWEST = 10
"""Pairs in a bin without which its quartiles are not drawn."""
_LEAST_DRAWN = 0.1
"""Minutes; shorter think times are drawn there, since 0 has no place on a logarithmic axis."""


class Portrait(msgspec.Struct, frozen=True, eq=False):
    """The numbers behind the picture."""

    label: str
    hours: Column
    """Share of the submissions in each hour of the week from Monday 0:00; shape (168,), sum 1."""
    session_lengths: Column
    """Minutes from first to last submission, ascending; shape (sessions,). One job: 0."""
    think_times: Column
    """Quartiles (25 %, 50 %, 75 %) in seconds of the think times after each bin of
    :data:`RESPONSES`; nan where it has no pair. Shape (bins, 3)."""
    pairs: NDArray[np.int64]
    """Number of think times in each bin; shape (bins,)."""
    clock_known: bool


def portrait(jobs: JobColumns, label: str) -> Portrait:
    """Return the numbers of the three panels; sources are at the functions that count them.

    Raises :class:`UsageError` for no jobs and for jobs without user.
    """
    if not len(jobs):
        raise UsageError(f"{label}: there are no jobs, so there is nothing to draw")
    if nobodys := int((jobs.user < 0).sum()):
        raise UsageError(
            f"{label}: {nobodys} of {len(jobs)} jobs have no user, but a portrait is one of users; "
            f"for a log, {parameter('unknown_user')} each takes each as one of its own"
        )
    quartiles, pairs = think_times_by_response(jobs)
    hours = jobs_by_hour_of_week(jobs) / len(jobs)
    clock_known = jobs.calendar.known
    return Portrait(label, hours, session_lengths(jobs), quartiles, pairs, clock_known)


def session_lengths(jobs: JobColumns) -> Column:
    """Return the lengths in minutes of the sessions by arrival:60:>, ascending.

    Source: Zakay, PhD thesis, chapter 2.
    """
    first, last = cut_sessions(jobs, BY_ARRIVAL).spans(jobs)
    return np.sort(last - first) / MINUTE


def think_times_by_response(jobs: JobColumns) -> tuple[Column, NDArray[np.int64]]:
    """Return quartiles (bins, 3) in seconds and number (bins,) of think times by response time.

    They are the times from the end of a user's job to the next submission, if that comes after
    the end and less than 8 hours later; a pair is put into its bin by the response time of its
    first job, lower edges included.

    Source: the pairs of S. Schlagkamp, JSSPP 2015, section 3.
    """
    pairs = think_time_pairs(jobs, LONGEST_THINK_TIME)
    bins = np.searchsorted(RESPONSES, pairs.response, side="right") - 1
    quartiles = np.full((len(RESPONSES), 3), np.nan)
    for index in np.unique(bins).tolist():
        quartiles[index] = np.quantile(pairs.think[bins == index], (0.25, 0.5, 0.75))
    return quartiles, np.bincount(bins, minlength=len(RESPONSES))


@extra("figures")
def portrait_figure(portraits: Sequence[Portrait]) -> Figure:
    """Draw the portraits (at least one) over each other, told apart by colour and line."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    grid = figure.add_gridspec(3, 2, height_ratios=(3, 3, 0.9))
    week, lengths = figure.add_subplot(grid[0, :]), figure.add_subplot(grid[1:, 0])
    thinking = figure.add_subplot(grid[1, 1])
    counts = figure.add_subplot(grid[2, 1], sharex=thinking)
    _draw_week(week, portraits)
    _draw_lengths(lengths, portraits)
    _draw_thinking(thinking, counts, portraits)
    for axes in (week, lengths, thinking, counts):
        plain(axes)
    week.grid(visible=False, axis="x")
    handles = [
        Line2D([], [], linewidth=2.5, label=view.label, **look(index))
        for index, view in enumerate(portraits)
    ]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(len(handles), 3),
        handlelength=3,
        frameon=False,
    )
    return figure


def _draw_week(axes: Axes, portraits: Sequence[Portrait]) -> None:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    for index, view in enumerate(portraits):
        axes.stairs(view.hours * 100, np.arange(169), baseline=None, linewidth=1.6, **look(index))
    for midnight in range(24, 168, 24):
        axes.axvline(midnight, color="0.8", linewidth=0.8, zorder=0)
    axes.set_xlim(0, 168)
    axes.set_ylim(bottom=0)
    if all(view.clock_known for view in portraits):
        axes.set_xticks(np.arange(12, 168, 24), days)
        axes.tick_params(axis="x", length=0)
        axes.set_title("When they submit (local time)", loc="left")
    else:
        axes.set_xticks(np.arange(0, 169, 24))
        axes.set_xlabel("hours (where the clock is unknown, from second 0)")
        axes.set_title("When they submit", loc="left")
    axes.set_ylabel("% of the jobs, per hour")


def _draw_lengths(axes: Axes, portraits: Sequence[Portrait]) -> None:
    from matplotlib.ticker import PercentFormatter

    longest = max(view.session_lengths[-1] for view in portraits)
    at = np.geomspace(1, max(2 * DAY / MINUTE, longest), 500)
    for index, view in enumerate(portraits):
        shares = np.searchsorted(view.session_lengths, at, side="right") / len(view.session_lengths)
        axes.plot(at, shares, linewidth=1.8, **look(index))
    minutes_axis(axes, 1, float(at[-1]))
    axes.set_ylim(0, 1.01)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_title("How long their sessions are", loc="left")
    axes.set(xlabel="from first to last submission", ylabel="of the sessions, at most so long")


def _draw_thinking(axes: Axes, counts: Axes, portraits: Sequence[Portrait]) -> None:
    from matplotlib.ticker import NullLocator

    edges = np.arange(len(RESPONSES))
    for index, view in enumerate(portraits):
        looks: dict[str, Any] = look(index)
        enough = view.pairs >= FEWEST
        low, middle, high = np.maximum(view.think_times[enough].T / MINUTE, _LEAST_DRAWN)
        # Side by side in their bin, so that the quartiles of one do not hide another's.
        place = edges[enough] + 0.5 + (index - (len(portraits) - 1) / 2) * 0.6 / len(portraits)
        axes.vlines(place, low, high, color=looks["color"], linewidth=2, alpha=0.6)
        axes.plot(place, middle, marker="o", markersize=5, linewidth=1.2, **looks)
        places = np.arange(len(RESPONSES) + 1)
        counts.stairs(view.pairs, places, baseline=None, linewidth=1.4, **looks)
    names = ["0", "1", "2", "5", "10", "20 min", "1 h", "2", "4", "8 h", "1 d"]
    axes.set_xlim(0, len(RESPONSES))
    axes.tick_params(labelbottom=False)
    axes.set_yscale("log")
    axes.set_ylim(_LEAST_DRAWN, LONGEST_THINK_TIME / MINUTE)
    axes.set_yticks([_LEAST_DRAWN, 1, 10, 60, 480], ["≤ 6 s", "1 min", "10 min", "1 h", "8 h"])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_title("How long they think after a job (median, quartiles)", loc="left")
    axes.set_ylabel("think time")
    counts.set_xticks(edges, names)
    counts.set_xlabel("response time of the job")
    counts.set_yscale("log")
    counts.set_ylim(bottom=0.7)
    counts.set_ylabel("pairs")
