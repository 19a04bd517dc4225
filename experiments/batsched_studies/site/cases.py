"""The runs of the study: what was changed, for which users, and how that is beside what was not.

One thing is changed at a time. A *change* is the name of a variant of the axis ``change``, or of a
policy that takes the place of the site's, or of a machine file that takes that of the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from batsched_py.report import CampaignResults
from batsched_py.report.kit import (
    UNKNOWN,
    Interval,
    Quantity,
    Runs,
    jackknife,
    log_name,
    paired,
    paired_difference,
)
from batsched_py.run.settings import SETTINGS
from batsched_py.support.statistics import Floats, ratio
from batsched_py.units import HOUR, WEEK

CHANGE, PEOPLE, POLICY, MACHINE = "change", "people", "policy", "machine"
AS_IT_IS = "as it is"
SITE = "site"
"""The policy of the site."""
RIGID = "rigid"
"""Users who submit at recorded times."""
RECORDED = "recorded"
"""No users who were drawn, but the log."""
WAIT, WORK, BUSY, SLOWDOWN = "wait", "work_weekly", "busy", "slowdown"
SIZES = ("wait_narrow", "wait_medium", "wait_wide")
IN = "wait_in_"
"""Begins the names of the mean waits in partitions."""
_HOURS = (
    *("wait", "wait_median", "wait_p90", *SIZES),
    *("user_wait_median", "user_wait_p90"),
)
_SHARES = ("at_once", "busy", "night", "weekend", "short", "refused", "at_limit")
QUANTITIES = (
    *(Quantity(name, name, name, 1 / HOUR) for name in _HOURS),
    *(Quantity(name, name, name, 100) for name in _SHARES),
    *(Quantity(name, name, name) for name in (SLOWDOWN, "user_wait_gini", "jobs_weekly")),
    *(Quantity(name, name, name) for name in ("jobs_by_user", "active_users")),
    *(Quantity(name, name, name, 1 / WEEK) for name in (WORK, "refused_weekly")),
)
"""In hours, per cent, and for work in processors that it keeps busy all week."""
_OF_USERS = ("log", "users", "user_options", "sessions", "seed")
"""Settings that may differ among the kinds of users, and among replications."""
_OF_POLICY = ("scheduler", "scheduler_options")
ASKED = (WAIT, SLOWDOWN, BUSY)
"""Of what it is asked whether the answer is another one where users react."""


@dataclass(frozen=True)
class Case:
    """What was changed for users of one kind, beside the same users as it is."""

    change: str
    people: str
    runs: Runs
    base: Runs

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a simulation in which the two differ, as the campaign file has them."""
        ours, base = (_settings(side) for side in (self.runs, self.base))
        return {name: value for name, value in ours.items() if value != base.get(name)}

    def ratio(self, name: str) -> Interval:
        """Return the mean of a quantity in relation to that as it is."""
        return self.runs.ratio(name, self.base)

    def more(self, name: str) -> Interval:
        """Return by how much a quantity is larger than as it is."""
        return paired_difference(*paired(self.runs.values(name), self.base.values(name)))


def _settings(runs: Runs) -> dict[str, Any]:
    """Return the settings that are given of the first of some runs, but those of users."""
    run = runs.frame.iloc[0]
    names = (name for name in SETTINGS if name in run and name not in _OF_USERS)
    return {name: run[name] for name in names if pd.notna(run[name]) and run[name] != "{}"}


def site(runs: Runs) -> dict[str, Any]:
    """Return policy, options and machine of the site as it is; none without runs of it."""
    as_it_is = runs.where(change=AS_IT_IS)
    given = _settings(as_it_is) if len(as_it_is) else {}
    return {name: given[name] for name in (MACHINE, *_OF_POLICY) if name in given}


def read(results: CampaignResults) -> list[tuple[str, Runs]]:
    """Return the runs by log; none if none has finished. A column has the change of each run."""
    frame = results.runs
    if frame.empty:
        return []
    frame = frame.assign(log=frame["log"].map(log_name))
    if POLICY in frame and CHANGE in frame:
        frame[CHANGE] = frame[CHANGE].where(frame[POLICY] == SITE, frame[POLICY])
    if MACHINE in frame and CHANGE in frame:
        names = frame[MACHINE].map(lambda path: Path(str(path)).stem)
        frame[CHANGE] = frame[CHANGE].where(names == names.iloc[0], names)
    return [(log, of_log) for (log,), of_log in Runs(frame, QUANTITIES).groups("log")]


def people(runs: Runs) -> list[str]:
    """Return the kinds of users who were drawn, those who do not react first."""
    there = [str(name) for name in runs.labels(PEOPLE) if name != RECORDED]
    return sorted(there, key=lambda name: name != RIGID)


def changes(runs: Runs) -> list[str]:
    """Return what was changed, in the order of the file."""
    return [str(name) for name in runs.labels(CHANGE) if name != AS_IT_IS]


def cases(runs: Runs) -> Iterator[Case]:
    """Yield the cases that have runs as it is beside them: change by change."""
    for change in changes(runs):
        for kind in people(runs):
            of_kind = runs.where(people=kind)
            base, changed = (of_kind.where(change=name) for name in (AS_IT_IS, change))
            if len(base) and len(changed):
                yield Case(change, kind, changed, base)


def recorded(runs: Runs) -> Runs:
    """Return the run of the log itself; none if there is none."""
    return runs.where(people=RECORDED, change=AS_IT_IS)


def partitions(runs: Runs) -> list[str]:
    """Return the partitions that waits are known of, in the order of the columns."""
    names = (str(name) for name in runs.frame)
    return [name.removeprefix(IN) for name in names if name.startswith(IN)]


def beside_rigid(case: Case, rigid: Case, name: str) -> Interval:
    """Return the ratio of a case in relation to that of users who do not react.

    It is that of means over the replications that all four have; the interval is that of its
    logarithm. 1: the change does the same to both.
    """
    sides = [
        of.values(name).rename(str(at))
        for at, of in enumerate((case.runs, case.base, rigid.runs, rigid.base))
    ]
    if any(side.index.has_duplicates for side in sides):
        return UNKNOWN
    rows = pd.concat(sides, axis=1, join="inner").dropna().to_numpy()

    def statistic(of: Floats) -> float:
        changed, base, other, other_base = of.mean(axis=0)
        return ratio(ratio(changed, base), ratio(other, other_base))

    return jackknife(rows, statistic, is_ratio=True)
