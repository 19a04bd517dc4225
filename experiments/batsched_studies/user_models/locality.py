"""Locality, self-similarity and similarity of jobs, compared with Zakay's thesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from batsched_studies.filled_page import Row
from batsched_studies.user_models.logs import (
    HERE,
    find_path,
    load_jobs,
    name_files,
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
    names = [f"stack depth, {of}" for of in ("run time", "requested time", "processors")]
    given = read_printed_locality()
    stacks = zip(names, given["stack"][log], strict=True)
    return [
        *(PrintedMeasure(name, 2, *values) for name, values in stacks),
        PrintedMeasure("Hurst parameter", 3, *given["hurst"][log]),
    ]


def make_locality_rows(log: str, here: list[float], resampled: list[list[float]]) -> list[Row]:
    """Return the rows of a log from its measures and those of resampled workloads."""
    lines: list[Row] = []
    columns = zip(list_printed_measures(log), here, *resampled, strict=True)
    for theirs, original, *values in columns:
        numbers = [theirs.original, original, theirs.mean, theirs.deviation]
        deviations = ""
        if values:
            mean = float(np.mean(values))
            numbers += [mean, float(np.std(values, ddof=1))]
            deviations = f"{abs(mean - theirs.mean) / theirs.deviation:.1f}"
        cells = [f"{number:.{theirs.digits}f}" for number in numbers] + [""] * (6 - len(numbers))
        lines.append((*name_files(log), theirs.name, *cells, deviations))
    return lines


def summarise_locality(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield for each measure how near the logs, and the resampled ones, are to the thesis."""
    for name in dict.fromkeys(row[2] for row in rows):
        of_name = [row for row in rows if row[2] == name]
        equal = sum(row[3] == row[4] for row in of_name)
        most = max(abs(float(str(row[4])) / float(str(row[3])) - 1) for row in of_name)
        deviations = [float(str(row[9])) for row in of_name if row[9]]
        near = f"{sum(off <= 2 for off in deviations)} of {len(deviations)}"
        yield name, f"{equal} of {len(of_name)}", f"{100 * most:.0f} %", near


def make_similarity_rows(shared: Path, log: str) -> dict[str, list[Row]]:
    """Return the rows of a log in the table of similarity, one for each attribute of jobs."""
    jobs = columns_of_log(read_log(find_path(shared, HERE[log])), size="allocated").ran
    rows: list[Row] = []
    for attribute, measure in MEASURES.items():
        users = measure_similarity(jobs, attribute, measure)
        theirs = read_printed_locality()["similarity"][attribute][log]
        here = [*users.compare(0, 1), *users.compare(1, 2)]
        most = max(abs(a - b) for a, b in zip(here, theirs, strict=True))
        cells = [format_shares(part[half : half + 3]) for half in (0, 3) for part in (theirs, here)]
        rows.append((*name_files(log), attribute, len(users.user), *cells, f"{most:.3f}"))
    return {"similarity": rows}


def summarise_similarity(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield for each attribute the largest differences of the shares from the thesis."""
    for attribute, measure in MEASURES.items():
        apart = [float(str(row[8])) for row in rows if row[2] == attribute]
        text = f"{sum(difference == 0 for difference in apart)} of {len(apart)}"
        yield attribute.replace("_", " "), measure, text, f"{max(apart):.3f}"


def format_shares(values: list[float]) -> str:
    """Format the shares of wins, ties and losses with as many decimals as the thesis prints."""
    wins, ties, losses = values
    return f"{wins:.3f} {ties:.4f} {losses:.3f}"
