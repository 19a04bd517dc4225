"""The axis of time in the figures of a run: dates, or time since the first submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import altair as alt
import msgspec
import numpy as np
import pandas as pd

from batsched_py.errors import UsageError, parameter
from batsched_py.support.step_functions import Array
from batsched_py.units import DAY, SYMBOLS, UNITS, choose_unit
from batsched_py.workload.logs.clock import local_seconds

_CLOCK = {"hours": "%H:%M", "minutes": "%H:%M"}
_DAYS = {"date": "%d %b", "week": "%d %b", "month": "%b %Y", "quarter": "%b %Y"}


class TimeOptions(TypedDict, total=False):
    """Options of a figure: the part of the time that it shows, and the unit."""

    begin: float | None
    """Second of the simulation at the left end; None: where there is something to see."""
    end: float | None
    """The same at the right end."""
    unit: str | None
    """Of the axis, from the first submission: days, hours, minutes or seconds; None: dates if the
    log has them, else the unit that fits."""


class TimeAxis(msgspec.Struct, frozen=True):
    """Converts seconds of the simulation to positions along the axis of time."""

    zero: float
    """The first submission, in seconds of the simulation."""
    unit: str
    unix_start_time: float | None = None
    """None: no dates, but :attr:`unit` from :attr:`zero`."""
    time_zone: str = "UTC"

    @classmethod
    def for_run(
        cls, jobs: pd.DataFrame, settings: Mapping[str, Any], span: float, unit: str | None
    ) -> TimeAxis:
        """Return the axis of a run, by its jobs, its settings, and the seconds that are shown.

        Raises :class:`UsageError` for another unit, ``InputError`` for an unknown time zone.
        """
        first = float(jobs["submission_time"].min()) if len(jobs) else 0.0
        if unit is not None and unit not in UNITS:
            raise UsageError(f"{parameter('unit')} {unit!r}: expected {', '.join(UNITS)}")
        start = settings.get("unix_start_time") if unit is None else None
        return cls(first, unit or choose_unit(span), start, settings.get("time_zone") or "UTC")

    @property
    def has_dates(self) -> bool:
        """Whether the axis has dates."""
        return self.unix_start_time is not None

    def to_clock(self, seconds: Array) -> Array:
        """Convert seconds of the simulation to seconds from the first submission, or of the clock.

        These are seconds since the clocks showed 1970-01-01 0:00, so that days begin at midnight.
        """
        if self.unix_start_time is None:
            result: Array = seconds - self.zero
            return result
        return local_seconds(seconds, self.unix_start_time, self.time_zone)

    def from_clock(self, clock: Array) -> Any:
        """Convert times of :meth:`to_clock` to positions along the axis: numbers, or dates."""
        if self.has_dates:
            return (clock * 1000).round().astype("datetime64[ms]")
        return clock / UNITS[self.unit]

    def to_axis(self, seconds: Array) -> Any:
        """Convert seconds of the simulation to positions along the axis: numbers, or dates."""
        return self.from_clock(self.to_clock(seconds))

    def make_bins(self, begin: float, end: float, width: float) -> Array:
        """Return the edges of equal bins between two seconds of the simulation.

        Days begin at midnight and weeks on Monday if there are dates, else with the first
        submission.
        """
        monday = 3 * DAY if self.has_dates else 0.0  # 1970-01-01 was a Thursday
        first, last = np.floor((self.to_clock(np.array([begin, end])) + monday) / width)
        edges: Array = np.arange(first, last + 2) * width - monday
        return edges

    def encode_x(self, column: str, *ends: Any) -> alt.X:
        """Return altair's encoding of a column along the axis; ``ends`` are where the axis ends."""
        scale = alt.Scale(domain=self._domain(ends), nice=False) if ends else alt.Scale()
        axis = alt.Axis(format=_CLOCK | _DAYS, tickCount=8, labelOverlap=True, labelSeparation=6)
        dates: dict[str, Any] = {"axis": axis} if self.has_dates else {}
        return alt.X(f"{column}:{self.kind}", title=self.title, scale=scale, **dates)

    @property
    def kind(self) -> str:
        """The type of the axis's columns in altair: T for dates, else Q."""
        return "T" if self.has_dates else "Q"

    @property
    def title(self) -> str:
        """The title of the axis: its unit, or the time zone and the year of the dates."""
        if not self.has_dates:
            return f"{self.unit} from the first submission"
        first = pd.Timestamp(self.to_axis(np.array([self.zero]))[0])
        return f"{self.time_zone}; first submission {first:%Y-%m-%d}"

    def make_tooltip(self, column: str, title: str) -> alt.Tooltip:
        """Return the tooltip of a column with times."""
        shown = "%Y-%m-%d %H:%M:%S" if self.has_dates else ",.4f"
        unit = "" if self.has_dates else f" [{SYMBOLS[self.unit]}]"
        return alt.Tooltip(f"{column}:{self.kind}", title=title + unit, format=shown)

    def _domain(self, ends: Sequence[Any]) -> Any:
        """Return the ends of the axis; dates are without a zone, as in the data.

        As an expression, since Vega-Lite takes others for a conflict where a chart can be moved.
        """
        if not self.has_dates:
            return list(map(float, ends))
        clocks = [pd.Timestamp(end) for end in ends]
        parts = [(at.year, at.month - 1, at.day, at.hour, at.minute, at.second) for at in clocks]
        return alt.ExprRef(f"[{', '.join(f'datetime{moment}' for moment in parts)}]")
