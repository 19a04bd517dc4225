"""The claims of the study, with verdicts.

A claim about two policies is judged by the 95 % interval over draws that both have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.report import Verdict, kit
from batsched_py.report.kit import Interval, Runs
from batsched_studies.impatience import PUBLISHED, TEXTS
from batsched_studies.impatience import cases as c

DRIFT = 0.4
"""Habits of users drift by up to this part between two halves of a log."""


def judge_claims(log: str, runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which a log has runs."""
    for loop in c.LOOPS:
        for ours, base in c.PAIRS:
            for quantity in (c.WORK, c.WAIT):
                yield from _ranks_alike(log, runs, loop, ours, base, quantity)
        yield from _advantages(log, runs, loop)
    yield from _misleading(log, runs)
    yield from _as_recorded(log, runs)


def _ranks_alike(
    log: str, runs: Runs, loop: str, ours: str, base: str, quantity: str
) -> Iterator[Verdict]:
    """Judge whether the same one of two policies is better for every kind of users.

    It is if all differences are clear and have the same sign, and it is not if two are clear and
    have different signs.
    """
    found = {
        patience: change
        for patience in c.KINDS
        if (change := c.compare(runs, loop, patience, ours, base, quantity)).nb
    }
    patient = found.pop(c.PATIENT, None)
    if patient is None or not found:
        return
    answers = {patience: _same_sign(change, patient) for patience, change in found.items()}
    sign = -1 if patient.value > 0 else 1
    against = max(kit.deciding(answers), key=lambda patience: sign * found[patience].value)
    texts = [f"{name} {change}" for name, change in {c.PATIENT: patient, **found}.items()]
    unit = "points" if quantity == c.WORK else "h"
    yield TEXTS.verdict(
        quantity,
        kit.all_hold(answers.values()),
        log,
        effect=f"{against}: {found[against]} {unit}, n = {found[against].nb}",
        ours=c.NAMES[ours],
        base=c.NAMES[base],
        loop=c.LOOPS[loop],
        found="; ".join(texts),
    )


def _same_sign(change: Interval, patient: Interval) -> bool | None:
    """Return whether two changes are both positive or both negative, None if one is unclear."""
    if not (change.is_clear and patient.is_clear):
        return None
    return (change.value > 0) == (patient.value > 0)


def _advantages(log: str, runs: Runs, loop: str) -> Iterator[Verdict]:
    """Judge whether EASY's advantages over FCFS are smaller than with patient users."""
    for patience in c.KINDS[1:]:
        values: dict[str, Any] = {"users": patience, "loop": c.LOOPS[loop]}
        ours, base = (c.compute_leads(runs, loop, kind) for kind in (patience, c.PATIENT))
        more = kit.paired_difference(*kit.paired(ours, base))
        if not more.nb:
            continue
        values |= {"before": base.mean(), "after": ours.mean()}
        effect = f"{more} points, n = {more.nb}"
        yield TEXTS.verdict("lead", more.below(0), log, effect=effect, **values)
        ours, base = (c.compute_wait_ratios(runs, loop, kind) for kind in (patience, c.PATIENT))
        ratio = kit.paired_ratio(*kit.paired(ours, base))
        values |= {"before": base.mean(), "after": ours.mean()}
        effect = f"{ratio}, n = {ratio.nb}"
        yield TEXTS.verdict("advantage", ratio.below(1), log, effect=effect, **values)


def _misleading(log: str, runs: Runs) -> Iterator[Verdict]:
    """Judge whether mean waits of served jobs alone would mislead."""
    for loop in c.LOOPS:
        fcfs = c.select(runs, loop, c.THREE_TIMES, c.FCFS)
        easy = c.select(runs, loop, c.IMPATIENT, c.EASY)
        change = kit.paired_difference(*kit.paired(fcfs.values("served"), easy.values("served")))
        if change.nb:
            yield TEXTS.verdict(
                "misleading",
                change.below(0),
                log,
                effect=f"{change} h, n = {change.nb}",
                loop=c.LOOPS[loop],
                fcfs=fcfs.mean(c.JOBS).value,
                easy=easy.mean(c.JOBS).value,
            )


def _as_recorded(log: str, runs: Runs) -> Iterator[Verdict]:
    """Judge whether impatient users give up as much as recorded, as far as habits are stable."""
    recorded = kit.find_published(PUBLISHED, "recorded", log)
    easy = c.select(runs, c.RIGID, c.IMPATIENT, c.EASY)
    if recorded is None or not easy:
        return
    for quantity in (c.JOBS, c.REQUESTED):
        ours, theirs = easy.mean(quantity), recorded[quantity]
        yield TEXTS.verdict(
            f"recorded_{quantity}",
            _is_near(ours, theirs),
            log,
            effect=f"{ours} %, n = {ours.nb}",
            recorded=theirs,
        )


def _is_near(ours: Interval, recorded: float) -> bool | None:
    return ours.within((1 - DRIFT) * recorded, (1 + DRIFT) * recorded)
