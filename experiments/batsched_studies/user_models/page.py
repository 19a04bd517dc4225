"""Writes user-models.md: measures of the user layer compared with the published ones.

    python -m batsched_studies.user_models --shared ../shared

The folder has the logs (swf/).
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from batsched_studies.filled_page import DOCS, fill_template
from batsched_studies.user_models import locality, sessions, thinking
from batsched_studies.user_models.logs import HERE, PRINTED
from batsched_users.models.site import SHIPPED, SiteDistributions

PAGE = DOCS / "validation" / "user-models.md"
TEXT = Path(__file__).with_name("template.md")
SEEDS_OF = {log: range(locality.SEEDS if log != "CEA-Curie" else 0) for log in HERE}
"""The seeds of the resampled workloads of each log; none for the largest log, to save time."""


def make_tables(shared: Path, workers: int) -> dict[str, str]:
    """Return the tables by place holder; each log is a task of its own, slow logs first."""
    with ProcessPoolExecutor(workers) as pool:
        drawn = {
            log: [pool.submit(locality.measure_resampled, shared, log, n) for n in SEEDS_OF[log]]
            for log in reversed(HERE)
        }
        measured = {log: pool.submit(locality.measure_log, shared, log) for log in HERE}
        others = submit_others(pool, shared)
        lines: dict[str, list[str]] = defaultdict(list)
        for log in HERE:
            resampled = [task.result() for task in drawn[log]]
            lines["locality"] += locality.make_locality_rows(log, measured[log].result(), resampled)
        for task in others:
            for name, rows in task.result().items():
                lines[name] += rows
    return {name: "\n".join(rows) for name, rows in lines.items()}


def submit_others(pool: ProcessPoolExecutor, shared: Path) -> list[Future[dict[str, list[str]]]]:
    """Submit the tasks that make the other tables, in the order of their lines."""
    tasks: list[tuple[Any, ...]] = [
        *((locality.make_similarity_rows, shared, log) for log in HERE),
        *((sessions.make_pool_rows, shared, log) for log in HERE),
        *((sessions.make_session_rows, shared, log) for log in PRINTED["zakay"]["counts"]),
        *((thinking.make_fact_rows, shared, log) for log in thinking.SITE_LOGS),
        (thinking.make_think_times, shared),
        (thinking.make_continuation_rows, shared),
    ]
    return [pool.submit(*task) for task in tasks]


def format_mean_run_time() -> str:
    """Return the mean run time of the jobs that site users draw, in minutes."""
    return f"{SiteDistributions.read(SHIPPED).run_times.mean / 60:.0f}"


def make_page(shared: Path, workers: int) -> str:
    """Return docs/validation/user-models.md as Markdown."""
    parts = {**make_tables(shared, workers), "mean_run_time": format_mean_run_time()}
    return fill_template(TEXT, parts)
