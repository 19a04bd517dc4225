"""Think times compared with Schlagkamp (2015), and log facts with Shmueli and Feitelson (2009)."""

from __future__ import annotations

from pathlib import Path

from batsched_studies.filled_page import format_line
from batsched_studies.user_models.logs import PRINTED, find_path, format_files, load_jobs, read_log
from batsched_users.learning.learn_site import compare_continuation, measure_facts
from batsched_users.learning.learn_think_times import ThinkTimeFit, find_think_time_pairs, fit_logs
from batsched_users.measures.job_columns import columns_of_log

PAPER_LOGS: dict[str, str] = PRINTED["schlagkamp"]["here"]
SITE_LOGS: dict[str, str] = PRINTED["site"]["here"]
FOLLOWS = "CTC-SP2"
"""The log that follows the paper's formula."""


def make_think_time_rows(shared: Path, logs: dict[str, str]) -> list[str]:
    """Return the table lines of the fitted think times, log by log, then pooled."""
    jobs = {log: columns_of_log(read_log(find_path(shared, file))) for log, file in logs.items()}
    pairs = {log: find_think_time_pairs(columns.ended) for log, columns in jobs.items()}
    return [
        format_line(logs.get(log, f"**{log}**"), "not known", format_fit(free), format_fit(most))
        for log, (free, most) in fit_logs(pairs).items()
    ]


def format_fit(fit: ThinkTimeFit) -> str:
    """Return the table cells of a fit of think times over response times."""
    return f"{fit.nb_pairs:,} | {fit.slope:.3f} | {fit.intercept:,.0f} | {fit.explained:.2f}"


def make_think_times(shared: Path) -> dict[str, list[str]]:
    """Return the lines of the table of think times, by place holder."""
    return {"think_times": make_think_time_rows(shared, PAPER_LOGS)}


def make_fact_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the line of a log in the table of facts."""
    file = SITE_LOGS[log]
    facts = measure_facts(load_jobs(find_path(shared, file), walltime="requested"))
    by_time = (facts.negative_think_times, facts.by_day, facts.on_weekdays)
    cells = [f"{100 * share:.0f} %" for share in by_time]
    cells.append(f"{facts.median_run_time:,.0f} s")
    cells += [f"{100 * share:.0f} %" for share in (facts.at_most_a_minute, facts.power_of_two)]
    used = format_files(log, "site", file)
    return {"facts": [format_line(used, f"{facts.nb_jobs:,}", *cells)]}


def make_continuation_rows(shared: Path) -> dict[str, list[str]]:
    """Return the table lines of how often sessions continue, by response time."""
    paths = [find_path(shared, file) for file in SITE_LOGS.values()]
    workloads = [load_jobs(path, walltime="requested") for path in paths]
    alone = workloads[list(SITE_LOGS).index(FOLLOWS)]
    lines = []
    bins = zip(compare_continuation(workloads), compare_continuation([alone]), strict=True)
    for of_all, of_alone in bins:
        least, below = of_all.least, of_all.below
        minutes = f"{least:g} to {below:g}" if below < float("inf") else "more"
        shares = (of_all.expected, of_all.observed, of_alone.expected, of_alone.observed)
        lines.append(
            format_line(minutes, f"{of_all.nb_jobs:,}", *(f"{share:.3f}" for share in shares))
        )
    return {"continuation": lines}
