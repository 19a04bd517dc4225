"""The tables of two runs of the same jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import Any

import pandas as pd

from batsched_py.report.document import Column, Table
from batsched_py.report.formatting import cell
from batsched_py.report.kit.tables import columns, table
from batsched_py.report.metric_words import time_unit

SHOWN = 15
"""Rows of a table of the largest."""
CHANGES = (
    Column("difference_shown", "B - A", kind="difference"),
    Column("relative", "of |A| (%)", 1, "difference", scale=0.01),
)
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


def in_words(what: str, a: float, b: float) -> str:
    """Return a sentence on a time (seconds) that differs."""
    if not (isfinite(a) and isfinite(b)):
        return ""
    _, relative = difference(a, b)
    share = f" ({relative:+.1%})" if isfinite(relative) else ""
    scale, unit = time_unit([a, b])
    return f"{what}: {cell(a / scale)} {unit} in A, {cell(b / scale)} {unit} in B{share}."


def readable(rows: pd.DataFrame, names: Sequence[str], of: str) -> pd.DataFrame:
    """Return rows with columns ``NAME_shown`` and ``unit_shown``, where times are readable.

    ``unit`` is that of each row; rows that are alike in the column ``of`` get the same one.
    """
    shown = {f"{name}_shown": rows[name].astype(float) for name in names}
    rows = rows.assign(**shown, unit_shown=rows["unit"])
    for _, alike in rows[rows["unit"] == "s"].groupby(of):
        scale, unit = time_unit(alike[list(names)])
        rows.loc[alike.index, list(shown)] /= scale
        rows.loc[alike.index, "unit_shown"] = unit
    rows["unit_shown"] = rows["unit_shown"].replace("1", "")
    return rows


def job_names(rows: pd.DataFrame) -> pd.Series[str]:
    """Return ``workload!job`` of each row, as Batsim names jobs."""
    prefix = rows["workload"].where(rows["workload"] == "", rows["workload"] + "!")
    return prefix + rows["job"]


def shifts(pairs: pd.DataFrame) -> Table:
    """Return how many jobs were submitted, started and ended at another time, and how far."""
    rows = []
    for column, event in _EVENTS.items():
        there = pairs[pairs[f"{column}_shift"].notna()].reset_index(drop=True)
        shift = there[f"{column}_shift"]
        if not len(shift):
            continue
        names = job_names(there)
        ends: dict[str, Any] = {}
        for end, at in (("earlier", int(shift.argmin())), ("later", int(shift.argmax()))):
            moved = shift[at] < 0 if end == "earlier" else shift[at] > 0
            ends[f"most_{end}"] = abs(shift[at]) if moved else nan
            ends[f"job_{end}"] = names[at] if moved else ""
        counts = {"moved": shift != 0, "earlier": shift < 0, "later": shift > 0}
        row = {name: int(those.sum()) for name, those in counts.items()} | ends
        row |= {"mean": shift.mean(), "median": shift.median()}
        rows.append({"event": event, "jobs": len(shift), **row})
    scale, unit = time_unit(pairs["start_shift"].dropna())
    shown = (
        *columns("event", "jobs", "moved", "earlier", "later"),
        Column("mean", f"mean shift ({unit})", None, "difference", scale),
        Column("median", f"median ({unit})", None, "difference", scale),
        Column("most_earlier", f"most earlier ({unit})", scale=scale, below="job_earlier"),
        Column("most_later", f"most later ({unit})", scale=scale, below="job_later"),
    )
    note = "Shifts are B - A, over the jobs that are in both (starts and ends: that ran in both). "
    note += "Below the largest ones: their jobs."
    return Table("shifts", "When jobs came, started and ended", pd.DataFrame(rows), shown, note)


def other_changes(pairs: pd.DataFrame) -> Table | None:
    """Return how many jobs differ in something else than times, None if nothing does."""
    rows = [
        {"what": title, "jobs": int(pairs[f"{name}_changed"].sum())}
        for name, title in _OTHER.items()
        if pairs[f"{name}_changed"].any()
    ]
    shown = columns("what", jobs="jobs that differ")
    return table("other_changes", "What else differs", rows, shown)


def only_in_one(alone: Mapping[str, pd.DataFrame]) -> Table:
    """Return how many jobs only one run has, and the first of them."""
    counts = [
        {
            "run": run,
            "jobs": len(rows),
            "ran": int(rows["start"].notna().sum()),
            "first": ", ".join(job_names(rows.head(5))) + (", ..." if len(rows) > 5 else ""),
        }
        for run, rows in alone.items()
        if len(rows)
    ]
    shown = columns({"run": "only in"}, "jobs", ran="of them ran", first="first submitted")
    return Table.of_rows("only_in_one", "Jobs of one run", counts, shown)


def largest_shifts(pairs: pd.DataFrame) -> Table:
    """Return the jobs whose starts moved most."""
    size = pairs["start_shift"].abs()
    rows = pairs.loc[size[size > 0].nlargest(SHOWN, keep="first").index]
    frame = rows.assign(name=job_names(rows))
    scale, unit = time_unit(rows["start_shift"])
    shifted = {"start_shift": "start", "submit_shift": "submission", "wait_shift": "wait"}
    shown = (
        *columns({"name": "job"}, "user", size="processors"),
        Column("start_a", f"start, A ({unit})", scale=scale),
        Column("start_b", f"start, B ({unit})", scale=scale),
        *(
            Column(name, f"{title}, B - A ({unit})", None, "difference", scale)
            for name, title in shifted.items()
        ),
    )
    nb = int((size > 0).sum())
    note = (
        f"{len(frame)} of {nb} jobs that start at another time; user and processors as in A, "
        "starts from time 0 of the run."
    )
    frame = frame[[column.name for column in shown]].reset_index(drop=True)
    return Table("largest_shifts", "Starts that moved most", frame, shown, note)


def of_metrics(metrics: pd.DataFrame) -> Table:
    """Return all metrics of both runs."""
    frame = readable(metrics, ("a", "b", "difference"), "metric")
    shown = (
        *columns("metric", unit_shown="unit", a_shown="A", b_shown="B"),
        *CHANGES,
    )
    note = (
        "Over all jobs of each run, also those that only one has. A slowdown is how many times "
        "longer than its run a job takes with its wait; `batsched-py metrics --list` has the "
        "formulas. Of times, `metrics.csv` has the seconds too."
    )
    return Table("metrics", "All metrics", frame, shown, note)
