"""Think times compared with Schlagkamp (2015), and log facts with Shmueli and Feitelson (2009)."""

from __future__ import annotations

from pathlib import Path

from batsched_studies.filled_page import Row
from batsched_studies.user_models.logs import PRINTED, find_path, load_jobs, name_files, read_log
from batsched_users.learning.learn_site import compare_continuation, measure_facts
from batsched_users.learning.learn_think_times import ThinkTimeFit, find_think_time_pairs, fit_logs
from batsched_users.measures.job_columns import columns_of_log

PAPER_LOGS: dict[str, str] = PRINTED["schlagkamp"]["here"]
SITE_LOGS: dict[str, str] = PRINTED["site"]["here"]
FOLLOWS = "CTC-SP2"
"""The log that follows the paper's formula."""


def make_think_time_rows(shared: Path, logs: dict[str, str]) -> list[Row]:
    """Return the rows of the fitted think times, log by log, then pooled."""
    jobs = {log: columns_of_log(read_log(find_path(shared, file))) for log, file in logs.items()}
    pairs = {log: find_think_time_pairs(columns.ended) for log, columns in jobs.items()}
    return [
        (logs.get(log, log), *format_fit(free), *format_fit(most))
        for log, (free, most) in fit_logs(pairs).items()
    ]


def format_fit(fit: ThinkTimeFit) -> Row:
    """Return the cells of a fit of think times over response times."""
    numbers = f"{fit.slope:.3f}", f"{fit.intercept:.0f}", f"{fit.explained:.2f}"
    return fit.nb_pairs, *numbers


def make_think_times(shared: Path) -> dict[str, list[Row]]:
    """Return the rows of the table of think times."""
    return {"think-times": make_think_time_rows(shared, PAPER_LOGS)}


def make_fact_rows(shared: Path, log: str) -> dict[str, list[Row]]:
    """Return the row of a log in the table of facts."""
    file = SITE_LOGS[log]
    facts = measure_facts(load_jobs(find_path(shared, file), walltime="requested"))
    by_time = (facts.negative_think_times, facts.by_day, facts.on_weekdays)
    of_jobs = (facts.at_most_a_minute, facts.power_of_two)
    shares, of_sizes = ([f"{100 * share:.0f}" for share in of] for of in (by_time, of_jobs))
    used = name_files(log, "site", file)
    return {"facts": [(*used, facts.nb_jobs, *shares, f"{facts.median_run_time:.0f}", *of_sizes)]}


def make_continuation_rows(shared: Path) -> dict[str, list[Row]]:
    """Return the rows of how often sessions continue, by response time."""
    paths = [find_path(shared, file) for file in SITE_LOGS.values()]
    workloads = [load_jobs(path, walltime="requested") for path in paths]
    alone = workloads[list(SITE_LOGS).index(FOLLOWS)]
    lines: list[Row] = []
    bins = zip(compare_continuation(workloads), compare_continuation([alone]), strict=True)
    for of_all, of_alone in bins:
        least, below = of_all.least, of_all.below
        minutes = f"{least:g} to {below:g}" if below < float("inf") else "more"
        shares = (of_all.expected, of_all.observed, of_alone.expected, of_alone.observed)
        lines.append((minutes, of_all.nb_jobs, *(f"{share:.3f}" for share in shares)))
    return {"continuation": lines}
