"""The verdicts on the claims of chapter 3 of the thesis for the runs of a campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isnan
from typing import Any

import pandas as pd

from batsched_py.report import Verdict, kit
from batsched_py.report.kit import Interval, Quantity, Runs
from batsched_studies.choices import Judged
from batsched_studies.resampling import PUBLISHED, TEXTS, positions
from batsched_studies.resampling.loads import BUSIEST_WEEK, FLURRY_METRICS
from batsched_studies.resampling.parts import PARTS, compare_with_variants

WORKLOADS = ("recorded", *positions.KINDS, "five times", "flurries")
PLACES: dict[str, dict[str, str]] = PUBLISHED["places"]
"""The position of a log among its variants in the thesis, by metric and trace."""
REACHED: dict[str, tuple[float, float]] = PUBLISHED["reached"]
"""The bounds of the utilisation (per cent) at which a trace saturates."""
UTILISATION_LESS: float = PUBLISHED["limits"]["utilisation_less"]
VARIANTS: int = PUBLISHED["limits"]["variants"]
SIX = 6.0
"""The factor by which the users of OSC are multiplied (figure 11)."""


def read(frame: pd.DataFrame) -> Runs:
    """Read the runs of a campaign with the quantities of the study."""
    further = (Quantity("wait_99", "wait_99", "99 % of the waits (h)", 1 / 3600),)
    if frame.empty:
        return Runs(frame, (*positions.QUANTITIES, *further))
    named = frame.assign(log=frame["log"].map(kit.log_name))
    return Runs(named[named["workload"].isin(WORKLOADS)], (*positions.QUANTITIES, *further))


def judge_choices(
    place: pd.DataFrame, part: pd.DataFrame, sweep: pd.DataFrame, flurry: pd.DataFrame
) -> Judged:
    """Return the verdicts for each kind of variants: where long-term users begin."""
    if place.empty:
        return [({"begin": "active"}, judge_claims(place, part, sweep, flurry))]
    return [
        ({"begin": positions.KINDS[str(kind)]}, judge_claims(of_kind, part, sweep, flurry))
        for kind, of_kind in place.groupby("kind", sort=False)
    ]


def judge_claims(
    place: pd.DataFrame, part: pd.DataFrame, sweep: pd.DataFrame, flurry: pd.DataFrame
) -> list[Verdict]:
    """Return a verdict for each claim and log with runs, and one for each claim without runs."""
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
        "visible": (_visible, flurry),
        "fewer": (_fewer, flurry),
    }
    found: list[Verdict] = []
    for key, (judge, table) in judged.items():
        by_log = list(judge(key, table)) if len(table) else []
        found += by_log or [TEXTS.verdict(key, None, tell=False)]
    return found


def _original(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    """Yield whether the log is in the range of its variants; None if outside of too few."""
    for log, of_log in place.groupby("log", sort=False):
        shares = "; ".join(f"{row.metric} {_below(row)}" for row in kit.rows(of_log))
        outside = of_log[of_log["outside"]]
        holds: bool | None = True
        if len(outside):
            number = int(outside["variants"].max())
            holds = None if number < VARIANTS else False
            shares = f"outside all {number:,} by {kit.listed(outside['metric'])}: {shares}"
        yield TEXTS.verdict(key, holds, str(log), shares=shares, effect=shares)


def _below(row: Any) -> str:
    return f"{row.below:.1%} of {row.variants} below"


def _share(row: Any) -> Interval:
    """Return the share of variants that have less than the log."""
    return kit.from_cells(row, "below", "below_low", "below_high", nb="variants")


def _throughput(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for row in kit.rows(_of_metric(place, key)):
        printed = PLACES[key].get(positions.TRACES.get(row.log, ""), "")
        yield _placed(key, positions.AMONG[positions.INSIDE](_share(row)), row, printed)


def _utilisation(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for row in kit.rows(_of_metric(place, key)):
        percent = kit.from_cells(row, "median_percent", "median_low", "median_high", nb="variants")
        answers = (_share(row).above(positions.EDGE), percent.above(-UTILISATION_LESS))
        yield _placed(key, kit.all_hold(answers), row)


def _printed_places(key: str, place: pd.DataFrame) -> Iterator[Verdict]:
    for row in kit.rows(_of_metric(place, key)):
        printed = PLACES[key].get(positions.TRACES.get(row.log, ""), "")
        if printed:
            yield _placed(key, positions.AMONG[printed](_share(row)), row, printed)


def _of_metric(place: pd.DataFrame, metric: str) -> pd.DataFrame:
    return place[place["metric"] == metric]


def _placed(key: str, holds: bool | None, row: Any, printed: str = "") -> Verdict:
    share = f", {row.below_low:.1%} to {row.below_high:.1%}" if _share(row).is_known else ""
    effect = (
        f"{row.recorded:.4g} against a median of {row.median:.4g} "
        f"({row.low:.4g} to {row.high:.4g}; {_below(row)}{share})"
    )
    thesis = PUBLISHED["words"].get(printed, "")
    return TEXTS.verdict(
        key,
        holds,
        row.log,
        effect=effect,
        thesis=f" The thesis has {thesis}." if thesis else "",
        numbers=effect,
        where=positions.ABOUT[row.where],
        percent=row.median_percent,
    )


def _extension(key: str, part: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in part.groupby("log", sort=False):
        if not {0, *PARTS} & {*of_log["part"]} > {0}:
            continue
        found = list(kit.rows(compare_with_variants(of_log)))
        times = "; ".join(
            f"part {of.part} {_times(of.times)} times, p = {of.p:.2g}" for of in found
        )
        limit = LEVEL / len(found)
        known = all(of.least <= limit for of in found)
        yield TEXTS.verdict(
            key,
            min(of.p for of in found) >= limit if known else None,
            str(log),
            effect=f"{times}; {found[0].variants} variants",
            numbers=times,
            limit=limit,
        )


def _times(values: Iterable[float]) -> str:
    return kit.listed(f"{value:.2f}" for value in values)


def _shape(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    for row in kit.rows(sweep[sweep["load"] == SIX].dropna(subset=["of_log"])):
        apart = max(row.apart_hours, row.apart_days)
        known = not isnan(apart + row.roughness)
        holds = apart < TOLERANCE and row.roughness < row.of_log if known else None
        effect = (
            f"{row.apart_hours:.1%} of the submissions at other hours, {row.apart_days:.1%} on "
            f"other days; variation by hour {row.roughness:.2f}, of the log {row.of_log:.2f}"
        )
        values = {"numbers": effect, "utilisation": row.utilisation}
        yield TEXTS.verdict(key, holds, row.log, effect=effect, **values)


LEVEL = 0.05
"""The level of the test, divided by the number of parts (Bonferroni)."""
TOLERANCE = 0.1
"""The shape is the same if at most this share of submissions is at other times (a limit of
this study)."""


def _saturation(key: str, sweep: pd.DataFrame) -> Iterator[Verdict]:
    for log, of_log in sweep.groupby("log", sort=False):
        heaviest = next(kit.rows(of_log.tail(1)))
        if heaviest.load <= 1 or not heaviest.pairs:
            continue
        fewer = kit.from_cells(heaviest, "fewer", "fewer_low", "fewer_high", nb="pairs")
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
    """Yield the utilisation (per cent) at which a machine saturates: above that of each stable run,
    and up to that of the lightest load without stable runs, or to 100 %.
    """
    for log, of_log in sweep.groupby("log", sort=False):
        bounds = REACHED.get(positions.TRACES.get(str(log), ""))
        stable = of_log["most_stable"].max()
        if bounds is None or of_log["stable"].min() == 1 or isnan(stable):
            continue
        none = of_log.loc[of_log["stable"] == 0, "utilisation"].clip(lower=stable).min()
        ends = Interval(stable, stable, 100.0 if isnan(none) else none, int(of_log["runs"].sum()))
        holds = ends.within(*bounds)
        further = f", none at {none:.1f} %" if holds is None and not isnan(none) else ""
        effect = f"stable up to {stable:.1f} %{further}, {ends.nb} runs"
        yield TEXTS.verdict(key, holds, str(log), effect=effect, shares=_stable_shares(of_log))


def _stable_shares(of_log: pd.DataFrame) -> str:
    return "; ".join(f"{row.load:g}: {row.stable:.0%}" for row in kit.rows(of_log))


def _flurries(key: str, flurry: pd.DataFrame) -> Iterator[Verdict]:
    worse = ("wait", "slowdown", "wait_99")
    for log, of_log in flurry.groupby("log", sort=False):
        judged = of_log[of_log["metric"].isin(worse)]
        steps = {
            row: kit.from_cells(row, "step", "step_low", "step_high", nb="pairs")
            for row in kit.rows(judged)
        }
        answers = {row: step.above(1) for row, step in steps.items()}
        several = judged["rate"].nunique() > 1
        holds = kit.all_hold(answers.values()) if several else None  # of one rate none is more
        largest = [row for row in steps if row.rate == judged["rate"].max()]
        ratios = "; ".join(f"{_named(row)} x {_ratio(row)}" for row in largest)
        effect = f"{largest[0].rate:g} a week: {ratios}, {largest[0].pairs} pairs"
        open_ = kit.deciding(answers) if several and not holds else []
        against = "; ".join(f"{_named(row)} up to {row.rate:g} x {steps[row]}" for row in open_)
        effect += f"; not clear step by step: {against}" if against else ""
        yield TEXTS.verdict(key, holds, str(log), effect=effect, numbers=effect)


def _visible(key: str, flurry: pd.DataFrame) -> Iterator[Verdict]:
    return _compare_with_none(key, flurry, BUSIEST_WEEK, lambda ratio: ratio.above(1))


def _fewer(key: str, flurry: pd.DataFrame) -> Iterator[Verdict]:
    return _compare_with_none(key, flurry, "throughput", lambda ratio: ratio.below(1))


def _compare_with_none(
    key: str, flurry: pd.DataFrame, metric: str, answer: Callable[[Interval], bool | None]
) -> Iterator[Verdict]:
    """Yield whether a metric's ratios to runs without flurries are as claimed, at each rate."""
    for log, of_log in flurry[flurry["metric"] == metric].groupby("log", sort=False):
        ratios = {row.rate: kit.from_cells(row, "ratio", nb="pairs") for row in kit.rows(of_log)}
        holds = kit.all_hold(map(answer, ratios.values()))
        numbers = "; ".join(f"{rate:g} a week x {of}, {of.nb} pairs" for rate, of in ratios.items())
        yield TEXTS.verdict(key, holds, str(log), effect=numbers, numbers=numbers)


def _named(row: Any) -> str:
    return FLURRY_METRICS[row.metric]


def _ratio(row: Any) -> str:
    return f"{row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})"
