"""Whether each claim of the study holds on each log, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, all_hold, deciding, from_cells, rows
from batsched_py.support.statistics import SpreadTest
from batsched_studies.tbuos_ups import PUBLISHED
from batsched_studies.tbuos_ups.claims import CLAIMS, DIFFERENT, GREATER, NAMES, TITLES
from batsched_studies.tbuos_ups.waits import PAIRS, strict_beside_usual

READINGS: dict[str, str] = PUBLISHED["readings"]
"""By claim the reading of the thesis on which its verdict depends."""
CHANGE = (GREATER, DIFFERENT)
"""Expectations that something will change."""
CLAIMS_OF_CHANGE = {claim.number for claim in CLAIMS if claim.expected in CHANGE}
LOGS = 6
"""So many are needed for a sign that is the same on all to be more than chance (two-sided)."""
LEVEL = 0.05
"""Of a test, below which an order is told."""


def verdicts(
    effects: pd.DataFrame,
    spreads: pd.DataFrame,
    calmer: Mapping[tuple[str, str], SpreadTest],
    waits: pd.DataFrame,
) -> list[Verdict]:
    """Return a verdict for each claim and log of which the runs say something.

    A claim of several comparisons holds if all do that were made, and is open if one is. Saturated
    open runs do not count; where all are, nothing is said, nor where only those things were
    compared that are to stay as they are. A claim that no run is about has one verdict without log.
    """
    verdicts: list[Verdict] = []
    for number, title in TITLES.items():
        claim = f"({number}) {title}"
        if number == "iv":
            by_log = list(_of_spreads(claim, spreads, calmer))
        elif number == "viii":
            by_log = list(_of_waits(claim, waits))
        elif number == "xi":
            by_log = list(_of_strict(claim, waits))
        else:
            by_log = list(_of_effects(claim, effects[effects["claim"] == number]))
        verdicts += by_log or [Verdict(claim, None, "No run is about it.")]
    return verdicts


def _of_effects(title: str, effects: pd.DataFrame) -> Iterator[Verdict]:
    for log, compared in effects.groupby("log", sort=False):
        judged = compared[compared["saturated"] == 0]
        changed = compared["expected"].isin(CHANGE).any()
        if judged.empty:
            yield Verdict(title, None, "", str(log), "every open run is saturated")
        elif not changed and compared["claim"].isin(CLAIMS_OF_CHANGE).any():
            yield Verdict(title, None, "Only open replay was run.", str(log))
        else:
            holds, reading = all_hold(judged["holds"]), READINGS.get(judged["claim"].iloc[0], "")
            yield Verdict(title, holds, _evidence(judged), str(log), _effect(judged), reading)


def _evidence(effects: pd.DataFrame) -> str:
    """Return the comparisons that decide, in words."""
    return "; ".join(map(_comparison, rows(_deciding(effects)))) + "."


def _deciding(effects: pd.DataFrame) -> pd.DataFrame:
    """Return what fails, else what is not clear, else what the claim says will change."""
    answers = dict(enumerate(effects["holds"]))
    telling = effects[effects["expected"].isin(CHANGE)]
    return (
        telling if all_hold(answers.values()) and len(telling) else effects.iloc[deciding(answers)]
    )


def _effect(effects: pd.DataFrame) -> str:
    """Return the number that a verdict hangs on: the first of those that decide."""
    effect = next(rows(_deciding(effects)))
    return f"{effect.replay}, {effect.ratio}: {NAMES[effect.metric]} x {_ratio(effect)}"


def _ratio(effect: Any) -> str:
    return f"{from_cells(effect, 'value', nb='pairs')}, n = {effect.pairs}"


def _comparison(effect: Any) -> str:
    interval = f" ({effect.low:.3f} to {effect.high:.3f})" if pd.notna(effect.low) else ""
    pairs = f", above 1 in {effect.above} of {effect.pairs} pairs" if effect.pairs > 1 else ""
    stable = ", saturated runs left out" if effect.which == "stable" else ""
    return (
        f"{effect.replay}, {effect.ratio}: {NAMES[effect.metric]} {effect.value:.3f}{interval}"
        f"{pairs}{stable}, expected {effect.expected}"
    )


def _of_spreads(
    title: str, spreads: pd.DataFrame, calmer: Mapping[tuple[str, str], SpreadTest]
) -> Iterator[Verdict]:
    """Claim iv is about all runs, as in the thesis, and by how much they vary, not by extremes."""
    every = [spread for spread in rows(spreads) if spread.which == "all"] if len(spreads) else []
    shown = {(spread.log, spread.replay, spread.system): spread for spread in every}
    for log in dict.fromkeys(spread.log for spread in every):
        places = [(log, name, "easy") for name in ("tbuos", "resampled")]
        sides = [shown[place] for place in places if place in shown]
        if len(sides) < len(places):
            continue
        test = calmer.get((log, "easy"))
        if test is None or isnan(test.p):
            few = f"fewer than {PAIRS} pairs of equal seeds"
            yield Verdict(title, None, f"It takes {PAIRS} pairs.", log, few)
            continue
        clear = test.p < LEVEL
        holds = test.ratio.value < 1 if clear else None
        extremes = (f"{side.ratio:.2f}" for side in sides)
        effect = f"{test.ratio} of the spread, {test.ratio.nb} pairs, p = {test.p:.2g}"
        evidence = (
            f"Standard deviation of the logarithms of mean waits {test.ours:.3f} under TBUOS and "
            f"{test.base:.3f} in open resampling: {effect}. Largest over smallest "
            f"{' and '.join(extremes)}."
        )
        yield Verdict(title, holds, evidence, log, effect, READINGS["iv"])


def _of_waits(title: str, waits: pd.DataFrame) -> Iterator[Verdict]:
    """Claim viii: the usual EASY is judged, since the text tells it so; the other is beside it.

    Waits are as printed if they are above or below open replay as there, all of their interval.
    """
    if waits.empty:
        return
    ratios = waits[waits["replay"] != "rigid"].dropna(subset=["ours_to_rigid", "thesis_to_rigid"])
    for log, of_log in ratios.groupby("log", sort=False):
        evidence = "; ".join(
            f"{wait.replay}, {wait.system}: {_to_rigid(wait)} of open replay "
            f"(thesis {wait.thesis_to_rigid:.2f}, n = {wait.seeds})"
            for wait in rows(of_log)
        )
        judged = of_log[of_log["system"] == "easy"]
        as_printed = [
            _to_rigid(wait).below(1) if wait.thesis_to_rigid < 1 else _to_rigid(wait).above(1)
            for wait in rows(judged)
        ]
        effect = f"{as_printed.count(True)} of {len(judged)} models as printed"
        effect += f", of {as_printed.count(None)} it cannot be told" if None in as_printed else ""
        holds = all_hold(as_printed)
        yield Verdict(title, holds, f"{evidence}.", str(log), effect, READINGS["viii"])


def _to_rigid(wait: Any) -> Interval:
    return from_cells(wait, "ours_to_rigid", nb="seeds")


def _of_strict(title: str, waits: pd.DataFrame) -> Iterator[Verdict]:
    """Whether EASY without extra nodes is nearer to what is printed than the usual one, xi.

    One rule for all logs: the smaller of the two distances of open replay, as logarithms. It holds
    if it does on each log that can be compared, and there are :data:`LOGS` at least: by chance one
    of the two would be nearer on all in one of 32 cases. It is open if neither is.
    """
    apart = strict_beside_usual(waits)
    if apart.empty:
        return
    told = "; ".join(
        f"{row.log} {row.usual:,.0f} and {row.strict:,.0f} s, printed {row.thesis:,.0f}"
        for row in rows(apart)
    )
    nearer = int(apart["nearer"].sum())
    effect = f"nearer on {nearer} of {len(apart)} logs; mean distance x {_factors(apart)}"
    evidence = f"Open replay, usual and strict: {told}; {effect}."
    on_all = {len(apart): True, 0: False}.get(nearer) if len(apart) >= LOGS else None
    yield Verdict(title, on_all, evidence, "", effect, READINGS["xi"])


def _factors(apart: pd.DataFrame) -> str:
    """Return by which factor each reading is off, in the mean of the logarithms."""
    strict, usual = (float(np.exp(apart[f"{name}_apart"].mean())) for name in ("strict", "usual"))
    return f"{strict:.2f} strict, {usual:.2f} usual"
