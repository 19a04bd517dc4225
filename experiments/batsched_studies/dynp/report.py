"""The report of the study: values here and in the thesis, figures, and its claims."""

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
from batsched_studies.dynp.load import Load, make_load_sections, read_loads
from batsched_studies.dynp.measures import MeasuredRun, read_runs


def report(results: Any) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    runs, loads, longer = [], [], []
    if len(results.runs):
        runs, longer = list(read_runs(results)), extension.read_extensions(results)
        loads = [] if longer else read_loads(results)
    values, counted = tables.make_rows(runs), tables.count_cases(runs)
    parts = (
        *layout.make_sections(values, counted),
        (PUBLISHED["sections"]["optimum"], [layout.make_optimum_table(runs)]),
        *make_load_sections(loads),
        (PUBLISHED["sections"]["extension"], extension.make_tables(longer)),
        ("Figures", figures.draw_figures(runs, loads)),
    )
    summary = TEXTS["summary"] + "\n\n" + "\n".join(_compared(runs, loads, longer))
    judged = chain(claims.judge_claims(runs, loads), extension.judge_claims(longer))
    return TEXTS.report(parts, judged, summary)


def _compared(
    runs: list[MeasuredRun], loads: list[Load], longer: list[tuple[str, Runs]]
) -> Iterator[str]:
    """Yield what each log is compared with, as items of a list."""
    yield from dict.fromkeys(f"- {describe_comparison(run)}" for run in runs)
    for log, of_log in longer:
        yield f"- {log}: {len(of_log.labels(SEED))} synthetic job sets, as drawn and longer."
    for load in loads:
        cases = load.runs.groups("policy", "slackness", "shrink")
        sets = max(len(of_case.labels(SEED)) for _, of_case in cases)
        as_thesis = f"the thesis's {load.trace}" if load.trace else "not those of the thesis"
        yield f"- {load.log}: up to {sets} synthetic job sets; {as_thesis}."


def describe_comparison(run: MeasuredRun) -> str:
    """Return a sentence that names the published trace with which a run is compared."""
    trace = run.trace or PUBLISHED["logs"].get(run.log)
    thesis = PUBLISHED["traces"].get(trace, {})
    key = "compared" if run.trace else "no_such_log"
    if not run.trace and thesis.get("nodes", run.nodes) != run.nodes:
        key = "other_nodes"
    return TEXTS["run"].format(run=run) + TEXTS[key].format(trace=trace, thesis=thesis)
