"""The claims of the thesis, and what the runs say of each.

Most are rules in ``published.toml``: what is compared with what, in which workloads, and within
which bounds a claim holds. The others are about whole tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from statistics import fmean
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Runs
from batsched_studies.grid import PUBLISHED, TEXTS
from batsched_studies.grid.cases import DOCUMENTED, WEIGHTS, change, mean, workloads
from batsched_studies.grid.tables import adaptive_misfits, beside_tables, crossing, misfit

Rule = Mapping[str, Any]
"""A rule of ``published.toml``: its claim, what is compared, and within which bounds it holds."""


def verdicts(runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict for each claim that there are runs for."""
    runs = runs.where(reading=DOCUMENTED)
    yield from _tables(runs)
    for rule in PUBLISHED["changes"]:
        yield from _of_rule(rule, {w: _changes(runs, rule, w) for w in rule["quantities"]})
    for rule in PUBLISHED["levels"]:
        yield from _of_rule(rule, {w: _levels(runs, rule, w) for w in rule["quantities"]})
    for rule in PUBLISHED["crossings"]:
        yield from _of_rule(rule, {w: _crossings(runs, rule, w) for w in rule["quantities"]})
    yield from _equal_sizes(runs)
    yield from _best_bounds(runs)


def _of_rule(rule: Rule, values: Mapping[str, Mapping[str, float]]) -> Iterator[Verdict]:
    """Yield the verdict on a claim by the values of the first quantity; all are told."""
    judged = next(iter(values.values()))
    if not judged:
        return
    least, most = rule.get("least", float("-inf")), rule.get("most", float("inf"))
    how = rule.get("judged", "each")
    of_each = {"each": judged.values(), "mean": [fmean(judged.values())]}[how]
    holds = all(least <= value <= most for value in of_each)
    unit = rule.get("unit", "%")
    told = []
    for quantity, by_workload in values.items():
        weight = f"{WEIGHTS[quantity]}: " if quantity in WEIGHTS else ""
        numbers = [f"{name} {_number(value, rule)}" for name, value in by_workload.items()]
        average = f"; mean {_number(fmean(by_workload.values()), rule)}" if how == "mean" else ""
        told.append(f"{weight}{', '.join(numbers)}{average}")
    texts = {"claim": rule["claim"], "about": rule["about"], "values": f" {unit}. ".join(told)}
    bounds = [f"at least {least:g}"] * (least > float("-inf"))
    bounds += [f"at most {most:g}"] * (most < float("inf"))
    texts |= {"unit": unit, "bounds": " and ".join(bounds), "how": how, "paper": rule["paper"]}
    yield TEXTS.verdict("rule", holds, **texts)


def _number(value: float, rule: Rule) -> str:
    return f"{value:{rule.get('digits', '+.0f')}}"


def _sides(runs: Runs, labels: Rule, of_p: Rule) -> Iterator[Runs]:
    """Yield the runs with these labels; a label with several values stands for each of them."""
    asked = {**of_p, **labels}
    choices = {name: v if isinstance(v, list) else [v] for name, v in asked.items()}
    for combination in product(*choices.values()):
        yield runs.where(**dict(zip(choices, combination, strict=True)))


def _changes(runs: Runs, rule: Rule, quantity: str) -> dict[str, float]:
    """Return the change by workload, per cent, in the mean over ``p``.

    Where a side has a label with several values it is the best of these: that of the least AWRT.
    """
    changes = {}
    for workload in _workloads(runs, rule):
        of_workload = runs.where(workload=workload)
        values = []
        for p in rule.get("p", [None]):
            of_p = {} if p is None else {"p": p}
            ours, base = (
                _best(_sides(of_workload, rule[side], of_p), quantity) for side in ("ours", "base")
            )
            value = change(ours, base, quantity) if ours and base else None
            values += [] if value is None else [value]
        if values:
            changes[workload] = fmean(values)
    return changes


def _best(sides: Iterable[Runs], quantity: str) -> Runs | None:
    return min((side for side in sides if side), key=lambda s: mean(s, quantity), default=None)


def _levels(runs: Runs, rule: Rule, quantity: str) -> dict[str, float]:
    """Return a quantity by workload, in the mean over ``p`` and all that the labels stand for."""
    levels = {}
    for workload in _workloads(runs, rule):
        of_workload = runs.where(workload=workload)
        of_p = {"p": rule["p"]} if "p" in rule else {}
        sides = (side for side in _sides(of_workload, rule["ours"], of_p) if side)
        values = [mean(side, quantity) for side in sides]
        if values:
            levels[workload] = min(values) if rule.get("of") == "least" else fmean(values)
    return levels


def _crossings(runs: Runs, rule: Rule, quantity: str) -> dict[str, float]:
    """Return up to which overhead ``ours`` is better than ``base``, by workload; per cent."""
    found = {}
    for workload in _workloads(runs, rule):
        of_workload = runs.where(workload=workload)
        ours, base = (of_workload.where(**rule[side]) for side in ("ours", "base"))
        at = crossing(ours, base, quantity)
        if at is not None:
            found[workload] = at
    return found


def _workloads(runs: Runs, rule: Rule) -> list[str]:
    chosen = [name for kind in rule["kinds"] for name in workloads(runs, kind)]
    return [name for name in chosen if name not in rule.get("without", ())]


def _tables(runs: Runs) -> Iterator[Verdict]:
    """Yield whether tables 7.3, 7.4 and 7.6 come out."""
    for key, limit in (("count", 10.0), ("share", 3.0)):
        recorded, made_up = (beside_tables(runs, key, made_up=made_up) for made_up in (False, True))
        if not recorded:
            continue
        fit = misfit(recorded, key)
        syn = misfit(made_up, key).text if made_up else "not run"
        texts: dict[str, Any] = {"text": fit.text, "cells": len(recorded), "syn": syn}
        yield TEXTS.verdict(f"table_{key}", fit.rms <= limit, **texts)
    if fits := dict(adaptive_misfits(runs)):
        shown = (f"{workload} {fit.text}" for workload, fit in fits.items())
        nearest = min(fit.rms for fit in fits.values())
        yield TEXTS.verdict("table7_6", nearest <= 10, fits="; ".join(shown))
    yield from _growth(runs)


def _growth(runs: Runs) -> Iterator[Verdict]:
    """Yield whether multi-site jobs and their share grow with the overhead."""
    growth: dict[str, list[float]] = {}
    for workload in workloads(runs, "org"):
        of_grid = runs.where(workload=workload, sites="m128", scenario="multi_site", adaptive=False)
        least, most = (of_grid.where(p=p) for p in (0, 60))
        grown = [change(most, least, key) for key in ("count", "share")]
        growth[workload] = [value for value in grown if value is not None]
    growth = {workload: grown for workload, grown in growth.items() if grown}
    if growth:
        holds = all(jobs >= 30 and share >= 50 for jobs, share in growth.values())
        shown = (f"{name} {jobs:+.0f} and {share:+.0f} %" for name, (jobs, share) in growth.items())
        yield TEXTS.verdict("growth", holds, growth=", ".join(shown))


def _equal_sizes(runs: Runs) -> Iterator[Verdict]:
    """Yield whether multi-site pays up to a larger overhead where machines are of equal size."""
    pairs = {}
    for equal, other in PUBLISHED["equal_sizes"].items():
        at = [_tolerated(runs, sites) for sites in (equal, other)]
        if all(at):
            pairs[equal, other] = [fmean(by_workload.values()) for by_workload in at]
    if pairs:
        holds = all(equal > other for equal, other in pairs.values())
        shown = (
            f"{names[0]} {equal:.0f} %, {names[1]} {other:.0f} %"
            for names, (equal, other) in pairs.items()
        )
        yield TEXTS.verdict("equal_sizes", holds, pairs="; ".join(shown))


def _tolerated(runs: Runs, sites: str) -> dict[str, float]:
    """Return up to which overhead multi-site is better than job sharing, by workload."""
    of_grid = runs.where(sites=sites, adaptive=False, lower_bound=0)
    found = {}
    for workload in workloads(of_grid, "org"):
        of_workload = of_grid.where(workload=workload)
        multi, shared = (of_workload.where(scenario=name) for name in ("multi_site", "sharing"))
        at = crossing(multi, shared, "W")
        if at is not None:
            found[workload] = at
    return found


def _best_bounds(runs: Runs) -> Iterator[Verdict]:
    """Yield whether half of the largest machine is the best lower bound."""
    best = {}
    for sites, half in PUBLISHED["half_of_the_largest"].items():
        of_grid = runs.where(sites=sites, scenario="multi_site", adaptive=False, p=120)
        of_grid = of_grid.where(fragments="unlimited")
        means: dict[int, list[float]] = {}
        for workload in workloads(of_grid, "org"):
            of_workload = of_grid.where(workload=workload)
            without = of_workload.where(lower_bound=0)
            for bound, of_bound in of_workload.by("lower_bound").items():
                value = change(of_bound, without, "RC")
                if value is not None:
                    means.setdefault(bound, []).append(value)
        changes = {bound: fmean(values) for bound, values in means.items()}
        if half in changes:
            best[sites] = (min(changes, key=lambda bound: changes[bound]), half, changes)
    if not best:
        return
    shown = (
        f"{sites}: {', '.join(f'{bound} {value:+.0f} %' for bound, value in changes.items())}"
        for sites, (_, _, changes) in best.items()
    )
    holds = all(bound == half for bound, half, _ in best.values())
    yield TEXTS.verdict("half", holds, bounds="; ".join(shown))
