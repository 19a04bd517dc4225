"""The tables of the report; each is left out if the runs have nothing for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.report import CampaignResults, Table
from batsched_py.report.kit import Runs, cells, slug
from batsched_py.units import HOUR
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c
from batsched_studies.site.answers import compared, conclusions, in_per_cent
from batsched_studies.site.user_waits import shares

Rows = Iterator[dict[str, Any]]
_BASE = (
    *("jobs_weekly", c.WORK, "active_users", "jobs_by_user", c.BUSY, c.WAIT, "wait_median"),
    *("wait_p90", c.SLOWDOWN, "at_once", "user_wait_median", "user_wait_p90", "user_wait_gini"),
    *("night", "weekend", "short", "refused", "at_limit"),
)
_HABITS = ("night", "weekend", "short", "at_once")


def other_answers(log: str, runs: Runs) -> Table | None:
    """Return the answers that are other ones where users react."""
    rows = [each.row for each in conclusions(compared(runs))]
    return TEXTS.table("conclusions", rows, slug("conclusions", log), log=log)


def tables(log: str, runs: Runs, results: CampaignResults) -> Iterator[Table | None]:
    """Yield the tables of what was changed, of a log."""
    for key, rows in (
        ("changes", _changes(runs)),
        ("sizes", _sizes(runs)),
        ("partitions", _partitions(runs)),
        ("users", _users(runs, results)),
        ("habits", _habits(runs)),
        ("limits", _limits(runs)),
        ("bases", _bases(runs)),
    ):
        yield TEXTS.table(key, list(rows), slug(key, log), log=log)


def _labels(case: c.Case) -> dict[str, Any]:
    return {"change": case.change, "users": case.people}


def _changes(runs: Runs) -> Rows:
    for case in c.cases(runs):
        row = _labels(case) | {"pairs": case.ratio(c.WAIT).nb}
        for name in (c.WAIT, c.BUSY):
            before, after = (side.mean(name).value for side in (case.base, case.runs))
            row |= {f"{name}_before": before, f"{name}_after": after}
        for name in (c.WAIT, c.SLOWDOWN, c.WORK):
            row |= in_per_cent(case.ratio(name), name)
        yield row


def _sizes(runs: Runs) -> Rows:
    for case in c.cases(runs):
        row = _labels(case)
        for name in c.SIZES:
            row |= in_per_cent(case.ratio(name), name)
        yield row


def _partitions(runs: Runs) -> Rows:
    """Yield the waits in each partition that has some in all pairs, if there are several."""
    names = c.partitions(runs)
    for case in c.cases(runs) if len(names) > 1 else ():
        for partition in names:
            name = f"{c.IN}{partition}"
            ratio = case.ratio(name)
            if ratio.nb == case.ratio(c.WAIT).nb:
                before, after = (side.values(name).mean() / HOUR for side in (case.base, case.runs))
                row = _labels(case) | {"partition": partition, "before": before, "after": after}
                yield row | in_per_cent(ratio, "wait") | {"pairs": ratio.nb}


def _users(runs: Runs, results: CampaignResults) -> Rows:
    """Yield how many users wait longer, and how unequal their waits are."""
    for case in c.cases(runs):
        row = _labels(case)
        for name, share in shares(results, case.runs.frame, case.base.frame).items():
            row |= cells(share, name, f"{name}_low", f"{name}_high")
        for name in ("user_wait_median", "user_wait_p90"):
            row[name] = in_per_cent(case.ratio(name), name)[name]
        gini = case.more("user_wait_gini")
        yield row | cells(gini, "gini", "gini_low", "gini_high", nb="pairs")


def _habits(runs: Runs) -> Rows:
    """Yield by how many points shares of the jobs differ, and jobs by user in per cent."""
    for case in c.cases(runs):
        row = _labels(case) | in_per_cent(case.ratio("jobs_by_user"), "jobs")
        for name in _HABITS:
            row |= cells(case.more(name), name, f"{name}_low", f"{name}_high")
        yield row


def _limits(runs: Runs) -> Rows:
    """Yield what limits take from the users, where they take anything."""
    for case in c.cases(runs):
        row: dict[str, Any] = _labels(case)
        for name in ("refused", "refused_weekly", "at_limit"):
            row[f"{name}_before"] = case.base.mean(name).value
            row[name] = case.runs.mean(name).value
        if any(row[name] > 0 for name in ("refused", "at_limit", "at_limit_before")):
            yield row


def _bases(runs: Runs) -> Rows:
    for kind in c.people(runs):
        base = runs.where(people=kind, change=c.AS_IT_IS)
        if base:
            row: dict[str, Any] = {"users": kind, "n": len(base)}
            yield row | {name: base.mean(name).value for name in _BASE}
