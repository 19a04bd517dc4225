"""The report of the study, for all of its campaign files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import msgspec
import pandas as pd

from batsched_py.report import CampaignResults, Figure, Report, Table, kit
from batsched_py.report.kit import Runs
from batsched_py.support import palette
from batsched_studies.impatience import PUBLISHED, TEXTS
from batsched_studies.impatience import cases as c
from batsched_studies.impatience.claims import judge_claims


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    logs = c.read(results.runs)
    summary = TEXTS["summary"].format(runs=len(results.runs))
    made = TEXTS.report_by_log(logs, _parts, judge_claims, summary, results.title)
    return msgspec.structs.replace(made, cautions=tuple(_cautions(logs)))


def _cautions(logs: Mapping[str, Runs]) -> Iterator[str]:
    """Yield which cases are saturated, so that their waits depend on the length of the log."""
    for log, runs in logs.items():
        cases = list(c.find_cases(runs))
        names = [
            f"{c.NAMES[case.policy]}, {case.patience}, {case.loop}"
            for case in cases
            if case.nb_saturated
        ]
        if names:
            shown = "all" if len(names) == len(cases) else "; ".join(names)
            yield TEXTS["saturated"].format(log=log, cases=shown)


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    yield draw_policies(log, runs)
    rows = {"cases": _cases(runs), "pairs": _pairs(runs), "pilot": _pilot(log, runs)}
    yield from TEXTS.tables(log, rows)


def _cases(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield shares given up, work done and waits of each policy and kind of users."""
    for case in c.find_cases(runs):
        row: dict[str, Any] = {"loop": case.loop, "users": case.patience, "policy": case.policy}
        row |= {"runs": len(case.runs), "saturated": case.nb_saturated}
        for name in c.SHOWN:
            row |= kit.cells(case.runs.mean(name), name, f"{name}_low", f"{name}_high")
        yield row


def _pairs(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the differences between policies, draw by draw."""
    for loop in c.LOOPS:
        for patience in c.KINDS:
            for ours, base in c.PAIRS:
                work, wait = (
                    c.compare(runs, loop, patience, ours, base, quantity)
                    for quantity in (c.WORK, c.WAIT)
                )
                if not work.nb:
                    continue
                row: dict[str, Any] = {"loop": loop, "users": patience, "ours": ours, "base": base}
                row |= kit.cells(work, "work", "work_low", "work_high", nb="n")
                row |= kit.cells(wait, "wait", "wait_low", "wait_high")
                sides = (c.select(runs, loop, patience, policy) for policy in (ours, base))
                ratio = next(sides).ratio(c.WAIT, next(sides))
                yield row | kit.cells(ratio, "ratio", "ratio_low", "ratio_high")


_OF_PILOT = (c.JOBS, c.REQUESTED, c.WAIT, "served", "of_all")


def _pilot(log: str, runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the cases of the pilot, with its numbers."""
    for case in c.find_cases(runs):
        theirs = kit.find_published(PUBLISHED, "pilot", log, case.patience, case.policy)
        if case.loop == c.RIGID and theirs is not None:
            row: dict[str, Any] = {"users": case.patience, "policy": case.policy}
            row["clock"] = case.runs.options("user_options").get("clock", "user")
            for name in _OF_PILOT:
                row |= {name: case.runs.mean(name).value, f"{name}_pilot": theirs[name]}
            yield row


_COLOURS = dict(zip(c.POLICIES, (palette.ORANGE, palette.BLUE, palette.GREEN), strict=True))
_SHAPES = dict(zip(c.KINDS, ("circle", "square", "triangle-up", "diamond"), strict=True))


def draw_policies(log: str, runs: Runs) -> Figure | None:
    """Draw wait against work done for each policy and kind of users; None without runs."""
    rows = [
        {"loop": c.LOOPS[case.loop], "users": case.patience, "policy": case.policy}
        | {name: case.runs.mean(name).value for name in (c.WORK, c.WAIT, c.JOBS, c.REQUESTED)}
        for case in c.find_cases(runs)
    ]
    frame = pd.DataFrame(rows)
    if not rows or frame[[c.WORK, c.WAIT]].isna().all(axis=None):
        return None
    loops, policies, kinds = (list(frame[name].unique()) for name in ("loop", "policy", "users"))
    work = alt.Scale(zero=False, padding=15)
    wait = alt.Scale(type="log", nice=False, padding=15)
    titles = {quantity.name: quantity.title for quantity in c.QUANTITIES}
    numbers = kit.numbers(c.WORK, c.WAIT, c.JOBS, c.REQUESTED, digits=".3g")
    points = alt.Chart(frame).mark_point(filled=True, size=80, opacity=1)
    points = points.encode(
        x=alt.X(f"{c.WORK}:Q", title=titles[c.WORK], scale=work),
        y=alt.Y(f"{c.WAIT}:Q", title=titles[c.WAIT], scale=wait),
        color=alt.Color("policy:N", title=None, scale=kit.scale_of(_COLOURS, policies)),
        shape=alt.Shape("users:N", title=None, scale=kit.scale_of(_SHAPES, kinds)),
        tooltip=["policy:N", "users:N", "loop:N", *numbers],
    )
    panels = alt.Facet("loop:N", title=None, sort=loops)
    chart = points.properties(width=300, height=260).facet(facet=panels, columns=len(loops))
    return TEXTS.figure("policies", chart, kit.slug("figure_policies", log), log=log)
