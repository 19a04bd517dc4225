"""Writes user-models.md: measures of the user layer compared with the published ones.

    python -m batsched_studies.user_models --shared ../shared

The folder has the logs (swf/).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from batsched_studies.filled_page import DOCS, Row, WrittenPage, fill_template, format_lines
from batsched_studies.user_models import locality, sessions, thinking
from batsched_studies.user_models.logs import HERE, PRINTED
from batsched_users.models.site import SHIPPED, SiteDistributions

PAGE = DOCS / "validation" / "user-models.md"
TEXT = Path(__file__).with_name("template.md")
SEEDS_OF = {log: range(locality.SEEDS if log != "CEA-Curie" else 0) for log in HERE}
"""The seeds of the resampled workloads of each log; none for the largest log, to save time."""


FILES = ("log", "log_of_the_study")
HEADERS = {
    "sessions": (
        *(*FILES, "jobs_thesis", "batches_thesis", "sessions_thesis", "jobs", "batches"),
        *("sessions", "one_job_batches_percent", "one_job_sessions_percent"),
    ),
    "session-lengths": (
        *(*FILES, "sessions_by", "over_1000_min_thesis", "over_1000_min"),
        *("longest_min_thesis", "longest_min"),
    ),
    "last-or-max": (
        *(*FILES, "batches_of_both", "distance_last_to_max", "distance_last_only"),
        "distance_max_only",
    ),
    "pools": (
        *(*FILES, "long_term_users_thesis", "long_term_jobs_thesis", "long_term_users"),
        *("long_term_jobs", "temporary_users_thesis", "temporary_jobs_thesis"),
        *("temporary_users_4_weeks", "temporary_jobs_4_weeks"),
        *("temporary_users_60_days", "temporary_jobs_60_days"),
    ),
    "locality": (
        *(*FILES, "measure", "log_thesis", "log_here", "resampled_mean_thesis"),
        *("resampled_deviation_thesis", "resampled_mean", "resampled_deviation"),
        "deviations_from_the_thesis",
    ),
    "similarity": (
        *(*FILES, "attribute", "users", "sessions_0_and_1_thesis", "sessions_0_and_1"),
        *("sessions_1_and_2_thesis", "sessions_1_and_2", "largest_difference"),
    ),
    "think-times": (
        *("log", "pairs", "slope", "intercept_s", "r_squared", "pairs_below_8_h"),
        *("slope_below_8_h", "intercept_s_below_8_h", "r_squared_below_8_h"),
    ),
    "facts": (
        *(*FILES, "jobs", "think_times_below_0_percent", "by_day_percent", "on_weekdays_percent"),
        *("median_run_time_s", "run_time_to_1_min_percent", "power_of_two_percent"),
    ),
    "continuation": (
        *("response_min", "jobs", "formula", "observed", "formula_ctc_sp2", "observed_ctc_sp2"),
    ),
}
"""The columns of each table of data."""


def make_tables(shared: Path, workers: int) -> dict[str, list[Row]]:
    """Return the rows of each table; each log is a task of its own, slow logs first."""
    with ProcessPoolExecutor(workers) as pool:
        drawn = {
            log: [pool.submit(locality.measure_resampled, shared, log, n) for n in SEEDS_OF[log]]
            for log in reversed(HERE)
        }
        measured = {log: pool.submit(locality.measure_log, shared, log) for log in HERE}
        others = submit_others(pool, shared)
        tables: dict[str, list[Row]] = defaultdict(list)
        for log in HERE:
            resampled = [task.result() for task in drawn[log]]
            rows = locality.make_locality_rows(log, measured[log].result(), resampled)
            tables["locality"] += rows
        for task in others:
            for name, rows in task.result().items():
                tables[name] += rows
    return tables


def submit_others(pool: ProcessPoolExecutor, shared: Path) -> list[Future[dict[str, list[Row]]]]:
    """Submit the tasks that make the other tables, in the order of their rows."""
    tasks: list[tuple[Any, ...]] = [
        *((locality.make_similarity_rows, shared, log) for log in HERE),
        *((sessions.make_pool_rows, shared, log) for log in HERE),
        *((sessions.make_session_rows, shared, log) for log in PRINTED["zakay"]["counts"]),
        *((thinking.make_fact_rows, shared, log) for log in thinking.SITE_LOGS),
        (thinking.make_think_times, shared),
        (thinking.make_continuation_rows, shared),
    ]
    return [pool.submit(*task) for task in tasks]


def format_pair(users: object, jobs: object) -> str:
    """Return a number of users and their number of jobs as text."""
    return f"{int(str(users)):,} / {int(str(jobs)):,}"


def summarise(tables: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    """Return the tables of the page by place holder."""
    rows: dict[str, Iterable[Row]] = {
        "sessions": (
            (
                row[0],
                *(
                    " / ".join(f"{int(str(number)):,}" for number in of)
                    for of in (row[2:5], row[5:8])
                ),
            )
            for row in tables["sessions"]
        ),
        "pools": (
            (row[0], *(format_pair(*row[at : at + 2]) for at in range(2, 12, 2)))
            for row in tables["pools"]
        ),
        "locality": locality.summarise_locality(tables["locality"]),
        "similarity": locality.summarise_similarity(tables["similarity"]),
        "facts": ((row[0], *(f"{row[at]} %" for at in (3, 4, 5, 7, 8))) for row in tables["facts"]),
    }
    pooled = tables["think-times"][-1]
    fit = {"slope": pooled[2], "bounded": pooled[6], "r_squared": pooled[8]}
    return {name: format_lines(lines) for name, lines in rows.items()} | {
        name: str(value) for name, value in fit.items()
    }


def make_page(shared: Path, workers: int) -> WrittenPage:
    """Return docs/validation/user-models.md and its data."""
    tables = make_tables(shared, workers)
    mean_run_time = f"{SiteDistributions.read(SHIPPED).run_times.mean / 60:.0f}"
    text = fill_template(TEXT, summarise(tables) | {"mean_run_time": mean_run_time})
    data = {f"user-models-{name}": [HEADERS[name], *tables[name]] for name in HEADERS}
    return WrittenPage(text, data)
