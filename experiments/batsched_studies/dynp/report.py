"""The report of the study: the thesis's tables beside ours, figures, and its claims.

A campaign calls :func:`report` of this file; any of the study's campaign files will do: what was
not run is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from batsched_py.report import Report
from batsched_py.report.kit import SEED, Runs
from batsched_studies.dynp import (
    PUBLISHED,
    TEXTS,
    claims,
    extension,
    figures,
    layout,
    tables,
)
from batsched_studies.dynp.load import Load, load_parts, read_loads
from batsched_studies.dynp.measures import Measured, read_runs


def report(results: Any) -> Report:
    """Return the tables, figures and verdicts that the runs of a campaign allow."""
    runs, loads, longer = [], [], []
    if len(results.runs):
        runs, longer = list(read_runs(results)), extension.read_extensions(results)
        loads = [] if longer else read_loads(results)
    values, counted = tables.build(runs), tables.cases(runs)
    parts = (
        *layout.parts(values, counted),
        *load_parts(loads),
        (PUBLISHED["sections"]["extension"], extension.tables(longer)),
        ("Figures", figures.figures(runs, loads)),
    )
    summary = TEXTS["summary"] + "\n\n" + "\n".join(_compared(runs, loads, longer))
    judged = chain(claims.verdicts(runs, loads), extension.verdicts(longer))
    return TEXTS.report(parts, judged, summary)


def _compared(
    runs: list[Measured], loads: list[Load], longer: list[tuple[str, Runs]]
) -> Iterator[str]:
    """Yield what each log is compared with, as items of a list."""
    yield from dict.fromkeys(f"- {compared(run)}" for run in runs)
    for log, of_log in longer:
        yield f"- {log}: {len(of_log.labels(SEED))} synthetic job sets, as drawn and longer."
    for load in loads:
        cases = load.runs.groups("policy", "slackness", "shrink")
        sets = max(len(of_case.labels(SEED)) for _, of_case in cases)
        as_thesis = f"the thesis's {load.trace}" if load.trace else "not those of the thesis"
        yield f"- {load.log}: up to {sets} synthetic job sets; {as_thesis}."


def compared(run: Measured) -> str:
    """Return a sentence on what a run is compared with."""
    trace = run.trace or PUBLISHED["logs"].get(run.log)
    thesis = PUBLISHED["traces"].get(trace, {})
    key = "compared" if run.trace else "no_such_log"
    if not run.trace and thesis.get("nodes", run.nodes) != run.nodes:
        key = "other_nodes"
    return TEXTS["run"].format(run=run) + TEXTS[key].format(trace=trace, thesis=thesis)
