"""SimGrid's "fair bottleneck": the rates of tasks that share resources, found in rounds.

Every resource offers equal shares of its remaining capacity to the tasks that still grow, each task
takes the least offer of its resources, and a resource without capacity stops its tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from batsched_py.errors import SimulationError

_EXHAUSTED = 1e-5  # flop/s or bytes/s: a resource with less is closed
_MAX_ROUNDS = 1_000_000


class RateLimits(NamedTuple):
    """The limits of the rate of a task, apart from shared resources."""

    bound: float
    scarcest: tuple[float, float]
    """Capacity of the scarcest unshared resource, and the task's weight there."""


class Use(NamedTuple):
    """The use of a resource by a task, which is given by its number in the list of tasks."""

    task: int
    weight: float
    executors: int = 1
    """The number of its executors there; each gets a share."""
    largest: float = inf
    """The largest weight of one executor, if there are several."""


@dataclass(slots=True)
class _Resource:
    """The state of a host or link during the rounds."""

    left: float
    offer: float = 0.0
    users: list[tuple[int, float, int]] = field(default_factory=list)
    """Task, weight and number of executors of each user."""


class FairBottleneck:
    """Finds the rates of ``tasks`` in rounds, in which each rate grows until a resource is used up.

    ``resources`` gives the capacity and the users of each resource that is shared.
    """

    def __init__(
        self, tasks: Sequence[RateLimits], resources: Iterable[tuple[float, Sequence[Use]]]
    ) -> None:
        self._bounds = [task.bound for task in tasks]
        self._scarcest = [task.scarcest for task in tasks]
        self._own_left = [capacity for capacity, _ in self._scarcest]
        self._value = [0.0] * len(tasks)
        self._last = [0.0] * len(tasks)  # the latest increment
        self._growing = [True] * len(tasks)
        self._shared: list[list[tuple[_Resource, float]]] = [[] for _ in tasks]
        self._open = []
        for capacity, users in resources:
            resource = _Resource(capacity)
            self._open.append(resource)
            for at, weight, count, largest in users:
                resource.users.append((at, weight, count))
                self._shared[at].append((resource, min(largest, weight)))

    def find_rates(self) -> list[float]:
        """Return the rate of each task.

        Raises :class:`SimulationError` after too many rounds, which no known case needs.
        """
        tasks = list(range(len(self._value)))
        for _ in range(_MAX_ROUNDS):
            if not tasks:
                return self._value
            self._offer()
            self._grow(tasks)
            self._subtract(tasks)
            growing = self._growing
            tasks = [at for at in tasks if growing[at]]
        raise SimulationError("the rates of parallel tasks that share resources do not settle")

    def _offer(self) -> None:
        """Let every resource offer equal shares of its remaining capacity to growing tasks."""
        growing = self._growing
        still = []
        for resource in self._open:
            nb = 0
            for at, _, count in resource.users:
                if growing[at]:
                    nb += count
            if nb:
                resource.offer = resource.left / nb
                still.append(resource)
        self._open = still

    def _grow(self, tasks: list[int]) -> None:
        value, last, own_left = self._value, self._last, self._own_left
        for at in tasks:
            bound = self._bounds[at]
            increment = min(bound - value[at], own_left[at] / self._scarcest[at][1])
            for resource, largest in self._shared[at]:
                share = resource.offer / largest
                if share < increment:
                    increment = share
            last[at] = increment
            value[at] += increment
            if value[at] == bound:
                self._growing[at] = False

    def _subtract(self, tasks: list[int]) -> None:
        """Subtract the increments from every resource, and stop the tasks of resources used up.

        As in SimGrid, a task that has stopped growing is subtracted in every later round, with its
        last increment.
        """
        last, growing = self._last, self._growing
        for at in tasks:
            capacity, weight = self._scarcest[at]
            if capacity < inf:
                left = self._own_left[at] = self._own_left[at] - weight * last[at]
                if left < _EXHAUSTED:
                    growing[at] = False
        still = []
        for resource in self._open:
            left = resource.left
            for at, weight, _ in resource.users:
                left -= weight * last[at]
            if left < _EXHAUSTED:
                for at, _, _ in resource.users:
                    growing[at] = False
            else:
                resource.left = left
                still.append(resource)
        self._open = still
