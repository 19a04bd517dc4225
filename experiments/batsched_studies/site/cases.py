"""The runs of the study: each change compared with the present site, by kind of users.

One setting is changed at a time. :mod:`.changes` reads the runs, and names each *change*.
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
CHANGE, USER_KIND = "change", "user_kind"
KIND, USER_SET = "kind", "user_set"
"""``user_kind`` as in the campaign file, and the set of drawn users of a run."""
AS_IT_IS = "as it is"
SITE = "site"
"""The label of the site's policy."""
RIGID = "rigid"
"""The kind of users who submit at recorded times."""
RECORDED = "recorded"
"""The users of the log itself, who are not drawn."""
WAIT, WORK, BUSY, SLOWDOWN = "wait", "work_weekly", "busy", "slowdown"
JOBS = "all_jobs"
GROWTH = "backlog_growth"
SIZES = ("wait_narrow", "wait_medium", "wait_wide")
IN, JOBS_IN = "wait_in_", "jobs_in_"
"""Begin the names of the mean waits in partitions, and of the numbers of jobs there."""
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
"""In hours, per cent, and for work in processors that are busy all week."""
_OF_USERS = ("log", "users", "user_options", "sessions", "seed")
"""Settings that may differ among the kinds of users, and among replications."""
_OF_POLICY = ("scheduler", "scheduler_options")
ASKED = (WAIT, SLOWDOWN, BUSY)
"""The quantities whose answers are compared between reacting users and rigid replay."""


@dataclass(frozen=True)
class Case:
    """A change of the site for one kind of users, compared with the present site."""

    change: str
    users: str
    runs: Runs
    base: Runs
    rigid: Case | None = None
    """The same change for the same users in rigid replay; None if that was not run."""

    @property
    def reacts(self) -> bool:
        """Whether these users react to the system."""
        return not has_rigid_users(self.base)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the change sets or replaces, as in a campaign file."""
        ours, base = (_settings(side) for side in (self.runs, self.base))
        return {name: value for name, value in ours.items() if value != base.get(name)}

    def pair_values(self, name: str) -> tuple[pd.Series[float], pd.Series[float]]:
        """Return a quantity with the change and on the present site, for the same replications."""
        return kit.paired(self.runs.values(name), self.base.values(name))

    def ratio(self, name: str) -> Interval:
        """Return the ratio of a quantity's mean with the change to that on the present site."""
        return self.runs.ratio(name, self.base)

    def compute_change(self, name: str) -> Interval:
        """Return by how many per cent a quantity differs from that on the present site."""
        return self.runs.change(name, self.base)

    def difference(self, name: str) -> Interval:
        """Return by how much a quantity is larger than on the present site."""
        return kit.paired_difference(*self.pair_values(name))

    def is_unchanged(self, name: str) -> bool | None:
        """Return whether a quantity is the same as on the present site; None if it is not known."""
        ours, base = (side.to_numpy() for side in self.pair_values(name))
        known = np.isfinite(ours) & np.isfinite(base)
        return bool((ours == base)[known].all()) if known.any() else None

    def compare_with_rigid(self, name: str) -> Interval:
        """Return the ratio for these users over that for the same users in rigid replay.

        Each is a ratio to the present site, of means over the replications that all four have. The
        interval is that of the logarithm. 1: the change has the same effect on both.
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
    """Return the settings of the first of some runs, without those of users."""
    run = runs.frame.iloc[0]
    names = (name for name in SETTINGS if name in run and name not in _OF_USERS)
    return {name: run[name] for name in names if pd.notna(run[name]) and run[name] != "{}"}


def find_user_model(runs: Runs) -> dict[str, Any]:
    """Return the setting of the user model of some runs; empty if it is not known."""
    return {"users": runs.labels("users")[0]} if "users" in runs.frame else {}


def find_site_settings(runs: Runs) -> dict[str, Any]:
    """Return the policy, options and machine of the present site; empty without runs of it."""
    as_it_is = runs.where(change=AS_IT_IS)
    given = _settings(as_it_is) if len(as_it_is) else {}
    return {name: given[name] for name in (MACHINE, *_OF_POLICY) if name in given}


def has_rigid_users(runs: Runs) -> bool:
    """Return whether the users of these runs do not react, as their model declares.

    The kind :data:`RIGID` never does, also where no model declares anything.
    """
    return runs.labels(KIND) == [RIGID] or runs.labels("users_react") == [False]


def list_user_kinds(runs: Runs) -> list[str]:
    """Return the kinds of users, the ones that do not react first."""
    drawn = runs.frame[runs.frame[KIND] != RECORDED]
    of_kind = dict(zip(drawn[USER_KIND], drawn[KIND], strict=True))
    rigid = {name: has_rigid_users(runs.where(user_kind=name)) for name in of_kind}
    return sorted(of_kind, key=lambda name: (of_kind[name] != RIGID, not rigid[name]))


def list_changes(runs: Runs) -> list[str]:
    """Return the changes of the site in the order of the campaign file."""
    return [str(name) for name in runs.labels(CHANGE) if name != AS_IT_IS]


def find_cases(runs: Runs) -> Iterator[Case]:
    """Yield a case for each change and kind of users that also has runs on the present site."""
    for change in list_changes(runs):
        rigid: dict[Any, Case] = {}
        for kind in list_user_kinds(runs):
            of_kind = runs.where(user_kind=kind)
            base, changed = (of_kind.where(change=name) for name in (AS_IT_IS, change))
            if len(base) and len(changed):
                (drawn,) = of_kind.labels(USER_SET)
                case = Case(change, kind, changed, base, rigid.get(drawn))
                if not case.reacts:
                    rigid.setdefault(drawn, case)
                yield case


def list_kinds_with_fixed_work(runs: Runs) -> list[str]:
    """Return the reacting kinds of users that submit the same jobs at other times.

    In their runs waits differ from the present site, and the number of jobs does not.
    """
    of_kind: dict[str, list[Case]] = {}
    for case in find_cases(runs):
        if case.reacts:
            of_kind.setdefault(case.users, []).append(case)
    return [kind for kind, found in of_kind.items() if _same_jobs_at_other_times(found)]


def _same_jobs_at_other_times(of_kind: list[Case]) -> bool:
    return all(case.is_unchanged(JOBS) for case in of_kind) and any(
        case.is_unchanged(WAIT) is False for case in of_kind
    )


def select_recorded(runs: Runs) -> Runs:
    """Return the replay of the log itself on the present site; empty without one."""
    return runs.where(user_kind=RECORDED, change=AS_IT_IS)


def list_partitions(runs: Runs) -> list[str]:
    """Return the partitions with known waiting times, by descending number of jobs."""
    as_it_is = runs.where(change=AS_IT_IS)
    names = [name.removeprefix(IN) for name in map(str, runs.frame) if name.startswith(IN)]
    jobs = {name: as_it_is.values(f"{JOBS_IN}{name}").sum() for name in names}
    return sorted(names, key=lambda name: -jobs[name])
