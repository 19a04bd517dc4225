"""The layout of the study's tables: which columns each table has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.report.kit import columns, slug, where_known
from batsched_studies.dynp import PUBLISHED, TEXTS
from batsched_studies.dynp.measures import MeasuredRun
from batsched_studies.dynp.tables import Case, Row

TITLES: dict[str, str] = PUBLISHED["sections"]
_DECIMALS = {"1": 4, "s": 0, "%": 2}
_OfRun = TypeVar("_OfRun", Row, Case)
_Lines = dict[Any, dict[str, Any]]


def make_sections(
    tables: dict[str, list[Row]], counted: Iterable[Case]
) -> Iterator[tuple[str, Iterable[Table]]]:
    """Yield the title of a report section for each kind of table, with one table per log."""
    for name, rows in tables.items():
        make = make_month_table if name == "monthly" else partial(make_value_table, name)
        yield TITLES[name], [make(log, of_log) for log, of_log in _by_log(rows)]
    yield TITLES["cases"], [make_case_table(log, of_log) for log, of_log in _by_log(counted)]


def _by_log(rows: Iterable[_OfRun]) -> Iterator[tuple[str, list[_OfRun]]]:
    log = attrgetter("run.log")
    for name, of_log in groupby(sorted(rows, key=log), key=log):
        yield name, list(of_log)


def make_value_table(name: str, log: str, rows: list[Row]) -> Table:
    """Return a line per run; per metric its value and any thesis, difference and reference."""
    lines: _Lines = {}
    marks = []
    for row in rows:
        policy, estimates = row.run.policy, row.run.estimates
        key = (policy.label, policy.fcfs_list, estimates)
        labels = {"policy": policy.label, "fcfs_list": policy.fcfs_list, "estimates": estimates}
        lines.setdefault(key, labels).update(
            {
                row.metric: row.ours,
                f"{row.metric}, thesis": row.thesis,
                f"{row.metric}, difference": row.difference,
                f"{row.metric}, reference": row.reference,
            }
        )
        if row.thesis is not None and round(row.ours, _DECIMALS[row.unit]) == row.thesis:
            marks.append((list(lines).index(key), row.metric))
    frame = pd.DataFrame(list(lines.values()))
    shown = [*columns("policy"), *_labels(rows)]
    for metric, unit in {row.metric: row.unit for row in rows}.items():
        decimals = _DECIMALS[unit]
        title = metric if unit == "1" else f"{metric} ({unit})"
        difference = "difference (points)" if unit == "%" else "difference (%)"
        shown.append(Column(metric, title, decimals, "ours"))
        if frame[f"{metric}, thesis"].notna().any():
            shown.append(Column(f"{metric}, thesis", "thesis", decimals, "published"))
            shown.append(Column(f"{metric}, difference", difference, 2, "difference"))
        if frame[f"{metric}, reference"].notna().any():
            shown.append(Column(f"{metric}, reference", "reference", decimals))
    return Table(slug(name, log), log, frame, tuple(shown), TEXTS["values"], tuple(marks))


def _labels(rows: list[Row]) -> Iterator[Column]:
    """Yield the columns, besides the policy, in which lines differ."""
    if any(row.run.policy.fcfs_list == "legacy" for row in rows):
        yield Column("fcfs_list", "FCFS list")
    if any(row.run.estimates == "perfect" for row in rows):
        yield Column("estimates")


def make_optimum_table(runs: Iterable[MeasuredRun]) -> Table | None:
    """Return a line per run with the loss of its steps against the optimum."""
    rows = [
        {"log": run.log, "policy": run.policy.label, **run.measures}
        for run in runs
        if "loss_mean" in run.measures
    ]
    return TEXTS.table("optimum", rows)


def make_month_table(log: str, rows: list[Row]) -> Table:
    """Return a line per month; per policy its value and, where known, that of the thesis."""
    legacy = any(row.run.policy.fcfs_list == "legacy" for row in rows if row.metric != "jobs")
    cells = []
    for row in sorted(rows, key=attrgetter("month")):
        policy = row.run.policy
        kind = f" ({policy.fcfs_list})" if legacy and policy.fcfs_list else ""
        jobs = row.metric == "jobs"
        column = Column("jobs" if jobs else policy.label + kind, "", 0 if jobs else 4, "ours")
        cells.append((row.month, column, row.ours, row.thesis))
    return _compare_with_thesis(slug("monthly", log), log, "month", cells)


def _compare_with_thesis(
    name: str, log: str, first: str, cells: Iterable[tuple[str, Column, Any, Any]], note: str = ""
) -> Table:
    """Return a table of cells: the line (in the column ``first``), the column, ours, thesis."""
    lines: _Lines = {}
    shown: dict[str, Column] = {first: Column(first)}
    for line, column, ours, thesis in cells:
        theirs = Column(f"{column.name}, thesis", "thesis", column.decimals, "published")
        lines.setdefault(line, {first: line}).update({column.name: ours, theirs.name: thesis})
        shown |= {column.name: column, theirs.name: theirs}
    frame = pd.DataFrame(list(lines.values()))
    return Table(name, log, frame, where_known(frame, shown.values()), note)


def make_case_table(log: str, cases: Sequence[Case]) -> Table:
    """Return a line per counter of dynP; per run its share and, where known, that of the thesis."""
    cells, steps = [], []
    for case in cases:
        policy = case.run.policy
        more = ["legacy"] * (policy.fcfs_list == "legacy")
        more += ["perfect"] * (case.run.estimates == "perfect")
        name = f"{policy.label} ({', '.join(more)})" if more else policy.label
        if case.what == "steps":
            thesis = f" (thesis {case.thesis_count:,})" if case.thesis_count else ""
            steps.append(f"{name} {case.count:,}{thesis}")
        else:
            column, line = Column(name, "", 2, "ours"), f"{case.what} {case.which}"
            cells.append((line, column, case.share, case.thesis_share))
    note = f"Per cent of the steps, or of the started jobs. Steps: {'; '.join(steps)}."
    return _compare_with_thesis(slug("cases", log), log, "what", cells, note)
