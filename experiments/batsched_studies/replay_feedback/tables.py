"""Tables 1 and 2 of the study: simulated and published values.

Source: Madon, Da Costa, Pierson, "Replay with Feedback", FGCS 155 (2024), section 4; the published
numbers are in ``published.toml``. Two values are *equal* if they have the same printed digits
(two decimals). Runs of one case differ only in the order of simultaneous events; the rank of the
published value among them allows for half of its last digit.
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
from batsched_py.report.kit import Comparison
from batsched_py.units import DAY
from batsched_studies.replay_feedback import PUBLISHED, TEXTS

TABLES = ("table1", "table2")
INFRASTRUCTURES = ("easy", "fcfs", "perf*2", "perf/2", "infra*2", "infra/2")
REPLAYS = ("rigid", "a0", "a60")
DRAWN = "drawn_users"
"""The axis of resampled users; in older results it has another name."""
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
"""The metrics of both tables: the unit of each metric, and the table that it is in."""

Ends = tuple[float, float]
"""The smallest and the largest of the values of some runs."""
HALF_DIGIT = 0.005 + 1e-9  # of two decimals; a little more for values on the very border


@dataclass(frozen=True)
class Cell:
    """One value of a published table and its simulated values, in the unit of the metric."""

    log: str
    size: str
    infrastructure: str
    replay: str
    metric: str
    values: tuple[float, ...]
    """The values of all runs: the given order of events first, if there is one, then by seed."""
    published: float | None
    """None if it is not known."""

    @property
    def table(self) -> str:
        """The published table that has the metric: ``table1`` or ``table2``."""
        return METRICS[self.metric][1]

    @property
    def ours(self) -> float:
        """The first simulated value."""
        return self.values[0]

    @property
    def equal(self) -> bool | None:
        """Whether the first simulated value and the published one have the same printed digits."""
        published = self.published
        return None if published is None else format_digits(self.ours) == format_digits(published)

    @property
    def beside(self) -> Comparison:
        """Rank and distance of the published value among the simulated ones, for any rounding."""
        if self.published is None:
            return kit.compare_published(self.values, math.nan)
        (middle,) = kit.quantiles(self.values, (0.5,))
        return kit.compare_published(self.values, find_nearest_printed(self.published, middle))

    @property
    def ends(self) -> Ends:
        """The smallest and the largest simulated value."""
        return min(self.values), max(self.values)

    @property
    def spread(self) -> str | None:
        """The range of the simulated values as text; None if there is only one value."""
        return " to ".join(map(format_digits, self.ends)) if len(self.values) > 1 else None

    @property
    def labels(self) -> dict[str, Any]:
        """Infrastructure, replay and metric, as a row of a table of one log and size has them."""
        place = {"infrastructure": self.infrastructure, "replay": self.replay}
        return place | {"metric": self.metric, "quantity": format_metric_heading(self.metric)}


def format_table_title(table: str) -> str:
    """Return the name of a published table in texts, such as ``Table 1``."""
    return f"{table.capitalize()[:-1]} {table[-1]}"


def format_metric_heading(metric: str) -> str:
    """Return the column heading of a metric: its name and its unit."""
    unit, _ = METRICS[metric]
    return NAMES[metric] + ("" if unit == "1" else f" ({unit})")


def find_published_value(log: str, run: tuple[str, str], metric: str) -> float | None:
    """Return the published value of an (infrastructure, replay), in the unit of its table."""
    table = PUBLISHED[METRICS[metric][1]]
    row = kit.find_published(table, PUBLISHED["logs"].get(log), " ".join(run))
    return None if row is None else float(row[table["metrics"].index(metric)])


def rename_axes(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the present name of the axis of resampled users."""
    return runs.rename(columns={"people": DRAWN})


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with short log names, and with nan for unset options.

    Runs in the given order of events come first, then shaken ones by seed.
    """
    runs = rename_axes(runs)
    unset = {name: math.nan for name in ("first", DRAWN, "shake") if name not in runs}
    runs = runs.assign(log=runs["log"].map(kit.log_name), **unset)
    runs["shake"] = pd.to_numeric(runs["shake"], errors="coerce")
    return runs.sort_values("shake", kind="stable", na_position="first")


def group_by_log(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield each pair of log and job size, with its runs."""
    for (log, size), of_log in runs.groupby(["log", "size"]):
        yield (str(log), str(size)), of_log


def group_drawn(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each log, with its runs that figures and claims are about: one of each kind.

    They have the requested job sizes and the given order of simultaneous events, if there are
    others too. Resampled logs are left out.
    """
    if runs.empty:
        return
    runs = read(runs)
    for log, of_log in runs[runs[DRAWN].isna()].groupby("log"):
        size = "requested" if "requested" in set(of_log["size"]) else of_log["size"].iloc[0]
        drawn = of_log[of_log["size"] == size]
        yield str(log), drawn.drop_duplicates(["infrastructure", "replay", "first"])


def list_cells(runs: pd.DataFrame, metrics: Iterable[str]) -> Iterator[Cell]:
    """Yield the cells for runs of one log and size, run by run in the paper's order.

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
            yield Cell(log, size, *run, metric, values, find_published_value(log, run, metric))


def make_cells(runs: pd.DataFrame) -> list[Cell]:
    """Return the cells of both tables, in the paper's order, for each log and size.

    Only for whole logs as they were recorded: neither for the first jobs alone (``first``) nor for
    resampled users.
    """
    runs = read(runs)
    whole = list(group_by_log(runs[runs["first"].isna() & runs[DRAWN].isna()]))
    return [
        cell
        for table, (_, of_log) in product(TABLES, whole)
        for cell in list_cells(of_log, PUBLISHED[table]["metrics"])
    ]


def count_reproduced(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return how many published rows and values the runs reproduce, by table, log and size.

    ``equal_rows`` have the printed digits in all columns.
    """
    counts = []
    for (table, log, size), of_table in groupby(cells, lambda c: (c.table, c.log, c.size)):
        compared = [cell for cell in of_table if cell.published is not None]
        if not compared:
            continue
        rows = [all(cell.equal for cell in row) for _, row in group_rows(compared)]
        numbers = {"table": table, "log": log, "size": size}
        numbers |= {"rows": len(rows), "equal_rows": sum(rows)}
        numbers |= {"values": len(compared), "equal_values": sum(bool(c.equal) for c in compared)}
        counts.append(numbers)
    return pd.DataFrame(counts)


def do_ranges_overlap(first: Ends, second: Ends) -> bool:
    """Return whether two ranges overlap; False if both are a single value."""
    spread = first[0] < first[1] or second[0] < second[1]
    return spread and first[0] <= second[1] and second[0] <= first[1]


Place = tuple[str, str, str]
"""Log, size and replay."""


def rank_infrastructures(cells: Sequence[Cell]) -> dict[Place, dict[str, float]]:
    """Return the infrastructures of section 5 by mean lateness (days), the earliest first."""
    lateness: dict[Place, dict[str, float]] = {}
    for cell in cells:
        if cell.metric == "mean_lateness" and cell.infrastructure in RANKING:
            of_replay = lateness.setdefault((cell.log, cell.size, cell.replay), {})
            of_replay[cell.infrastructure] = cell.ours
    earliest = {place: sorted(days.items(), key=itemgetter(1)) for place, days in lateness.items()}
    return {place: dict(in_order) for place, in_order in earliest.items()}


def is_ranked(lateness: dict[str, float]) -> bool | None:
    """Return whether the infrastructures are in the published order; None if some are missing."""
    if not set(RANKING) <= set(lateness):
        return None
    return all(lateness[a] < lateness[b] for a, b in pairwise(RANKING))


def find_nearest_printed(published: float, value: float) -> float:
    """Return the number nearest to ``value`` that rounds to the published digits."""
    return min(max(value, published - HALF_DIGIT), published + HALF_DIGIT)


def escape_stars(text: str) -> str:
    """Return a text in which Markdown shows ``*`` as it is, as in perf*2 and infra*2."""
    return text.replace("*", r"\*")


def format_digits(value: float) -> str:
    """Return a value with the two decimals that the paper prints; no negative zero."""
    return formatting.format_cell(value, 2)


def group_rows(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    """Yield the rows of a table: (infrastructure, replay), and the cells of the row."""
    for key, row in groupby(cells, lambda cell: (cell.infrastructure, cell.replay)):
        yield key, list(row)


def list_kinds(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], dict[str, list[Cell]]]]:
    """Yield each log and size with the cells of Table 1 of each kind of EASY, by policy.

    Nothing for the policies of the paper alone, which are in its tables.
    """
    if is_of_paper(runs):
        return
    for place, of_log in group_by_log(read(runs)):
        metrics = PUBLISHED["table1"]["metrics"]
        by_kind = of_log.groupby("scheduler", sort=False)
        yield place, {str(kind): list(list_cells(of, metrics)) for kind, of in by_kind}


def is_of_paper(runs: pd.DataFrame) -> bool:
    """Return whether the policies are those of the paper."""
    return "scheduler" not in runs or set(runs["scheduler"]) <= {"easy", "fcfs"}


def make_kinds_tables(runs: pd.DataFrame) -> Iterator[Table | None]:
    """Yield a table of the values under each kind of EASY, for each log and size."""
    for (log, size), kinds in list_kinds(runs):
        shown = [*kit.columns("infrastructure", "replay", "quantity")]
        shown += [Column(kind, f"`{kind}`", 2, "ours") for kind in kinds]
        shown.append(Column("published", "paper", 2, "published"))
        lines: dict[Any, dict[str, Any]] = {}
        marks = []
        for kind, cells in kinds.items():
            for cell in cells:
                key = cell.infrastructure, cell.replay, cell.metric
                line = lines.setdefault(key, cell.labels | {"published": cell.published})
                line[kind] = cell.ours
                if cell.equal:
                    marks.append((list(lines).index(key), kind))
        name = kit.slug("kinds", log, size)
        where = f"({log}, {size} sizes)"
        yield TEXTS.table("kinds", list(lines.values()), name, marks, shown, where=where)


def make_tables(cells: Iterable[Cell]) -> Iterator[Table | None]:
    """Yield Tables 1 and 2 for each log and size, with simulated and published values."""
    for (name, log, size), of_table in groupby(cells, lambda c: (c.table, c.log, c.size)):
        lines = list(group_rows(of_table))
        in_table = [cell for _, row in lines for cell in row]
        runs = max(len(cell.values) for cell in in_table)
        compared = any(cell.published is not None for cell in in_table)
        shown = [*kit.columns("infrastructure", "replay")]
        for metric in dict.fromkeys(cell.metric for cell in in_table):
            shown.append(Column(metric, format_metric_heading(metric), 2, "ours"))
            short = NAMES[metric]
            shown += [Column(f"{metric}_spread", f"{short}: spread", kind="ours")] * (runs > 1)
            shown.append(Column(f"{metric}_published", f"{short}: paper", 2, "published"))
            shown += [
                Column(f"{metric}_rank", f"{short}: rank", kind="published")
                if runs > 1
                else Column(f"{metric}_difference", f"{short}: here - paper", 2, "difference")
            ]
        rows = [_row(*line) for line in lines]
        if any("why" in row for row in rows):
            shown.append(Column("why", "why the row differs"))
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


def find_differences(log: str, size: str) -> dict[str, Any]:
    """Return why rows of a log differ from the paper, as the texts have it; empty if not known."""
    known = PUBLISHED["differences"] if size == "requested" else {}
    return dict(known.get(PUBLISHED["logs"].get(log), {}))


def _find_cause(run: tuple[str, str], cells: list[Cell]) -> str:
    """Return why a row differs from the paper, ``""`` if it is equal or the cause is not known."""
    known = find_differences(cells[0].log, cells[0].size)
    if not known or all(cell.equal is not False for cell in cells):
        return ""
    usual = known["rigid" if run[1] == "rigid" else "feedback"]
    return str(known.get("rows", {}).get(" ".join(run), usual))


def _row(run: tuple[str, str], cells: list[Cell]) -> dict[str, Any]:
    row: dict[str, Any] = {"infrastructure": run[0], "replay": run[1]}
    if cause := _find_cause(run, cells):
        row["why"] = cause
    for cell in cells:
        row[cell.metric] = cell.ours
        if cell.spread:
            row |= {f"{cell.metric}_spread": cell.spread, f"{cell.metric}_rank": cell.beside.rank}
        if cell.published is not None:
            row[f"{cell.metric}_published"] = cell.published
            row[f"{cell.metric}_difference"] = cell.ours - cell.published
            row["all_digits"] = all(other.equal for other in cells)
    return row


def make_count_table(counts: pd.DataFrame) -> Table | None:
    """Return a table of the numbers of reproduced rows and values; None without published ones."""
    return TEXTS.table("counts", counts)
