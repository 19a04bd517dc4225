"""The tables of the report; each is left out if the runs have nothing for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.report import Table
from batsched_py.report.kit import Runs, cells, mean_interval, paired, paired_difference, slug
from batsched_studies.sufficiency import PUBLISHED, TEXTS
from batsched_studies.sufficiency import cases as c
from batsched_users.behaviour.levers import LEVERS


def tables(log: str, runs: Runs) -> Iterator[Table | None]:
    """Yield the tables of a log."""
    for key, rows in (
        ("rebound", list(_rebound(runs))),
        ("own", list(_own(runs))),
        ("savings", list(_savings(runs))),
        ("users", list(_users(runs))),
        ("bases", list(_bases(runs))),
        ("effort", list(_effort(runs))),
    ):
        yield TEXTS.table(key, rows, slug(key, log), log=log)


def _rebound(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield what is saved with open users and where they react, and the rebound."""
    for loop, lever, share, _ in c.cases(runs):
        if loop not in c.REACTING or not c.base(runs, c.OPEN):
            continue
        for where in (c.RED, c.ALL) if lever in c.LESS_WORK else (c.RED,):
            actual, expected = c.pairs(runs, loop, lever, share, where)
            row: dict[str, Any] = {"users": loop, "lever": lever, "share": 100 * share}
            row |= {"where": where, "expected": expected.mean(), "actual": actual.mean()}
            row |= cells(c.lost(runs, loop, lever, share, where), "lost", nb="n")
            rebound = c.rebound(runs, loop, lever, share, where)
            yield row | cells(rebound, "rebound", "rebound_low", "rebound_high")


def _own(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the fall of the work of all jobs, and what is saved over all weeks."""
    for loop, lever, share, _ in c.cases(runs):
        lost = c.lost_of_own(runs, loop, lever)
        if share == 1 and lever in c.LESS_WORK and lost.nb:
            row: dict[str, Any] = {"users": loop, "lever": lever}
            row["expected"] = c.own(runs, loop, lever).mean()
            row["work"] = c.saved(runs, loop, lever, share, c.WORK).mean()
            row["saved"] = c.saved(runs, loop, lever, share, c.ALL).mean()
            yield row | cells(lost, "lost", nb="n")


def _savings(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield what is saved in red hours, after them and in all."""
    for loop, lever, share, of_case in c.cases(runs):
        row: dict[str, Any] = {"users": loop, "lever": lever, "share": 100 * share}
        for where in (c.RED, c.AFTER, c.ALL, "total"):
            found = mean_interval(c.saved(runs, loop, lever, share, where))
            row |= cells(found, where, f"{where}_low", f"{where}_high", nb="n")
        yield row | _jobs(of_case)


def _jobs(runs: Runs) -> dict[str, float]:
    """Return how many per cent of the jobs that were submitted each lever changed."""
    jobs = runs.values("nb_jobs").mean()
    return {name: 100 * runs.values(f"jobs_{name}").mean() / jobs for name in LEVERS[:-1]}


def _users(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield what it costs the users."""
    for loop, lever, share, of_case in c.cases(runs):
        row: dict[str, Any] = {"users": loop, "lever": lever, "share": 100 * share}
        without = c.base(runs, loop)
        for name in ("wait", "from_wish", "lateness"):
            change = paired_difference(*paired(of_case.values(name), without.values(name)))
            row |= cells(change, name, f"{name}_low", f"{name}_high", nb="n")
        yield row | {"jobs": of_case.change("jobs", without).value}


def _bases(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield what the machine and the users do if nobody does anything."""
    for loop in c.LOOPS:
        if without := c.base(runs, loop):
            names = ("jobs", "utilisation", "wait", "slowdown", "lateness")
            row: dict[str, Any] = {"users": loop, "n": len(without)}
            yield row | {name: without.values(name).mean() for name in names}


def _effort(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield what the mixed levers save by effort, beside the published number."""
    published = PUBLISHED["ict4s"]
    for loop in c.LOOPS:
        for lever, effort in c.EFFORTS.items():
            found = c.saved(runs, loop, lever, 1.0, c.RED)
            if len(found) and runs.where(lever="50"):
                row = {"users": loop, "effort": 100 * effort, "n": len(found)}
                if loop == c.OPEN and effort == published["effort"]:
                    row["published"] = published["saved"]
                yield row | cells(mean_interval(found), "red")
