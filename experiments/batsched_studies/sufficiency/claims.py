"""The claims of the study, from papers as far as available and from this study, with verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pandas as pd

from batsched_py.report import Verdict, kit
from batsched_py.report.kit import Interval, Runs
from batsched_studies.sufficiency import PUBLISHED, TEXTS
from batsched_studies.sufficiency import cases as c

TOLERANCE = 0.2
"""The relative distance from the line up to which a saving is called linear."""
Found = dict[str, Interval]
"""Intervals by lever or effort."""


def judge_claims(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which a log has runs."""
    reading = TEXTS["reading"].format(scarce=c.describe_scarcity(runs))
    for verdict in _verdicts(log, runs):
        yield msgspec.structs.replace(verdict, reading=reading)


def _verdicts(log: str, runs: Runs) -> Iterator[Verdict]:
    levers = [name for name in runs.labels("lever") if name in c.ORDER]
    full = {
        lever: kit.mean_interval(c.compute_savings(runs, c.OPEN, lever, 1.0, c.RED))
        for lever in levers
        if len(c.compute_savings(runs, c.OPEN, lever, 1.0, c.RED))
    }
    if full:
        yield _all("saves", log, full)
    yield from _linear(log, runs)
    for loop in c.LOOPS:
        if found := _after(runs, loop):
            yield _all("after", log, {c.DELAY: found}, users=c.NAMES[loop])
    for loop in c.REACTING:
        for where in (c.RED, c.ALL):
            yield from _rebounds(log, runs, loop, where, levers)
        asked = [lever for lever in levers if lever in c.LESS_WORK]
        own = {lever: lost for lever in asked if (lost := c.compute_regained(runs, loop, lever)).nb}
        if own:
            yield _all("rebound_own", log, own, users=c.NAMES[loop])


def _rebounds(
    log: str, runs: Runs, loop: str, where: str, levers: Sequence[str]
) -> Iterator[Verdict]:
    """Yield whether less is saved than in an open loop: by delays, and by each other lever."""
    asked = [lever for lever in levers if where == c.RED or lever in c.LESS_WORK]
    found = {
        lever: lost for lever in asked if (lost := c.compute_loss(runs, loop, lever, 1.0, where)).nb
    }
    values: dict[str, Any] = {"users": c.NAMES[loop]}
    if c.DELAY in found:
        yield _all("rebound_delay", log, {c.DELAY: found.pop(c.DELAY)}, **values)
    if found:
        yield _all(f"rebound_{where}", log, found, **values)


def _after(runs: Runs, loop: str) -> Interval | None:
    """Return how much more energy is used after red hours if all users delay jobs (per cent)."""
    after = c.compute_savings(runs, loop, c.DELAY, 1.0, c.AFTER)
    return kit.mean_interval(-after) if len(after) else None


def _linear(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield whether savings are proportional to the effort."""
    whole = c.compute_savings(runs, c.OPEN, c.MIXED, 1.0, c.RED)
    by_probability = {
        100 * part: c.compute_savings(runs, c.OPEN, lever, 1.0, c.RED)
        for lever, part in c.EFFORTS.items()
    }
    by_share = {
        100 * share: c.compute_savings(runs, c.OPEN, c.MIXED, share, c.RED)
        for share in runs.where(lever=c.MIXED).labels("share")
    }
    for key, savings in (("linear", by_probability), ("linear_share", by_share)):
        parts = {part: of for part, of in savings.items() if part < 100 and len(of)}
        if parts and len(whole):
            ratios = {f"{part:.0f} %": _on_the_line(of, whole, part) for part, of in parts.items()}
            yield _all(key, log, ratios, near=True, published=PUBLISHED["ict4s"]["claim"])


def _on_the_line(part: pd.Series[float], whole: pd.Series[float], effort: float) -> Interval:
    """Return how far a saving is from its share of the whole saving, relative to this share.

    Unknown if the saving of the whole effort is inconclusive.
    """
    return c.map_ratio(*kit.paired(part, whole * effort / 100), lambda ratio: ratio - 1)


def _all(key: str, log: str, found: Found, *, near: bool = False, **values: Any) -> Verdict:
    """Return the verdict that all changes are above 0 or, with ``near``, close to it.

    It is inconclusive if one of the changes is. The effect is the deciding change that speaks most
    against the claim.
    """
    answers = {
        name: change.within(-TOLERANCE, TOLERANCE) if near else change.above(0)
        for name, change in found.items()
    }
    shown = "; ".join(f"{name} {change}" for name, change in found.items())
    further = "".join(
        f" {word}: {kit.listed(names)}."
        for word, what in (("Not", False), ("Undecided", None))
        if (names := [name for name in answers if answers[name] is what])
    )
    against = {name: abs(of.value) if near else -of.value for name, of in found.items()}
    least = max(kit.deciding(answers), key=against.__getitem__)
    of, among = found[least], f", which decides of {len(found)}" if len(found) > 1 else ""
    return TEXTS.verdict(
        key,
        kit.all_hold(answers.values()),
        log,
        effect=f"{least}{among}: {of}, n = {of.nb}",
        found=shown + "." + (further if len(found) > 1 else ""),
        n=of.nb,
        **values,
    )
