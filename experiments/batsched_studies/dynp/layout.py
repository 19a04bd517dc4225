"""The tables of the study as they are shown: which columns each has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import pandas as pd

from batsched_py.report.document import Column, Section, Table
from batsched_studies.dynp.tables import Case, Row

TITLES = {
    "static": "Tables 3.6 and 5.1: static policies",
    "deciders": "Table 5.2: deciders",
    "estimates": "Table 5.7: preferred deciders and perfect estimates",
    "metrics": "Tables 5.5 and 5.6: self-tuning metrics",
    "slackness": "Table 5.8: slackness",
    "monthly": "Tables A.1 to A.4, A.9 to A.12: SLDwA by month of submission",
    "cases": "Tables 5.3, 5.4 and 5.9: cases, switches and started jobs",
}
_SHORT = {"FCFS list": "fcfs_list", "estimates": "estimates"}
_DECIMALS = {"1": 4, "s": 0, "%": 2}
NOTE = (
    "Differences are in per cent of the thesis's value; in points for what is in per cent itself. "
    "Bold: all digits that the thesis prints. *Reference*: an independent simulator."
)


def name_of(*parts: object) -> str:
    """Return the name of a table or figure made of parts."""
    return re.sub(r"[^a-z0-9]+", "_", "_".join(map(str, parts)).lower()).strip("_")


def sections(tables: dict[str, list[Row]], counted: Iterable[Case]) -> Iterator[Section]:
    """Yield a section for each kind of table, with a table for each log."""
    for name, rows in tables.items():
        own = [
            month_table(log, found) if name == "monthly" else value_table(name, log, found)
            for log, found in _by_log(rows)
        ]
        yield Section(TITLES[name], tuple(own))
    found_cases = tuple(case_table(log, found) for log, found in _by_log(counted))
    if found_cases:
        yield Section(TITLES["cases"], found_cases)


def _by_log(rows: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    for log, found in groupby(sorted(rows, key=lambda row: row.log), key=lambda row: row.log):
        yield log, list(found)


def value_table(name: str, log: str, rows: list[Row]) -> Table:
    """Return a line per run; per metric ours and, where known, thesis, difference, reference."""
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row.policy, row.fcfs_list, row.estimates)
        own = lines.setdefault(key, dict(zip(("policy", *_SHORT.values()), key, strict=True)))
        own[row.metric] = row.ours
        own[f"{row.metric}, thesis"] = row.thesis
        own[f"{row.metric}, difference"] = _difference(row)
        own[f"{row.metric}, reference"] = row.reference
    frame = pd.DataFrame(list(lines.values()))
    columns = [Column("policy"), *_labels(rows)]
    for metric, unit in {row.metric: row.unit for row in rows}.items():
        own = [row for row in rows if row.metric == metric]
        columns += _metric_columns(metric, unit, own)
    marks = [
        (place, row.metric)
        for place, key in enumerate(lines)
        for row in rows
        if (row.policy, row.fcfs_list, row.estimates) == key and _as_printed(row)
    ]
    return Table(name_of(name, log), log, frame, tuple(columns), NOTE, tuple(marks))


def _metric_columns(metric: str, unit: str, rows: list[Row]) -> Iterator[Column]:
    decimals = _DECIMALS[unit]
    shown = metric if unit == "1" else f"{metric} ({unit})"
    yield Column(metric, shown, decimals, "ours")
    if any(row.thesis is not None for row in rows):
        yield Column(f"{metric}, thesis", "thesis", decimals, "published")
        difference = "difference (points)" if unit == "%" else "difference (%)"
        yield Column(f"{metric}, difference", difference, 2, "difference")
    if any(row.reference is not None for row in rows):
        yield Column(f"{metric}, reference", "reference", decimals)


def _labels(rows: list[Row]) -> Iterator[Column]:
    """Yield the columns that tell lines apart besides the policy."""
    if any(row.fcfs_list == "legacy" for row in rows):
        yield Column("fcfs_list", "FCFS list")
    if any(row.estimates == "perfect" for row in rows):
        yield Column("estimates")


def _difference(row: Row) -> float | None:
    if row.unit == "%" and row.thesis is not None:
        return row.ours - row.thesis
    return row.relative_difference


def _as_printed(row: Row) -> bool:
    return row.thesis is not None and round(row.ours, _DECIMALS[row.unit]) == row.thesis


def month_table(log: str, rows: list[Row]) -> Table:
    """Return a line per month; per policy ours and, where known, that of the thesis."""
    legacy = any(row.fcfs_list == "legacy" for row in rows)
    lines: dict[str, dict[str, Any]] = {}
    columns = {"month": Column("month")}
    for row in sorted(rows, key=lambda row: row.month):
        name = f"{row.policy} ({row.fcfs_list})" if legacy and row.fcfs_list else row.policy
        name = name or row.metric
        own = lines.setdefault(row.month, {"month": row.month})
        own[name], own[f"{name}, thesis"] = row.ours, row.thesis
        decimals = 0 if row.metric == "jobs" else _DECIMALS[row.unit]
        columns[name] = Column(name, "", decimals, "ours")
        if row.thesis is not None:
            columns[f"{name}, thesis"] = Column(f"{name}, thesis", "thesis", decimals, "published")
    order = ["month", *(each for name in columns for each in (name, f"{name}, thesis"))]
    shown = tuple(columns[name] for name in dict.fromkeys(order) if name in columns)
    return Table(name_of("monthly", log), log, pd.DataFrame(list(lines.values())), shown)


def case_table(log: str, found: list[Case]) -> Table:
    """Return a line per count; per run its share and, where known, that of the thesis."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    columns = {"what": Column("what")}
    steps = []
    for case in found:
        more = [case.fcfs_list] * (case.fcfs_list == "legacy")
        more += [case.estimates] * (case.estimates == "perfect")
        name = f"{case.policy} ({', '.join(more)})" if more else case.policy
        if case.what == "steps":
            thesis = f" (thesis {case.thesis_count:,})" if case.thesis_count else ""
            steps.append(f"{name} {case.count:,}{thesis}")
            continue
        own = lines.setdefault((case.what, case.which), {"what": f"{case.what} {case.which}"})
        own[name], own[f"{name}, thesis"] = case.share, case.thesis_share
        columns[name] = Column(name, "", 2, "ours")
        if case.thesis_share is not None:
            columns[f"{name}, thesis"] = Column(f"{name}, thesis", "thesis", 2, "published")
    order = ["what", *(each for name in columns for each in (name, f"{name}, thesis"))]
    shown = tuple(columns[name] for name in dict.fromkeys(order) if name in columns)
    note = f"Per cent of the steps, or of the started jobs. Steps: {'; '.join(steps)}."
    return Table(name_of("cases", log), log, pd.DataFrame(list(lines.values())), shown, note)
