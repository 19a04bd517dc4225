"""Locality, self-similarity and similarity of jobs, compared with Zakay's thesis."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from batsched_studies.filled_page import format_line
from batsched_studies.user_models.logs import (
    HERE,
    find_path,
    format_files,
    load_jobs,
    read_log,
    read_printed_locality,
)
from batsched_users.learning.ideal_machine import play_model
from batsched_users.measures.job_columns import JobColumns, columns_of_log, columns_of_workload
from batsched_users.measures.self_similarity import hurst
from batsched_users.measures.session_similarity import measure_similarity
from batsched_users.measures.stack_depth import find_stack_depths, mean_depth
from batsched_users.models.resampled import Resampled

SEEDS = 8
"""The number of resampled logs, as in the thesis."""
STACKS = {"run_time": 0.05, "requested_time": 0.05, "size": 0.0}
"""The attributes of stack depths, and their tolerances."""
MEASURES = {"size": "mean", "requested_time": "identical", "run_time": "median"}
"""The measure that reproduces each table of similarity."""


class PrintedMeasure(NamedTuple):
    """The thesis's values of a measure: of the log, and mean and s.d. over resampled logs."""

    name: str
    digits: int
    original: float
    mean: float
    deviation: float


def measure_jobs(columns: JobColumns) -> list[float]:
    """Return the three stack depths and the Hurst parameter of some jobs."""
    ended = columns.select(columns.run_time >= 0)
    depths = [
        mean_depth(find_stack_depths(ended.attribute(name), tolerance=tolerance))
        for name, tolerance in STACKS.items()
    ]
    return [*depths, hurst(columns.ran.submit)]


def measure_log(shared: Path, log: str) -> list[float]:
    """Return the measures of a log."""
    return measure_jobs(columns_of_log(read_log(find_path(shared, HERE[log])), size="allocated"))


def measure_resampled(shared: Path, log: str, seed: int) -> list[float]:
    """Return the measures of a workload that is resampled from a log, with recorded times."""
    source = load_jobs(find_path(shared, HERE[log]), walltime="requested", size="allocated")
    drawn = play_model(Resampled(source, seed=seed), lambda job, now: now)  # ends do not matter
    jobs = [msgspec.structs.replace(played.job, submit_time=played.submit) for played in drawn]
    return measure_jobs(columns_of_workload(msgspec.structs.replace(source, jobs=jobs)))


def list_printed_measures(log: str) -> list[PrintedMeasure]:
    """Return the thesis's values of the measures, in the order of :func:`measure_jobs`."""
    names = ["stack depth, run time", "requested time", "processors"]
    given = read_printed_locality()
    stacks = zip(names, given["stack"][log], strict=True)
    return [
        *(PrintedMeasure(name, 2, *values) for name, values in stacks),
        PrintedMeasure("Hurst parameter", 3, *given["hurst"][log]),
    ]


def make_locality_rows(log: str, ours: list[float], resampled: list[list[float]]) -> list[str]:
    """Return the table lines of a log from its measures and those of resampled workloads."""
    lines = []
    columns = zip(list_printed_measures(log), ours, *resampled, strict=True)
    for theirs, original, *values in columns:
        digits = theirs.digits
        cells = [f"{theirs.original:.{digits}f}", f"{original:.{digits}f}"]
        cells.append(f"{theirs.mean:.{digits}f} ± {theirs.deviation:.{digits}f}")
        ours_of_resampled = ["", ""]
        if values:
            mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
            text = f"{mean:.{digits}f} ± {spread:.{digits}f}"
            ours_of_resampled = [text, describe_deviation(mean, theirs)]
        lines.append(format_line(format_files(log), theirs.name, *cells, *ours_of_resampled))
    return lines


def describe_deviation(mean: float, theirs: PrintedMeasure) -> str:
    """Return as text within how many of the thesis's standard deviations our mean is."""
    off = abs(mean - theirs.mean) / theirs.deviation
    return next((text for most, text in ((1, "one"), (2, "two")) if off <= most), f"no ({off:.1f})")


def make_similarity_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the line of a log in each of the three tables of similarity."""
    jobs = columns_of_log(read_log(find_path(shared, HERE[log])), size="allocated").ran
    lines = {}
    for attribute, measure in MEASURES.items():
        users = measure_similarity(jobs, attribute, measure)
        theirs = read_printed_locality()["similarity"][attribute][log]
        ours = [*users.compare(0, 1), *users.compare(1, 2)]
        most = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        cells = [format_shares(part[half : half + 3]) for half in (0, 3) for part in (theirs, ours)]
        row = format_line(format_files(log), len(users.user), *cells, f"{most:.3f}")
        lines[f"similarity_{attribute}"] = [row]
    return lines


def format_shares(values: list[float]) -> str:
    """Format the shares of wins, ties and losses with as many decimals as the thesis prints."""
    wins, ties, losses = values
    return f"{wins:.3f} {ties:.4f} {losses:.3f}"
