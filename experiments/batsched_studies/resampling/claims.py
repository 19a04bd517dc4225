"""The claims of chapter 3, and what the runs of a campaign say about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isnan
from typing import Any

import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import Quantity, Runs, all_hold, deciding, from_cells, log_name, rows
from batsched_studies.resampling import PUBLISHED, TEXTS
from batsched_studies.resampling.loads import FLURRY_METRICS
from batsched_studies.resampling.parts import PARTS, beside_variants
from batsched_studies.resampling.positions import (
    ABOUT,
    HIGHER,
    INSIDE,
    KINDS,
    LOWER,
    QUANTITIES,
    TRACES,
    VARIANTS,
)

WORKLOADS = ("recorded", *KINDS, "five times", "flurries")
PLACES: dict[str, dict[str, str]] = PUBLISHED["places"]
"""By metric and trace where the thesis has the log among its variants."""
REACHED: dict[str, tuple[float, float]] = PUBLISHED["reached"]
"""Within which bounds the utilisation (per cent) is at which a trace saturates."""
UTILISATION_LESS: float = PUBLISHED["limits"]["utilisation_less"]
SIX = 6.0
"""So many times its users OSC gets (figure 11)."""


def read(frame: pd.DataFrame) -> Runs:
    """Return the runs of a campaign with the quantities of the study."""
    further = (Quantity("wait_99", "wait_99", "99 % of the waits (h)", 1 / 3600),)
    if frame.empty:
        return Runs(frame, (*QUANTITIES, *further))
    named = frame.assign(log=frame["log"].map(log_name))
    return Runs(named[named["workload"].isin(WORKLOADS)], (*QUANTITIES, *further))


def verdicts(
    place: pd.DataFrame, part: pd.DataFrame, sweep: pd.DataFrame, flurry: pd.DataFrame
) -> list[Verdict]:
    """Return a verdict for each claim and log of which the runs say something, else one for it."""
    judged: dict[str, tuple[Callable[..., Iterable[Verdict]], pd.DataFrame]] = {
        "original": (_original, place),
        "throughput": (_throughput, place),
        "utilisation": (_utilisation, place),
        "slowdown": (_printed_places, place),
        "wait": (_printed_places, place),
        "extension": (_extension, part),
        "shape": (_shape, sweep),
        "saturation": (_saturation, sweep),
        "reached": (_reached, sweep),
        "flurries": (_flurries, flurry),
    }
    found: list[Verdict] = []
    for key, (judge, table) in judged.items():
        by_log = list(judge(key, table)) if len(table) else []
        found += by_log or [TEXTS.verdict(key, None, tell=False)]
    return found


def _enough(place: pd.DataFrame) -> pd.DataFrame:
    """Return the places among enough variants of the thesis's kind."""
    return place[(place["variants"] >= VARIANTS) & (place["kind"] == KINDS[0])]


def _original(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in _enough(place).groupby("log", sort=False):
        told = "; ".join(f"{row.metric} {_below(row)}" for row in rows(of_log))
        yield TEXTS.verdict(key, not of_log["outside"].any(), str(log), told=told, effect=told)


def _below(row: Any) -> str:
    return f"{row.below:.1%} of {row.variants} below"


def _throughput(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for row in rows(_of_metric(place, key)):
        yield _verdict(key, row.where == INSIDE, row, PLACES[key].get(TRACES.get(row.log, ""), ""))


def _utilisation(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for row in rows(_of_metric(place, key)):
        holds = row.where != LOWER and -row.median_percent < UTILISATION_LESS
        yield _verdict(key, holds, row)


def _printed_places(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for row in rows(_of_metric(place, key)):
        printed = PLACES[key].get(TRACES.get(row.log, ""), "")
        if printed:
            larger = row.below < 0.5 and row.where != HIGHER
            holds = larger if printed == "larger" else row.where == printed
            yield _verdict(key, holds, row, printed)


def _of_metric(place: pd.DataFrame, metric: str) -> pd.DataFrame:
    return _enough(place[place["metric"] == metric])


def _verdict(key: str, holds: bool, row: Any, printed: str = "") -> Verdict:
    effect = (
        f"{row.recorded:.4g} beside a median of {row.median:.4g} ({row.low:.4g} to {row.high:.4g}; "
        f"{_below(row)})"
    )
    told = PUBLISHED["words"].get(printed, "")
    return TEXTS.verdict(
        key,
        bool(holds),
        row.log,
        effect=effect,
        told=f" The thesis has {told}." if told else "",
        numbers=effect,
        where=ABOUT[row.where],
        percent=row.median_percent,
        reading=PUBLISHED["readings"].get(key, ""),
    )


def _extension(key: str, part: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in part.groupby("log", sort=False):
        if not {0, *PARTS} & {*of_log["part"]} > {0}:
            continue
        found = list(rows(beside_variants(of_log)))
        told = "; ".join(f"part {of.part} {of.times:.2f} times, p = {of.p:.2f}" for of in found)
        limit, nb_variants = LEVEL / len(found), found[0].variants
        holds = min(of.p for of in found) >= limit if 1 / (1 + nb_variants) <= limit else None
        yield TEXTS.verdict(
            key,
            holds,
            str(log),
            effect=f"{told}, {nb_variants} variants",
            reading=PUBLISHED["readings"][key],
            numbers=told,
            limit=limit,
        )


def _shape(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    for row in rows(sweep[sweep["load"] == SIX].dropna(subset=["of_log"])):
        apart = max(row.apart_hours, row.apart_days)
        known = not isnan(apart + row.roughness)
        holds = apart < TOLERANCE and row.roughness < row.of_log if known else None
        effect = (
            f"{row.apart_hours:.1%} of the submissions at other hours, {row.apart_days:.1%} on "
            f"other days; variation by hour {row.roughness:.2f}, of the log {row.of_log:.2f}"
        )
        yield TEXTS.verdict(
            key,
            holds,
            row.log,
            effect=effect,
            reading=PUBLISHED["readings"][key],
            numbers=effect,
            utilisation=row.utilisation,
        )


LEVEL = 0.05
"""Divided by the number of parts (Bonferroni)."""
TOLERANCE = 0.1
"""Up to this share of the submissions at other hours or days the shape is the same (ours)."""


def _saturation(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in sweep.groupby("log", sort=False):
        heaviest = next(rows(of_log.tail(1)))
        if heaviest.load <= 1 or not heaviest.pairs:
            continue
        fewer = from_cells(heaviest, "fewer", "fewer_low", "fewer_high", nb="pairs")
        most = of_log["most_stable"].max()
        yield TEXTS.verdict(
            key,
            fewer.above(0),
            str(log),
            effect=f"{heaviest.load:g} times as many: {fewer.value:.0%} fewer, {fewer.nb} pairs",
            shares=_stable_shares(of_log),
            most=most,
        )


def _reached(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    """Yield up to which utilisation runs are stable, where some are not."""
    for log, of_log in sweep.groupby("log", sort=False):
        bounds = REACHED.get(TRACES.get(str(log), ""))
        stable = of_log["most_stable"].max()
        if bounds is None or of_log["stable"].min() == 1 or isnan(stable):
            continue
        least, most = bounds
        yield TEXTS.verdict(
            key,
            bool(least <= stable <= most),
            str(log),
            effect=f"{stable:.1f} %, {of_log['runs'].sum()} runs",
            reading=PUBLISHED["readings"][key],
            shares=_stable_shares(of_log),
        )


def _stable_shares(of_log: pd.DataFrame) -> str:
    return "; ".join(f"{row.load:g}: {row.stable:.0%}" for row in rows(of_log))


def _flurries(key: str, flurry: pd.DataFrame) -> Iterator[Verdict]:
    worse = ("wait", "slowdown", "wait_99")
    for log, of_log in flurry.groupby("log", sort=False):
        judged = of_log[of_log["metric"].isin(worse)]
        steps = {
            row: from_cells(row, "step", "step_low", "step_high", nb="pairs")
            for row in rows(judged)
        }
        answers = {row: step.above(1) for row, step in steps.items()}
        several = judged["rate"].nunique() > 1
        holds = all_hold(answers.values()) if several else None  # of one rate none is more
        largest = [row for row in steps if row.rate == judged["rate"].max()]
        told = "; ".join(f"{_named(row)} x {_ratio(row)}" for row in largest)
        effect = f"{largest[0].rate:g} a week: {told}, {largest[0].pairs} pairs"
        open_ = deciding(answers) if several and not holds else []
        against = "; ".join(f"{_named(row)} up to {row.rate:g} x {steps[row]}" for row in open_)
        yield TEXTS.verdict(
            key,
            holds,
            str(log),
            effect=effect,
            numbers=effect,
            against=f" Not clear step by step: {against}." if against else "",
        )


def _named(row: Any) -> str:
    return FLURRY_METRICS[row.metric]


def _ratio(row: Any) -> str:
    return f"{row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})"
