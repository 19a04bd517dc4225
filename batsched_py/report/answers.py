"""Writes the answer of a report: what changes, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, isnan, log10

import msgspec

from batsched_py.report.formatting import listed, to_italics
from batsched_py.report.metric_words import ShownMetric
from batsched_py.support.statistics import Interval

INCONCLUSIVE = "inconclusive"
"""The word for a difference whose 95 % interval contains 0."""
_MOST_PLACES = 3
_MOST_CASES = 4
"""More cases are counted, not listed."""
ANSWERED = ("mean_bounded_slowdown", "max_waiting_time")
"""Metrics of an answer, after the main one, the lateness of users who react, and the waits."""


class Change(msgspec.Struct, frozen=True):
    """The change of a metric in a case: relative, or in SI units if it is a difference."""

    subject: str
    """The compared policy or other value, "" if there is only one."""
    case: str
    """The other labels, "" if there are none."""
    metric: ShownMetric
    change: Interval
    less_work: str = ""
    """Why it does less work than what it is compared with, "" if it does not."""

    @property
    def direction(self) -> str:
        """``shorter`` or ``longer`` and the like, ``inconclusive``, or ``equal``."""
        if not self.change.value:
            return "equal"
        if self.change.is_known and not self.change.is_clear:
            return INCONCLUSIVE
        return self.metric.directions[int(self.change.value > 0)]

    @property
    def unit(self) -> str:
        """Unit in which the change is shown."""
        return self.metric.unit if self.metric.is_difference else "%"

    @property
    def scale(self) -> float:
        """What the change is divided by to have this unit."""
        return self.metric.scale if self.metric.is_difference else 0.01

    @property
    def words(self) -> str:
        """The change as a clause: ``mean wait 12 % shorter (1 to 22 %)``."""
        change, unit = self.change, self.unit
        value, *ends = (end / self.scale for end in (change.value, change.low, change.high))
        sizes = [abs(end) for end in (value, *ends) if end and not isnan(end)]
        places = _add_places(min(sizes, default=0.0), count_places(value))
        name = "submissions" if self.metric.is_difference else self.metric.title
        if self.direction == "equal":
            return f"{name} equal"
        if self.direction == INCONCLUSIVE:
            return f"{name} {INCONCLUSIVE}"
        words = f"{name} {abs(value):.{places}f} {unit} {self.direction}"
        if change.is_known:
            low, high = (f"{end:.{places}f}" for end in sorted(map(abs, ends)))
            words += f" ({low} to {high} {unit})" * (low != high)
        return words


def describe_changes(changes: Iterable[Change]) -> str:
    """Return changes as a list in Markdown: each case, or how many there are of each kind."""
    cases: dict[tuple[str, str], list[Change]] = {}
    for each in changes:
        if not isnan(each.change.value):
            cases.setdefault((each.subject, each.case), []).append(each)
    if len(cases) <= _MOST_CASES:
        lines = [_describe_case(*case, of) for case, of in cases.items()]
    else:
        subjects: dict[str, list[Change]] = {}
        for (subject, _), of in cases.items():
            subjects.setdefault(subject, []).append(of[0])
        lines = [f"**{subject or 'All groups'}**: {_count(of)}" for subject, of in subjects.items()]
        if len(lines) > _MOST_CASES:
            lines[_MOST_CASES:] = [f"{len(lines) - _MOST_CASES} more are in the table"]
    return "\n".join(f"- {line}." for line in lines)


def _describe_case(subject: str, case: str, changes: Sequence[Change]) -> str:
    name = f"**{subject or case}**" + f" ({case})" * bool(subject and case)
    words = [each.words for each in changes if each.direction != INCONCLUSIVE]
    open_ones = [each.metric.title for each in changes if each.direction == INCONCLUSIVE]
    words += [f"{listed(open_ones)} {INCONCLUSIVE}"] if open_ones else []
    less = f"; but it {changes[0].less_work}" if changes[0].less_work else ""
    return f"{name}: {', '.join(words)}{less}"


def _count(changes: Sequence[Change]) -> str:
    """Return in how many cases a metric grows or shrinks, and by how much at least and most."""
    kinds: dict[str, list[Change]] = {}
    for each in changes:
        kinds.setdefault(each.direction, []).append(each)
    parts = []
    for kind, of in sorted(kinds.items(), key=lambda item: -len(item[1])):
        least, *_, most = 2 * sorted(abs(each.change.value) / each.scale for each in of)
        size = "" if kind in ("equal", INCONCLUSIVE) else f" by {_span(least, most)} {of[0].unit}"
        parts.append(f"{kind} in {len(of)} of {len(changes)} cases{size}")
    return f"{changes[0].metric.title} {', '.join(parts)}"


def describe_levels(metric: ShownMetric, levels: Sequence[tuple[str, float]]) -> str:
    """Return the values of a metric by case in a sentence; of many, the least and the largest."""
    known = [(f" ({to_italics(name)})" * bool(name), value) for name, value in levels]
    known = [(name, value) for name, value in known if not isnan(value)]
    if len(known) > _MOST_CASES:
        ends = (min(known, key=lambda of: of[1]), max(known, key=lambda of: of[1]))
        return f"{metric.title.capitalize()}: {' to '.join(_level(metric, *of) for of in ends)}."
    return f"{metric.title.capitalize()}: {listed(_level(metric, *of) for of in known)}."


def _level(metric: ShownMetric, name: str, value: float) -> str:
    return f"{metric.format(value)}{name}"


def _span(least: float, most: float) -> str:
    low, high = (f"{end:.{count_places(most)}f}" for end in (least, most))
    return low if low == high else f"{low} to {high}"


def count_places(value: float) -> int:
    """Return the digits after the point that show two significant digits, at most 2."""
    return min(2, max(0, 1 - floor(log10(abs(value))))) if value else 0


def _add_places(value: float, places: int) -> int:
    """Return the digits after the point: more than ``places`` if they show that it is not 0."""
    enough = (at for at in range(places, _MOST_PLACES + 1) if float(f"{value:.{at}f}"))
    return next(enough, places)


def format_signed(value: float, places: int) -> str:
    """Return a number with its sign, and with more digits if they show that it is not 0."""
    text = f"{value:+.{_add_places(value, places)}f}"
    if not float(text):
        return text[1:]
    return text.replace("-", "\N{MINUS SIGN}")
