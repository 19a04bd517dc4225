"""How many jobs or processors there are at each instant: sums over what has begun and not ended."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Parts(msgspec.Struct, frozen=True, eq=False):
    """A step function over the parts of a span of time, each of shape (parts,)."""

    mean: Array
    least: Array
    most: Array


class Intervals(msgspec.Struct, dict=True, eq=False):
    """Half-open intervals of time ``[begin, end)`` with weights, each of shape (n,).

    What :meth:`at` gives is constant between two :attr:`instants`. An interval that ends when it
    begins counts nowhere.
    """

    begin: Array
    end: Array
    weight: Array | None = None
    """Each is 1 if there is none."""

    @cached_property
    def instants(self) -> Array:
        """The times at which an interval begins or ends, ascending, each once."""
        return np.unique(np.concatenate([self.begin, self.end]))

    def at(self, times: Array) -> Array:
        """Return the sum of the weights of the intervals that each of the times is in."""
        weight = np.ones(len(self.begin)) if self.weight is None else self.weight
        return _sum_until(self.begin, weight, times) - _sum_until(self.end, weight, times)

    def over(self, edges: Array) -> Parts:
        """Return mean, least and most value between neighbouring ``edges``, which ascend."""
        first, last = edges[0], edges[-1]
        inner = self.instants[(self.instants > first) & (self.instants < last)]
        times = np.union1d(inner, edges)
        level, place = self.at(times[:-1]), np.searchsorted(times, edges[:-1])
        area = np.add.reduceat(level * np.diff(times), place)
        least, most = (ufunc.reduceat(level, place) for ufunc in (np.minimum, np.maximum))
        return Parts(area / np.diff(edges), least, most)


def _sum_until(times: Array, weight: Array, until: Array) -> Array:
    order = np.argsort(times, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weight[order])])
    result: Array = sums[np.searchsorted(times[order], until, side="right")]
    return result
