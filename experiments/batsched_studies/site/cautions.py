"""What is to be known before one believes a number: queues that grow, one crowd that decides."""

from __future__ import annotations

from collections.abc import Callable

from batsched_py.report.kit import Runs, listed
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c

_GROWING = 0.01
"""Share of the jobs of a week by which the queue grows each week, from which on it is said."""
_HALF = 0.5
_FEWEST = 3
"""Of fewer crowds one has half of the waits as a matter of course."""
_ASSUMED = "multifactor"
"""The policy of the study; a site's own one has options, or is another."""


def cautions(runs: Runs) -> str:
    """Return all that is to be said of the runs of a log; empty if there is nothing."""
    found = {"growing": _where(runs, _grows), "one_crowd": _where(runs, _one_decides)}
    told = [TEXTS[key].format(who="; ".join(who)) for key, who in found.items() if who]
    site = c.site(runs)
    if site.get("scheduler") == _ASSUMED and "scheduler_options" not in site:
        told.append(TEXTS["assumed"].format(policy=_ASSUMED))
    return " ".join(told)


def _where(runs: Runs, holds: Callable[[Runs], bool]) -> list[str]:
    """Return of which kinds of users something holds: always, or as it is, or with which change."""
    found = []
    for kind in c.people(runs):
        of_kind = runs.where(people=kind)
        changes = [c.AS_IT_IS, *c.changes(of_kind)]
        there = [change for change in changes if holds(of_kind.where(change=change))]
        if there:
            found.append(kind if there == changes else f"{kind} ({listed(there)})")
    return found


def _grows(runs: Runs) -> bool:
    growth = runs.mean(c.GROWTH).value
    return bool(growth > _GROWING * runs.mean("jobs_weekly").value)


def _one_decides(runs: Runs) -> bool:
    waits = runs.values(c.WAIT).dropna()
    return len(waits) >= _FEWEST and bool(waits.max() > _HALF * waits.sum())
