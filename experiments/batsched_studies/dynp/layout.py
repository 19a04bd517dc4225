"""The tables of the study as they are shown: which columns each has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.report.kit.selection import slug
from batsched_py.report.kit.tables import columns, where_known
from batsched_studies.dynp import PUBLISHED, TEXTS
from batsched_studies.dynp.tables import Case, Row

TITLES: dict[str, str] = PUBLISHED["sections"]
_DECIMALS = {"1": 4, "s": 0, "%": 2}
_OfRun = TypeVar("_OfRun", Row, Case)
_Lines = dict[Any, dict[str, Any]]


def parts(
    tables: dict[str, list[Row]], counted: Iterable[Case]
) -> Iterator[tuple[str, Iterable[Table]]]:
    """Yield the title of a section for each kind of table, and a table for each log."""
    for name, rows in tables.items():
        if name == "monthly":
            yield TITLES[name], [month_table(log, of_log) for log, of_log in _by_log(rows)]
        else:
            yield TITLES[name], [value_table(name, log, of_log) for log, of_log in _by_log(rows)]
    yield TITLES["cases"], [case_table(log, of_log) for log, of_log in _by_log(counted)]


def _by_log(rows: Iterable[_OfRun]) -> Iterator[tuple[str, list[_OfRun]]]:
    def log(row: _OfRun) -> str:
        return row.run.log

    for name, of_log in groupby(sorted(rows, key=log), key=log):
        yield name, list(of_log)


def value_table(name: str, log: str, rows: list[Row]) -> Table:
    """Return a line per run; per metric ours and, where known, thesis, difference, reference."""
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
    """Yield the columns that tell lines apart besides the policy."""
    if any(row.run.policy.fcfs_list == "legacy" for row in rows):
        yield Column("fcfs_list", "FCFS list")
    if any(row.run.estimates == "perfect" for row in rows):
        yield Column("estimates")


def month_table(log: str, rows: list[Row]) -> Table:
    """Return a line per month; per policy ours and, where known, that of the thesis."""
    of_policies = [row for row in rows if row.metric != "jobs"]
    legacy = any(row.run.policy.fcfs_list == "legacy" for row in of_policies)
    lines: _Lines = {}
    decimals = {}
    for row in sorted(rows, key=lambda row: row.month):
        policy = row.run.policy
        kind = f" ({policy.fcfs_list})" if legacy and policy.fcfs_list else ""
        name = "jobs" if row.metric == "jobs" else policy.label + kind
        line = lines.setdefault(row.month, {"month": row.month})
        line |= {name: row.ours, f"{name}, thesis": row.thesis}
        decimals[name] = 0 if row.metric == "jobs" else _DECIMALS[row.unit]
    return _beside_thesis(slug("monthly", log), log, lines, "month", decimals)


def _beside_thesis(
    name: str, log: str, lines: _Lines, first: str, decimals: dict[str, int], note: str = ""
) -> Table:
    """Return a table of a first column, then ours and the thesis's with so many decimals."""
    shown = [Column(first)]
    for title, digits in decimals.items():
        shown.append(Column(title, "", digits, "ours"))
        shown.append(Column(f"{title}, thesis", "thesis", digits, "published"))
    frame = pd.DataFrame(list(lines.values()))
    return Table(name, log, frame, where_known(frame, shown), note)


def case_table(log: str, cases: Sequence[Case]) -> Table:
    """Return a line per count; per run its share and, where known, that of the thesis."""
    lines: _Lines = {}
    names, steps = {}, []
    for case in cases:
        policy = case.run.policy
        more = ["legacy"] * (policy.fcfs_list == "legacy")
        more += ["perfect"] * (case.run.estimates == "perfect")
        name = f"{policy.label} ({', '.join(more)})" if more else policy.label
        if case.what == "steps":
            thesis = f" (thesis {case.thesis_count:,})" if case.thesis_count else ""
            steps.append(f"{name} {case.count:,}{thesis}")
            continue
        line = lines.setdefault((case.what, case.which), {"what": f"{case.what} {case.which}"})
        line |= {name: case.share, f"{name}, thesis": case.thesis_share}
        names[name] = 2
    note = f"Per cent of the steps, or of the started jobs. Steps: {'; '.join(steps)}."
    return _beside_thesis(slug("cases", log), log, lines, "what", names, note)
