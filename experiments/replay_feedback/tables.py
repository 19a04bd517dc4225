"""Tables 1 and 2 of the study: ours beside the published values.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), section 4; the published
numbers are in ``published.toml``. Two values are *equal* if they have the same printed digits
(two decimals). A published value lies *inside* the spread of some runs, which differ in the order
of simultaneous events only, if it is in the closed interval from the smallest to the largest of
them, widened by half of the last printed digit.
"""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TABLES = ("table1", "table2")
INFRASTRUCTURES = ("easy", "fcfs", "perf*2", "perf/2", "infra*2", "infra/2")
REPLAYS = ("rigid", "a0", "a60")
RANKING = ("perf*2", "infra*2", "easy", "infra/2", "perf/2")
"""Infrastructures from the earliest to the latest submissions (mean lateness)."""

_UNITS = {"d": 86_400.0, "s": 1.0, "1": 1.0}
_HALF_DIGIT = 0.005 + 1e-9  # of two decimals; a little more for values on the very border
_NAMES = {
    "makespan": "makespan",
    "mean_waiting_time": "mean wait",
    "max_waiting_time": "max wait",
    "mean_lateness": "mean lateness",
    "relative_lateness": "rel. lateness",
    "additional_lateness": "add. lateness",
}


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
    ours: float
    """Of the run in the given order of events, else of the run with the lowest seed."""
    published: float | None
    nb_runs: int
    """Number of orders of simultaneous events, the given one included."""
    minimum: float
    maximum: float

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
        if self.published is None or self.nb_runs < 2:
            return None
        low, high = self.minimum - _HALF_DIGIT, self.maximum + _HALF_DIGIT
        return low <= self.published <= high


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
class Ranking:
    """The infrastructures of one replay by mean lateness, earliest first."""

    log: str
    size: str
    replay: str
    order: tuple[str, ...]
    holds: bool | None
    """Whether it is the published order; None if runs are missing."""


def read_published(study: Path) -> dict[str, Any]:
    """Return the content of ``published.toml`` in the folder of the study."""
    return tomllib.loads((study / "published.toml").read_text())


def log_name(log: str) -> str:
    """Return the name of a log without folders and ``.swf.gz``."""
    return Path(log).name.removesuffix(".gz").removesuffix(".swf")


def full_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of whole logs (``first`` is not set), with short log names.

    Runs in the given order of events come first, then shaken ones by seed.
    """
    whole = runs[runs["first"].isna()] if "first" in runs else runs
    shake = whole["shake"] if "shake" in whole else pd.Series(math.nan, index=whole.index)
    whole = whole.assign(
        log=whole["log"].astype(str).map(log_name), shake=pd.to_numeric(shake, errors="coerce")
    )
    return whole.sort_values("shake", kind="stable", na_position="first")


def compare(runs: pd.DataFrame, published: dict[str, Any]) -> list[Cell]:
    """Return the cells of both tables, in the paper's order, for each log and size.

    ``runs`` has a row per run (see ``report.Results``), values in SI units.
    """
    found: dict[Any, pd.DataFrame] = dict(iter(full_runs(runs).groupby(_KEY)))
    logs = sorted({(log, size) for log, size, _, _ in found})
    cells: list[Cell] = []
    for table, (log, size) in product(TABLES, logs):
        rows = published[table].get(published["logs"].get(log, ""), {})
        for infrastructure, replay in product(INFRASTRUCTURES, REPLAYS):
            key = (log, size, infrastructure, replay)
            if key not in found or (table == "table2" and replay == "rigid"):
                continue
            printed = rows.get(f"{infrastructure} {replay}", [None] * 3)
            cells += _row_cells(table, published[table], key, found[key], printed)
    return cells


_KEY = ["log", "size", "infrastructure", "replay"]


def _row_cells(
    name: str,
    table: dict[str, Any],
    key: tuple[str, str, str, str],
    runs: pd.DataFrame,
    printed: Sequence[float | None],
) -> Iterator[Cell]:
    for metric, unit, value in zip(table["metrics"], table["units"], printed, strict=True):
        ours = pd.to_numeric(runs[metric]) / _UNITS[unit]
        first, low, high = float(ours.iloc[0]), float(ours.min()), float(ours.max())
        yield Cell(name, *key, metric, unit, first, value, len(runs), low, high)


def count(cells: Sequence[Cell]) -> list[Count]:
    """Return the counts of each table, log and size that has published values."""
    counts = []
    for group, own in groupby(cells, lambda cell: (cell.table, cell.log, cell.size)):
        compared = [cell for cell in own if cell.published is not None]
        if not compared:
            continue
        rows = [all(cell.equal for cell in row) for row in _rows(compared)]
        spread = [cell for cell in compared if cell.inside is not None]
        values = sum(bool(cell.equal) for cell in compared)
        inside = sum(bool(cell.inside) for cell in spread)
        sizes = (len(rows), sum(rows), len(compared), values, len(spread), inside)
        counts.append(Count(*group, *sizes))
    return counts


def rank(cells: Sequence[Cell]) -> list[Ranking]:
    """Return the rankings of section 5, one per log, size and replay with feedback."""
    lateness: dict[tuple[str, str, str], dict[str, float]] = {}
    for cell in cells:
        if cell.metric == "mean_lateness" and cell.infrastructure in RANKING:
            own = lateness.setdefault((cell.log, cell.size, cell.replay), {})
            own[cell.infrastructure] = cell.ours
    rankings = []
    for key, own in lateness.items():
        order = tuple(sorted(own, key=own.__getitem__))
        complete = len(own) == len(RANKING)
        strict = all(own[a] < own[b] for a, b in pairwise(RANKING)) if complete else None
        rankings.append(Ranking(*key, order, strict))
    return rankings


def digits(value: float) -> str:
    """Return the value as the paper prints it; no negative zero."""
    return f"{value:.2f}".replace("-0.00", "0.00")


def cells_csv(cells: Iterable[Cell]) -> str:
    """Return the cells as CSV with full precision."""
    derived = ("difference", "equal", "inside")
    header = (*(field.name for field in fields(Cell)), *derived)
    return _csv(header, ((*astuple(c), *(getattr(c, name) for name in derived)) for c in cells))


def counts_csv(counts: Iterable[Count]) -> str:
    """Return the counts as CSV."""
    return _csv([field.name for field in fields(Count)], map(astuple, counts))


def grid(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table for reading; ``cells`` have one table, log and size.

    Per metric: our value; the published one and the difference, ``=`` for equal digits, if any
    is published; and the spread, marked ``in`` or ``out``, if there is one.
    """
    compared = any(cell.published is not None for cell in cells)
    spread = any(cell.nb_runs > 1 for cell in cells)
    header = ["run", "replay"]
    rows = [[*key, *(_texts(row, compared, spread))] for key, row in _keyed_rows(cells)]
    for cell in next(_rows(cells), []):
        unit = "" if cell.unit == "1" else f" ({cell.unit})"
        header.append(_NAMES[cell.metric] + unit)
        header += ["paper", "diff."] if compared else []
        header += ["spread"] if spread else []
    return header, rows


def _texts(row: list[Cell], compared: bool, spread: bool) -> Iterator[str]:
    for cell in row:
        yield digits(cell.ours)
        if compared:
            difference = cell.difference
            yield "" if cell.published is None else digits(cell.published)
            yield "" if difference is None else "=" if cell.equal else f"{difference:+.2f}"
        if spread:
            mark = {None: "", True: " in", False: " out"}[cell.inside]
            several = cell.nb_runs > 1
            yield f"{digits(cell.minimum)}..{digits(cell.maximum)}{mark}" if several else ""


def _keyed_rows(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    for key, row in groupby(cells, lambda cell: (cell.infrastructure, cell.replay)):
        yield key, list(row)


def _rows(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    return (row for _, row in _keyed_rows(cells))


def sections(cells: Iterable[Cell], published: dict[str, Any]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield title and cells of each table for reading."""
    for (table, log, size), own in groupby(cells, lambda c: (c.table, c.log, c.size)):
        rows = list(own)
        runs = max(cell.nb_runs for cell in rows)
        orders = f", {runs} orders of simultaneous events" if runs > 1 else ""
        yield f"{published[table]['title']} ({log}, size {size}{orders})", rows


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 2) -> str:
    """Return a Markdown table; the first ``texts`` columns are left-aligned."""
    rule = [":--" if column < texts else "--:" for column in range(len(header))]
    lines = [header, rule, *rows]
    # "*" would start emphasis, as in perf*2 ... infra*2
    return "".join(f"| {' | '.join(line)} |\n".replace("*", r"\*") for line in lines)


def summary_lines(counts: Iterable[Count], rankings: Iterable[Ranking]) -> list[str]:
    """Return sentences on what is reproduced."""
    lines = []
    for c in counts:
        line = f"{c.table.capitalize()[:-1]} {c.table[-1]}, {c.log}, size {c.size}: "
        line += f"{c.equal_rows} of {c.rows} rows and {c.equal_values} of {c.values} values have "
        line += "the printed digits"
        if c.spread_values:
            line += f"; {c.inside_values} of {c.spread_values} published values lie in the spread"
        lines.append(line + ".")
    for r in rankings:
        verdict = {
            True: "the order of the paper",
            False: "NOT that of the paper",
            None: "runs missing",
        }
        order = " < ".join(r.order)
        lines.append(f"Ranking, {r.log}, size {r.size}, {r.replay}: {order} ({verdict[r.holds]}).")
    return lines


def rich_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return the table for the terminal, with a line between infrastructures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    # As narrow as can be, for a terminal of 80 columns.
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, show_edge=False)
    for column, name in enumerate(header):
        lines = name.replace(" ", "\n")
        table.add_column(lines, justify="left" if column < 2 else "right", no_wrap=True)
    for at, row in enumerate(rows):
        last = at + 1 == len(rows) or rows[at + 1][0] != row[0]
        table.add_row(*(Text(text, _STYLES.get(text, "")) for text in row), end_section=last)
    return table


_STYLES = {"=": "green"}


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def print_whole(table: Table, console: Console) -> None:
    """Print a table, rather too wide for the terminal than without the last digits."""
    width = console.width
    needed = console.measure(table, options=console.options.update(width=1000)).maximum
    console.width = max(width, needed)
    console.print(table)
    console.width = width
    console.print()
