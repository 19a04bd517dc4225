"""Claims as rules of ``published.toml``: what is compared with what, and within which bounds.

A rule of ``changes`` is about the AWRT of ``ours`` against ``base``, one of ``levels`` about a
quantity itself, and one of ``crossings`` about the overhead up to which ``ours`` is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import inf
from statistics import fmean
from typing import Any

from batsched_py.report.kit import Runs
from batsched_studies.grid import PUBLISHED
from batsched_studies.grid.cases import DOCUMENTED, change, crossing, mean, workloads

Rule = Mapping[str, Any]


def rules() -> Iterator[Rule]:
    """Yield all rules."""
    for kind in _KINDS:
        yield from ({**rule, "kind": kind} for rule in PUBLISHED[kind])


def values(runs: Runs, rule: Rule, quantity: str, reading: str = DOCUMENTED) -> dict[str, float]:
    """Return what a rule is about, by workload; only where there are runs for it.

    Where a reading was not run for ``base``, what it is compared with is documented.
    """
    found = {}
    chosen = [name for kind in rule["kinds"] for name in workloads(runs, kind)]
    for workload in chosen:
        of_workload = runs.where(workload=workload)
        value = _KINDS[rule["kind"]](of_workload, rule, quantity, reading)
        if value is not None and workload not in rule.get("without", ()):
            found[workload] = value
    return found


def holds(rule: Rule, by_workload: Mapping[str, float]) -> bool:
    """Tell whether each of the values, or their mean, is within the bounds of the rule."""
    judged: Iterable[float] = by_workload.values()
    if rule.get("judged") == "mean":
        judged = [fmean(judged)]
    least, most = rule.get("least", -inf), rule.get("most", inf)
    return all(least <= value <= most for value in judged)


def _change(runs: Runs, rule: Rule, quantity: str, reading: str) -> float | None:
    """Return the change in per cent, in the mean over ``p``.

    Where a side has a label with several values it is the best of these: that of the least AWRT.
    """
    changes = []
    for p in rule.get("p", [None]):
        of_p = {} if p is None else {"p": p}
        ours = _best(_sides(runs, rule["ours"], of_p, reading), quantity)
        base = _best(_sides(runs, rule["base"], of_p, reading), quantity) or _best(
            _sides(runs, rule["base"], of_p, DOCUMENTED), quantity
        )
        value = change(ours, base, quantity) if ours and base else None
        changes += [] if value is None else [value]
    return fmean(changes) if changes else None


def _level(runs: Runs, rule: Rule, quantity: str, reading: str) -> float | None:
    """Return a quantity in the mean over ``p`` and all that the labels stand for, or the least."""
    of_p = {"p": rule["p"]} if "p" in rule else {}
    levels = [mean(side, quantity) for side in _sides(runs, rule["ours"], of_p, reading) if side]
    if not levels:
        return None
    return min(levels) if rule.get("of") == "least" else fmean(levels)


def _crossing(runs: Runs, rule: Rule, quantity: str, reading: str) -> float | None:
    ours = runs.where(**rule["ours"], reading=reading)
    base = runs.where(**rule["base"], reading=reading)
    return crossing(ours, base or runs.where(**rule["base"], reading=DOCUMENTED), quantity)


_KINDS = {"changes": _change, "levels": _level, "crossings": _crossing}


def _sides(runs: Runs, labels: Rule, of_p: Rule, reading: str) -> Iterator[Runs]:
    """Yield the runs with these labels; a label with several values stands for each of them."""
    asked = {"reading": reading, **of_p, **labels}
    choices = {name: v if isinstance(v, list) else [v] for name, v in asked.items()}
    for combination in product(*choices.values()):
        yield runs.where(**dict(zip(choices, combination, strict=True)))


def _best(sides: Iterable[Runs], quantity: str) -> Runs | None:
    return min((side for side in sides if side), key=lambda s: mean(s, quantity), default=None)
