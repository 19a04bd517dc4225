"""Empirical distributions that are learnt from logs, sampled, and stored in small JSON files.

A file is a JSON object: ``name``, ``unit``, ``description``, ``sources`` (the logs it was learnt
from), ``remarks`` on these logs, ``observations`` (number of values), and one of

``quantiles``
    pairs [probability, value] from probability 0 to 1, both ascending; between two pairs the
    value is on a straight line (for times);
``probabilities``
    pairs [value, probability], values ascending, probabilities with sum 1 (for counts).
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from json import dumps
from math import inf, isfinite
from pathlib import Path
from random import Random

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from batsched_py.errors import InputError, UsageError, located
from batsched_py.files.readers import read_json
from batsched_py.files.writers import write_whole
from batsched_py.support.json_values import whole

Pair = tuple[float, float]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a distribution: its quantity, unit and origin."""

    name: str
    unit: str
    description: str
    sources: tuple[str, ...] = ()
    """The logs that it was learnt from."""
    remarks: str = ""
    """Remarks on the sources, and on how they were combined."""
    observations: int = 0
    """Number of values that it was learnt from."""


class Quantiles:
    """A continuous distribution, given by quantiles with linear interpolation between them.

    Raises :class:`UsageError` unless the pairs (probability, value) ascend from probability 0
    to 1; probabilities must differ, values need not.
    """

    def __init__(self, about: About, pairs: tuple[Pair, ...]) -> None:
        _check(about, pairs)
        self.about, self.pairs = about, pairs
        self._probabilities = [float(probability) for probability, _ in pairs]
        self.values = [float(value) for _, value in pairs]
        """The values of the quantiles, ascending."""
        if self._probabilities[0] != 0 or self._probabilities[-1] != 1:
            raise UsageError(
                f"{about.name}: quantiles from {self._probabilities[0]:g} to "
                f"{self._probabilities[-1]:g}; expected probabilities from 0 to 1"
            )
        if self.values != sorted(self.values):
            raise UsageError(f"{about.name}: the values of the quantiles do not ascend")

    def quantile(self, probability: float) -> float:
        """Return the value that is not exceeded with ``probability``, in [0, 1]."""
        return _on_line(self._probabilities, self.values, probability)

    def share_below(self, value: float) -> float:
        """Return the probability of being less than ``value``."""
        return _on_line(self.values, self._probabilities, value)

    def sample(self, random: Random, least: float = -inf) -> float:
        """Return a random value that is at least ``least``.

        It is ``least`` itself if all values are less. Takes one number of ``random`` (inverse
        transform).
        """
        under = self.share_below(least)
        return max(least, self.quantile(under + (1 - under) * random.random()))

    def truncate(self, most: float) -> Quantiles:
        """Return the distribution of the values up to ``most``, without the larger ones.

        Raises :class:`UsageError` if no value is left.
        """
        if most < self.values[0]:
            raise UsageError(
                f"{self.about.name}: no value up to {most:g}; the least is {self.values[0]:g}"
            )
        if most == self.values[0]:
            return Quantiles(self.about, ((0.0, most), (1.0, most)))
        share = self.share_below(most)
        if not 0 < share < 1:
            return self
        kept = [(probability / share, value) for probability, value in self.pairs if value < most]
        return Quantiles(self.about, (*kept, (1.0, most)))

    def balance_parts(self, *borders: float) -> Quantiles:
        """Return the distribution with equally likely parts below, between and above ``borders``.

        Within each part the values keep their proportions: in a part with the share s of all
        values, a value counts 1 / (n s), with n the number of parts. Borders ascend. Raises
        :class:`UsageError` for a part without values.
        """
        shares = [0.0, *map(self.share_below, borders), 1.0]
        pairs: list[Pair] = [(0.0, self.values[0])]
        ends = (*borders, self.values[-1])
        for part, ((low, high), end) in enumerate(zip(pairwise(shares), ends, strict=True)):
            if not low < high:
                raise UsageError(f"{self.about.name}: no values up to {end:g} to count more")
            inside = [pair for pair in self.pairs if low < pair[0] < high]
            places = [(part + (p - low) / (high - low)) / len(ends) for p, _ in inside]
            pairs += zip(places, (value for _, value in inside), strict=True)
            pairs.append(((part + 1) / len(ends), end))
        return Quantiles(self.about, tuple(pairs))

    @property
    def mean(self) -> float:
        """The expectation: the area under the interpolated quantiles."""
        lines = pairwise(zip(self._probabilities, self.values, strict=True))
        return sum((q - p) * (low + high) / 2 for (p, low), (q, high) in lines)


class Probabilities:
    """A discrete distribution: a table of values with their probabilities.

    Raises :class:`UsageError` unless the values ascend and the probabilities have sum 1.
    """

    def __init__(self, about: About, pairs: tuple[Pair, ...]) -> None:
        _check(about, pairs)
        self.about, self.pairs = about, pairs
        self.values = [value for value, _ in pairs]
        """Ascending."""
        self._up_to = list(accumulate(probability for _, probability in pairs))
        if min(probability for _, probability in pairs) < 0 or abs(self._up_to[-1] - 1) > 1e-3:
            raise UsageError(
                f"{about.name}: probabilities with sum {self._up_to[-1]:g}; expected numbers >= 0 "
                "with sum 1"
            )
        self._up_to = [part / self._up_to[-1] for part in self._up_to]  # written with few digits

    def quantile(self, probability: float) -> float:
        """Return the least value that is not exceeded with ``probability``, in [0, 1]."""
        return self.values[bisect_left(self._up_to, probability)]

    def share_below(self, value: float) -> float:
        """Return the probability of being less than ``value``."""
        place = bisect_left(self.values, value)
        return self._up_to[place - 1] if place else 0.0

    def sample(self, random: Random) -> float:
        """Return a random value, from one number of ``random`` (inverse transform)."""
        return self.quantile(random.random())

    @property
    def mean(self) -> float:
        """The expectation: the sum of the values, weighted by their probabilities."""
        shares = np.diff(self._up_to, prepend=0.0)
        return float(np.dot(shares, self.values))

    def truncate(self, most: float) -> Probabilities:
        """Return the distribution of the values up to ``most``, without the larger ones.

        Raises :class:`UsageError` if no value is left.
        """
        kept = [(value, probability) for value, probability in self.pairs if value <= most]
        total = sum(probability for _, probability in kept)
        if not total:
            least = min(self.values)
            raise UsageError(f"{self.about.name}: no value up to {most:g}; the least is {least:g}")
        return Probabilities(self.about, tuple((value, part / total) for value, part in kept))


Distribution = Quantiles | Probabilities


def ks_distance(values: ArrayLike, distribution: Distribution) -> float:
    """Return the Kolmogorov-Smirnov distance of ``values`` from a distribution, 0 to 1.

    It is the largest difference of the two cumulative distributions. Raises :class:`UsageError`
    without values.
    """
    seen = np.sort(np.asarray(values, dtype=float))
    if not seen.size:
        raise UsageError(f"{distribution.about.name}: there are no values to compare")
    where = np.union1d(seen, distribution.values)
    both_sides = np.concatenate((where, np.nextafter(where, inf)))
    shares = np.searchsorted(seen, both_sides) / len(seen)
    expected = [distribution.share_below(value) for value in both_sides.tolist()]
    return float(np.abs(shares - expected).max())


# Learning ----------------------------------------------------------------------------------------

_PERCENTILES = 100
_MOST_PAIRS = 400
_TOLERANCE = 1e-3
"""Total error of the interpolated mean that is allowed, as a share of the mean."""


def learn_quantiles(values: ArrayLike, about: About, weights: ArrayLike | None = None) -> Quantiles:
    """Learn a continuous distribution from ``values``, shape (n,), with ``weights`` (None: equal).

    It always has the percentiles. More quantiles are added in the tails, where linear interpolation
    gives a wrong mean: the piece with the largest error is halved until all errors together are at
    most a thousandth of the mean, or there are 400 quantiles.

    Raises :class:`UsageError` without values.
    """
    sorted_values, up_to = _cumulated(values, weights, about)
    area = np.concatenate(([0.0], np.cumsum(sorted_values * np.diff(up_to, prepend=0.0))))
    up_to_with_0 = np.concatenate(([0.0], up_to))

    def at(probability: float) -> float:
        place = int(np.searchsorted(up_to, probability - 1e-12))
        return float(sorted_values[min(place, len(sorted_values) - 1)])

    def error(low: float, high: float) -> float:
        areas = np.interp([low, high], up_to_with_0, area)
        line = (high - low) * (at(low) + at(high)) / 2
        return float(abs(areas[1] - areas[0] - line))

    grid = [percent / _PERCENTILES for percent in range(_PERCENTILES + 1)]
    pieces: list[tuple[float, float, float]] = []
    for low, high in pairwise(grid):
        heappush(pieces, (-error(low, high), low, high))
    allowed = _TOLERANCE * float(np.abs(area[-1]))
    remaining = -sum(piece[0] for piece in pieces)
    while remaining > allowed and len(grid) < _MOST_PAIRS:
        worst, low, high = heappop(pieces)
        middle = round((low + high) / 2, 9)
        remaining += worst
        if not low < middle < high:
            continue
        grid.append(middle)
        for piece in ((low, middle), (middle, high)):
            heappush(pieces, (-error(*piece), *piece))
            remaining += error(*piece)
    pairs = tuple((probability, at(probability)) for probability in sorted(grid))
    return Quantiles(msgspec.structs.replace(about, observations=len(sorted_values)), pairs)


def learn_shares(
    values: ArrayLike, about: About, weights: ArrayLike | None = None
) -> Probabilities:
    """Learn a discrete distribution from ``values``, shape (n,), with ``weights`` (None: equal).

    Raises :class:`UsageError` without values.
    """
    sorted_values, up_to = _cumulated(values, weights, about)
    last = np.append(sorted_values[1:] != sorted_values[:-1], True)  # of each value
    shares = np.diff(up_to[last], prepend=0.0)
    pairs = zip(sorted_values[last].tolist(), shares.tolist(), strict=True)
    rounded = tuple((value, float(f"{share:.6g}")) for value, share in pairs)
    return Probabilities(msgspec.structs.replace(about, observations=len(sorted_values)), rounded)


def _cumulated(
    values: ArrayLike, weights: ArrayLike | None, about: About
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values in ascending order, and the share of the total weight up to each value."""
    numbers = np.asarray(values, dtype=float)
    if not numbers.size:
        raise UsageError(f"{about.name}: there are no values to learn from")
    order = np.argsort(numbers, kind="stable")
    heavy = np.ones(numbers.size) if weights is None else np.asarray(weights, dtype=float)[order]
    sums = np.cumsum(heavy)
    return numbers[order], sums / sums[-1]


# Files -------------------------------------------------------------------------------------------


class _DistributionFile(About, frozen=True, forbid_unknown_fields=True, kw_only=True):
    quantiles: tuple[Pair, ...] | None = None
    probabilities: tuple[Pair, ...] | None = None


def write_distribution(path: str | Path, distribution: Distribution) -> None:
    """Write a distribution to a file, completely or not at all; raises :class:`OutputError`."""
    about = msgspec.structs.asdict(distribution.about)
    lines = [f" {dumps(key)}: {dumps(value)}," for key, value in about.items()]
    kind = "quantiles" if isinstance(distribution, Quantiles) else "probabilities"
    pairs = ",\n".join(f"  {dumps(list(map(whole, pair)))}" for pair in distribution.pairs)
    write_whole(path, "\n".join(["{", *lines, f' "{kind}": [', pairs, " ]", "}", ""]))


def read_distribution(path: str | Path) -> Distribution:
    """Read a distribution from a file that :func:`write_distribution` wrote.

    Raises :class:`UsageError` if there is no such file, and :class:`InputError`, which names the
    file, if it does not have the format of this module.
    """
    file = read_json(path, _DistributionFile, expected="a distribution")
    about = About(**{key: getattr(file, key) for key in About.__struct_fields__})
    if (file.quantiles is None) == (file.probabilities is None):
        raise InputError(f"{path}: expected either quantiles or probabilities")
    with located(path, UsageError, InputError):
        if file.quantiles is not None:
            return Quantiles(about, file.quantiles)
        return Probabilities(about, file.probabilities or ())


# Checks and lines --------------------------------------------------------------------------------


def _check(about: About, pairs: tuple[Pair, ...]) -> None:
    if not pairs:
        raise UsageError(f"{about.name}: there are no pairs of numbers")
    for pair in pairs:
        if not all(isfinite(number) for number in pair):
            raise UsageError(f"{about.name}: {list(pair)} is no pair of finite numbers")
    for pair, following in pairwise(pairs):
        if not pair[0] < following[0]:
            raise UsageError(
                f"{about.name}: {list(following)} follows {list(pair)}; expected ascending pairs"
            )


def _on_line(xs: list[float], ys: list[float], x: float) -> float:
    """Interpolate y linearly at x; beyond the points, return the y of the nearest point.

    If several points have the same x, the first one counts.
    """
    place = bisect_left(xs, x)
    if place == len(xs):
        return ys[-1]
    if place == 0 or xs[place] == x:
        return ys[place]
    low, high = xs[place - 1], xs[place]
    return ys[place - 1] + (ys[place] - ys[place - 1]) * (x - low) / (high - low)
