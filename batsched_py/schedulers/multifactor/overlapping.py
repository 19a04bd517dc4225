"""Partitions as regions: processors that are in the same partitions, which may overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np

from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.partitions import regions
from batsched_py.model.site import Site
from batsched_py.schedulers.multifactor.backfill_plan import BEYOND, Grid
from batsched_py.support.processor_sets import NO_PROCESSORS, ProcessorSet


class Group:
    """Partitions that overlap, or one that overlaps with none.

    ``places`` are theirs among those of the machine, ``parts`` their regions, and ``of`` those of
    each partition in which jobs are placed: the regions of the fewest partitions come first, so
    that the others stay free for those who have no choice.
    """

    def __init__(
        self, places: Sequence[int], parts: Sequence[tuple[ProcessorSet, frozenset[int]]]
    ) -> None:
        self.places = tuple(places)
        ordered = sorted(parts, key=lambda part: (len(part[1]), part[0].bounds[:1]))
        self.parts = [processors for processors, _ in ordered]
        self.of = {
            place: [at for at, (_, members) in enumerate(ordered) if place in members]
            for place in places
        }
        self._shares: dict[int, tuple[Job, list[int]]] = {}

    def chosen(self, view: Site, place: int, size: int, not_these: ProcessorSet) -> ProcessorSet:
        """Return ``size`` free processors for a job of a partition, none if there are too few."""
        if len(self.parts) == 1:
            return view.free_processors.lowest(size) if size <= view.free else NO_PROCESSORS
        usable, chosen = view.free_processors - not_these, NO_PROCESSORS
        if len(usable) < size:
            return NO_PROCESSORS
        for at in self.of[place]:
            part = usable & self.parts[at]
            chosen |= part.lowest(min(len(part), size - len(chosen)))
        return chosen

    def releases(self, machine: Machine) -> Iterator[tuple[float, list[int]]]:
        """Give the expected end of each running job (seconds), and what each region gets back."""
        shares = {}
        for job in machine.releases():
            known = self._shares.get(job.number)
            if known is None or machine.unavailable:
                usable = job.processors - machine.unavailable
                known = job, [len(usable & part) for part in self.parts]
            shares[job.number] = known
            if any(known[1]):
                yield job.expected_end, known[1]
        self._shares = {} if machine.unavailable else shares


def groups_of(views: Sequence[Site]) -> list[Group]:
    """Return the partitions in groups that do not overlap with each other."""
    parts = regions(views)
    together: list[set[int]] = []
    for _, members in parts:
        others = [group for group in together if group & members]
        together = [group for group in together if not group & members]
        together.append(set(members).union(*others))
    return [
        Group(sorted(places), [part for part in parts if part[1] <= places])
        for places in sorted(together, key=min)
    ]


class RegionPlan:
    """A plan on a group of overlapping partitions.

    A job fits at t if the least free processors over the time that it lasts, summed over the
    regions of its partition, are enough. (The same processors stay free over that time: of each
    region as many as are never taken.)
    """

    def __init__(self, group: Group, machine: Machine, grid: Grid, now: float) -> None:
        self._group, begin = group, grid.begin(now)
        last = grid.end(now)
        changes: dict[float, Any] = {
            begin: np.array([len(machine.free_processors & part) for part in group.parts])
        }
        for end, shares in group.releases(machine):
            end = grid.release(end, now)
            if end < last:
                changes[end] = changes.get(end, 0) + np.array(shares)
        if last < inf:
            changes[last] = np.full(len(group.parts), BEYOND)
        times = sorted(changes)
        self.times = np.array(times)
        self.free = np.cumsum([changes[time] for time in times], axis=0).T.astype(np.int64)
        """By region and time."""

    def place(
        self, place: int, size: int, duration: float, unit: int, *, now_only: bool = False
    ) -> tuple[float, list[int]]:
        """Take processors for a job of a partition as early as possible, or only now.

        Returns the start (inf if there is none) and how many of each region of the partition.
        """
        rows = self._group.of[place]
        free = self.free[rows]
        enough = np.flatnonzero(free.sum(axis=0) >= size)
        for at in enough.tolist():
            start = float(self.times[at])
            if now_only and at:
                break
            behind = max(at + 1, int(self.times.searchsorted(start + duration)))
            least = free[:, at:behind].min(axis=1).clip(min=0)
            if unit > 1:
                least -= least % unit
            if least.sum() >= size:
                return start, self._take(rows, least.tolist(), at, behind, size, start + duration)
        return inf, []

    def _take(
        self, rows: list[int], least: list[int], at: int, behind: int, size: int, end: float
    ) -> list[int]:
        if end < inf and (behind == len(self.times) or self.times[behind] > end):
            self.times = np.insert(self.times, behind, end)
            self.free = np.insert(self.free, behind, self.free[:, behind - 1], axis=1)
        taken = []
        for row, most in zip(rows, least, strict=True):
            part = min(most, size)
            self.free[row, at:behind] -= part
            size -= part
            taken.append(part)
        return taken
