"""Who gained and who lost between two runs of the same jobs, and how sure that is."""

from __future__ import annotations

import numpy as np
import pandas as pd

from batsched_py.report.comparing.job_means import Sums, paired, sums_of
from batsched_py.report.comparing.tables import CHANGES, SHOWN, readable
from batsched_py.report.document import Column, Table
from batsched_py.report.kit.estimates import cells
from batsched_py.report.kit.tables import columns
from batsched_py.report.metric_words import time_unit

QUANTITIES = {
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
    "Over the jobs in both runs that are measured. *From* and *to* are the ends of a 95 % "
    "interval of B - A; what it takes for a sample is named. The bounded slowdown is how many "
    "times longer than its run (10 s at least) a job takes with its wait; lateness is the "
    "submission in the simulation less the recorded one (negative: earlier). A sample of **jobs** "
    "asks whether few jobs make the difference; as a user's jobs share a fate, that interval is "
    "too narrow for a statement on users. **Jobs, by user** (each user with all jobs) asks how "
    "much the same mean depends on who uses the machine. **Users' means** count each user once, "
    "so that one user of many jobs does not speak for all. All are of one pair of runs: what "
    "another seed would give, only replications tell (a campaign)."
)


def per_user(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per known user: ``jobs`` in both runs, and means in A, in B, and B - A.

    Of ``wait`` and ``lateness`` (seconds) and bounded ``slowdown``. Sorted by ``total``, the
    absolute change of the user's waiting times together (seconds).
    """
    named = pairs[pairs["user"] != ""]
    columns = [f"{name}_{end}" for name in QUANTITIES for end in ("a", "b", "shift")]
    grouped = named.groupby("user", sort=True)
    users = grouped[columns].mean()
    users.insert(0, "jobs", grouped.size())
    users["total"] = grouped["wait_shift"].sum().abs()
    users = users.sort_values(["total", "jobs"], ascending=False, kind="stable")
    return users.reset_index()


def effects(pairs: pd.DataFrame) -> Table:
    """Return the mean differences with intervals over jobs and over users."""
    names = _varying(pairs)
    named = pairs[pairs["user"] != ""]
    all_jobs, of_users = (_by_way(rows, names) for rows in (pairs, named))
    ways = {"jobs": all_jobs["jobs"]}
    if named["user"].nunique() > 1:
        ways |= {way: of_users[way] for way in ("clusters", "users")}
    intervals = {way: paired(shift) for way, (_, _, shift) in ways.items()}
    rows = []
    for at, name in enumerate(names):
        title, unit = QUANTITIES[name]
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
    frame = readable(pd.DataFrame(rows), ("a", "b", "difference", "low", "high"), "quantity")
    units = frame["unit_shown"].map(lambda unit: f" ({unit})" if unit else "")
    frame["titled"] = frame["quantity"] + units
    return Table("effects", "By how much, and how sure that is", frame, shown, _NOTE)


def top_movers(users: pd.DataFrame, pairs: pd.DataFrame) -> Table:
    """Return the users whose waiting changed most, each with an interval over the own jobs."""
    frame = users.head(SHOWN).copy()
    shifts = pairs[pairs["user"].isin(frame["user"])].groupby("user")["wait_shift"]
    shift = {user: values.to_numpy(np.float64) for user, values in shifts}
    intervals = [paired(sums_of(shift[user][:, None]))[0] for user in frame["user"]]
    frame["low"] = [interval.low for interval in intervals]
    frame["high"] = [interval.high for interval in intervals]
    scale, unit = time_unit(frame[["wait_a", "wait_b"]])
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
        scale, unit = time_unit(frame[["lateness_a", "lateness_b"]])
        shown.append(Column("lateness_a", f"mean lateness, A ({unit})", scale=scale))
        shown.append(Column("lateness_b", f"B ({unit})", scale=scale))
    note = (
        f"{len(frame)} of {len(users)} users: those whose waiting times together changed most. "
        "The interval (95 %) takes the user's jobs for a sample; of few jobs there is none."
    )
    title = "Users whose waiting changed most"
    return Table("top_movers", title, frame.reset_index(drop=True), tuple(shown), note)


def _varying(pairs: pd.DataFrame) -> list[str]:
    """Return the quantities that say something: nobody is late in replay at recorded times, nor
    where nothing was recorded."""
    late = pairs[["lateness_a", "lateness_b"]].fillna(0.0).to_numpy()
    return [name for name in QUANTITIES if name != "lateness" or late.any()]


def _by_way(rows: pd.DataFrame, names: list[str]) -> dict[str, tuple[Sums, Sums, Sums]]:
    """Return the sums of A, B and their differences, by what is drawn."""
    shift = rows[[f"{name}_shift" for name in names]].to_numpy(np.float64)
    both = np.isfinite(shift)
    units = pd.factorize(rows["user"])[0].astype(np.int64)
    jobs = [
        sums_of(np.where(both, rows[[f"{name}_{end}" for name in names]], np.nan))
        for end in ("a", "b", "shift")
    ]
    clusters = [sums.by(units) for sums in jobs]
    users = [sums.each_once() for sums in clusters]
    by_way = zip(_WAYS, (jobs, clusters, users), strict=True)
    return {way: (a, b, shift) for way, (a, b, shift) in by_way}
