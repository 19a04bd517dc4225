"""Claims that ``published.toml`` states as rules: quantities to compare, and their bounds.

A rule of ``changes`` is about the AWRT of ``ours`` against ``base``, one of ``levels`` about a
quantity itself, and one of ``crossings`` about the overhead up to which ``ours`` is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import inf, prod
from statistics import fmean
from typing import Any

from batsched_py.report.kit import Runs
from batsched_studies.grid import PUBLISHED
from batsched_studies.grid import cases as c

Rule = Mapping[str, Any]
ENOUGH = 0.5
"""The share of a rule's cases that must have been run to average them."""


def list_rules() -> Iterator[Rule]:
    """Yield the rules of ``published.toml``, each with its kind."""
    for kind in _KINDS:
        yield from ({**rule, "kind": kind} for rule in PUBLISHED[kind])


def compute_values(
    runs: Runs, rule: Rule, quantity: str, reading: str = c.DOCUMENTED
) -> dict[str, float]:
    """Return the value that a rule bounds for each workload with runs.

    If ``reading`` has no runs of job sharing or of one machine, those as documented are used.
    """
    found = {}
    chosen = [name for kind in rule["kinds"] for name in c.list_workloads(runs, kind)]
    for workload in chosen:
        of_workload = runs.where(workload=workload)
        value = _KINDS[rule["kind"]](of_workload, rule, quantity, reading)
        if value is not None and workload not in rule.get("without", ()):
            found[workload] = value
    return found


def select_judged(rule: Rule, by_workload: Mapping[str, float]) -> list[float]:
    """Return the values to judge: all values, or those of recorded workloads."""
    left_out = c.SYNTHETIC if rule.get("judged") == "recorded" else ()
    return [v for name, v in by_workload.items() if name not in left_out]


def is_met(rule: Rule, by_workload: Mapping[str, float]) -> bool | None:
    """Return whether the values, or their mean, are within a rule's bounds; None without values."""
    of_each = select_judged(rule, by_workload)
    if not of_each:
        return None
    compared = of_each if rule.get("judged", "each") == "each" else [fmean(of_each)]
    least, most = rule.get("least", -inf), rule.get("most", inf)
    return all(least <= value <= most for value in compared)


def _change(runs: Runs, rule: Rule, quantity: str, reading: str) -> float | None:
    """Return the change in per cent, on average over ``p``, or the largest change.

    If a side has a label with several values, the one with the least AWRT is taken.
    """
    changes = []
    overheads = [{"p": p} for p in rule["p"]] if "p" in rule else [{}]
    for of_p in overheads:
        ours = _best(_sides(runs, {**of_p, **rule["ours"]}, reading), quantity)
        base = _best(_base(runs, {**of_p, **rule["base"]}, reading), quantity) if ours else None
        value = c.change(ours, base, quantity) if ours and base else None
        changes += [] if value is None else [value]
    if len(changes) < ENOUGH * len(overheads):
        return None
    return max(changes) if rule.get("of") == "largest" else fmean(changes)


def _level(runs: Runs, rule: Rule, quantity: str, reading: str) -> float | None:
    """Return a quantity on average over ``p`` and all values of the labels, or the least value."""
    labels = {**({"p": rule["p"]} if "p" in rule else {}), **rule["ours"]}
    levels = [c.mean(side, quantity) for side in _sides(runs, labels, reading)]
    asked = prod(len(value) for value in labels.values() if isinstance(value, list))
    if not levels or len(levels) < ENOUGH * asked:
        return None
    return min(levels) if rule.get("of") == "least" else fmean(levels)


def _crossing(runs: Runs, rule: Rule, quantity: str, reading: str) -> float | None:
    ours = runs.where(**rule["ours"], reading=reading)
    base = next(_base(runs, rule["base"], reading), None)
    return c.find_crossing(ours, base, quantity) if base else None


_KINDS = {"changes": _change, "levels": _level, "crossings": _crossing}


def _sides(runs: Runs, labels: Rule, reading: str) -> Iterator[Runs]:
    """Yield the runs with these labels; a label with several values stands for each of them."""
    several = {name: value for name, value in labels.items() if isinstance(value, list)}
    plain = {name: value for name, value in labels.items() if name not in several}
    narrowed = runs.where(reading=reading, **plain)
    for combination in product(*several.values()) if narrowed else ():
        side = narrowed.where(**dict(zip(several, combination, strict=True)))
        if side:
            yield side


def _base(runs: Runs, labels: Rule, reading: str) -> Iterator[Runs]:
    """Yield the runs with these labels; for job sharing those as documented if there are none."""
    there = list(_sides(runs, labels, reading))
    if not there and labels.get("scenario") == "sharing":
        there = list(_sides(runs, labels, c.DOCUMENTED))
    yield from there


def _best(sides: Iterable[Runs], quantity: str) -> Runs | None:
    return min(sides, key=lambda side: c.mean(side, quantity), default=None)
