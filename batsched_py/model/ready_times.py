"""When each node of a partition can hold what jobs need, by the expected ends of running jobs."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from batsched_py.workload.node_shares import Demand

if TYPE_CHECKING:
    from batsched_py.model.job import Job
    from batsched_py.model.nodes import Nodes

Seconds = NDArray[np.float64]
_MOST_KEPT = 1000
"""Shares whose times are kept."""


class ReadyTimes:
    """When each of some nodes can hold each share that was asked for.

    Times are kept: after a change, only those of changed nodes are computed again.
    """

    def __init__(self, nodes: Nodes, numbers: list[int]) -> None:
        self._nodes, self._numbers = nodes, numbers
        self._ends: list[Seconds] = [np.zeros(0) for _ in numbers]
        self._free: list[NDArray[np.int64]] = [np.zeros((3, 0), np.int64) for _ in numbers]
        """What is free on each node now and after each expected end, and these times."""
        self.forget()

    def forget(self) -> None:
        """Forget all times."""
        self._rows: dict[Demand, slice] = {}
        self._wanted = np.zeros((3, 0), np.int64)
        self._exclusive = np.zeros(0, np.bool_)
        self._any_exclusive = False
        self._times: Seconds = np.zeros((0, len(self._numbers)))
        self._changed = {*range(len(self._numbers))}

    def note_change(self, places: Iterable[int]) -> None:
        """Take note that jobs started or ended on the nodes at these places."""
        self._changed.update(places)

    def find(self, demand: Demand) -> Seconds:
        """Return when each node can hold each share (seconds): -inf if now, inf if never."""
        for at in self._changed:
            self._look_ahead(at)
            self._update(at, slice(None))
        self._changed.clear()
        rows = self._rows.get(demand)
        if rows is None:
            if len(self._times) > _MOST_KEPT:
                self.forget()
                return self.find(demand)
            nb, shares = len(self._times), [share[1:] for share in demand.shares]
            self._rows[demand] = rows = slice(nb, nb + len(shares))
            self._wanted = np.concatenate((self._wanted, np.array(shares).T), axis=1)
            self._exclusive = np.append(self._exclusive, [demand.exclusive] * len(shares))
            self._any_exclusive |= demand.exclusive
            self._times = np.pad(self._times, ((0, len(shares)), (0, 0)))
            for at in range(len(self._numbers)):
                self._update(at, rows)
        return self._times[rows]

    def _look_ahead(self, at: int) -> None:
        nodes, node = self._nodes, self._numbers[at]
        jobs = sorted(nodes.jobs[node].values(), key=_expected_end)
        self._ends[at] = np.array([-inf, *(job.expected_end for job, _ in jobs), inf])
        free = [nodes.free[:, node].tolist(), *(held for _, held in jobs)]
        self._free[at] = np.array(free, np.int64).cumsum(axis=0).T

    def _update(self, at: int, rows: slice) -> None:
        nodes, node = self._nodes, self._numbers[at]
        wanted = self._wanted[:, rows]
        if self._any_exclusive:
            wanted = np.maximum(wanted, nodes.whole[:, node, None] * self._exclusive[rows])
        (cores, gpus, memory), free = wanted, self._free[at]
        nb = np.maximum(free[0].searchsorted(cores), free[1].searchsorted(gpus))
        ready = self._ends[at][np.maximum(nb, free[2].searchsorted(memory))]
        self._times[rows, at] = inf if nodes.out[node] else ready


def _expected_end(held: tuple[Job, object]) -> float:
    return held[0].expected_end
