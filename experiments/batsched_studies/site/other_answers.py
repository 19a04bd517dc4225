"""Finds the conclusions about a site that differ between rigid replay and reacting users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from batsched_py.report import Table
from batsched_py.report.kit import Interval, Runs, cells
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c
from batsched_studies.site.answers import LESS, MORE, OPEN, find_direction
from batsched_studies.site.interval_texts import with_intervals

_CHANCE = (0.05, 0.08)
"""The share of equal answers that the interval of few pairs calls different by chance. Simulations
with log-normal quantities give 5.5 to 8 % for five pairs, some 5 % for twenty."""


class Conclusion(msgspec.Struct, frozen=True):
    """The effect of a change on one quantity, for reacting users and in rigid replay."""

    case: c.Case
    quantity: str

    @property
    def beside(self) -> Interval:
        """The effect for reacting users divided by that in rigid replay (both are ratios)."""
        return self.case.compare_with_rigid(self.quantity)

    @property
    def kind(self) -> str:
        """How the two conclusions differ, a key of the texts ``kind_...``."""
        assert self.case.rigid is not None
        rigid, reacting = (case.ratio(self.quantity) for case in (self.case.rigid, self.case))
        return classify_answer(rigid, reacting, self.beside)

    @property
    def row(self) -> dict[str, Any]:
        """The row of the conclusion in a table, with changes in per cent."""
        assert self.case.rigid is not None
        row: dict[str, Any] = {"change": self.case.change, "users": self.case.users}
        row |= {"what": TEXTS[f"name_{self.quantity}"], "kind": TEXTS[f"kind_{self.kind}"]}
        for side, case in (("rigid", self.case.rigid), ("reacting", self.case)):
            row |= cells(case.compute_change(self.quantity), side, f"{side}_low", f"{side}_high")
        return row | cells(self.beside, "beside", "beside_low", "beside_high", nb="pairs")


def classify_answer(rigid: Interval, reacting: Interval, beside: Interval) -> str:
    """Return how an answer of reacting users differs from that of rigid replay."""
    before, after = find_direction(rigid), find_direction(reacting)
    if {before, after} == {LESS, MORE}:
        return "turns"
    if before == OPEN:
        return "open" if after == OPEN else "appears"
    if after == OPEN:
        return "vanishes"
    return "grows" if beside.above(1) is (after == MORE) else "shrinks"


def pair_answers(runs: Runs) -> Iterator[Conclusion]:
    """Yield each answer of reacting users together with that of rigid replay.

    Utilisation is left out for users with fixed work: it only depends on when they submit.
    """
    fixed = c.list_kinds_with_fixed_work(runs)
    for case in c.find_cases(runs):
        if case.rigid is not None:
            for name in c.ASKED:
                if name != c.BUSY or case.users not in fixed:
                    yield Conclusion(case, name)


def select_differing(compared: Iterable[Conclusion]) -> list[Conclusion]:
    """Return the conclusions whose ratio to rigid replay clearly is not 1, waiting times first."""
    others = [each for each in compared if find_direction(each.beside) != OPEN]
    return sorted(others, key=lambda each: c.ASKED.index(each.quantity))


def describe_differing(runs: Runs) -> str:
    """Return how many answers differ if users react, and which are even reversed."""
    every = list(pair_answers(runs))
    if not any(each.beside.is_known for each in every):
        return TEXTS["compared_open"] if every else ""
    others = select_differing(every)
    low, high = (round(share * len(every)) for share in _CHANCE)
    chance = f"{low} to {high}" if low < high else f"{low}"
    text = TEXTS["compared"].format(others=len(others), all=len(every), chance=chance)
    serious = ("turns", "vanishes", "appears")
    found = [
        f"{TEXTS[f'name_{each.quantity}']} with **{each.case.change}** ({each.case.users}) "
        f"{TEXTS[f'kind_{each.kind}']}"
        for each in others
        if each.kind in serious
    ]
    return f"{text} {TEXTS['serious'].format(found='; '.join(found))}" if found else text


def make_conclusion_table(log: str, runs: Runs) -> Table | None:
    """Return a table of the conclusions that differ between reacting users and rigid replay."""
    rows = [each.row for each in select_differing(pair_answers(runs))]
    return with_intervals("conclusions", rows, log)
