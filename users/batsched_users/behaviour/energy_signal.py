"""The energy signal that users see: green, yellow or red over time.

Sources: Madon, Da Costa and Pierson, Euro-Par 2022 (daily windows of demand response); Gatt, Madon
and Da Costa, ICT4S 2024, hal-04745218 (three states).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from math import floor, inf, isfinite, isnan, ulp
from pathlib import Path

import msgspec

from batsched_py.errors import InputError, UsageError, located
from batsched_py.files.readers import is_file, numbered_csv_rows, read_text
from batsched_py.options.durations import parse_daily_window
from batsched_py.options.option_values import finite
from batsched_py.support.json_values import did_you_mean, is_number
from batsched_py.units import DAY, HOUR, LATEST_TIME, UP_TO_LATEST_TIME
from batsched_py.workload.logs.clock import local_seconds
from batsched_users.behaviour.calendar import Calendar

GREEN, YELLOW, RED = STATES = ("green", "yellow", "red")
"""From the best to the worst."""

_COMPACT_DATE = re.compile(r"\d{8}")
_LIKE_HOURS = re.compile(r"[\d:,\s-]*\d[:-][\d:,\s-]*")
"""Matches texts that are read as daily windows, not as the path of a file."""
_SHORTEST_ROUND, _SHORTEST_STATE = HOUR, 0.001
"""Seconds, for a signal that repeats: rounding of later times could lose shorter states."""
_LIKE_UNIX = 1e9
"""A first time from here on is taken for Unix time; as simulated time it would be 31 years."""
Span = tuple[float, float]
"""Begin and end of an interval, seconds."""


class _Kind(StrEnum):
    """The kinds of times in a file, with the names that messages use."""

    SECONDS = "seconds"
    LOCAL = "a date without offset"
    INSTANT = "a date with an offset"


class EnergySignal(msgspec.Struct, frozen=True):
    """An energy signal: the states green, yellow and red over time, in seconds of the simulation.

    The sequence of states may repeat. If it does not, the signal is green before and after it.
    """

    times: Sequence[float]
    """Begins of the states and the end of the last, increasing seconds; one more than states."""
    states: Sequence[str]
    """:data:`STATES`."""
    repeats: bool = False
    """Whether the sequence repeats without end, also before the first state."""
    values: Sequence[float] = ()
    """The value behind each state; empty if the signal was given as states or hours."""

    def state(self, now: float) -> str:
        """Return the state of the signal at ``now`` (seconds): green, yellow or red."""
        place = self._place(now)
        return self.states[place] if 0 <= place < len(self.states) else GREEN

    def better_from(self, now: float) -> float:
        """Return the first second after ``now`` with a better state, inf if there is none."""
        bad = STATES.index(self.state(now))
        shift, number = self._shift(now), len(self.states)
        first = self._place(now) + 1  # the next state, or the end of the last
        for place in range(first, first + number if self.repeats else number):
            rounds, place = divmod(place, number)
            if STATES.index(self.states[place]) < bad:
                better = self.times[place] + shift + rounds * (self.times[-1] - self.times[0])
                digit = ulp(max(abs(self.times[0]), abs(self.times[-1]), abs(better)))
                while STATES.index(self.state(better)) >= bad:  # rounding may put it a little later
                    better, digit = better + digit, 2 * digit
                return better
        return inf if self.repeats or not bad else self.times[-1]

    def has(self, state: str) -> bool:
        """Return whether the signal ever has a state; a finite signal is green before and after."""
        return state in self.states or (state == GREEN and not self.repeats)

    def never_better(self, state: str) -> bool:
        """Return whether no better state ever follows a state of this name."""
        better = STATES[: STATES.index(state)]
        return not better or (self.repeats and not any(other in better for other in self.states))

    def spans(self, state: str, begin: float, end: float) -> list[Span]:
        """Return the intervals between two instants in which the signal has a state, merged."""
        spans: list[Span] = []
        for (first, last), place in self._stretches(begin, end):
            if (GREEN if place is None else self.states[place]) == state:
                if spans and spans[-1][1] == first:
                    first = spans.pop()[0]
                spans.append((first, last))
        return spans

    def values_within(self, begin: float, end: float) -> tuple[list[Span], list[float]]:
        """Return the intervals between two instants that have a value, and their values.

        Raises :class:`UsageError` for a signal of states or hours, which has no values.
        """
        if not self.values:
            raise UsageError("the signal has states, and no values: expected one from a file")
        stretches = self._stretches(begin, end)
        there = [(span, self.values[place]) for span, place in stretches if place is not None]
        return [span for span, _ in there], [value for _, value in there]

    def _stretches(self, begin: float, end: float) -> Iterator[tuple[Span, int | None]]:
        """Yield the intervals between two instants with the place of their state, or None."""
        for first, last, place in self._rounds(begin, end):
            if max(first, begin) < min(last, end):
                yield (max(first, begin), min(last, end)), place

    def _rounds(self, begin: float, end: float) -> Iterator[tuple[float, float, int | None]]:
        """Yield begin, end and place of the states in all rounds that overlap two instants."""
        if not self.repeats:
            yield -inf, self.times[0], None
        shift = self._shift(begin)
        while shift + self.times[0] < end:
            for place, (first, last) in enumerate(pairwise(self.times)):
                yield first + shift, last + shift, place
            if not self.repeats:
                yield self.times[-1], inf, None
                return
            shift += self.times[-1] - self.times[0]

    def _place(self, now: float) -> int:
        """Return the place of the state at an instant; out of range before and after all states."""
        place = bisect_right(self.times, now - self._shift(now)) - 1
        if self.repeats:  # rounding may put an instant outside its round
            return min(max(0, place), len(self.states) - 1)
        return place

    def _shift(self, now: float) -> float:
        """Return the seconds from the first round to the round that contains ``now``."""
        if not self.repeats:
            return 0.0
        period = self.times[-1] - self.times[0]
        return floor((now - self.times[0]) / period) * period


def read_signal(
    signal: str,
    calendar: Calendar,
    *,
    yellow_from: float | None = None,
    red_from: float | None = None,
    repeats: bool = False,
) -> EnergySignal:
    """Read an energy signal from an option: daily windows such as 16:00-20:00, or a CSV file.

    ``16:00-20:00`` is red in these hours of every day, else green; several are separated by commas,
    and one may cross midnight. A file has a row for each time at which the state changes, with the
    columns ``time`` and ``state``, or ``time`` and a value (a carbon intensity, a price) that is
    red from ``red_from`` on and yellow from ``yellow_from`` on. A row lasts until the next one, the
    last row as long as the row before it; if dates repeat, until a whole number of days has passed
    since the first row. Times are seconds of the simulation, or dates of ISO 8601 with hyphens in
    the log's local time. The first date is shifted by whole weeks into the week of second 0. Dates
    with an offset, and Unix seconds (if the first is 1e9 or more), are converted by the log's
    clock with the offset of the first: summer time is ignored.

    Raises :class:`UsageError` and :class:`InputError`, naming file and line.
    """
    if _LIKE_HOURS.fullmatch(signal) and not is_file(signal):
        if yellow_from is not None or red_from is not None:
            raise UsageError("yellow_from and red_from are for a signal from a file of values")
        return _daily([_hours(window) for window in signal.split(",")], calendar)
    return _from_file(Path(signal), calendar, yellow_from, red_from, repeats)


def _hours(window: str) -> Span:
    """Read when a daily window opens and closes, in seconds from midnight; it closes later."""
    first, dash, last = window.partition("-")
    if not dash:
        raise UsageError(f"signal={window}: expected hours such as 16:00-20:00, or a CSV file")
    return parse_daily_window("signal", first.strip(), last.strip())


def _daily(hours: list[Span], calendar: Calendar) -> EnergySignal:
    """Return a signal that is red in these hours of every day, and green otherwise."""
    edges = sorted({0.0, DAY, *(time % DAY for span in hours for time in span)})
    states = [
        RED if any(a <= at + turn < b for a, b in hours for turn in (0, DAY)) else GREEN
        for at in edges[:-1]
    ]
    origin = calendar.midnight(0.0)
    return EnergySignal([origin + edge for edge in edges], states, repeats=True)


def _from_file(
    path: Path,
    calendar: Calendar,
    yellow_from: float | None,
    red_from: float | None,
    repeats: bool,
) -> EnergySignal:
    head, *rows = [*numbered_csv_rows(read_text(path).splitlines(keepends=True), path)] or [(1, [])]
    names = [name.strip() for name in head[1]]
    if len(names) != 2 or names[0] != "time":
        raise InputError(
            f"{path}:1: expected the columns time and state, or time and a value; seen: {names}"
        )
    has_limits = _check_limits(path, names[1], yellow_from, red_from)
    times, kind = _times(rows, path)
    if kind is _Kind.INSTANT or (kind is _Kind.SECONDS and times[0] >= _LIKE_UNIX):
        line, (text, _) = rows[0]
        times, kind = _clock_times(times, kind, calendar, text, f"{path}:{line}"), _Kind.LOCAL
    texts = [(row[1].strip(), f"{path}:{line}") for line, row in rows]
    values = [_value(text, names[1], where) for text, where in texts] if has_limits else []
    states = (
        [_state_of(value, yellow_from, red_from) for value in values]
        if has_limits
        else [_state(text, where) for text, where in texts]
    )
    dated = kind is _Kind.LOCAL
    times.append(_end(times, path, dated=dated, repeats=repeats))
    if dated:
        first = datetime.fromtimestamp(times[0], UTC)
        monday = times[0] - times[0] % DAY - first.weekday() * DAY
        times = [time - monday - calendar.at_origin for time in times]
    return EnergySignal(times, states, repeats, values)


def _check_limits(
    path: Path, column: str, yellow_from: float | None, red_from: float | None
) -> bool:
    """Return whether there are limits; raises :class:`UsageError` if they do not fit the file."""
    for name, limit in (("yellow_from", yellow_from), ("red_from", red_from)):
        if limit is not None and not (is_number(limit) and isfinite(limit)):
            raise UsageError(f"{name}={limit}: expected a number")
    if yellow_from is not None and red_from is not None and not yellow_from < red_from:
        raise UsageError(
            f"yellow_from={yellow_from:g}, red_from={red_from:g}: never yellow; expected a "
            "yellow_from below red_from, or none"
        )
    has_limits = red_from is not None or yellow_from is not None
    if (column == "state") == has_limits:
        raise UsageError(
            f"{path} has the column {column!r}: {'give no' if has_limits else 'give'} red_from "
            "and yellow_from, which are for values"
        )
    return has_limits


def _end(times: Sequence[float], path: Path, *, dated: bool, repeats: bool) -> float:
    """Return the end of the last state in seconds; raises :class:`InputError` if too early."""
    end = 2 * times[-1] - times[-2]
    if dated and repeats:  # so that the next round has the same times of day
        end = times[0] + (floor((times[-1] - times[0]) / DAY) + 1) * DAY
    if not times[-1] < end < inf or (repeats and end - times[0] < _SHORTEST_ROUND):
        raise InputError(f"{path}: from {times[0]:g} to {end:g} s: expected a longer time")
    if repeats:
        _check_digits([*times, end], path)
    return end


def _check_digits(times: Sequence[float], path: Path) -> None:
    """Raise :class:`InputError` for times that rounding would merge some rounds later."""
    if max(map(abs, times)) > LATEST_TIME:
        raise InputError(f"{path}: times until {times[-1]:g} s: expected {UP_TO_LATEST_TIME}")
    for first, last in pairwise(times):
        if last - first < _SHORTEST_STATE:
            raise InputError(
                f"{path}: from {first:g} to {last:g} s: expected {_SHORTEST_STATE:g} s or more"
            )


def _times(rows: Sequence[tuple[int, list[str]]], path: Path) -> tuple[list[float], _Kind]:
    """Read the times of rows with two fields each, in seconds, and their common kind."""
    times: list[float] = []
    kinds: list[_Kind] = []
    for line, fields in rows:
        where = f"{path}:{line}"
        if len(fields) != 2:
            raise InputError(f"{where}: expected two fields, seen {fields}")
        time, kind = _time(fields[0].strip(), where)
        if kinds and kind != kinds[0]:
            raise InputError(
                f"{where}: the time {fields[0]} is {kind}, the first is {kinds[0]}: expected all "
                "to be the same"
            )
        if times and time <= times[-1]:
            twice = kind is _Kind.LOCAL and times[-1] - time < HOUR
            hint = " (the hour that summer time gives back? give offsets, or leave one out)"
            raise InputError(
                f"{where}: the time {fields[0]} is not after the one before{hint if twice else ''}"
            )
        times.append(time)
        kinds.append(kind)
    if len(times) < 2:
        raise InputError(
            f"{path}: expected two rows or more below the names of the columns, seen {len(times)}"
        )
    texts = [fields[0].strip() for _, fields in rows]
    if all(map(_is_compact_date, texts)):
        date = datetime.fromisoformat(texts[0]).date()
        raise InputError(
            f"{path}: time {texts[0]} may be a date or seconds: expected {date} or {texts[0]}.0"
        )
    return times, kinds[0]


def _time(text: str, where: str) -> tuple[float, _Kind]:
    """Read a time in seconds (dates: since 1970), and its kind."""
    value = finite(text)
    if not isnan(value):
        return value, _Kind.SECONDS
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{where}: time {text!r}: expected seconds, or a date such as 2024-01-15T16:00"
        ) from None
    if date.tzinfo is not None:
        return date.timestamp(), _Kind.INSTANT
    return date.replace(tzinfo=UTC).timestamp(), _Kind.LOCAL


def _clock_times(
    times: Sequence[float], kind: _Kind, calendar: Calendar, text: str, where: str
) -> list[float]:
    """Convert Unix times, the first written as ``text``, to local time of the log's clock."""
    seen = "has an offset" if kind is _Kind.INSTANT else "looks like Unix seconds"
    if not calendar.known:
        raise InputError(
            f"{where}: time {text} {seen}, and the log does not say when it begins "
            "(UnixStartTime): expected seconds of the simulation (0 is the log's second 0), or "
            "dates of its local time without offset"
        )
    with located(f"{where}: time {text} {seen}", InputError):
        shift = float(local_seconds(times[:1], 0.0, calendar.zone)[0]) - times[0]
    return [time + shift for time in times]


def _is_compact_date(text: str) -> bool:
    """Return whether a text is a date of eight digits, such as 20240115."""
    try:
        return bool(_COMPACT_DATE.fullmatch(text) and datetime.fromisoformat(text))
    except ValueError:
        return False


def _state(text: str, where: str) -> str:
    if text not in STATES:
        hint = did_you_mean(text, STATES)
        raise InputError(f"{where}: state {text!r}{hint}: expected {', '.join(STATES)}")
    return text


def _value(text: str, column: str, where: str) -> float:
    value = finite(text)
    if isnan(value):
        raise InputError(
            f"{where}: {text!r} is no number: expected a value of {column!r}, or leave the row "
            "out (the value before it lasts on)"
        )
    return value


def _state_of(value: float, yellow_from: float | None, red_from: float | None) -> str:
    """Return the state of a value by the limits of yellow and red."""
    if red_from is not None and value >= red_from:
        return RED
    return YELLOW if yellow_from is not None and value >= yellow_from else GREEN
