"""Whether each claim of the study holds on each log, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import rows
from batsched_studies.tbuos_ups.claims import CLAIMS, DIFFERENT, GREATER, NAMES, TITLES
from batsched_studies.tbuos_ups.waits import SEEDS

CHANGE = (GREATER, DIFFERENT)
"""Expectations that something will change."""
CLAIMS_OF_CHANGE = {claim.number for claim in CLAIMS if claim.expected in CHANGE}
SURE = 0.975
"""Share of bootstrap draws from which on an order is told."""


def verdicts(
    effects: pd.DataFrame,
    spreads: pd.DataFrame,
    calmer: Mapping[str, float],
    waits: pd.DataFrame,
) -> list[Verdict]:
    """Return a verdict for each claim and log of which the runs say something.

    A claim of several comparisons holds if all do that were made. Saturated open runs do not
    count; where all are, nothing is said, nor where only those things were compared that are to
    stay as they are. A claim that no run is about has one verdict without log.
    """
    verdicts: list[Verdict] = []
    for number, title in TITLES.items():
        claim = f"({number}) {title}"
        if number == "iv":
            by_log = list(_of_spreads(claim, spreads, calmer))
        elif number == "viii":
            by_log = list(_of_waits(claim, waits))
        else:
            by_log = list(_of_effects(claim, effects[effects["claim"] == number]))
        verdicts += by_log or [Verdict(claim, None, "No run is about it.")]
    return verdicts


def _of_effects(title: str, effects: pd.DataFrame) -> Iterator[Verdict]:
    for log, compared in effects.groupby("log", sort=False):
        judged = compared[compared["saturated"] == 0]
        changed = compared["expected"].isin(CHANGE).any()
        if judged.empty:
            yield Verdict(title, None, "Every open run is saturated.", str(log))
        elif not changed and compared["claim"].isin(CLAIMS_OF_CHANGE).any():
            yield Verdict(title, None, "Only open replay was run.", str(log))
        else:
            yield Verdict(title, bool(judged["holds"].all()), _evidence(judged), str(log))


def _evidence(effects: pd.DataFrame) -> str:
    """Return the comparisons in words: what fails, or what the claim says will change."""
    failed = effects[~effects["holds"].astype(bool)]
    telling = effects[effects["expected"].isin(CHANGE)]
    shown = next(some for some in (failed, telling, effects) if len(some))
    return "; ".join(map(_comparison, rows(shown))) + "."


def _comparison(effect: Any) -> str:
    interval = f" ({effect.low:.3f} to {effect.high:.3f})" if effect.pairs > 1 else ""
    pairs = f", above 1 in {effect.above} of {effect.pairs} pairs" if effect.pairs > 1 else ""
    stable = ", saturated runs left out" if effect.which == "stable" else ""
    return (
        f"{effect.replay}, {effect.ratio}: {NAMES[effect.metric]} {effect.value:.3f}{interval}"
        f"{pairs}{stable}, expected {effect.expected}"
    )


def _of_spreads(
    title: str, spreads: pd.DataFrame, calmer: Mapping[str, float]
) -> Iterator[Verdict]:
    """Claim iv is about all runs, as in the thesis; extremes of few runs say nothing.

    Nor do those that are the other way round in more than one of 40 bootstrap draws.
    """
    easy = {(s.log, s.replay): s for s in rows(spreads) if s.system == "easy" and s.which == "all"}
    for log in dict.fromkeys(log for log, _ in easy):
        open_, tbuos = easy.get((log, "resampled")), easy.get((log, "tbuos"))
        if open_ is None or tbuos is None:
            continue
        share = calmer.get(log)
        if share is None:
            few = min(open_.seeds, tbuos.seeds)
            yield Verdict(title, None, f"{few} seeds, of {SEEDS} that are needed.", log)
            continue
        holds = True if share >= SURE else False if share <= 1 - SURE else None
        evidence = (
            f"Largest over smallest mean wait {_ratio(tbuos)} under TBUOS and {_ratio(open_)} in "
            f"open resampling; smaller under TBUOS in {share:.1%} of bootstrap draws."
        )
        yield Verdict(title, holds, evidence, log)


def _ratio(spread: Any) -> str:
    interval = f"{spread.ratio_low:.2f} to {spread.ratio_high:.2f}"
    return f"{spread.ratio:.2f} ({interval}, {spread.seeds} seeds)"


def _of_waits(title: str, waits: pd.DataFrame) -> Iterator[Verdict]:
    """Claim viii: the usual EASY is judged, since the text tells it so; the other is beside it."""
    if waits.empty:
        return
    ratios = waits[waits["replay"] != "rigid"].dropna(subset=["ours_to_rigid", "thesis_to_rigid"])
    for log, of_log in ratios.groupby("log", sort=False):
        evidence = "; ".join(
            f"{wait.replay}, {wait.system}: {wait.ours_to_rigid:.2f} of open replay "
            f"(thesis {wait.thesis_to_rigid:.2f})"
            for wait in rows(of_log)
        )
        judged = of_log[of_log["system"] == "easy"]
        as_printed = (judged["ours_to_rigid"] < 1) == (judged["thesis_to_rigid"] < 1)
        holds = bool(as_printed.all()) if len(judged) else None
        yield Verdict(title, holds, f"{evidence}.", str(log))
