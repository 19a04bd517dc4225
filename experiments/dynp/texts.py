"""The tables of the study for reading: header and texts of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tables import Case, Row

TITLES = {
    "static": "Tables 3.6 and 5.1: static policies",
    "deciders": "Table 5.2: deciders",
    "estimates": "Table 5.7: preferred deciders and perfect estimates",
    "metrics": "Tables 5.5 and 5.6: self-tuning metrics",
    "slackness": "Table 5.8: slackness",
    "monthly": "Tables A.1 to A.4, A.9 to A.12: SLDwA by month of submission",
    "cases": "Tables 5.3, 5.4 and 5.9: cases, switches and started jobs, per cent",
}
_DECIMALS = {"1": 4, "s": 0, "%": 2}

Grid = tuple[list[str], list[list[str]]]


def sections(tables: dict[str, list[Row]], counted: Iterable[Case]) -> Iterator[tuple[str, Grid]]:
    """Yield the title, with the log, and header and texts of each table for reading."""
    for name, rows in tables.items():
        ordered = sorted(rows, key=lambda row: row.log)
        for log, own in groupby(ordered, key=lambda row: row.log):
            grid = month_grid if name == "monthly" else value_grid
            yield f"{TITLES[name]} ({log})", grid(list(own))
    in_logs = sorted(counted, key=lambda case: case.log)
    for log, found in groupby(in_logs, key=lambda case: case.log):
        yield f"{TITLES['cases']} ({log})", case_grid(list(found))


def value_grid(rows: list[Row]) -> Grid:
    """Return a line per run; per metric ours and, where known, thesis, difference, reference.

    The difference is in per cent of the thesis; in points for what is in per cent itself.
    """
    units = {row.metric: row.unit for row in rows}
    printed = {row.metric for row in rows if row.thesis is not None}
    compared = {row.metric for row in rows if row.reference is not None}
    labels = _labels(rows)
    header = ["policy", *labels]
    for metric in units:
        unit = "" if units[metric] == "1" else f" ({units[metric]})"
        header.append(metric + unit)
        header += ["thesis", "diff." if units[metric] == "%" else "diff. (%)"] * (metric in printed)
        header += ["reference"] * (metric in compared)
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        key = (row.policy, *(getattr(row, label) for label in labels.values()))
        lines.setdefault(key, {})[row.metric] = row
    texts = [[*key, *_values(own, units, printed, compared)] for key, own in lines.items()]
    return header, texts


def _labels(rows: list[Row]) -> dict[str, str]:
    """Return header and field of the labels that tell lines apart besides the policy."""
    found = {}
    if any(row.fcfs_list == "legacy" for row in rows):
        found["FCFS list"] = "fcfs_list"
    if any(row.estimates == "perfect" for row in rows):
        found["estimates"] = "estimates"
    return found


def _values(
    own: dict[str, Row], metrics: Iterable[str], printed: set[str], compared: set[str]
) -> Iterator[str]:
    for metric in metrics:
        row = own.get(metric)
        yield _text(row.ours, row) if row else ""
        if metric in printed:
            yield _text(row.thesis, row) if row else ""
            yield _difference(row) if row else ""
        if metric in compared:
            yield _text(row.reference, row) if row else ""


def _text(value: float | None, row: Row) -> str:
    if value is None:
        return ""
    decimals = 0 if row.metric == "jobs" else _DECIMALS[row.unit]
    return f"{value:.{decimals}f}"


def _difference(row: Row) -> str:
    if row.thesis is None:
        return ""
    if row.unit == "%":
        return f"{row.ours - row.thesis:+.2f}"
    difference = row.relative_difference
    return "" if difference is None else f"{difference:+.2f}"


def month_grid(rows: list[Row]) -> Grid:
    """Return a line per month; per policy ours and, where known, that of the thesis."""
    legacy = any(row.fcfs_list == "legacy" for row in rows)
    columns: dict[str, dict[str, Row]] = {}
    for row in rows:
        name = f"{row.policy} ({row.fcfs_list})" if legacy and row.fcfs_list else row.policy
        name = name or row.metric
        columns.setdefault(name, {})[row.month] = row
    printed = {n for n, own in columns.items() if any(r.thesis is not None for r in own.values())}
    header = ["month"]
    for name in columns:
        header += [name, "thesis"] if name in printed else [name]
    lines = []
    for month in sorted({row.month for row in rows}):
        line = [month]
        for name, own in columns.items():
            found = own.get(month)
            line.append(_text(found.ours, found) if found else "")
            if name in printed:
                line.append(_text(found.thesis, found) if found else "")
        lines.append(line)
    return header, lines


def case_grid(found: list[Case]) -> Grid:
    """Return a line per count; per run its share and, where known, that of the thesis.

    The number of steps is no share.
    """
    columns: dict[str, dict[tuple[str, str], Case]] = {}
    for case in found:
        more = [case.fcfs_list] * (case.fcfs_list == "legacy")
        more += [case.estimates] * (case.estimates == "perfect")
        name = f"{case.policy} ({', '.join(more)})" if more else case.policy
        columns.setdefault(name, {})[case.what, case.which] = case
    printed = {
        name
        for name, own in columns.items()
        if any(case.thesis_count is not None for case in own.values())
    }
    header = ["what"]
    for name in columns:
        header += [name, "thesis"] if name in printed else [name]
    lines = []
    for what, which in dict.fromkeys((case.what, case.which) for case in found):
        line = [f"{what} {which}".strip()]
        for name, own in columns.items():
            line += _shares(own[what, which], name in printed)
        lines.append(line)
    return header, lines


def _shares(case: Case, printed: bool) -> list[str]:
    if case.what == "steps":
        ours, thesis = f"{case.count}", f"{case.thesis_count or ''}"
    else:
        ours = f"{case.share:.2f}"
        thesis = "" if case.thesis_share is None else f"{case.thesis_share:.2f}"
    return [ours, thesis] if printed else [ours]
