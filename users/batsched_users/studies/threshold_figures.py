"""Figures of a threshold study, and the numbers of their curves as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.support.extras import extra
from batsched_users.sessions.delimitation import Delimitation
from batsched_users.studies.figure_style import COLOURS, look, minutes_axis, plain
from batsched_users.studies.thresholds import DAY_MINUTES, LONG, ThresholdStudy, Values, survival

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID: Values = np.geomspace(0.1, 1e6, 141)
"""Minutes at which distributions are written down: 20 to a factor of ten."""
_SHOWN = 240
"""Minutes up to which the derivative is drawn; after that it is flat."""
_SMOOTHED = 5
"""Minutes over which the drawn derivative is averaged."""
_KINDS = {
    "common_last": "common, by Last",
    "common_max": "common, by Max",
    "unique_last": "found by Last only",
    "unique_max": "found by Max only",
}


@extra("figures")
def inter_arrival_figure(studies: Sequence[ThresholdStudy]) -> Figure:
    """Draw how inter-arrival times are distributed, and the derivative, a curve per log."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for index, study in enumerate(studies):
        curve = study.inter_arrival
        left.plot(curve.minutes, curve.cumulative, label=study.name, **look(index))
        smooth = np.convolve(curve.derivative, np.ones(_SMOOTHED) / _SMOOTHED, mode="valid")
        middle = np.arange(len(smooth)) + _SMOOTHED / 2
        # A value of 0 has no place on a logarithmic axis.
        right.plot(middle, np.where(smooth > 0, smooth, np.nan), **look(index))
    left.set_xlim(0, DAY_MINUTES)
    left.set_xticks(range(0, DAY_MINUTES + 1, 240), [f"{hours} h" for hours in range(0, 25, 4)])
    left.set_ylim(0, 1)
    left.yaxis.set_major_formatter(PercentFormatter(1))
    left.set(xlabel="time to the user's next job", ylabel="of those within a day, at most so long")
    right.set_xlim(0, _SHOWN)
    right.set_yscale("log")
    right.set_ylim(1e-4, 0.2)
    right.axvspan(40, 100, color="0.93", label="where the thesis looks for a threshold")
    right.axvline(60, color="0.4", linewidth=1, label="60 minutes, which it takes")
    right.set(xlabel="minutes to the user's next job", ylabel="share per minute")
    right.set_xticks(range(0, _SHOWN + 1, 40))
    for axes in (left, right):
        plain(axes)
        axes.legend(facecolor="white", edgecolor="none", framealpha=1)
    return figure


@extra("figures")
def think_time_figure(study: ThresholdStudy) -> Figure:
    """Draw the think times after batches that Last and Max agree on, and after the others."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    at = np.geomspace(0.1, 1e5, 400)
    for index, (kind, name) in enumerate(_KINDS.items()):
        values = getattr(study.think_times, kind)
        if len(values):
            looks = look(index)
            # The common ones lie on each other: the first is drawn broad and pale.
            looks |= {"linewidth": 5, "alpha": 0.35} if not index else {"linewidth": 1.8}
            axes.plot(at, 1 - survival(values, at), label=f"{name} ({len(values):,})", **looks)
    minutes_axis(axes, 0.1, 1e5)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set(xlabel="think time after a batch", ylabel="at most so long")
    axes.set_title(study.name, loc="left")
    axes.legend(frameon=False, loc="upper left")
    plain(axes)
    return figure


@extra("figures")
def session_length_figure(study: ThresholdStudy) -> Figure:
    """Draw the share of the sessions that are longer than a time, a curve per delimitation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 4.5), layout="constrained")
    axes = figure.subplots()
    at = np.geomspace(1, 1e6, 800)
    for name, looks in _looks(study.lengths).items():
        share = survival(study.lengths[name], at)
        axes.plot(at, np.where(share > 0, share, np.nan), label=name, **looks)
    axes.axvline(LONG, color="0.4", linewidth=1, label=f"{LONG:,.0f} minutes")
    minutes_axis(axes, 1, 1e6)
    axes.set_yscale("log")
    axes.set(xlabel="session length", ylabel="share of the sessions that are longer")
    axes.set_title(study.name, loc="left")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    plain(axes)
    return figure


def _looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return how each delimitation is drawn: Last as dashes on the broad band of its Max.

    They nearly coincide where a cut hides most of what they differ in.
    """
    rules = {name: Delimitation.parse(name) for name in names}
    kinds = {
        name: (rule.threshold, rule.cut, rule.method == "arrival") for name, rule in rules.items()
    }
    order = list(dict.fromkeys(kinds.values()))
    lines: dict[str, dict[str, Any]] = {
        "arrival": {"linestyle": "-", "linewidth": 1.8},
        "last": {"linestyle": "--", "linewidth": 1.8},
        "max": {"linestyle": "-", "linewidth": 5, "alpha": 0.35},
    }
    return {
        name: {"color": COLOURS[order.index(kinds[name]) % len(COLOURS)]} | lines[rule.method]
        for name, rule in rules.items()
    }


def curves_csv(study: ThresholdStudy) -> str:
    """Return the curves as CSV: what it is, of what, minutes, and share (0 to 1)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("curve", "of", "minutes", "share"))
    for curve, of, minutes, shares in _curves(study):
        for at, share in zip(minutes.tolist(), shares.tolist(), strict=True):
            writer.writerow((curve, of, f"{at:.6g}", f"{share:.8g}"))
    return text.getvalue()


def _curves(study: ThresholdStudy) -> Iterator[tuple[str, str, Values, Values]]:
    iat = study.inter_arrival
    yield "at most", "inter-arrival times", iat.minutes, iat.cumulative
    yield "per minute", "inter-arrival times", iat.minutes[1:], iat.derivative
    for kind in _KINDS:
        values = getattr(study.think_times, kind)
        if len(values):
            yield (
                "at most",
                f"think times {kind.replace('_', ' ')}",
                GRID,
                1 - survival(values, GRID),
            )
    for name, lengths in study.lengths.items():
        yield "longer", f"sessions {name}", GRID, survival(lengths, GRID)
