"""When each node of a partition can hold what jobs need, by the expected ends of running jobs."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from batsched_py.workload.node_shares import Demand

if TYPE_CHECKING:
    from batsched_py.model.nodes import Nodes

Seconds = NDArray[np.float64]
_MOST_KEPT = 1000
"""Shares whose times are kept."""


class ReadyTimes:
    """When each of some nodes can hold each share that was asked for.

    Times are kept. They are computed again for nodes at places that are put into ``changed``.
    """

    def __init__(self, nodes: Nodes, numbers: list[int]) -> None:
        self._nodes, self._numbers = nodes, numbers
        self._ahead: dict[int, tuple[Seconds, NDArray[np.int64]]] = {}
        """By place of a node: the expected ends, and what is free now and after each."""
        self.forget()

    def forget(self) -> None:
        """Forget all times."""
        self._rows: dict[Demand, slice] = {}
        self._wanted = np.zeros((4, 0), np.int64)
        """Cores, GPUs and MiB of each share, and whether it needs whole nodes."""
        self._times: Seconds = np.zeros((0, len(self._numbers)))
        self.changed = {*range(len(self._numbers))}

    def find(self, demand: Demand) -> Seconds:
        """Return when each node can hold each share (seconds): -inf if now, inf if never."""
        if len(self._times) > _MOST_KEPT:
            self.forget()
        for at in self.changed:
            node = self._numbers[at]
            held = sorted(self._nodes.jobs[node].values(), key=lambda each: each[0].expected_end)
            ends = np.array([-inf, *(job.expected_end for job, _ in held), inf])
            free = np.array([self._nodes.free[:, node].tolist(), *(each[1] for each in held)])
            self._ahead[at] = ends, free.cumsum(axis=0).T
            self._update(at, slice(None))
        self.changed.clear()
        if demand not in self._rows:
            nb = len(demand.shares)
            shares = np.array([(*share[1:], demand.exclusive) for share in demand.shares]).T
            self._rows[demand] = slice(len(self._times), len(self._times) + nb)
            self._wanted = np.concatenate((self._wanted, shares), axis=1)
            self._times = np.pad(self._times, ((0, nb), (0, 0)))
            for at in range(len(self._numbers)):
                self._update(at, self._rows[demand])
        return self._times[self._rows[demand]]

    def _update(self, at: int, rows: slice) -> None:
        nodes, node, (ends, free) = self._nodes, self._numbers[at], self._ahead[at]
        *shares, exclusive = self._wanted[:, rows]
        whole = nodes.whole[:, node, None] * exclusive
        wanted = np.maximum(shares, whole)
        first = np.maximum(free[0].searchsorted(wanted[0]), free[1].searchsorted(wanted[1]))
        ready = ends[np.maximum(first, free[2].searchsorted(wanted[2]))]
        self._times[rows, at] = inf if nodes.out[node] else ready
