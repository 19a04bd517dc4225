"""Which jobs of a log are dropped: those that cannot be simulated, and those that a rule names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from batsched_py.workload.swf import CANCELLED, SwfLog

Mask = NDArray[np.bool_]
_IMPOSSIBLE = ("no-size", "negative-runtime")
"""Kinds that are always dropped: these cannot be simulated."""


def dropped_rows(log: SwfLog, size: NDArray[np.float64], drop: Iterable[str]) -> dict[str, Mask]:
    """Return which rows of ``log`` are dropped, by the first reason that there is for each.

    ``size`` is the number of processors of each job under the rules.
    """
    run_time, status = log.column("run_time"), log.column("status")
    of_kind: dict[str, Mask] = {
        "no-size": size <= 0,
        "negative-runtime": run_time < 0,
        "zero-runtime": run_time == 0,
        "no-request": log.column("requested_time") <= 0,
        "no-allocation": log.column("allocated_processors") <= 0,
        "too-wide": size > log.max_processors,
        "cancelled": status == CANCELLED,
        "withdrawn": log.withdrawn,
        "failed": status == 0,
        "no-user": log.column("user") < 0,
    }
    kept = np.ones(len(log), dtype=bool)
    dropped = {}
    for kind in dict.fromkeys((*_IMPOSSIBLE, *drop)):  # a list may name a kind twice
        dropped[kind] = kept & of_kind[kind]
        kept &= ~of_kind[kind]
    return dropped


def notes_on(dropped: Mapping[str, Mask], among: Mask) -> list[str]:
    """Return how many of the rows ``among`` are dropped for which reason."""
    numbers = {kind: int((rows & among).sum()) for kind, rows in dropped.items()}
    return [
        f"{number} {'job was' if number == 1 else 'jobs were'} dropped: {kind}"
        for kind, number in numbers.items()
        if number
    ]
