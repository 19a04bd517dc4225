"""What the runs say, in words made of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from batsched_py.calibration.verdict import percent
from batsched_py.report.kit import Interval, Runs, cells, listed
from batsched_py.support.statistics import FEWEST
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c

LESS, MORE, OPEN, DEPENDS, SOME = "less", "more", "open", "depends", "some"


def direction(ratio: Interval) -> str:
    """Return whether something is :data:`LESS` or :data:`MORE` than as it is, or :data:`OPEN`."""
    if ratio.above(1):
        return MORE
    return LESS if ratio.below(1) else OPEN


def change_of(ratio: Interval) -> Interval:
    """Return a ratio as the change that it is, a share."""
    return Interval(ratio.value - 1, ratio.low - 1, ratio.high - 1, ratio.nb)


def answers(runs: Runs, name: str) -> dict[str, dict[str, Interval]]:
    """Return the ratio of a quantity to that as it is, by change and by kind of users."""
    found: dict[str, dict[str, Interval]] = {}
    for case in c.cases(runs):
        found.setdefault(case.change, {})[case.people] = case.ratio(name)
    return found


def of_all(by_people: dict[str, Interval]) -> str:
    """Return what holds of a change whoever the users are: their one direction, if they have one.

    Else it :data:`DEPENDS` on them if it has both, and can be told of :data:`SOME` if it has one.
    """
    found = {direction(ratio) for ratio in by_people.values()}
    if len(found) == 1:
        return found.pop()
    return DEPENDS if {LESS, MORE} <= found else SOME


def headline(runs: Runs) -> str:
    """Return with what users wait less, with what longer, and of what it cannot be told."""
    waits = answers(runs, c.WAIT)
    if not waits:
        return TEXTS["nothing"]
    groups: dict[str, list[str]] = {}
    for change, by_people in waits.items():
        kind = of_all(by_people)
        words = (
            ", ".join(_each(by_people)) if kind in (DEPENDS, SOME) else _least_to_most(by_people)
        )
        told = f"**{change}** ({words})"
        groups.setdefault(kind, []).append(told)
    parts = (
        TEXTS[f"wait_{kind}"].format(changes=listed(groups[kind]))
        for kind in (LESS, MORE, DEPENDS, SOME, OPEN)
        if kind in groups
    )
    text = "; ".join(parts)
    few = min(ratio.nb for by_people in waits.values() for ratio in by_people.values())
    hint = " " + TEXTS["few"].format(runs=few, fewest=FEWEST) if few < FEWEST else ""
    ends = " " + TEXTS["ends"] if {LESS, MORE, OPEN} & {*groups} else ""
    return f"{text[0].upper()}{text[1:]}.{ends}{hint}"


def _least_to_most(by_people: dict[str, Interval]) -> str:
    """Return the changes of the kinds of users with the least and the most, in per cent."""
    ends = sorted({f"{100 * (ratio.value - 1):+.0f}" for ratio in by_people.values()}, key=float)
    return f"{' to '.join(dict.fromkeys((ends[0], ends[-1])))} %"


def _each(by_people: dict[str, Interval]) -> Iterator[str]:
    words = {LESS: "less", MORE: "longer", OPEN: "cannot be told"}
    by_word: dict[str, list[str]] = {}
    for people, ratio in by_people.items():
        by_word.setdefault(words[direction(ratio)], []).append(people)
    for word, kinds in by_word.items():
        yield f"{word}: {listed(kinds)}"


def submitting(runs: Runs) -> str:
    """Return who submits more work, and who less, with what; empty if nobody reacts."""
    told: dict[str, list[str]] = {MORE: [], LESS: []}
    reacting = [kind for kind in c.people(runs) if kind != c.RIGID]
    if not reacting:
        return ""
    for change, by_people in answers(runs, c.WORK).items():
        for people in reacting:
            ratio = by_people.get(people)
            if ratio is not None and direction(ratio) in told:
                words = f"{people} with **{change}** ({percent(change_of(ratio))})"
                told[direction(ratio)].append(words)
    sentences = [
        TEXTS[f"submit_{word}"].format(who="; ".join(who)) for word, who in told.items() if who
    ]
    return " ".join(sentences) or TEXTS["submit_open"]


class Conclusion(msgspec.Struct, frozen=True):
    """An answer that is another one where users react."""

    change: str
    people: str
    quantity: str
    rigid: Interval
    """Ratio to as it is of users who do not react."""
    reacting: Interval
    beside: Interval
    """The second in relation to the first."""

    @property
    def kind(self) -> str:
        """Return how it differs, a key of the texts ``kind_...``."""
        before, after = direction(self.rigid), direction(self.reacting)
        if {before, after} == {LESS, MORE}:
            return "turns"
        if before == OPEN:
            return "open" if after == OPEN else "appears"
        if after == OPEN:
            return "vanishes"
        return "grows" if self.beside.above(1) is (after == MORE) else "shrinks"

    @property
    def row(self) -> dict[str, Any]:
        """Return the row of a table, changes in per cent."""
        row: dict[str, Any] = {"change": self.change, "users": self.people}
        row |= {"what": TEXTS[f"name_{self.quantity}"], "kind": TEXTS[f"kind_{self.kind}"]}
        for side, ratio in (("rigid", self.rigid), ("reacting", self.reacting)):
            row |= in_per_cent(ratio, side)
        return row | cells(self.beside, "beside", "beside_low", "beside_high", nb="pairs")


def in_per_cent(ratio: Interval, name: str) -> dict[str, float]:
    """Return a ratio as a change in per cent, with its ends, for a table."""
    change = change_of(ratio)
    ends = Interval(100 * change.value, 100 * change.low, 100 * change.high, change.nb)
    return cells(ends, name, f"{name}_low", f"{name}_high")


def compared(runs: Runs) -> Iterator[Conclusion]:
    """Yield each answer of users who react beside that of users who do not."""
    rigid = {case.change: case for case in c.cases(runs) if case.people == c.RIGID}
    for case in c.cases(runs):
        if case.people == c.RIGID or case.change not in rigid:
            continue
        other = rigid[case.change]
        for name in c.ASKED:
            beside = c.beside_rigid(case, other, name)
            yield Conclusion(
                case.change, case.people, name, other.ratio(name), case.ratio(name), beside
            )


def conclusions(compared: Iterable[Conclusion]) -> list[Conclusion]:
    """Return those that are other ones, waits first.

    Of these the interval beside users who do not react leaves 1 out.
    """
    others = [each for each in compared if direction(each.beside) != OPEN]
    return sorted(others, key=lambda each: c.ASKED.index(each.quantity))


def changed(runs: Runs) -> str:
    """Return how many answers are other ones where users react, and which ones turn round."""
    every = list(compared(runs))
    if not any(each.beside.is_known for each in every):
        return TEXTS["compared_open"] if every else ""
    others = conclusions(every)
    text = TEXTS["compared"].format(others=len(others), all=len(every))
    serious = ("turns", "vanishes", "appears")
    told = [
        f"{TEXTS[f'name_{each.quantity}']} with **{each.change}** ({each.people}) "
        f"{TEXTS[f'kind_{each.kind}']}"
        for each in others
        if each.kind in serious
    ]
    return f"{text} {TEXTS['serious'].format(told='; '.join(told))}" if told else text
