"""Tables of jobs from a few numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from batsched_py.metrics import JobTable


def table_of(
    jobs: Sequence[tuple[float, int, float]],
    starts: Sequence[float],
    nb_processors: int | None = None,
    users: Sequence[str] | None = None,
) -> JobTable:
    """Jobs are (submission, width, run time)."""
    submit, size, run = (np.array(column, dtype=float) for column in zip(*jobs, strict=True))
    start = np.array(starts, dtype=float)
    return JobTable(
        submit=submit,
        start=start,
        finish=start + run,
        execution=run,
        size=size,
        original_submit=submit,
        user=list(users or ["u"] * len(jobs)),
        nb_processors=nb_processors,
    )


def table_of_runs(
    runs: Sequence[tuple[float, float, int]], nb_processors: int | None = None
) -> JobTable:
    """Jobs are (start, finish, size); one without a start was rejected."""
    start, finish, size = (np.array(column, dtype=float) for column in zip(*runs, strict=True))
    return JobTable(
        submit=np.nan_to_num(start),
        start=start,
        finish=finish,
        execution=np.where(finish - start > 1.1e-5, finish - start, 1e-5),
        size=size,
        original_submit=np.full(len(start), np.nan),
        user=[f"u{at % 2}" for at in range(len(start))],
        nb_processors=nb_processors,
    )


def first_fit(jobs: Sequence[tuple[float, int, float]], nb_processors: int) -> list[float]:
    """Return starts of a schedule in the given order, each on the processors free first."""
    free = [0.0] * nb_processors
    starts = []
    for submit, width, run in jobs:
        free.sort()
        start = max(submit, free[width - 1])
        free[:width] = [start + run] * width
        starts.append(start)
    return starts
