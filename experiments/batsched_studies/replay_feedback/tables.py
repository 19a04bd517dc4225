"""Tables 1 and 2 of the study: ours beside the published values.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), section 4; the published
numbers are in ``published.toml``. Two values are *equal* if they have the same printed digits
(two decimals). Of several runs, which differ in the order of simultaneous events only, it is said
where among them the published value is, give or take half of its last digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, product
from operator import itemgetter
from typing import Any

import pandas as pd

from batsched_py.report import Column, Table, formatting, kit
from batsched_py.report.kit import Beside
from batsched_py.support.statistics import FEWEST
from batsched_py.units import DAY
from batsched_studies.replay_feedback import PUBLISHED, TEXTS

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

METRICS = {
    metric: (unit, table)
    for table in TABLES
    for metric, unit in zip(PUBLISHED[table]["metrics"], PUBLISHED[table]["units"], strict=True)
}
"""The metrics of both tables: to each its unit and the table that it is in."""

Ends = tuple[float, float]
"""The smallest and the largest of the values of some runs."""
FAR = 0.05
"""As far out as this share of further runs is what counts as far."""
HALF_DIGIT = 0.005 + 1e-9  # of two decimals; a little more for values on the very border


@dataclass(frozen=True)
class Cell:
    """One value of a table, in the unit of its metric."""

    log: str
    size: str
    infrastructure: str
    replay: str
    metric: str
    values: tuple[float, ...]
    """Of all runs: that in the given order of events first, if there is one, others by seed."""
    published: float | None
    """None if it is not known."""

    @property
    def table(self) -> str:
        """The table that it is in."""
        return METRICS[self.metric][1]

    @property
    def ours(self) -> float:
        """The first of :attr:`values`."""
        return self.values[0]

    @property
    def equal(self) -> bool | None:
        """Whether ours and the published value have the same printed digits."""
        return None if self.published is None else digits(self.ours) == digits(self.published)

    @property
    def beside(self) -> Beside:
        """Ours beside the number nearest to their median that is printed as the published one."""
        if self.published is None:
            return kit.beside(self.values, math.nan)
        (middle,) = kit.quantiles(self.values, (0.5,))
        return kit.beside(self.values, nearest(self.published, middle))

    @property
    def ends(self) -> Ends:
        """The smallest and the largest of :attr:`values`."""
        return min(self.values), max(self.values)

    @property
    def spread(self) -> str | None:
        """Those ends as text; None if there is one value only."""
        return " to ".join(map(digits, self.ends)) if len(self.values) > 1 else None

    @property
    def labels(self) -> dict[str, Any]:
        """The labels of the cell within a table of one log and size."""
        place = {"infrastructure": self.infrastructure, "replay": self.replay}
        return place | {"metric": self.metric, "quantity": unit_title(self.metric)}


def title(table: str) -> str:
    """Return a table as texts name it, as Table 1."""
    return f"{table.capitalize()[:-1]} {table[-1]}"


def unit_title(metric: str) -> str:
    """Return the heading of a metric."""
    unit, _ = METRICS[metric]
    return NAMES[metric] + ("" if unit == "1" else f" ({unit})")


def printed(log: str, run: tuple[str, str], metric: str) -> float | None:
    """Return the published value of an (infrastructure, replay), in the unit of its table."""
    table = PUBLISHED[METRICS[metric][1]]
    row = kit.find_published(table, PUBLISHED["logs"].get(log), " ".join(run))
    return None if row is None else float(row[table["metrics"].index(metric)])


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with short log names, and nan for unset options.

    Runs in the given order of events come first, then shaken ones by seed.
    """
    unset = {name: math.nan for name in ("first", "people", "shake") if name not in runs}
    runs = runs.assign(log=runs["log"].map(kit.log_name), **unset)
    runs["shake"] = pd.to_numeric(runs["shake"], errors="coerce")
    return runs.sort_values("shake", kind="stable", na_position="first")


def by_log(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield log and size, and the runs that have them."""
    for (log, size), of_log in runs.groupby(["log", "size"]):
        yield (str(log), str(size)), of_log


def cells_of(runs: pd.DataFrame, metrics: Iterable[str]) -> Iterator[Cell]:
    """Yield the cells of runs of one log and size, run by run in the paper's order.

    ``runs`` has a row per run, values in SI units. Rigid replay has no lateness.
    """
    groups: dict[Any, pd.DataFrame] = dict(iter(runs.groupby(["infrastructure", "replay"])))
    there = (run for run in product(INFRASTRUCTURES, REPLAYS) if run in groups)
    for run, metric in product(there, metrics):
        unit, table = METRICS[metric]
        if not (table == "table2" and run[1] == "rigid"):
            repeats = groups[run]
            log, size = repeats[["log", "size"]].iloc[0]
            values = tuple((pd.to_numeric(repeats[metric]) / UNITS[unit]).to_list())
            yield Cell(log, size, *run, metric, values, printed(log, run, metric))


def compare(runs: pd.DataFrame) -> list[Cell]:
    """Return the cells of both tables, in the paper's order, for each log and size.

    Only of whole logs as they were recorded: neither of the first jobs alone (``first``) nor of
    resampled people.
    """
    runs = read(runs)
    whole = list(by_log(runs[runs["first"].isna() & runs["people"].isna()]))
    return [
        cell
        for table, (_, of_log) in product(TABLES, whole)
        for cell in cells_of(of_log, PUBLISHED[table]["metrics"])
    ]


def count(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return how many rows and values are reproduced, for each table, log and size published.

    ``equal_rows`` have the printed digits in all columns. Of ``spread_values`` there are enough
    runs to ask whether the published one is another of them: it is further out than one in twenty
    would be in ``far_values``, and ``furthest`` is the cell where it is furthest out.
    """
    counts = []
    for (table, log, size), of_table in groupby(cells, lambda c: (c.table, c.log, c.size)):
        compared = [cell for cell in of_table if cell.published is not None]
        if not compared:
            continue
        rows = [all(cell.equal for cell in row) for _, row in rows_of(compared)]
        spread = [cell for cell in compared if len(cell.values) >= FEWEST]
        furthest = min(spread, key=lambda cell: cell.beside.p, default=None)
        numbers = {"table": table, "log": log, "size": size}
        numbers |= {"rows": len(rows), "equal_rows": sum(rows)}
        numbers |= {"values": len(compared), "equal_values": sum(bool(c.equal) for c in compared)}
        numbers |= {"spread_values": len(spread), "furthest": furthest}
        counts.append(numbers | {"far_values": sum(cell.beside.p < FAR for cell in spread)})
    return pd.DataFrame(counts)


def overlap(first: Ends, second: Ends) -> bool:
    """Tell whether two ranges have something in common; never if both are a single value."""
    spread = first[0] < first[1] or second[0] < second[1]
    return spread and first[0] <= second[1] and second[0] <= first[1]


Place = tuple[str, str, str]
"""Log, size and replay."""


def rank(cells: Sequence[Cell]) -> dict[Place, dict[str, float]]:
    """Return the infrastructures of section 5 by mean lateness (days), the earliest first."""
    lateness: dict[Place, dict[str, float]] = {}
    for cell in cells:
        if cell.metric == "mean_lateness" and cell.infrastructure in RANKING:
            of_replay = lateness.setdefault((cell.log, cell.size, cell.replay), {})
            of_replay[cell.infrastructure] = cell.ours
    earliest = {place: sorted(days.items(), key=itemgetter(1)) for place, days in lateness.items()}
    return {place: dict(in_order) for place, in_order in earliest.items()}


def ranked(lateness: dict[str, float]) -> bool | None:
    """Tell whether the infrastructures are in the published order; None if some are missing."""
    if not set(RANKING) <= set(lateness):
        return None
    return all(lateness[a] < lateness[b] for a, b in pairwise(RANKING))


def nearest(published: float, value: float) -> float:
    """Return the number that is printed as ``published`` and is nearest to ``value``."""
    return min(max(value, published - HALF_DIGIT), published + HALF_DIGIT)


def plain(text: str) -> str:
    """Return a text in which ``*`` begins no emphasis, as in perf*2 ... infra*2."""
    return text.replace("*", r"\*")


def digits(value: float) -> str:
    """Return the value with the decimals that the paper prints; no negative zero."""
    return formatting.format_cell(value, 2)


def rows_of(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    """Yield the rows of a table: (infrastructure, replay) and the cells."""
    for key, row in groupby(cells, lambda cell: (cell.infrastructure, cell.replay)):
        yield key, list(row)


def tables(cells: Iterable[Cell]) -> Iterator[Table | None]:
    """Yield each table for each log and size, ours beside the published values.

    Of several runs of a case the spread stands beside each number.
    """
    for (name, log, size), of_table in groupby(cells, lambda c: (c.table, c.log, c.size)):
        lines = list(rows_of(of_table))
        in_table = [cell for _, row in lines for cell in row]
        runs = max(len(cell.values) for cell in in_table)
        compared = any(cell.published is not None for cell in in_table)
        shown = [*kit.columns("infrastructure", "replay")]
        for metric in dict.fromkeys(cell.metric for cell in in_table):
            shown.append(Column(metric, unit_title(metric), 2, "ours"))
            shown += [Column(f"{metric}_spread", "spread", kind="ours")] if runs > 1 else ()
            shown.append(Column(f"{metric}_published", "paper", 2, "published"))
            shown += [
                Column(f"{metric}_rank", "rank", kind="published")
                if runs > 1
                else Column(f"{metric}_difference", "ours - paper", 2, "difference")
            ]
        rows = [_row(*line) for line in lines]
        about = [TEXTS["tables" if compared else "unpublished"]]
        about += [TEXTS["several_runs"].format(runs=runs) if runs > 1 else TEXTS["one_run"]]
        about += [TEXTS["rank"]] if runs > 1 and compared else []
        yield TEXTS.table(
            "published",
            rows,
            kit.slug(name, log, size),
            [(at, cell.metric) for at, (_, row) in enumerate(lines) for cell in row if cell.equal],
            kit.where_known(rows, shown),
            title=PUBLISHED[name]["title"],
            log=log,
            size=size,
            note=" ".join(about),
        )


def _row(run: tuple[str, str], cells: list[Cell]) -> dict[str, Any]:
    row: dict[str, Any] = {"infrastructure": run[0], "replay": run[1]}
    for cell in cells:
        row[cell.metric] = cell.ours
        if cell.spread:
            row |= {f"{cell.metric}_spread": cell.spread, f"{cell.metric}_rank": cell.beside.rank}
        if cell.published is not None:
            row[f"{cell.metric}_published"] = cell.published
            row[f"{cell.metric}_difference"] = cell.ours - cell.published
            row["all_digits"] = all(other.equal for other in cells)
    return row


def count_table(counts: pd.DataFrame) -> Table | None:
    """Return a table of the counts, None if nothing was published."""
    several = len(counts) and counts["spread_values"].any()
    shown = TEXTS.columns("counts") if several else TEXTS.columns("counts")[:-1]
    return TEXTS.table("counts", counts, columns=shown)
