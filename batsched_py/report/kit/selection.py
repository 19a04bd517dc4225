"""Selects and pairs the runs of a campaign by their labels, in the units of a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from batsched_py.files.readers import parse_json
from batsched_py.support.statistics import Interval, mean_interval, median_ratio, paired_ratio

Rows = TypeVar("Rows", "pd.Series[float]", pd.DataFrame)


def paired(ours: Rows, base: Rows) -> tuple[Rows, Rows]:
    """Return the rows of ``ours`` and ``base`` whose index (the seed) is in both.

    Both have the order of ``ours``. If several rows have the same index, the first counts.
    """
    ours, base = (side[~side.index.duplicated()] for side in (ours, base))
    both = ours.index.intersection(base.index)
    return ours.loc[both], base.loc[both]


SEED = "replication"
"""The label of repeated runs; runs with an equal value have the same users."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of each run, with its column and the unit in which a paper prints it."""

    name: str
    column: str
    """The column in the frame of the runs, in SI units."""
    title: str
    scale: float = 1.0
    """Units of the paper in one SI unit."""
    unit: str = ""


class Runs:
    """Runs of a campaign, a row each, with the quantities that a study uses."""

    def __init__(self, frame: pd.DataFrame, quantities: Iterable[Quantity] = ()) -> None:
        self.frame = frame
        self.quantities = {quantity.name: quantity for quantity in quantities}

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.frame)

    def where(self, **labels: Any) -> Runs:
        """Return the runs that have all these labels, given as ``name=value``."""
        frame = self.frame
        for name, value in labels.items():
            frame = frame[frame[name] == value] if name in frame else frame.iloc[:0]
        return Runs(frame, self.quantities.values())

    def labels(self, name: str) -> list[Any]:
        """Return the values of a label in order of appearance."""
        return list(self.frame[name].unique()) if name in self.frame else []

    def by(self, name: str) -> dict[Any, Runs]:
        """Return the runs of each value of a label, in ascending order of the values.

        Runs without a value are left out.
        """
        values = sorted(value for value in self.labels(name) if pd.notna(value))
        return {value: self.where(**{name: value}) for value in values}

    def groups(self, *names: str) -> Iterator[tuple[tuple[Any, ...], Runs]]:
        """Yield each combination of the values of labels, in order of appearance, with its runs.

        A label that no run has is ignored: without any label, all runs are the only group.
        """
        there = [name for name in names if name in self.frame]
        if not there:
            yield from [((), self)] if len(self) else []
            return
        for values, frame in self.frame.groupby(there, sort=False, dropna=False):
            yield values, Runs(frame, self.quantities.values())

    def values(self, name: str) -> pd.Series[float]:
        """Return a quantity of each run, by replication, in the paper's unit.

        A name of no quantity is that of a column. Runs of a campaign without replications are
        numbered in order.
        """
        quantity = self.quantities.get(name, Quantity(name, name, name))
        if quantity.column not in self.frame:
            return pd.Series(dtype=float)
        frame = self.frame.reset_index(drop=True)
        column = (frame.set_index(SEED) if SEED in frame else frame)[quantity.column]
        return column.sort_index().astype(float) * quantity.scale

    def mean(self, name: str) -> Interval:
        """Return the mean of a quantity with its interval."""
        return mean_interval(self.values(name))

    def median(self, name: str) -> float:
        """Return the median of a quantity."""
        return float(self.values(name).median())

    def ratio(self, name: str, base: Runs) -> Interval:
        """Return the ratio of the mean of a quantity to that of ``base``, paired by replication."""
        return paired_ratio(*paired(self.values(name), base.values(name)))

    def median_ratio(self, name: str, base: Runs) -> Interval:
        """Return the median of the ratios to ``base``, paired by replication."""
        return median_ratio(*paired(self.values(name), base.values(name)))

    def change(self, name: str, base: Runs) -> Interval:
        """Return the change of the mean against ``base`` in per cent, paired by replication."""
        ratio = self.ratio(name, base)
        value, low, high = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
        return Interval(value, low, high, ratio.nb)

    def options(self, kind: str) -> dict[str, Any]:
        """Return :func:`options_of` of the first run that has any options."""
        found = (options_of(run, kind) for _, run in self.frame.iterrows())
        return next(filter(None, found), {})


def options_of(run: Any, kind: str) -> dict[str, Any]:
    """Return the scheduler's or the users' options of a run, which are stored as JSON."""
    text = run.get(kind)
    return parse_json(text, dict[str, Any], kind) if isinstance(text, str) else {}


def rows(frame: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a frame as named tuples."""
    yield from frame.itertuples(index=False)


def log_name(log: object) -> str:
    """Return the name of a log without folders and ``.swf.gz``."""
    return Path(str(log)).name.removesuffix(".gz").removesuffix(".swf")


def slug(*parts: object) -> str:
    """Return the parts as a name of a table or figure: small letters, digits, underscores."""
    return re.sub(r"[^a-z0-9]+", "_", "_".join(map(str, parts)).lower()).strip("_")
