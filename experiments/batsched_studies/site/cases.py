"""The runs of the study: each change compared with the present site, by kind of users.

One thing is changed at a time. :mod:`.changes` reads the runs, and says what a *change* is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import kit
from batsched_py.report.kit import UNKNOWN, Interval, Quantity, Runs
from batsched_py.run.settings import SETTINGS
from batsched_py.support.quotient import ratio
from batsched_py.support.statistics import Floats
from batsched_py.units import HOUR, WEEK

LOG, POLICY, MACHINE = "log", "policy", "machine"
CHANGE, PEOPLE = "change", "people"
KIND, CROWD = "kind", "crowd"
"""``people`` as the campaign has them; with the crowd they were drawn in they may have a name."""
AS_IT_IS = "as it is"
SITE = "site"
"""The policy of the site."""
RIGID = "rigid"
"""The kind of users who submit at recorded times."""
RECORDED = "recorded"
"""No users who were drawn, but the log."""
WAIT, WORK, BUSY, SLOWDOWN = "wait", "work_weekly", "busy", "slowdown"
JOBS = "all_jobs"
GROWTH = "backlog_growth"
SIZES = ("wait_narrow", "wait_medium", "wait_wide")
IN, JOBS_IN = "wait_in_", "jobs_in_"
"""Begin the names of the mean waits in partitions, and of the number of jobs there."""
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
    """A change for one kind of users, compared with the same users on the present site."""

    change: str
    people: str
    runs: Runs
    base: Runs
    rigid: Case | None = None
    """The same change for users of the same crowd who do not react; None if nobody asked."""

    @property
    def reacts(self) -> bool:
        """Whether these users react to the system."""
        return not is_rigid(self.base)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a simulation in which the two differ, as the campaign file has them."""
        ours, base = (_settings(side) for side in (self.runs, self.base))
        return {name: value for name, value in ours.items() if value != base.get(name)}

    def pairs(self, name: str) -> tuple[pd.Series[float], pd.Series[float]]:
        """Return a quantity with the change and as it is, of equal replications."""
        return kit.paired(self.runs.values(name), self.base.values(name))

    def ratio(self, name: str) -> Interval:
        """Return the mean of a quantity in relation to that as it is."""
        return self.runs.ratio(name, self.base)

    def change_of(self, name: str) -> Interval:
        """Return by how many per cent a quantity differs from that as it is."""
        return self.runs.change(name, self.base)

    def more(self, name: str) -> Interval:
        """Return by how much a quantity is larger than as it is."""
        return kit.paired_difference(*self.pairs(name))

    def same(self, name: str) -> bool | None:
        """Tell whether a quantity is just what it is as it is; None if it is not known."""
        ours, base = (side.to_numpy() for side in self.pairs(name))
        known = np.isfinite(ours) & np.isfinite(base)
        return bool((ours == base)[known].all()) if known.any() else None

    def beside_rigid(self, name: str) -> Interval:
        """Return the ratio in relation to that of users of the crowd who do not react.

        It is that of means over the replications that all four have; the interval is that of its
        logarithm. 1: the change does the same to both.
        """
        if self.rigid is None:
            return UNKNOWN
        four = (self.runs, self.base, self.rigid.runs, self.rigid.base)
        sides = [of.values(name).rename(str(at)) for at, of in enumerate(four)]
        rows = pd.concat(sides, axis=1, join="inner").dropna().to_numpy()

        def statistic(of: Floats) -> float:
            changed, base, other, other_base = of.mean(axis=0)
            return ratio(ratio(changed, base), ratio(other, other_base))

        return kit.jackknife(rows, statistic, is_ratio=True)


def _settings(runs: Runs) -> dict[str, Any]:
    """Return the settings that are given of the first of some runs, but those of users."""
    run = runs.frame.iloc[0]
    names = (name for name in SETTINGS if name in run and name not in _OF_USERS)
    return {name: run[name] for name in names if pd.notna(run[name]) and run[name] != "{}"}


def of_users(runs: Runs) -> dict[str, Any]:
    """Return the user model of some runs, as a setting; none if it is not known."""
    return {"users": runs.labels("users")[0]} if "users" in runs.frame else {}


def site(runs: Runs) -> dict[str, Any]:
    """Return policy, options and machine of the site as it is; none without runs of it."""
    as_it_is = runs.where(change=AS_IT_IS)
    given = _settings(as_it_is) if len(as_it_is) else {}
    return {name: given[name] for name in (MACHINE, *_OF_POLICY) if name in given}


def is_rigid(runs: Runs) -> bool:
    """Tell whether these are runs of users who do not react, as their model declares.

    The kind :data:`RIGID` never does, also where no model declares anything.
    """
    return runs.labels(KIND) == [RIGID] or runs.labels("users_react") == [False]


def people(runs: Runs) -> list[str]:
    """Return the kinds of users, first the ones that do not react."""
    drawn = runs.frame[runs.frame[KIND] != RECORDED]
    of_kind = dict(zip(drawn[PEOPLE], drawn[KIND], strict=True))
    rigid = {name: is_rigid(runs.where(people=name)) for name in of_kind}
    return sorted(of_kind, key=lambda name: (of_kind[name] != RIGID, not rigid[name]))


def changes(runs: Runs) -> list[str]:
    """Return the changes in the order of the file."""
    return [str(name) for name in runs.labels(CHANGE) if name != AS_IT_IS]


def cases(runs: Runs) -> Iterator[Case]:
    """Yield the cases that have runs as it is beside them: change by change."""
    for change in changes(runs):
        rigid: dict[Any, Case] = {}
        for kind in people(runs):
            of_kind = runs.where(people=kind)
            base, changed = (of_kind.where(change=name) for name in (AS_IT_IS, change))
            if len(base) and len(changed):
                (crowd,) = of_kind.labels(CROWD)
                case = Case(change, kind, changed, base, rigid.get(crowd))
                if not case.reacts:
                    rigid.setdefault(crowd, case)
                yield case


def fixed_work(runs: Runs) -> list[str]:
    """Return the reacting kinds of users that submit the same jobs at other times.

    That is seen in the runs: waits differ, and all jobs of a run are as many as as it is.
    """
    of_kind: dict[str, list[Case]] = {}
    for case in cases(runs):
        if case.reacts:
            of_kind.setdefault(case.people, []).append(case)
    return [kind for kind, found in of_kind.items() if _same_jobs_at_other_times(found)]


def _same_jobs_at_other_times(of_kind: list[Case]) -> bool:
    return all(case.same(JOBS) for case in of_kind) and any(
        case.same(WAIT) is False for case in of_kind
    )


def recorded(runs: Runs) -> Runs:
    """Return the run of the log itself; none if there is none."""
    return runs.where(people=RECORDED, change=AS_IT_IS)


def partitions(runs: Runs) -> list[str]:
    """Return the partitions with known waiting times, by descending number of jobs."""
    as_it_is = runs.where(change=AS_IT_IS)
    names = [name.removeprefix(IN) for name in map(str, runs.frame) if name.startswith(IN)]
    jobs = {name: as_it_is.values(f"{JOBS_IN}{name}").sum() for name in names}
    return sorted(names, key=lambda name: -jobs[name])
