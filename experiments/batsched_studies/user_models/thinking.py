"""Think times beside Schlagkamp (2015), and facts of logs beside Shmueli and Feitelson (2009)."""

from __future__ import annotations

from pathlib import Path

from batsched_studies.filled_page import line
from batsched_studies.user_models.logs import PRINTED, jobs_of, path_of, rows_of, versions
from batsched_users.learning.learn_site import compare_continuation, measure_facts
from batsched_users.learning.learn_think_times import ThinkTimeFit, find_think_time_pairs, fit_logs
from batsched_users.measures.job_columns import columns_of_log

PAPER_LOGS: dict[str, str] = PRINTED["schlagkamp"]["here"]
SITE_LOGS: dict[str, str] = PRINTED["site"]["here"]
FOLLOWS = "CTC-SP2"
"""The log that follows the paper's formula."""


def think_time_rows(shared: Path, logs: dict[str, str]) -> list[str]:
    """Return the lines of the fits, log by log, then pooled."""
    jobs = {log: columns_of_log(rows_of(path_of(shared, file))) for log, file in logs.items()}
    pairs = {log: find_think_time_pairs(columns.ended) for log, columns in jobs.items()}
    return [
        line(logs.get(log, f"**{log}**"), "not known", fitted(free), fitted(most))
        for log, (free, most) in fit_logs(pairs).items()
    ]


def fitted(fit: ThinkTimeFit) -> str:
    """Return the cells of a fit."""
    return f"{fit.nb_pairs:,} | {fit.slope:.3f} | {fit.intercept:,.0f} | {fit.explained:.2f}"


def think_times(shared: Path) -> dict[str, list[str]]:
    """Return all lines of think times."""
    return {"think_times": think_time_rows(shared, PAPER_LOGS)}


def fact_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the line of facts of a log."""
    file = SITE_LOGS[log]
    facts = measure_facts(jobs_of(path_of(shared, file), walltime="requested"))
    by_time = (facts.negative_think_times, facts.by_day, facts.on_weekdays)
    cells = [f"{100 * share:.0f} %" for share in by_time]
    cells.append(f"{facts.median_run_time:,.0f} s")
    cells += [f"{100 * share:.0f} %" for share in (facts.at_most_a_minute, facts.power_of_two)]
    used = versions(log, "site", file)
    return {"facts": [line(used, f"{facts.nb_jobs:,}", *cells)]}


def continuation_rows(shared: Path) -> dict[str, list[str]]:
    """Return the lines of how often sessions go on, by response time."""
    paths = [path_of(shared, file) for file in SITE_LOGS.values()]
    workloads = [jobs_of(path, walltime="requested") for path in paths]
    alone = workloads[list(SITE_LOGS).index(FOLLOWS)]
    lines = []
    bins = zip(compare_continuation(workloads), compare_continuation([alone]), strict=True)
    for of_all, of_alone in bins:
        least, below = of_all.least, of_all.below
        minutes = f"{least:g} to {below:g}" if below < float("inf") else "more"
        shares = (of_all.expected, of_all.observed, of_alone.expected, of_alone.observed)
        lines.append(line(minutes, f"{of_all.nb_jobs:,}", *(f"{share:.3f}" for share in shares)))
    return {"continuation": lines}
