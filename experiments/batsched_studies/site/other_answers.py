"""Find the conclusions about a site that differ between rigid replay and reacting users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from batsched_py.report import Table
from batsched_py.report.kit import Interval, Runs, cells, slug
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c
from batsched_studies.site.answers import LESS, MORE, OPEN, direction

_CHANCE = (0.05, 0.08)
"""Of the answers that are no others, how many an interval of few pairs calls others by chance: of
five pairs whose quantities are log-normal, 5.5 to 8 % in simulations, of twenty some 5 %."""


class Conclusion(msgspec.Struct, frozen=True):
    """An answer of users who react beside that of users who do not."""

    case: c.Case
    quantity: str

    @property
    def beside(self) -> Interval:
        """The ratio to as it is in relation to that of users who do not react."""
        return self.case.beside_rigid(self.quantity)

    @property
    def kind(self) -> str:
        """Return how it differs, a key of the texts ``kind_...``."""
        assert self.case.rigid is not None
        rigid, reacting = (case.ratio(self.quantity) for case in (self.case.rigid, self.case))
        return kind_of(rigid, reacting, self.beside)

    @property
    def row(self) -> dict[str, Any]:
        """Return the row of a table, changes in per cent."""
        assert self.case.rigid is not None
        row: dict[str, Any] = {"change": self.case.change, "users": self.case.people}
        row |= {"what": TEXTS[f"name_{self.quantity}"], "kind": TEXTS[f"kind_{self.kind}"]}
        for side, case in (("rigid", self.case.rigid), ("reacting", self.case)):
            row |= cells(case.change_of(self.quantity), side, f"{side}_low", f"{side}_high")
        return row | cells(self.beside, "beside", "beside_low", "beside_high", nb="pairs")


def kind_of(rigid: Interval, reacting: Interval, beside: Interval) -> str:
    """Return how an answer is another one, from the ratios to as it is and the ratio of both."""
    before, after = direction(rigid), direction(reacting)
    if {before, after} == {LESS, MORE}:
        return "turns"
    if before == OPEN:
        return "open" if after == OPEN else "appears"
    if after == OPEN:
        return "vanishes"
    return "grows" if beside.above(1) is (after == MORE) else "shrinks"


def compared(runs: Runs) -> Iterator[Conclusion]:
    """Yield each answer of users who react beside that of users who do not.

    Utilisation is none of those who bring the same work whatever happens: it follows when it comes.
    """
    fixed = c.fixed_work(runs)
    for case in c.cases(runs):
        if case.rigid is not None:
            for name in c.ASKED:
                if name != c.BUSY or case.people not in fixed:
                    yield Conclusion(case, name)


def conclusions(compared: Iterable[Conclusion]) -> list[Conclusion]:
    """Return the conclusions that differ, waiting times first.

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
    low, high = (round(share * len(every)) for share in _CHANCE)
    chance = f"{low} to {high}" if low < high else f"{low}"
    text = TEXTS["compared"].format(others=len(others), all=len(every), chance=chance)
    serious = ("turns", "vanishes", "appears")
    told = [
        f"{TEXTS[f'name_{each.quantity}']} with **{each.case.change}** ({each.case.people}) "
        f"{TEXTS[f'kind_{each.kind}']}"
        for each in others
        if each.kind in serious
    ]
    return f"{text} {TEXTS['serious'].format(told='; '.join(told))}" if told else text


def other_answers(log: str, runs: Runs) -> Table | None:
    """Return the answers that are other ones where users react, as a table."""
    rows = [each.row for each in conclusions(compared(runs))]
    return TEXTS.table("conclusions", rows, slug("conclusions", log), log=log)
