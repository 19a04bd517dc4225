"""What users are told of the energy: a state, green, yellow or red, over time.

Source: the windows are those of demand response of Madon, Da Costa and Pierson, Euro-Par 2022; the
three states those of Gatt, Madon and Da Costa, ICT4S 2024 (hal-04745218).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import floor, inf, isfinite, isnan, ulp
from pathlib import Path

import msgspec

from batsched_py.errors import InputError, UsageError
from batsched_py.support.file_readers import is_file, numbered_csv_rows, read_text
from batsched_py.support.json_values import did_you_mean, is_number
from batsched_py.support.option_values import daily_window, finite
from batsched_py.units import DAY, HOUR
from batsched_users.behaviour.calendar import Calendar

GREEN, YELLOW, RED = STATES = ("green", "yellow", "red")
"""From the best to the worst."""

_COMPACT_DATE = re.compile(r"\d{8}")
_LIKE_HOURS = re.compile(r"[\d:,\s-]*\d[:-][\d:,\s-]*")
"""What is meant as windows, and not as a file."""
_SHORTEST_ROUND, _SHORTEST_STATE, _LATEST = HOUR, 0.001, 1e12
"""Of a signal that repeats, seconds: what is shorter may be lost in the last digit of a later time,
and so may be what is later."""
Span = tuple[float, float]
"""Begin and end of a time, seconds."""


class EnergySignal(msgspec.Struct, frozen=True):
    """States one after the other, which may come again and again.

    Before the first of them, and after the last if they do not come again, it is green.
    """

    times: Sequence[float]
    """When the states begin and the last one ends, seconds, increasing; one more than states."""
    states: Sequence[str]
    """:data:`STATES`."""
    repeats: bool = False
    """Whether all come again as soon as the last has ended, and came before the first."""

    def state(self, now: float) -> str:
        """Return the state at an instant."""
        place = self._place(now)
        return self.states[place] if 0 <= place < len(self.states) else GREEN

    def better_from(self, now: float) -> float:
        """Return when it is better than at ``now`` for the first time, inf if it never is."""
        bad = STATES.index(self.state(now))
        shift, number = self._shift(now), len(self.states)
        first = self._place(now) + 1  # the next state, or the end of the last
        for place in range(first, first + number if self.repeats else number):
            rounds, place = divmod(place, number)
            if STATES.index(self.states[place]) < bad:
                better = self.times[place] + shift + rounds * (self.times[-1] - self.times[0])
                digit = ulp(max(abs(self.times[0]), abs(self.times[-1]), abs(better)))
                while STATES.index(self.state(better)) >= bad:  # it is so some last digits later
                    better, digit = better + digit, 2 * digit
                return better
        return inf if self.repeats or not bad else self.times[-1]

    def has(self, state: str) -> bool:
        """Tell whether a state is there at any time; green is before and after what ends."""
        return state in self.states or (state == GREEN and not self.repeats)

    def never_better(self, state: str) -> bool:
        """Tell whether a state stays for ever where it is there."""
        better = STATES[: STATES.index(state)]
        return not better or (self.repeats and not any(other in better for other in self.states))

    def spans(self, state: str, begin: float, end: float) -> list[Span]:
        """Return when it is in a state between two instants; adjoining times are one."""
        spans: list[Span] = []
        for first, last, there in self._stretches(begin, end):
            first, last = max(first, begin), min(last, end)
            if there == state and first < last:
                if spans and spans[-1][1] == first:
                    first = spans.pop()[0]
                spans.append((first, last))
        return spans

    def _stretches(self, begin: float, end: float) -> Iterator[tuple[float, float, str]]:
        """Yield the states from before ``begin`` until ``end``, with their times."""
        if not self.repeats:
            yield -inf, self.times[0], GREEN
        shift = self._shift(begin)
        while shift + self.times[0] < end:
            for (first, last), state in zip(pairwise(self.times), self.states, strict=True):
                yield first + shift, last + shift, state
            if not self.repeats:
                yield self.times[-1], inf, GREEN
                return
            shift += self.times[-1] - self.times[0]

    def _place(self, now: float) -> int:
        """Return the place of the state at an instant, beside all if there is none of them."""
        place = bisect_right(self.times, now - self._shift(now)) - 1
        if self.repeats:  # by the last digit, an instant may be beside its round
            return min(max(0, place), len(self.states) - 1)
        return place

    def _shift(self, now: float) -> float:
        """Return how much later the round of ``now`` is than the first."""
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
    """Return the signal that an option says: daily windows, or a CSV file.

    ``16:00-20:00`` is red in these hours of every day, else green; several are separated by commas,
    and one may cross midnight. A file has a row for each time at which the state changes, with the
    columns ``time`` and ``state``, or ``time`` and a value (a carbon intensity, a price) that is
    red from ``red_from`` on and yellow from ``yellow_from`` on. The last row lasts as long as the
    one before; where dates repeat, until the whole days are over since the first row. Times are
    seconds of the simulation, or dates of ISO 8601 with hyphens, whose clock is taken as the log's,
    so that they have no offset: the Monday of the week of the first date is put on that of the
    first second.

    Raises :class:`UsageError` and :class:`InputError`, naming file and line.
    """
    if _LIKE_HOURS.fullmatch(signal) and not is_file(signal):
        if yellow_from is not None or red_from is not None:
            raise UsageError("yellow_from and red_from are for a signal from a file of values")
        return _daily([_hours(window) for window in signal.split(",")], calendar)
    return _from_file(Path(signal), calendar, yellow_from, red_from, repeats)


def _hours(window: str) -> Span:
    """Return when a window opens and closes, seconds from midnight; it closes later."""
    first, dash, last = window.partition("-")
    if not dash:
        raise UsageError(f"signal={window}: expected hours such as 16:00-20:00, or a CSV file")
    return daily_window("signal", first.strip(), last.strip())


def _daily(hours: list[Span], calendar: Calendar) -> EnergySignal:
    """Return a signal that is red in some hours of every day."""
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
    rows = list(numbered_csv_rows(read_text(path).splitlines(keepends=True), path))
    names = [name.strip() for name in rows[0][1]] if rows else []
    if len(names) != 2 or names[0] != "time":
        raise InputError(
            f"{path}:1: expected the columns time and state, or time and a value; seen: {names}"
        )
    for name, limit in (("yellow_from", yellow_from), ("red_from", red_from)):
        if limit is not None and not (is_number(limit) and isfinite(limit)):
            raise UsageError(f"{name}={limit}: expected a number")
    if yellow_from is not None and red_from is not None and not yellow_from < red_from:
        raise UsageError(
            f"yellow_from={yellow_from:g}, red_from={red_from:g}: never yellow; expected a "
            "yellow_from below red_from, or none"
        )
    has_limits = red_from is not None or yellow_from is not None
    if (names[1] == "state") == has_limits:
        raise UsageError(
            f"{path} has the column {names[1]!r}: {'give no' if has_limits else 'give'} red_from "
            "and yellow_from, which are for values"
        )
    times, dated = _times(rows[1:], path)
    limits = (yellow_from, red_from) if has_limits else None
    states = [_state(fields[1].strip(), limits, f"{path}:{line}") for line, fields in rows[1:]]
    if dated and repeats:  # in the next round at the same times of day
        days = floor((times[-1] - times[0]) / DAY) + 1
        times.append(times[0] + days * DAY)
    else:
        times.append(2 * times[-1] - times[-2])
    if not times[-2] < times[-1] < inf or (repeats and times[-1] - times[0] < _SHORTEST_ROUND):
        raise InputError(f"{path}: from {times[0]:g} to {times[-1]:g} s: expected a longer time")
    if repeats:
        _check_digits(times, path)
    if dated:
        first = datetime.fromtimestamp(times[0], UTC)
        monday = times[0] - times[0] % DAY - first.weekday() * DAY
        times = [time - monday - calendar.at_origin for time in times]
    return EnergySignal(times, states, repeats)


def _check_digits(times: Sequence[float], path: Path) -> None:
    """Raise :class:`InputError` for times that cannot be told apart some rounds later."""
    if max(map(abs, times)) > _LATEST:
        raise InputError(f"{path}: times until {times[-1]:g} s: expected none over {_LATEST:g}")
    for first, last in pairwise(times):
        if last - first < _SHORTEST_STATE:
            raise InputError(
                f"{path}: from {first:g} to {last:g} s: expected {_SHORTEST_STATE:g} s or more"
            )


def _times(rows: Sequence[tuple[int, list[str]]], path: Path) -> tuple[list[float], bool]:
    """Return the times of rows with two fields each, in seconds, and whether they are dates."""
    times: list[float] = []
    dated = False
    for line, fields in rows:
        where = f"{path}:{line}"
        if len(fields) != 2:
            raise InputError(f"{where}: expected two fields, seen {fields}")
        time, is_date = _time(fields[0].strip(), where)
        if times and (is_date != dated or time <= times[-1]):
            raise InputError(f"{where}: the time {fields[0]} is not after the one before")
        dated = is_date
        times.append(time)
    if len(times) < 2:
        raise InputError(f"{path}: expected two rows or more below the names of the columns")
    texts = [fields[0].strip() for _, fields in rows]
    if all(map(_is_compact_date, texts)):
        date = datetime.fromisoformat(texts[0]).date()
        raise InputError(
            f"{path}: time {texts[0]} may be a date or seconds: expected {date} or {texts[0]}.0"
        )
    return times, dated


def _time(text: str, where: str) -> tuple[float, bool]:
    """Return a time in seconds, and whether it is a date."""
    value = finite(text)
    if not isnan(value):
        return value, False
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{where}: time {text!r}: expected seconds, or a date such as 2024-01-15T16:00"
        ) from None
    if date.tzinfo is not None:
        raise InputError(
            f"{where}: time {text!r} has an offset: expected the local time of the log without one"
        )
    return date.replace(tzinfo=UTC).timestamp(), True


def _is_compact_date(text: str) -> bool:
    """Tell whether a text is eight digits that are a date, such as 20240115."""
    try:
        return bool(_COMPACT_DATE.fullmatch(text) and datetime.fromisoformat(text))
    except ValueError:
        return False


def _state(text: str, limits: tuple[float | None, float | None] | None, where: str) -> str:
    """Return the state that a field says, by the limits of yellow and red if it is a value."""
    if limits is None:
        if text not in STATES:
            hint = did_you_mean(text, STATES)
            raise InputError(f"{where}: state {text!r}{hint}: expected {', '.join(STATES)}")
        return text
    value = finite(text)
    if isnan(value):
        raise InputError(f"{where}: {text!r} is no number")
    yellow_from, red_from = (inf if limit is None else limit for limit in limits)
    return RED if value >= red_from else YELLOW if value >= yellow_from else GREEN
