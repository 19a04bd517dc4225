"""The tables of two runs of the same jobs."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import pandas as pd

from batsched_py.report.document import Column, Table

SHOWN = 15
"""Rows of a table of the largest."""
_EVENTS = {"submit": "submission", "start": "start", "finish": "end"}
_OTHER = {
    "state": "final state",
    "size": "number of processors",
    "processors": "which processors",
    "execution": "run time",
    "original": "recorded submission",
    "user": "user",
}


def difference(a: float, b: float) -> tuple[float, float]:
    """Return b - a, absolute and relative to abs(a) (nan if that is 0)."""
    return b - a, (b - a) / abs(a) if a else nan


def in_words(what: str, a: float, b: float, unit: str) -> str:
    """Return a sentence on a number that differs."""
    if not (isfinite(a) and isfinite(b)):
        return ""
    _, relative = difference(a, b)
    share = f" ({relative:+.1%})" if isfinite(relative) else ""
    return f"{what}: {a:.6g} {unit} in A, {b:.6g} {unit} in B{share}."


def job_names(rows: pd.DataFrame) -> pd.Series[str]:
    """Return ``workload!job`` of each row, as Batsim names jobs."""
    prefix = rows["workload"].where(rows["workload"] == "", rows["workload"] + "!")
    return prefix + rows["job"]


def shifts(pairs: pd.DataFrame) -> Table:
    """Return how many jobs were submitted, started and ended at another time, and how far."""
    found = []
    for column, event in _EVENTS.items():
        rows = pairs[pairs[f"{column}_shift"].notna()].reset_index(drop=True)
        shift = rows[f"{column}_shift"]
        if not len(shift):
            continue
        names = job_names(rows)
        ends: dict[str, Any] = {}
        for end, row in (("earlier", int(shift.argmin())), ("later", int(shift.argmax()))):
            there = shift[row] < 0 if end == "earlier" else shift[row] > 0
            ends[f"most_{end}"] = abs(shift[row]) if there else nan
            ends[f"job_{end}"] = names[row] if there else ""
        found.append(
            {
                "event": event,
                "jobs": len(shift),
                "moved": int((shift != 0).sum()),
                "earlier": int((shift < 0).sum()),
                "later": int((shift > 0).sum()),
                "mean": shift.mean(),
                "median": shift.median(),
                **ends,
            }
        )
    columns = (
        Column("event"),
        Column("jobs"),
        Column("moved"),
        Column("earlier"),
        Column("later"),
        Column("mean", "mean shift (s)", 1, "difference"),
        Column("median", "median (s)", 1, "difference"),
        Column("most_earlier", "most earlier (s)", 1),
        Column("job_earlier", "job"),
        Column("most_later", "most later (s)", 1),
        Column("job_later", "job"),
    )
    note = "Shifts are B - A, over the jobs that are in both (starts and ends: that ran in both)."
    return _table("shifts", "When jobs came, started and ended", found, columns, note)


def other_changes(pairs: pd.DataFrame) -> Table | None:
    """Return how many jobs differ in something else than times, None if nothing does."""
    found = [
        {"what": title, "jobs": int(pairs[f"{name}_changed"].sum())}
        for name, title in _OTHER.items()
        if pairs[f"{name}_changed"].any()
    ]
    if not found:
        return None
    columns = (Column("what"), Column("jobs", "jobs that differ"))
    return _table("other_changes", "What else differs", found, columns)


def only_in_one(alone: Mapping[str, pd.DataFrame]) -> Table:
    """Return how many jobs only one run has, and the first of them."""
    found = [
        {
            "run": run,
            "jobs": len(rows),
            "ran": int(rows["start"].notna().sum()),
            "first": ", ".join(job_names(rows.head(5))) + (", ..." if len(rows) > 5 else ""),
        }
        for run, rows in alone.items()
        if len(rows)
    ]
    columns = (
        Column("run", "only in"),
        Column("jobs"),
        Column("ran", "of them ran"),
        Column("first", "first submitted"),
    )
    return _table("only_in_one", "Jobs of one run", found, columns)


def largest_shifts(pairs: pd.DataFrame) -> Table:
    """Return the jobs whose starts moved most."""
    size = pairs["start_shift"].abs()
    rows = pairs.loc[size[size > 0].nlargest(SHOWN, keep="first").index]
    frame = rows.assign(name=job_names(rows))
    columns = (
        Column("name", "job"),
        Column("user"),
        Column("size", "processors"),
        Column("start_a", "start, A (s)", 0),
        Column("start_b", "start, B (s)", 0),
        Column("start_shift", "shift (s)", 0, "difference"),
        Column("submit_shift", "of submission (s)", 0, "difference"),
        Column("wait_shift", "of waiting time (s)", 0, "difference"),
    )
    nb = int((size > 0).sum())
    note = f"{len(frame)} of {nb} jobs that start at another time; user and processors as in A."
    frame = frame[[column.name for column in columns]].reset_index(drop=True)
    return Table("largest_shifts", "Starts that moved most", frame, columns, note)


def of_metrics(metrics: pd.DataFrame) -> Table:
    """Return all metrics of both runs."""
    columns = (
        Column("metric"),
        Column("a", "A"),
        Column("b", "B"),
        Column("difference", "B - A", kind="difference"),
        Column("relative", "(B - A) / |A|", 4, "difference"),
        Column("unit"),
    )
    note = (
        "Over all jobs of each run, also those that only one has; `batsched-py metrics --list` "
        "has the formulas."
    )
    return Table("metrics", "All metrics", metrics, columns, note)


def _table(
    name: str,
    title: str,
    rows: list[dict[str, Any]],
    columns: tuple[Column, ...],
    note: str = "",
) -> Table:
    frame = pd.DataFrame(rows, columns=[column.name for column in columns])
    return Table(name, title, frame, columns, note)
