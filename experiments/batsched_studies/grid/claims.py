"""The verdicts on the claims of the thesis.

Most claims are rules (:mod:`batsched_studies.grid.rules`); the others are about whole tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from batsched_py.report import Verdict
from batsched_py.report.kit import Runs
from batsched_studies.grid import PUBLISHED, TEXTS
from batsched_studies.grid.cases import DOCUMENTED, WEIGHTS, change, find_crossing, list_workloads
from batsched_studies.grid.rules import Rule, compute_values, is_met, list_rules, select_judged
from batsched_studies.grid.tables import compute_misfit, list_adaptive_misfits, list_cells


def judge_claims(runs: Runs) -> Iterator[Verdict]:
    """Yield a verdict on each claim for which the campaign has runs."""
    documented = runs.where(reading=DOCUMENTED)
    yield from _tables(documented)
    for rule in list_rules():
        if verdict := judge_rule(documented, rule):
            yield verdict
    yield from _equal_sizes(documented)
    yield from _whole(documented)
    yield from _best_bounds(documented)


def judge_rule(runs: Runs, rule: Rule) -> Verdict | None:
    """Return the verdict on a claim that ``published.toml`` states as a rule; None without runs."""
    of_rule = {name: compute_values(runs, rule, name) for name in rule["quantities"]}
    if not of_rule[rule["quantities"][0]]:
        return None
    unit, how = rule.get("unit", "%"), rule.get("judged", "each")
    shown = []
    for quantity, by_workload in of_rule.items():
        weight = f"{WEIGHTS[quantity]}: " if quantity in WEIGHTS else ""
        numbers = [f"{name} {_number(value, rule)}" for name, value in by_workload.items()]
        of_mean = select_judged(rule, by_workload) if how != "each" else []
        average = f"; mean {_number(fmean(of_mean), rule)}" if of_mean else ""
        shown.append(f"{weight}{', '.join(numbers)}{average}")
    bounds = [f"at {end} {rule[end]:g}" for end in ("least", "most") if end in rule]
    texts: dict[str, Any] = {"claim": rule["claim"], "about": rule["about"], "unit": unit}
    texts |= {"values": f" {unit}; ".join(shown), "bounds": " and ".join(bounds)}
    over = {"each": "each workload", "mean": "their mean", "recorded": "the recorded ones' mean"}[
        how
    ]
    first = rule["quantities"][0]
    paper, held = rule["paper"], is_met(rule, of_rule[first])
    reading = f"{paper}; {WEIGHTS[first]}" if first in WEIGHTS else paper
    return TEXTS.verdict("rule", held, **texts, judged=over, paper=paper, reading=reading)


def _number(value: float, rule: Rule) -> str:
    return f"{value:{rule.get('digits', '+.0f')}}"


def _tables(runs: Runs) -> Iterator[Verdict]:
    """Yield whether tables 7.3, 7.4 and 7.6 are reproduced."""
    for key, limit in (("count", 10.0), ("share", 3.0)):
        recorded, synthetic = (
            list_cells(runs, key, synthetic=synthetic) for synthetic in (False, True)
        )
        if len(recorded) < PUBLISHED["cells"]["recorded"]:
            continue
        fit = compute_misfit(recorded, key)
        syn = compute_misfit(synthetic, key).text if synthetic else "not run"
        texts: dict[str, Any] = {"text": fit.text, "cells": len(recorded), "syn": syn}
        yield TEXTS.verdict(f"table_{key}", fit.rms <= limit, **texts)
    if fits := dict(list_adaptive_misfits(runs)):
        shown = (f"{workload} {fit.text}" for workload, fit in fits.items())
        nearest = min(fit.rms for fit in fits.values())
        yield TEXTS.verdict("table7_6", nearest <= 10, fits="; ".join(shown))
    yield from _growth(runs)


def _growth(runs: Runs) -> Iterator[Verdict]:
    """Yield whether multi-site jobs and their share grow with the overhead."""
    growth: dict[str, list[float]] = {}
    for workload in list_workloads(runs, "org"):
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
    for workload in list_workloads(of_grid, "max64"):
        of_workload = of_grid.where(workload=workload)
        multi, shared = (of_workload.where(scenario=name) for name in ("multi_site", "sharing"))
        at = find_crossing(multi, shared, "W")
        if at is not None:
            found[workload] = at
    return found


def _whole(runs: Runs) -> Iterator[Verdict]:
    """Yield whether AWRT is much larger if wide jobs are not split before they are submitted."""
    multi = runs.where(sites="m128", scenario="multi_site", adaptive=False)
    changes: dict[str, dict[str, float]] = {"W": {}, "RC": {}}
    for split in list_workloads(multi, "max128"):
        whole = split.removesuffix("max128") + "org"
        of_whole, of_split = (multi.where(workload=name).by("p") for name in (whole, split))
        for name, by_workload in changes.items():
            both = (change(of_whole[p], of_split[p], name) for p in of_whole if p in of_split)
            if values := [value for value in both if value is not None]:
                by_workload[whole] = fmean(values)
    if changes["W"]:
        shown: dict[str, Any] = {
            name: ", ".join(f"{workload} {value:+.0f}" for workload, value in of.items())
            for name, of in changes.items()
        }
        yield TEXTS.verdict("whole", max(changes["W"].values()) <= 10, **shown)


def _best_bounds(runs: Runs) -> Iterator[Verdict]:
    """Yield whether half of the largest machine is the best lower bound."""
    best = {}
    for sites, half in PUBLISHED["half_of_the_largest"].items():
        of_grid = runs.where(sites=sites, scenario="multi_site", adaptive=False, p=120)
        of_grid = of_grid.where(fragments="unlimited")
        means: dict[int, list[float]] = {}
        for workload in list_workloads(of_grid, "org"):
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
