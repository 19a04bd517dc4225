"""The tables of the study as they are shown: which columns each has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.report.kit.selection import slug
from batsched_py.report.kit.tables import columns, where_known
from batsched_studies.dynp import TEXTS
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
_DECIMALS = {"1": 4, "s": 0, "%": 2}
_OfLog = TypeVar("_OfLog", Row, Case)


def parts(
    tables: dict[str, list[Row]], counted: Iterable[Case]
) -> Iterator[tuple[str, Iterable[Table]]]:
    """Yield the title of a section for each kind of table, and a table for each log."""
    for name, rows in tables.items():
        by_log = _by_log(rows)
        if name == "monthly":
            yield TITLES[name], [month_table(log, own) for log, own in by_log]
        else:
            yield TITLES[name], [value_table(name, log, own) for log, own in by_log]
    yield TITLES["cases"], [case_table(log, own) for log, own in _by_log(counted)]


def _by_log(rows: Iterable[_OfLog]) -> Iterator[tuple[str, list[_OfLog]]]:
    for log, found in groupby(sorted(rows, key=lambda row: row.log), key=lambda row: row.log):
        yield log, list(found)


def value_table(name: str, log: str, rows: list[Row]) -> Table:
    """Return a line per run; per metric ours and, where known, thesis, difference, reference."""
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    marks = []
    for row in rows:
        key = (row.policy, row.fcfs_list, row.estimates)
        own = lines.setdefault(
            key, dict(zip(("policy", "fcfs_list", "estimates"), key, strict=True))
        )
        own[row.metric] = row.ours
        own[f"{row.metric}, thesis"] = row.thesis
        own[f"{row.metric}, difference"] = _difference(row)
        own[f"{row.metric}, reference"] = row.reference
        if row.thesis is not None and round(row.ours, _DECIMALS[row.unit]) == row.thesis:
            marks.append((list(lines).index(key), row.metric))
    frame = pd.DataFrame(list(lines.values()))
    shown = [*columns("policy"), *_labels(rows)]
    for metric, unit in {row.metric: row.unit for row in rows}.items():
        decimals = _DECIMALS[unit]
        shown.append(
            Column(metric, metric if unit == "1" else f"{metric} ({unit})", decimals, "ours")
        )
        about = [Column(f"{metric}, thesis", "thesis", decimals, "published")]
        title = "difference (points)" if unit == "%" else "difference (%)"
        about.append(Column(f"{metric}, difference", title, 2, "difference"))
        shown += about if frame[f"{metric}, thesis"].notna().any() else []
        if frame[f"{metric}, reference"].notna().any():
            shown.append(Column(f"{metric}, reference", "reference", decimals))
    return Table(slug(name, log), log, frame, tuple(shown), TEXTS["values"], tuple(marks))


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


def month_table(log: str, rows: list[Row]) -> Table:
    """Return a line per month; per policy ours and, where known, that of the thesis."""
    legacy = any(row.fcfs_list == "legacy" for row in rows)
    lines: dict[str, dict[str, Any]] = {}
    decimals = {}
    for row in sorted(rows, key=lambda row: row.month):
        name = f"{row.policy} ({row.fcfs_list})" if legacy and row.fcfs_list else row.policy
        name = name or row.metric
        own = lines.setdefault(row.month, {"month": row.month})
        own[name], own[f"{name}, thesis"] = row.ours, row.thesis
        decimals[name] = 0 if row.metric == "jobs" else _DECIMALS[row.unit]
    shown = [Column("month"), *_beside_thesis(decimals)]
    rows_ = list(lines.values())
    return Table(slug("monthly", log), log, pd.DataFrame(rows_), where_known(rows_, shown))


def _beside_thesis(decimals: dict[str, int]) -> Iterator[Column]:
    """Yield the columns of each name, ours and that of the thesis, with so many decimals."""
    for name, digits in decimals.items():
        yield Column(name, "", digits, "ours")
        yield Column(f"{name}, thesis", "thesis", digits, "published")


def case_table(log: str, found: Sequence[Case]) -> Table:
    """Return a line per count; per run its share and, where known, that of the thesis."""
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    names, steps = {}, []
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
        names[name] = 2
    shown = [Column("what"), *_beside_thesis(names)]
    note = f"Per cent of the steps, or of the started jobs. Steps: {'; '.join(steps)}."
    frame = pd.DataFrame(list(lines.values()))
    return Table(slug("cases", log), log, frame, where_known(frame, shown), note)
