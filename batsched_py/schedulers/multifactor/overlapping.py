"""Partitions as regions: processors that are in the same partitions, which may overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from batsched_py.model.machine import Machine
from batsched_py.model.partitions import split_into_regions
from batsched_py.model.site import Site
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet

Share = tuple[ProcessorSet | None, list[int]]
"""The processors of a running job, and how many of them each region gets back."""
_NOTHING: Share = (None, [])
_MOST_KEPT = 10_000


class Group:
    """A group of partitions that overlap, or a single partition that overlaps with none.

    ``places`` are the partitions' places in the machine, ``parts`` their regions. ``of`` has the
    regions of each partition in the order in which jobs take them: regions in the fewest partitions
    come first, so that shared ones stay free for jobs that have no choice.
    """

    def __init__(
        self, places: Sequence[int], parts: Sequence[tuple[ProcessorSet, frozenset[int]]]
    ) -> None:
        self.places = tuple(places)
        ordered = sorted(parts, key=lambda part: (len(part[1]), part[0].bounds[:1]))
        self.parts = [processors for processors, _ in ordered]
        self.members = [members for _, members in ordered]
        """The partitions that each of the regions is in."""
        self.of = {
            place: [at for at, (_, members) in enumerate(ordered) if place in members]
            for place in places
        }
        self._shares: dict[int, Share] = {}  # by the number of the job
        self._unavailable = NO_PROCESSORS  # when these were found

    def choose(self, view: Site, place: int, size: int, not_these: ProcessorSet) -> ProcessorSet:
        """Return ``size`` free processors of a partition without ``not_these``, none if too few."""
        if len(self.parts) == 1:
            return view.choose_free(size) if size <= view.free else NO_PROCESSORS
        usable, chosen = view.free_processors - not_these, NO_PROCESSORS
        if len(usable) < size:
            return NO_PROCESSORS
        for at in self.of[place]:
            part = usable & self.parts[at]
            chosen |= view.choose_free(min(len(part), size - len(chosen)), part)
        return chosen

    def choose_parts(self, view: Site, place: int, numbers: Sequence[int]) -> ProcessorSet:
        """Return free processors of each region of a partition, up to ``numbers``."""
        free, chosen = view.free_processors, NO_PROCESSORS
        for at, number in zip(self.of[place], numbers, strict=True):
            if number:
                part = free & self.parts[at]
                chosen |= view.choose_free(min(number, len(part)), part)
        return chosen

    def releases(self, machine: Machine) -> Iterator[tuple[float, list[int]]]:
        """Give each running job's expected end (seconds) and its processors in each region."""
        shares = self._shares
        if machine.unavailable != self._unavailable or len(shares) > _MOST_KEPT:
            shares.clear()
            self._unavailable = machine.unavailable
        for job in machine.releases():
            taken, parts = shares.get(job.number, _NOTHING)
            if taken is not job.processors:
                usable = job.processors - self._unavailable
                parts = [len(usable & part) for part in self.parts]
                shares[job.number] = job.processors, parts
            if any(parts):
                yield job.expected_end, parts


def make_groups(views: Sequence[Site]) -> list[Group]:
    """Return groups of the partitions such that different groups do not overlap."""
    parts = split_into_regions(views)
    together: list[set[int]] = []
    for _, members in parts:
        others = [group for group in together if group & members]
        together = [group for group in together if not group & members]
        together.append(set(members).union(*others))
    return [
        Group(sorted(places), [part for part in parts if part[1] <= places])
        for places in sorted(together, key=min)
    ]
