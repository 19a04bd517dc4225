"""Step functions over time, such as the number of busy processors."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Parts(msgspec.Struct, frozen=True, eq=False):
    """Mean, least and most value of a step function in parts of a span of time, each (parts,)."""

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
    """Each is 1 if there is none; of shape (n, k), for :attr:`levels` of k columns."""

    @property
    def instants(self) -> Array:
        """The times at which an interval begins or ends, ascending, each once."""
        return self._steps[0]

    @property
    def levels(self) -> Array:
        """The sum of the weights from each of the :attr:`instants` on, which ends at 0."""
        return self._steps[1]

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        times = np.concatenate([self.begin, self.end])
        weight = np.ones(len(self.begin)) if self.weight is None else self.weight
        order = np.argsort(times, kind="stable")
        times, sums = times[order], np.cumsum(np.concatenate([weight, -weight])[order], axis=0)
        is_last = np.append(times[1:] != times[:-1], np.ones(len(times[:1]), dtype=bool))
        return times[is_last], sums[is_last]

    def at(self, times: Array) -> Array:
        """Return for each time the sum of the weights of the intervals that contain it."""
        levels = np.append(0.0, self.levels)
        return levels[np.searchsorted(self.instants, times, side="right")]

    def means(self, edges: Array) -> Array:
        """Return the mean value between neighbouring ``edges``, which ascend.

        nan where there is no time in between.
        """
        spans = np.diff(edges)
        if not len(self.instants):
            return np.where(spans > 0, 0.0, np.nan)
        areas = np.append(0.0, np.cumsum(self.levels[:-1] * np.diff(self.instants)))
        until = np.interp(edges, self.instants, areas)
        return np.where(spans > 0, np.diff(until) / np.where(spans > 0, spans, 1.0), np.nan)

    def over(self, edges: Array) -> Parts:
        """Return mean, least and most value between neighbouring ``edges``, which ascend."""
        first, last = edges[0], edges[-1]
        inner = self.instants[(self.instants > first) & (self.instants < last)]
        times = np.union1d(inner, edges)
        level, place = self.at(times[:-1]), np.searchsorted(times, edges[:-1])
        area = np.add.reduceat(level * np.diff(times), place)
        least, most = (ufunc.reduceat(level, place) for ufunc in (np.minimum, np.maximum))
        return Parts(area / np.diff(edges), least, most)
