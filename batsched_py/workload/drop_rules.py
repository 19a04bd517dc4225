"""Which jobs of a log are dropped: those that cannot be simulated, and those that a rule names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from batsched_py.workload.swf import SwfLog

_IMPOSSIBLE = ("no-size", "negative-runtime")
"""Kinds that are always dropped: these cannot be simulated."""


def kept_rows(
    log: SwfLog, size: NDArray[np.float64], drop: Iterable[str], notes: list[str]
) -> NDArray[np.intp]:
    """Return the rows of ``log`` that stay, and note how many go for which reason.

    ``size`` is the number of processors of each job under the rules.
    """
    run_time, status = log.column("run_time"), log.column("status")
    of_kind: dict[str, NDArray[np.bool_]] = {
        "no-size": size <= 0,
        "negative-runtime": run_time < 0,
        "zero-runtime": run_time == 0,
        "no-request": log.column("requested_time") <= 0,
        "no-allocation": log.column("allocated_processors") <= 0,
        "too-wide": size > log.max_processors,
        "cancelled": status == 5,
        "withdrawn": (status == 5) & (run_time == 0),
        "failed": status == 0,
        "no-user": log.column("user") < 0,
    }
    kept = np.ones(len(log), dtype=bool)
    for kind in (*_IMPOSSIBLE, *drop):
        dropped = int((kept & of_kind[kind]).sum())
        if dropped:
            jobs = "job was" if dropped == 1 else "jobs were"
            notes.append(f"{dropped} {jobs} dropped: {kind}")
        kept &= ~of_kind[kind]
    return np.flatnonzero(kept)
