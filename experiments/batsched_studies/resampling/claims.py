"""The claims of chapter 3, and what the runs of a campaign say about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd

from batsched_py.report import Verdict
from batsched_py.report.kit import Interval, Quantity, Runs, all_hold, log_name, rows
from batsched_studies.resampling import PUBLISHED, TEXTS
from batsched_studies.resampling.loads import FLURRY_METRICS
from batsched_studies.resampling.parts import MARGINALS
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
        own, of_parts = of_log[of_log["part"] == 0], of_log[of_log["part"] > 0]
        if own.empty or of_parts.empty:
            continue
        most = own.groupby("of")["distance"].max()
        ours = of_parts.groupby("of")["distance"].median()
        far = [MARGINALS[name] for name in MARGINALS if ours[name] > most[name]]
        effect = f"{ours.max():.3f} at most, of variants {most.max():.3f}"
        yield TEXTS.verdict(
            key,
            not far,
            str(log),
            effect=effect,
            reading=PUBLISHED["readings"][key],
            numbers=effect,
            far=f" Farther than all variants: {', '.join(far)}." if far else "",
        )


def _shape(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    for row in rows(sweep[sweep["load"] == SIX].dropna(subset=["of_log"])):
        holds = max(row.apart_hours, row.apart_days) < TOLERANCE and row.roughness < row.of_log
        effect = (
            f"{row.apart_hours:.1%} of the submissions at other hours, {row.apart_days:.1%} on "
            f"other days; variation by hour {row.roughness:.2f}, of the log {row.of_log:.2f}"
        )
        yield TEXTS.verdict(
            key,
            bool(holds),
            row.log,
            effect=effect,
            reading=PUBLISHED["readings"][key],
            numbers=effect,
            utilisation=row.utilisation,
        )


TOLERANCE = 0.1
"""Up to this share of the submissions at other hours or days the shape is the same (ours)."""


def _saturation(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in sweep.groupby("log", sort=False):
        heaviest = next(rows(of_log.tail(1)))
        if heaviest.load <= 1 or not heaviest.pairs:
            continue
        fewer = Interval(heaviest.fewer, heaviest.fewer_low, heaviest.fewer_high, heaviest.pairs)
        shares = "; ".join(f"{row.load:g}: {row.stable:.0%}" for row in rows(of_log))
        most = of_log["most_stable"].max()
        yield TEXTS.verdict(
            key,
            fewer.above(0),
            str(log),
            effect=f"{heaviest.load:g} times as many: {fewer.value:.0%} fewer, {fewer.nb} pairs",
            shares=shares,
            most=most,
        )


def _flurries(key: str, flurry: pd.DataFrame) -> Iterator[Verdict]:
    worse = ("wait", "slowdown", "wait_99")
    for log, of_log in flurry.groupby("log", sort=False):
        judged = of_log[of_log["metric"].isin(worse)]
        worse_each = (_interval(row).above(1) for row in rows(judged))
        holds = all_hold((*worse_each, _grows(judged)))
        most = judged[judged["rate"] == judged["rate"].max()]
        told = "; ".join(_ratio(row) for row in rows(most))
        rate = most["rate"].iloc[0]
        effect = f"{rate:g} a week: {told}"
        yield TEXTS.verdict(key, holds, str(log), effect=effect, numbers=effect)


def _grows(judged: pd.DataFrame) -> bool:
    return all(
        of_metric.sort_values("rate")["ratio"].is_monotonic_increasing
        for _, of_metric in judged.groupby("metric")
    )


def _ratio(row: Any) -> str:
    name = FLURRY_METRICS[row.metric]
    return f"{name} x {row.ratio:.2f} ({row.low:.2f} to {row.high:.2f}, {row.pairs} pairs)"


def _interval(row: Any) -> Interval:
    return Interval(row.ratio, row.low, row.high, row.pairs)
