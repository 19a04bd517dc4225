"""Jobs sorted by a key: a B-tree that is searched by key and by estimate.

A backfilling policy asks at nearly every event: which is the first waiting job, in the order of
the queue, that would end in time? Each node of the tree has the least estimate below each of its
children, so that a search takes one walk from the root to a leaf, however many jobs wait.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from batsched_py.model.job import WAITING, Job

FANOUT = 64


@dataclass(slots=True, eq=False)
class _Node:
    """Up to :data:`FANOUT` jobs (in a leaf) or nodes, by key; all three lists are parallel."""

    is_leaf: bool
    keys: list[Any]
    """Key of each job; of a node, a lower bound of the keys in it."""
    leasts: list[float]
    """Estimate of each job; of a node, the least estimate in it."""
    items: list[Any]

    def add(self, key: Any, estimate: float, item: Any) -> _Node | None:
        """Add a job; return a new right neighbour if this node had to be split."""
        keys = self.keys
        if self.is_leaf:
            at = bisect_right(keys, key)
            self._insert(at, key, estimate, item)
        else:
            at = max(0, bisect_right(keys, key) - 1)
            if key < keys[at]:
                keys[at] = key
            child: _Node = self.items[at]
            neighbour = child.add(key, estimate, item)
            if neighbour is not None:
                self._insert(at + 1, neighbour.keys[0], min(neighbour.leasts), neighbour)
                self.leasts[at] = min(child.leasts)
            elif estimate < self.leasts[at]:
                self.leasts[at] = estimate
        return self._split() if len(keys) > FANOUT else None

    def _insert(self, at: int, key: Any, least: float, item: Any) -> None:
        self.keys.insert(at, key)
        self.leasts.insert(at, least)
        self.items.insert(at, item)

    def _split(self) -> _Node:
        half = len(self.keys) // 2
        right = _Node(self.is_leaf, self.keys[half:], self.leasts[half:], self.items[half:])
        del self.keys[half:], self.leasts[half:], self.items[half:]
        return right

    def remove(self, key: Any) -> None:
        """Take the job with ``key`` out; raises :class:`ValueError` if it is not there."""
        if self.is_leaf:
            at = bisect_left(self.keys, key)
            if at == len(self.keys) or self.keys[at] != key:
                raise ValueError(f"no job with the key {key!r}")
        else:
            at = max(0, bisect_right(self.keys, key) - 1)
            child: _Node = self.items[at]
            child.remove(key)
            if child.keys:
                self.leasts[at] = min(child.leasts)
                return
        del self.keys[at], self.leasts[at], self.items[at]

    def behind(self, key: Any) -> tuple[Any, list[Job]] | None:
        """Return the next jobs behind ``key`` (None: the first) and the key of the last of them."""
        at = 0 if key is None else bisect_right(self.keys, key)
        if self.is_leaf:
            return (self.keys[-1], self.items[at:]) if at < len(self.keys) else None
        leaves = (child.behind(key) for child in self.items[max(0, at - 1) :])
        return next(filter(None, leaves), None)


class SortedJobs:
    """A set of jobs by ascending key; keys are unique and do not change."""

    __slots__ = ("_root", "least_estimate")

    def __init__(self) -> None:
        self._root = _Node(True, [], [], [])
        self.least_estimate = inf
        """The least estimate of all, inf if there is no job."""

    def __bool__(self) -> bool:
        return bool(self._root.keys)

    def __iter__(self) -> Iterator[Job]:
        """Give the jobs by key; any may be started or rejected, and so taken out, meanwhile."""
        key = None
        while jobs := self._root.behind(key):
            key, leaf = jobs
            for job in leaf:
                if job.state is WAITING:
                    yield job

    def add(self, key: Any, job: Job) -> None:
        """Insert ``job`` at its place in the order."""
        neighbour = self._root.add(key, job.estimate, job)
        if job.estimate < self.least_estimate:
            self.least_estimate = job.estimate
        if neighbour is not None:
            both = [self._root, neighbour]
            keys = [node.keys[0] for node in both]
            self._root = _Node(False, keys, [min(node.leasts) for node in both], both)

    def remove(self, key: Any) -> None:
        """Take the job with ``key`` out; raises :class:`ValueError` if it is not there."""
        root = self._root
        root.remove(key)
        while not root.is_leaf and len(root.keys) <= 1:
            root = root.items[0] if root.keys else _Node(True, [], [], [])
        self._root = root
        self.least_estimate = min(root.leasts, default=inf)

    def first(self) -> tuple[Any, Job]:
        """Return the least key and its job; there must be one."""
        node = self._root
        while not node.is_leaf:
            node = node.items[0]
        return node.keys[0], node.items[0]

    def first_ending(self, now: float, horizon: float) -> tuple[Any, Job]:
        """Return the first job, with its key, that ends by ``horizon`` if it starts ``now``.

        There must be one: see :attr:`least_estimate`.
        """
        node = self._root
        while True:
            at = 0
            for least in node.leasts:
                if now + least <= horizon:
                    break
                at += 1
            if node.is_leaf:
                return node.keys[at], node.items[at]
            node = node.items[at]
