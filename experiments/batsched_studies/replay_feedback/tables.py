"""Tables 1 and 2 of the study: ours beside the published values.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), section 4; the published
numbers are in ``published.toml``. Two values are *equal* if they have the same printed digits
(two decimals). A published value lies *inside* the spread of some runs, which differ in the order
of simultaneous events only, if it is in the closed interval from the smallest to the largest of
them, widened by half of the last printed digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise, product
from operator import itemgetter
from typing import Any

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.report.kit import beside_published
from batsched_py.report.kit.selection import log_name, slug
from batsched_py.report.kit.tables import columns, where_known
from batsched_py.units import DAY
from batsched_studies.replay_feedback import TEXTS

TABLES = ("table1", "table2")
INFRASTRUCTURES = ("easy", "fcfs", "perf*2", "perf/2", "infra*2", "infra/2")
REPLAYS = ("rigid", "a0", "a60")
RANKING = ("perf*2", "infra*2", "easy", "infra/2", "perf/2")
"""Infrastructures from the earliest to the latest submissions (mean lateness)."""
UNITS = {"d": DAY, "s": 1.0, "1": 1.0}
NAMES = {
    "makespan": "makespan",
    "mean_waiting_time": "mean wait",
    "max_waiting_time": "max wait",
    "mean_lateness": "mean lateness",
    "relative_lateness": "relative lateness",
    "additional_lateness": "additional lateness",
}

HALF_DIGIT = 0.005 + 1e-9  # of two decimals; a little more for values on the very border
_KEY = ["log", "size", "infrastructure", "replay"]


@dataclass(frozen=True)
class Cell:
    """One value of a table. Values are in ``unit``; None = not known."""

    table: str
    log: str
    size: str
    infrastructure: str
    replay: str
    metric: str
    unit: str
    values: tuple[float, ...]
    """Of the run in the given order of events, if there is one, and of the others by seed."""
    published: float | None

    @property
    def ours(self) -> float:
        """The first of :attr:`values`."""
        return self.values[0]

    @property
    def difference(self) -> float | None:
        """Ours minus published."""
        return None if self.published is None else self.ours - self.published

    @property
    def equal(self) -> bool | None:
        """Whether ours and the published value have the same printed digits."""
        return None if self.published is None else digits(self.ours) == digits(self.published)

    @property
    def inside(self) -> bool | None:
        """Whether the published value lies inside the spread; None if there is no spread."""
        if self.published is None or len(self.values) < 2:
            return None
        return min(self.values) - HALF_DIGIT <= self.published <= max(self.values) + HALF_DIGIT


@dataclass(frozen=True)
class Count:
    """How many rows and values of a table are reproduced."""

    table: str
    log: str
    size: str
    rows: int
    """Rows that have both our values and published ones."""
    equal_rows: int
    """... of these, rows with the printed digits in all columns."""
    values: int
    equal_values: int
    spread_values: int
    """Values of which there are several runs."""
    inside_values: int
    """... of these, published values inside the spread."""


@dataclass(frozen=True)
class LatenessRanking:
    """The infrastructures of one replay by mean lateness, earliest first."""

    log: str
    size: str
    replay: str
    lateness: dict[str, float]
    """Days, earliest first."""
    holds: bool | None
    """Whether it is the published order; None if runs are missing."""


def unit_title(metric: str, unit: str) -> str:
    """Return the heading of a metric."""
    return NAMES[metric] + ("" if unit == "1" else f" ({unit})")


def metrics_of(published: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the metrics of both tables: to each its unit and the table that it is in."""
    return {
        metric: (unit, name)
        for name in TABLES
        for metric, unit in zip(published[name]["metrics"], published[name]["units"], strict=True)
    }


def printed(published: dict[str, Any], log: str, run: tuple[str, str], metric: str) -> float | None:
    """Return the published value of an (infrastructure, replay), in the unit of its table."""
    table = published[metrics_of(published)[metric][1]]
    path = (published["logs"].get(log), " ".join(run))
    row = beside_published.printed(table, *path)
    return None if row is None else float(row[table["metrics"].index(metric)])


def of_run(run: tuple[str, str], metric: str, unit: str) -> dict[str, Any]:
    """Return the cells that say what a value is of."""
    place = {"infrastructure": run[0], "replay": run[1], "metric": metric}
    return place | {"quantity": unit_title(metric, unit)}


def whole_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of whole logs as they were recorded, with short log names.

    That is, neither of the first jobs alone (``first``) nor of resampled people. Runs in the
    given order of events come first, then shaken ones by seed.
    """
    for column in ("first", "people"):
        if column in runs:
            runs = runs[runs[column].isna()]
    shake = runs["shake"] if "shake" in runs else pd.Series(math.nan, index=runs.index)
    runs = runs.assign(log=runs["log"].map(log_name), shake=pd.to_numeric(shake, errors="coerce"))
    return runs.sort_values("shake", kind="stable", na_position="first")


def by_log(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield log and size, and the runs that have them."""
    for (log, size), of_log in runs.groupby(["log", "size"]):
        yield (str(log), str(size)), of_log


def compare(runs: pd.DataFrame, published: dict[str, Any]) -> list[Cell]:
    """Return the cells of both tables, in the paper's order, for each log and size.

    ``runs`` has a row per run, values in SI units.
    """
    groups: dict[Any, pd.DataFrame] = dict(iter(whole_runs(runs).groupby(_KEY)))
    logs = sorted({(log, size) for log, size, _, _ in groups})
    cells: list[Cell] = []
    for of, (log, size) in product(TABLES, logs):
        for run in product(INFRASTRUCTURES, REPLAYS):
            repeats = groups.get((log, size, *run))
            if repeats is None or (of == "table2" and run[1] == "rigid"):
                continue
            for metric, unit in zip(published[of]["metrics"], published[of]["units"], strict=True):
                values = tuple((pd.to_numeric(repeats[metric]) / UNITS[unit]).to_list())
                value = printed(published, log, run, metric)
                cells.append(Cell(of, log, size, *run, metric, unit, values, value))
    return cells


def count(cells: Sequence[Cell]) -> list[Count]:
    """Return the counts of each table, log and size that has published values."""
    counts = []
    for place, of_table in groupby(cells, lambda cell: (cell.table, cell.log, cell.size)):
        compared = [cell for cell in of_table if cell.published is not None]
        if not compared:
            continue
        rows = [all(cell.equal for cell in row) for _, row in rows_of(compared)]
        spread = [cell for cell in compared if cell.inside is not None]
        values = sum(bool(cell.equal) for cell in compared)
        inside = sum(bool(cell.inside) for cell in spread)
        sizes = (len(rows), sum(rows), len(compared), values, len(spread), inside)
        counts.append(Count(*place, *sizes))
    return counts


def rank(cells: Sequence[Cell]) -> list[LatenessRanking]:
    """Return the rankings of section 5, one per log, size and replay with feedback."""
    lateness: dict[tuple[str, str, str], dict[str, float]] = {}
    for cell in cells:
        if cell.metric == "mean_lateness" and cell.infrastructure in RANKING:
            of_replay = lateness.setdefault((cell.log, cell.size, cell.replay), {})
            of_replay[cell.infrastructure] = cell.ours
    return [
        LatenessRanking(*key, dict(sorted(of_replay.items(), key=itemgetter(1))), ranked(of_replay))
        for key, of_replay in lateness.items()
    ]


def ranked(lateness: dict[str, float]) -> bool | None:
    """Tell whether the infrastructures are in the published order; None if some are missing."""
    if not set(RANKING) <= set(lateness):
        return None
    return all(lateness[a] < lateness[b] for a, b in pairwise(RANKING))


def nearest(published: float, value: float) -> float:
    """Return the number that is printed as ``published`` and is nearest to ``value``."""
    return min(max(value, published - HALF_DIGIT), published + HALF_DIGIT)


def digits(value: float) -> str:
    """Return the value as the paper prints it; no negative zero."""
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def rows_of(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    """Yield the rows of a table: (infrastructure, replay) and the cells."""
    for key, row in groupby(cells, lambda cell: (cell.infrastructure, cell.replay)):
        yield key, list(row)


def tables(cells: Iterable[Cell], published: dict[str, Any]) -> Iterator[Table | None]:
    """Yield each table for each log and size, ours beside the published values."""
    for (name, log, size), of_table in groupby(cells, lambda c: (c.table, c.log, c.size)):
        lines = list(rows_of(of_table))
        several = any(len(cell.values) > 1 for _, row in lines for cell in row)
        shaken = "; ours is the first of several orders of events" if several else ""
        compared = any(cell.published is not None for _, row in lines for cell in row)
        shown = [*columns("infrastructure", "replay")]
        for cell in lines[0][1]:
            shown.append(Column(cell.metric, unit_title(cell.metric, cell.unit), 2, "ours"))
            shown.append(Column(f"{cell.metric}_published", "paper", 2, "published"))
            shown.append(Column(f"{cell.metric}_difference", "difference", 2, "difference"))
        shown += columns(all_digits="all digits") if compared else ()
        rows = [_row(*line) for line in lines]
        yield TEXTS.table(
            "published",
            rows,
            slug(name, log, size),
            [(at, cell.metric) for at, (_, row) in enumerate(lines) for cell in row if cell.equal],
            where_known(rows, shown),
            title=published[name]["title"],
            log=log,
            size=size,
            shaken=shaken,
            note=TEXTS["tables"] if compared else "Nothing was published for this log.",
        )


def _row(run: tuple[str, str], cells: list[Cell]) -> dict[str, Any]:
    row: dict[str, Any] = {"infrastructure": run[0], "replay": run[1]}
    for cell in cells:
        row[cell.metric] = cell.ours
        if cell.published is not None:
            row[f"{cell.metric}_published"] = cell.published
            row[f"{cell.metric}_difference"] = cell.difference
            row["all_digits"] = all(other.equal for other in cells)
    return row


def count_table(counts: Sequence[Count]) -> Table | None:
    """Return a table of the counts, None if nothing was published."""
    several = any(counted.spread_values for counted in counts)
    shown = TEXTS.columns("counts") if several else TEXTS.columns("counts")[:-1]
    return TEXTS.table("counts", [asdict(counted) for counted in counts], columns=shown)
