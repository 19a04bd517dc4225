"""Plans on overlapping partitions, slow and plain: second by second, region by region."""

from __future__ import annotations

from collections.abc import Sequence

Placed = tuple[int, list[int]]
"""Start, and how many processors of each region."""


class SecondBySecond:
    """Free processors of regions in each second up to ``end``, from when on all are free."""

    def __init__(self, totals: Sequence[int], end: int) -> None:
        self._totals = list(totals)
        self._free = [list(totals) for _ in range(end)]

    def free(self, region: int, second: int) -> int:
        """Return the free processors of a region."""
        return self._free[second][region] if second < len(self._free) else self._totals[region]

    def take(self, region: int, count: int, begin: int, end: int) -> None:
        """Take some from ``begin`` to ``end``; behind what is known more seconds are made."""
        while len(self._free) < end:
            self._free.append(self._totals[:])
        for second in range(begin, end):
            self._free[second][region] -= count

    def place(
        self, regions: Sequence[int], size: int, duration: int, unit: int = 1, latest: int = 10**9
    ) -> Placed | None:
        """Place a job at the first second at which it fits, in the regions in turn.

        Of each region it takes multiples of ``unit``. None if it cannot start by ``latest``.
        """
        for start in range(latest + 1):
            least = [
                min(self.free(region, second) for second in range(start, start + duration))
                for region in regions
            ]
            least = [number - number % unit for number in least]
            if sum(least) >= size:
                return start, self._taken(regions, least, size, start, start + duration)
        return None

    def _taken(
        self, regions: Sequence[int], least: Sequence[int], size: int, begin: int, end: int
    ) -> list[int]:
        taken = []
        for region, most in zip(regions, least, strict=True):
            part = min(most, size)
            self.take(region, part, begin, end)
            size -= part
            taken.append(part)
        return taken
