"""The verdict on each claim of the study for each log, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Runs, all_hold, deciding, from_cells, rows
from batsched_py.support.statistics import SpreadTest, finite
from batsched_py.units import HOUR
from batsched_studies.choices import Judged
from batsched_studies.tbuos_ups import PUBLISHED
from batsched_studies.tbuos_ups.claims import (
    CLAIMS,
    DIFFERENT,
    GREATER,
    NAMES,
    TITLES,
    compare_systems,
    find_size,
    list_choices,
)
from batsched_studies.tbuos_ups.waits import (
    PAIRS,
    compare_easy,
    compare_spreads,
    compute_reach,
    compute_spreads,
    compute_waits,
    select_comparable,
    sign_test,
)

INTERPRETATIONS: dict[str, str] = PUBLISHED["interpretations"]
"""The interpretation of the thesis on which each verdict depends, and this study's limits."""
CHANGE = (GREATER, DIFFERENT)
"""Expectations that something will change."""
LEVEL = 0.05
"""The level of a test, below which an order is certain."""


def judge_choices(runs: Runs) -> Judged:
    """Return the verdicts under each interpretation that was run."""
    return [(choice, judge_claims(chosen)) for choice, chosen in list_choices(runs)]


def judge_claims(runs: Runs) -> list[Verdict]:
    """Return a verdict for each claim and log with runs, under one interpretation.

    A claim of several comparisons holds if all of them hold, and is inconclusive if one is.
    Saturated open runs do not count. The verdict is None if all runs are saturated, or if only one
    kind of a claim on changes and non-changes was run. A claim without runs has no log.
    """
    effects, spreads, waits = compare_systems(runs), compute_spreads(runs), compute_waits(runs)
    verdicts: list[Verdict] = []
    for number, title in TITLES.items():
        claim = f"({number}) {title}"
        if number == "iv":
            by_log = list(_of_spreads(claim, spreads, compare_spreads(runs)))
        elif number == "viii":
            by_log = list(_of_waits(claim, waits))
        elif number == "xi":
            by_log = list(_of_strict(claim, waits))
        elif number == "xvi":
            by_log = list(_of_queues(claim, runs))
        elif number == "xvii":
            by_log = list(_of_longest(claim, spreads))
        elif number in EXTREMES:
            by_log = list(_of_extremes(number, claim, spreads))
        else:
            by_log = list(_of_effects(number, claim, effects[effects["claim"] == number]))
        verdicts += by_log or [Verdict(claim, None, "No run is about it.")]
    return verdicts


def _find_interpretation(number: str, sizes: Iterable[float]) -> str:
    """Return the interpretation behind a verdict, and the machine size if there is only one."""
    nodes = find_size(sizes)
    return INTERPRETATIONS[number] + ("" if isnan(nodes) else f"; {nodes:,.0f} processors")


def _of_effects(number: str, title: str, effects: pd.DataFrame) -> Iterator[Verdict]:
    parts = {claim.expected in CHANGE for claim in CLAIMS if claim.number == number}
    for log, compared in effects.groupby("log", sort=False):
        judged = compared[compared["saturated"] == 0]
        reading = _find_interpretation(number, compared["nodes"])
        if judged.empty:
            effect_text = "a run of every pair is saturated"
            yield Verdict(title, None, "", str(log), effect_text, reading)
        elif set(compared["expected"].isin(CHANGE)) < parts:
            yield Verdict(title, None, "Only a part of it was run.", str(log), reading=reading)
        else:
            holds = all_hold(judged["holds"])
            yield Verdict(title, holds, _evidence(judged), str(log), _effect(judged), reading)


def _evidence(effects: pd.DataFrame) -> str:
    """Return the comparisons that decide as text."""
    return "; ".join(map(_comparison, rows(_deciding(effects)))) + "."


def _deciding(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons that fail, or the inconclusive ones, or those with a claimed change.

    If nothing is claimed to change, all comparisons, the one with the largest change first.
    """
    answers = dict(enumerate(effects["holds"]))
    if not all_hold(answers.values()):
        return effects.iloc[deciding(answers)]
    telling = effects[effects["expected"].isin(CHANGE)]
    farthest = (effects["value"] - 1).abs().sort_values(ascending=False, kind="stable").index
    return telling if len(telling) else effects.loc[farthest]


def _effect(effects: pd.DataFrame) -> str:
    """Return the number on which a verdict depends: that of the first deciding comparison."""
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
    """Judge claim iv: how much all runs vary, as in the thesis, but not by their extremes."""
    every = [spread for spread in rows(spreads) if spread.which == "all"] if len(spreads) else []
    shown = {(spread.log, spread.replay, spread.system): spread for spread in every}
    for log in dict.fromkeys(spread.log for spread in every):
        places = [(log, name, "easy") for name in ("tbuos", "resampled")]
        sides = [shown[place] for place in places if place in shown]
        if len(sides) < len(places):
            continue
        reading = _find_interpretation("iv", (side.nodes for side in sides))
        test = calmer.get((log, "easy"))
        if test is None or isnan(test.p):
            few = f"fewer than {PAIRS} pairs of equal seeds"
            yield Verdict(title, None, f"It takes {PAIRS} pairs.", log, few, reading)
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
        yield Verdict(title, holds, evidence, log, effect, reading)


EXTREMES = {"xix": "resampled", "xx": "tbuos"}
"""The replay of the claims on printed ratios of the largest to the smallest mean wait."""
SEEDS = 100
"""The number of seeds of the thesis: of fewer, extremes are nearer to each other."""
LONGEST_WAIT = 8 * HOUR


def _of_extremes(number: str, title: str, spreads: pd.DataFrame) -> Iterator[Verdict]:
    """Judge whether the largest over the smallest wait is as printed, as far as chance allows."""
    for row in _with_easy(spreads, EXTREMES[number]):
        if row.thesis and not isnan(row.thesis):
            apart, reach = abs(np.log(row.ratio / row.thesis)), compute_reach(row.spread)
            effect = f"{row.ratio:.2f}, printed {row.thesis:.2f}: a factor of {np.exp(apart):.2f}"
            effect += f", by chance up to {np.exp(reach):.2f}; {row.seeds} seeds"
            reading = _find_interpretation(number, [row.nodes])
            yield Verdict(title, bool(apart <= reach), "", row.log, effect, reading)


def _of_longest(title: str, spreads: pd.DataFrame) -> Iterator[Verdict]:
    """Judge whether no run of TBUOS has a mean wait above 8 h."""
    for row in _with_easy(spreads, "tbuos"):
        least, median, most = (hours / HOUR for hours in (row.least, row.median, row.most))
        effect = f"{least:.1f} to {most:.1f} h, median {median:.1f} h, {row.seeds} seeds"
        reading = _find_interpretation("xvii", [row.nodes])
        yield Verdict(title, row.most <= LONGEST_WAIT, "", row.log, effect, reading)


def _with_easy(spreads: pd.DataFrame, replay: str) -> Iterator[Any]:
    """Yield how the waits of all runs of a replay with EASY vary, with enough seeds."""
    for row in rows(spreads) if len(spreads) else ():
        if (row.replay, row.system, row.which) == (replay, "easy", "all") and row.seeds >= SEEDS:
            yield row


HUGE, OFTEN, HARDLY = "queue_above_100", 0.1, 0.02
"""A huge queue, much of the time and hardly ever (shares of it); the last one is the thesis's."""


def _of_queues(title: str, runs: Runs) -> Iterator[Verdict]:
    """Judge whether huge queues are frequent with FCFS in open replay, and rare with fluid users.

    Users who draw have at least five seeds, and the mean share of time counts.
    """
    for log in runs.labels("log") if HUGE in runs.frame else ():
        of_log = {
            f"{replay} {system}": runs.where(log=log, replay=replay, system=system)
            for replay, system in product(("rigid", "fluid"), ("fcfs", "easy"))
        }
        shares = {name: finite(some.values(HUGE)).mean() for name, some in of_log.items() if some}
        if len(shares) < len(of_log):
            continue
        hardly = max(shares["fluid fcfs"], shares["fluid easy"]) <= HARDLY
        effect = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
        reading = _find_interpretation("xvi", of_log["rigid fcfs"].labels("nb_res"))
        yield Verdict(title, shares["rigid fcfs"] > OFTEN and hardly, "", log, effect, reading)


def _of_waits(title: str, waits: pd.DataFrame) -> Iterator[Verdict]:
    """Judge claim viii by the usual EASY, which the thesis's text describes; also show the other.

    Waits are as printed if their whole interval is on the same side of open replay.
    """
    if waits.empty:
        return
    ratios = select_comparable(waits).dropna(subset=["ours_to_rigid", "thesis_to_rigid"])
    ratios = ratios[ratios["replay"] != "rigid"]
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
        effect += f", {as_printed.count(None)} inconclusive" if None in as_printed else ""
        holds, reading = all_hold(as_printed), _find_interpretation("viii", judged["nodes"])
        yield Verdict(title, holds, f"{evidence}.", str(log), effect, reading)


def _to_rigid(wait: Any) -> Interval:
    return from_cells(wait, "ours_to_rigid", nb="seeds")


def _of_strict(title: str, waits: pd.DataFrame) -> Iterator[Verdict]:
    """Judge claim xi: whether strict EASY (no extra nodes) is nearer to printed waits than usual.

    The distance is that of open replay, on the logarithm. A sign test judges whether one of the two
    is nearer on more logs than by chance, without the logs on which strict EASY was chosen; all
    logs are shown.
    """
    apart = compare_easy(waits)
    if apart.empty:
        return
    effect_text = "; ".join(
        f"{row.log} {row.usual:,.0f} and {row.strict:,.0f} s, printed {row.thesis:,.0f}"
        for row in rows(apart)
    )
    counted = apart[apart["counts"]]
    nearer, number = int(counted["nearer"].sum()), len(counted)
    p = sign_test(nearer, number)
    effect = f"nearer on {nearer} of {number} logs, p = {p:.3g}"
    effect += f"; mean distance x {_factors(counted)}" if number else ""
    evidence = f"Open replay, usual and strict: {effect_text}; {effect}."
    holds = nearer > number / 2 if p < LEVEL else None
    yield Verdict(title, holds, evidence, "", effect, INTERPRETATIONS["xi"] + _machines(counted))


def _factors(apart: pd.DataFrame) -> str:
    """Return the factor by which each interpretation is off, on average of the logarithms."""
    strict, usual = (float(np.exp(apart[f"{name}_apart"].mean())) for name in ("strict", "usual"))
    return f"{strict:.2f} strict, {usual:.2f} usual"


def _machines(apart: pd.DataFrame) -> str:
    """Return how many processors the machine of each log has, as far as it is known."""
    sizes = [f"{row.trace} {row.nodes:,.0f}" for row in rows(apart.dropna(subset="nodes"))]
    return f"; processors: {', '.join(sizes)}" if sizes else ""
