"""Makes the tables of a comparison of two runs: by job, by user, or of distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report.comparing.job_means import (
    Sums,
    estimate_differences,
    estimate_means,
    make_sums,
)
from batsched_py.report.document import Column, Table
from batsched_py.report.kit.estimates import cells
from batsched_py.report.kit.tables import columns, table
from batsched_py.report.metric_words import choose_time_unit
from batsched_py.support.statistics import quantiles as quantiles_of

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
    "withdrawal": "time of the withdrawal",
}


def subtract(a: float, b: float) -> tuple[float, float]:
    """Return b - a, and the same relative to abs(a) (nan if a is 0)."""
    return b - a, (b - a) / abs(a) if a else nan


def make_readable(rows: pd.DataFrame, names: Sequence[str], of: str) -> pd.DataFrame:
    """Return rows with times in readable units, in columns ``NAME_shown`` and ``unit_shown``.

    ``unit`` is that of each row; rows that are alike in the column ``of`` get the same one.
    """
    shown = {f"{name}_shown": rows[name].astype(float) for name in names}
    rows = rows.assign(**shown, unit_shown=rows["unit"])
    for _, alike in rows[rows["unit"] == "s"].groupby(of):
        scale, unit = choose_time_unit(alike[list(names)])
        rows.loc[alike.index, list(shown)] /= scale
        rows.loc[alike.index, "unit_shown"] = unit
    rows["unit_shown"] = rows["unit_shown"].replace("1", "")
    return rows


def format_job_names(rows: pd.DataFrame) -> pd.Series[str]:
    """Return the number of each job, as ``workload!job`` if there are several workloads."""
    if rows["workload"].nunique() == 1:
        return rows["job"].astype(str)
    prefix = rows["workload"].where(rows["workload"] == "", rows["workload"] + "!")
    return prefix + rows["job"]


def tabulate_shifts(pairs: pd.DataFrame) -> Table:
    """Return a table of the numbers and sizes of shifts of submissions, starts and ends."""
    rows = []
    all_names = format_job_names(pairs)
    for column, event in _EVENTS.items():
        known = pairs[f"{column}_shift"].notna()
        names = all_names[known].reset_index(drop=True)
        shift = pairs.loc[known, f"{column}_shift"].reset_index(drop=True)
        if not len(shift):
            continue
        ends: dict[str, Any] = {}
        for end, at in (("earlier", int(shift.argmin())), ("later", int(shift.argmax()))):
            moved = shift[at] < 0 if end == "earlier" else shift[at] > 0
            ends[f"most_{end}"] = abs(shift[at]) if moved else nan
            ends[f"job_{end}"] = names[at] if moved else ""
        counts = {"moved": shift != 0, "earlier": shift < 0, "later": shift > 0}
        row = {name: int(those.sum()) for name, those in counts.items()} | ends
        row |= {"mean": shift.mean(), "median": shift.median()}
        rows.append({"event": event, "jobs": len(shift), **row})
    scale, unit = choose_time_unit(pairs["start_shift"].dropna())
    shown = (
        *columns("event", "jobs", "moved", "earlier", "later"),
        Column("mean", f"mean shift ({unit})", None, "difference", scale),
        Column("median", f"median ({unit})", None, "difference", scale),
        Column("most_earlier", f"most earlier ({unit})", scale=scale, below="job_earlier"),
        Column("most_later", f"most later ({unit})", scale=scale, below="job_later"),
    )
    note = "Shifts are B - A, over the jobs of both runs (starts and ends: that ran in both). "
    note += "Below the largest shifts: their jobs."
    return Table(
        "shifts", "Shifts of submissions, starts and ends", pd.DataFrame(rows), shown, note
    )


def tabulate_other_changes(pairs: pd.DataFrame) -> Table | None:
    """Return a table of the numbers of jobs that differ in other fields than times, or None."""
    rows = [
        {"what": title, "jobs": int(pairs[f"{name}_changed"].sum())}
        for name, title in _OTHER.items()
        if f"{name}_changed" in pairs and pairs[f"{name}_changed"].any()
    ]
    shown = columns("what", jobs="jobs that differ")
    return table("other_changes", "Other differences", rows, shown)


def tabulate_only_in_one(alone: Mapping[str, pd.DataFrame]) -> Table | None:
    """Return a table of the numbers of jobs of one run only; None if there are none."""
    counts = [
        {
            "run": run,
            "jobs": len(rows),
            "ran": int(rows["start"].notna().sum()),
            "first": ", ".join(format_job_names(rows.head(5))) + (", ..." if len(rows) > 5 else ""),
        }
        for run, rows in alone.items()
        if len(rows)
    ]
    shown = columns({"run": "only in"}, "jobs", ran="of them ran", first="first submitted")
    return table("only_in_one", "Jobs of one run", counts, shown)


def tabulate_largest_shifts(pairs: pd.DataFrame) -> Table:
    """Return a table of the jobs whose starts moved most."""
    size = pairs["start_shift"].abs()
    rows = pairs.loc[size[size > 0].nlargest(SHOWN, keep="first").index]
    frame = rows.assign(name=format_job_names(pairs))
    scale, unit = choose_time_unit(rows["start_shift"])
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


def tabulate_metrics(metrics: pd.DataFrame) -> Table:
    """Return a table of all metrics of both runs."""
    frame = make_readable(metrics, ("a", "b", "difference"), "metric")
    shown = (*columns("metric", unit_shown="unit", a_shown="A", b_shown="B"), *CHANGES)
    note = (
        "Over all jobs of each run, also jobs of one run only. `batsched-py metrics --list` shows "
        "the formulas; `metrics.csv` has all times in seconds."
    )
    return Table("metrics", "All metrics", frame, shown, note)


_DISTRIBUTED = {
    "wait": ("waiting time", "s"),
    "slowdown": ("bounded slowdown", "1"),
    "turnaround": ("turnaround time", "s"),
    "lateness": ("lateness", "s"),
    "execution": ("run time", "s"),
    "size": ("processors", "1"),
}
AT = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def tabulate_means(a: pd.DataFrame, b: pd.DataFrame) -> Table:
    """Return a table of means over the jobs of two runs, with intervals of the differences.

    Each run is a sample of jobs, or of users with all their jobs.
    """
    names = _shown(a, b)
    jobs = [make_sums(run[names].to_numpy(np.float64)) for run in (a, b)]
    by_jobs = estimate_differences(jobs[0], jobs[1])
    by_user = estimate_differences(_by_user(a, names), _by_user(b, names))
    rows = []
    for at, name in enumerate(names):
        title, unit = _DISTRIBUTED[name]
        mean_a, mean_b = (float(sums.means[at]) for sums in jobs)
        shift, relative = subtract(mean_a, mean_b)
        row = {"quantity": title, "a": mean_a, "b": mean_b, "difference": shift, "unit": unit}
        row |= {"relative": relative}
        for drawn, interval in (("jobs", by_jobs[at]), ("users", by_user[at])):
            row |= {f"{drawn}_low": interval.low, f"{drawn}_high": interval.high}
        rows.append(row)
    shown = (
        *columns("quantity", unit_shown="unit", a_shown="mean, A", b_shown="B"),
        *CHANGES,
        *columns(jobs_low_shown="by jobs: from", jobs_high_shown="to"),
        *columns(users_low_shown="by users: from", users_high_shown="to"),
    )
    note = (
        f"{len(a)} jobs of {_users(a)} users in A, {len(b)} of {_users(b)} in B. Intervals of "
        "B - A (95 %) treat the jobs of each run as a sample, or its users with all their jobs; "
        "the latter are wider, since a user's jobs are alike. The two runs are independent samples."
    )
    ends = [f"{drawn}_{end}" for drawn in ("jobs", "users") for end in ("low", "high")]
    frame = make_readable(pd.DataFrame(rows), ("a", "b", "difference", *ends), "quantity")
    return Table("means", "Means", frame, shown, note)


def tabulate_quantiles(a: pd.DataFrame, b: pd.DataFrame) -> Table:
    """Return a table of the quantiles of the distributions over the jobs of two runs."""
    rows = []
    for name in _shown(a, b):
        title, unit = _DISTRIBUTED[name]
        for run, jobs in (("A", a), ("B", b)):
            values = dict(zip(map(_column, AT), quantiles_of(jobs[name], AT), strict=True))
            rows.append({"quantity": title, "unit": unit, "run": run, **values})
    titles = {f"{_column(at)}_shown": f"{at:.0%}" for at in AT}
    shown = columns("quantity", {"unit_shown": "unit"}, "run", titles)
    frame = make_readable(pd.DataFrame(rows), [_column(at) for at in AT], "quantity")
    return Table("quantiles", "Quantiles over jobs", frame, shown)


def _by_user(jobs: pd.DataFrame, names: list[str]) -> Sums:
    named = jobs[jobs["user"] != ""]
    users = pd.factorize(named["user"])[0].astype(np.int64)
    return make_sums(named[names].to_numpy(np.float64)).sum_by(users)


def _column(at: float) -> str:
    return f"q{round(100 * at):02d}"


def _shown(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    late = a["lateness"].any() or b["lateness"].any()
    return [name for name in _DISTRIBUTED if name != "lateness" or late]


def _users(jobs: pd.DataFrame) -> int:
    return int(jobs.loc[jobs["user"] != "", "user"].nunique())


_GAINED = {
    "wait": ("mean waiting time", "s"),
    "slowdown": ("mean bounded slowdown", "1"),
    "lateness": ("mean lateness", "s"),
}
_WAYS = {
    "jobs": ("jobs", "jobs"),
    "clusters": ("jobs", "jobs, by user"),
    "users": ("users' means", "users"),
}
_NOTE = (
    "Over the measured jobs of both runs. *From* and *to* are the 95 % interval of B - A. A sample "
    "of **jobs** shows whether few jobs make the difference; it is too narrow for users, since a "
    "user's jobs are alike. **Jobs, by user** (each user with all jobs) shows how much the same "
    "mean depends on the users. **Users' means** count each user once."
)


def average_by_user(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean wait, slowdown and lateness of each known user in A, in B, and B - A.

    Of ``wait`` and ``lateness`` (seconds) and bounded ``slowdown``. Sorted by ``total``, the
    absolute change of the user's waiting times together (seconds).
    """
    named = pairs[pairs["user"] != ""]
    columns = [f"{name}_{end}" for name in _GAINED for end in ("a", "b", "shift")]
    grouped = named.groupby("user", sort=True)
    users = grouped[columns].mean()
    users.insert(0, "jobs", grouped.size())
    users["total"] = grouped["wait_shift"].sum().abs()
    users = users.sort_values(["total", "jobs"], ascending=False, kind="stable")
    return users.reset_index()


def tabulate_effects(pairs: pd.DataFrame) -> Table:
    """Return a table of the mean differences with intervals, over jobs and over users."""
    names = _varying(pairs)
    named = pairs[pairs["user"] != ""]
    all_jobs, of_users = (_by_way(rows, names) for rows in (pairs, named))
    ways = {"jobs": all_jobs["jobs"]}
    if named["user"].nunique() > 1:
        ways |= {way: of_users[way] for way in ("clusters", "users")}
    intervals = {way: estimate_means(shift) for way, (_, _, shift) in ways.items()}
    rows = []
    for at, name in enumerate(names):
        title, unit = _GAINED[name]
        for way, (a, b, _) in ways.items():
            over, drawn = _WAYS[way]
            row = {"quantity": title, "over": over, "drawn": drawn, "unit": unit}
            row |= {"a": a.means[at], "b": b.means[at]}
            rows.append(row | cells(intervals[way][at], "difference", nb="nb"))
    shown = (
        *columns({"titled": "quantity"}, "over", a_shown="A", b_shown="B"),
        CHANGES[0],
        *columns(low_shown="from", high_shown="to", drawn="sample of", nb="how many"),
    )
    frame = make_readable(pd.DataFrame(rows), ("a", "b", "difference", "low", "high"), "quantity")
    units = frame["unit_shown"].map(lambda unit: f" ({unit})" if unit else "")
    frame["titled"] = frame["quantity"] + units
    return Table("effects", "Differences with 95 % intervals", frame, shown, _NOTE)


def tabulate_top_movers(users: pd.DataFrame, pairs: pd.DataFrame) -> Table:
    """Return a table of the users whose waits changed most, with intervals over their jobs."""
    frame = users.head(SHOWN).copy()
    shifts = pairs[pairs["user"].isin(frame["user"])].groupby("user")["wait_shift"]
    shift = {user: values.to_numpy(np.float64) for user, values in shifts}
    intervals = [estimate_means(make_sums(shift[user][:, None]))[0] for user in frame["user"]]
    frame["low"] = [interval.low for interval in intervals]
    frame["high"] = [interval.high for interval in intervals]
    scale, unit = choose_time_unit(frame[["wait_a", "wait_b"]])
    shown = [
        *columns("user", "jobs"),
        Column("wait_a", f"mean wait, A ({unit})", scale=scale),
        Column("wait_b", f"B ({unit})", scale=scale),
        Column("wait_shift", f"B - A ({unit})", None, "difference", scale),
        Column("low", f"from ({unit})", scale=scale),
        Column("high", f"to ({unit})", scale=scale),
        *columns(slowdown_a="bounded slowdown, A", slowdown_b="B", decimals=2),
    ]
    if "lateness" in _varying(pairs):
        scale, unit = choose_time_unit(frame[["lateness_a", "lateness_b"]])
        shown.append(Column("lateness_a", f"mean lateness, A ({unit})", scale=scale))
        shown.append(Column("lateness_b", f"B ({unit})", scale=scale))
    note = (
        f"The {len(frame)} of {len(users)} users whose waiting times changed most in sum. The "
        "95 % interval treats the user's jobs as a sample; few jobs have none."
    )
    title = "Users whose waiting changed most"
    return Table("top_movers", title, frame.reset_index(drop=True), tuple(shown), note)


def _varying(pairs: pd.DataFrame) -> list[str]:
    """Return the measured quantities, without a lateness that is 0 for all jobs."""
    late = pairs[["lateness_a", "lateness_b"]].fillna(0.0).to_numpy()
    return [name for name in _GAINED if name != "lateness" or late.any()]


def _by_way(rows: pd.DataFrame, names: list[str]) -> dict[str, tuple[Sums, Sums, Sums]]:
    """Return the sums of A, B and B - A, with jobs, users with all jobs, or users as the sample."""
    shift = rows[[f"{name}_shift" for name in names]].to_numpy(np.float64)
    both = np.isfinite(shift)
    units = pd.factorize(rows["user"])[0].astype(np.int64)
    jobs = [
        make_sums(np.where(both, rows[[f"{name}_{end}" for name in names]], np.nan))
        for end in ("a", "b", "shift")
    ]
    clusters = [sums.sum_by(units) for sums in jobs]
    users = [sums.average_units() for sums in clusters]
    by_way = zip(_WAYS, (jobs, clusters, users), strict=True)
    return {way: (a, b, shift) for way, (a, b, shift) in by_way}
