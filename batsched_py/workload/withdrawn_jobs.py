"""Run times for jobs that were withdrawn before they started, drawn from jobs that ran."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError, parameter
from batsched_py.workload.logs.swf import COMPLETED, Column, Mask, SwfLog

LEAST_RUN_TIME = 1.0
"""Seconds; shorter run times are not drawn."""


def impute_run_times(log: SwfLog, seed: int) -> tuple[Column, Mask]:
    """Return the run times of a log (seconds), drawn for withdrawn jobs; both of shape (n,).

    A withdrawn job gets its requested time x the ratio of run time to request of a random job that
    completed: one of its user, else any. Without a request it gets the run time of such a job. It
    runs for whole seconds, at least :data:`LEAST_RUN_TIME` and at most its request. The mask has
    the withdrawn jobs whose user has no job to draw from. The same ``seed`` gives the same run
    times, whichever jobs are simulated. Raises :class:`UsageError` if there is no job to draw.
    """
    run, request = log.column("run_time").copy(), log.column("requested_time")
    random = np.random.default_rng(seed)
    of_others = np.zeros(len(log), dtype=np.bool_)
    completed = (log.column("status") == COMPLETED) & (run >= 0)
    withdrawn, asked = log.withdrawn, request > 0
    for rows, pool in (
        (withdrawn & asked, completed & asked),
        (withdrawn & ~asked, completed),
    ):
        drawn, of_others[rows] = _draw(log, rows, pool, random)
        length = run[drawn]
        if asked[rows].any():
            length = np.rint(np.minimum(length / request[drawn], 1) * request[rows])
            length = np.minimum(length, request[rows])
        run[rows] = np.maximum(length, LEAST_RUN_TIME)
    return run, of_others


def describe_withdrawn(log: SwfLog, rows: NDArray[np.intp], of_others: Mask | None) -> list[str]:
    """Return notes on the withdrawn jobs among the simulated ``rows``.

    ``of_others`` is the mask of :func:`impute_run_times`, None if run times are as recorded.
    """
    nb = int(log.withdrawn[rows].sum())
    if not nb:
        return []
    if of_others is None:
        return [
            f"{nb} withdrawn jobs, which never started, run for 0 s as recorded: "
            "drop=withdrawn leaves them out, withdrawn=impute draws run times for them"
        ]
    nb_of_others = int(of_others[rows].sum())
    return [
        f"{nb} withdrawn jobs, which never started, have run times drawn from completed jobs "
        f"({nb_of_others} from those of other users)"
    ]


def _draw(
    log: SwfLog, rows: Mask, pool: Mask, random: np.random.Generator
) -> tuple[NDArray[np.intp], Mask]:
    """Return a random row of ``pool`` for each of ``rows``, and whether its user has none there."""
    user = log.column("user")
    candidates = np.flatnonzero(pool)
    candidates = candidates[np.argsort(user[candidates], kind="stable")]
    if rows.any() and not len(candidates):
        raise UsageError(
            f"{parameter('withdrawn')} impute: {log.path} has no completed job (status 1) with a "
            "requested time, from which run times are drawn"
        )
    first, last = (
        np.searchsorted(user[candidates], user[rows], side=side) for side in ("left", "right")
    )
    alone = (first == last) | (user[rows] < 0)
    first, last = np.where(alone, 0, first), np.where(alone, len(candidates), last)
    places = first + np.floor(random.random(len(first)) * (last - first)).astype(np.intp)
    return candidates[places], alone
