"""Made-up runs of the study of a site: waits by hand, of which one knows what is to be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import nan
from pathlib import Path
from typing import Any

from batsched_py.report import Report, Text
from batsched_py.units import HOUR, WEEK
from batsched_studies.site import cases
from batsched_studies.site.report import report
from helpers.made_up_campaign import MadeUpCampaign

MORE, FEWER, EASY = "25 % more nodes", "20 % fewer nodes", "EASY"
Factors = Mapping[tuple[str, str], float]
"""How many times as long the waits are with a change, for a kind of users; 1 if not said."""
_LABELS = (
    *("log", "machine", "policy", "change", "user_kind", "user_set", "replication", "shake"),
    "max_walltime",
)
_SCHEDULERS = {"site": "multifactor", EASY: "easy"}
_USERS = {"rigid": "resampled", "a60": "feedback", "fluid": "tbuos", "recorded": "rigid"}


class Campaign(MadeUpCampaign):
    """Made-up runs whose users ``a`` wait as all do, and ``b`` as in the runs as it is."""

    def __init__(self, runs: Sequence[dict[str, Any]]) -> None:
        super().__init__([run | {"folder": f"runs/{at}"} for at, run in enumerate(runs)], "site")
        labels = [{name: run[name] for name in _LABELS if name in run} for run in runs]
        self.planned = [(Path(f"runs/{at}"), of) for at, of in enumerate(labels)]

    def settings(self, run: Any) -> dict[str, Any]:
        waits = {"a": run["wait"], "b": HOUR * (1 + run["replication"])}
        return {"metrics": {"waits_of_users": waits}}


def one_run(wait: float, number: int = 0, **labels: Any) -> dict[str, Any]:
    """Return a run of users who wait so long; labels, or numbers that are others, by name."""
    run: dict[str, Any] = {"log": "sample", "machine": "m.toml", "policy": "site"}
    run |= {"change": "as it is", "user_kind": "rigid", "user_set": "drawn", "replication": number}
    run |= {"wait": wait, "slowdown": 2.0 + 0.1 * number, "busy": 0.7}
    run |= dict.fromkeys(cases.SIZES, wait) | {"wait_in_batch": wait, "wait_in_debug": 9.0}
    run |= {"jobs_in_batch": 300.0, "jobs_in_debug": 20.0}
    run |= {"wait_in_gpu": wait if number else nan, "work_weekly": 100 * WEEK}
    run |= dict.fromkeys(("user_wait_median", "user_wait_p90"), wait) | {"user_wait_gini": 0.5}
    run |= {"night": 0.1, "weekend": 0.2, "short": 0.1, "at_once": 0.4, "jobs_by_user": 30.0}
    run |= {"refused": 0.0, "refused_weekly": 0.0, "at_limit": 0.0, "backlog_growth": 0.0}
    run |= {"jobs_weekly": 400.0, "active_users": 40.0, **labels}
    given: dict[str, Any] = {"scheduler": _SCHEDULERS.get(run["policy"]), "scheduler_options": "{}"}
    given |= {"users": _USERS.get(run["user_kind"]), "all_jobs": 2400.0 + wait / HOUR}
    return given | run


def made_up(
    waits: Factors,
    replications: int = 5,
    *,
    changes: Sequence[tuple[str, str]] = ((MORE, "site"), (FEWER, "site"), ("as it is", EASY)),
    numbers: Mapping[tuple[str, str], Mapping[str, float]] | None = None,
    **fidelity: float,
) -> list[dict[str, Any]]:
    """Return runs of changes, for kinds of users, and for the log itself if its numbers are given.

    ``numbers`` are others than those of :func:`one_run`, by change and kind of users.
    """
    runs = []
    for (change, policy), users, number in product(
        (("as it is", "site"), *changes), ("fluid", "rigid"), range(replications)
    ):
        name = policy if policy == EASY else change
        spread = 1 + 0.01 * ((number * (3 if users == "rigid" else 7)) % 5 - 2)
        factor = waits.get((name, users), spread if name != "as it is" else 1.0)
        labels = {"change": change, "policy": policy, "user_kind": users}
        others: dict[str, Any] = {**(numbers or {}).get((name, users), {})}
        runs.append(one_run(HOUR * (1 + number) * factor, number, **labels, **others))
    if fidelity:
        measured = {f"fidelity_{name}": value for name, value in fidelity.items()}
        runs.append(one_run(HOUR, user_kind="recorded", user_set="recorded", **measured))
    return runs


def page(runs: Sequence[dict[str, Any]]) -> Report:
    """Return the report of the study of these runs."""
    return report(Campaign(runs))  # type: ignore[arg-type]


def of(*arguments: Any, **options: Any) -> Report:
    """Return the report of :func:`made_up` runs."""
    return page(made_up(*arguments, **options))


def texts(made: Report) -> str:
    """Return all texts of a report below its summary."""
    return "\n".join(part.markdown for part in made.parts if isinstance(part, Text))


TURNED = {
    (MORE, "rigid"): 0.5,
    (MORE, "fluid"): 0.8,
    (FEWER, "rigid"): 2.0,
    (FEWER, "fluid"): 0.9,
    (EASY, "fluid"): 1.3,
}
"""With fewer nodes who reacts waits less; of rigid users EASY tells nothing."""


def interval(name: str, low: float, value: float, high: float) -> dict[str, float]:
    """Return a measure and the ends of its interval."""
    return {name: value, f"low_{name}": low, f"high_{name}": high}


def replay(**values: float) -> dict[str, float]:
    """Return the measures of a replay that is good, but for those given."""
    good = interval("relative_bias", -0.1, 0.05, 0.15) | interval("bias", -360, 180, 540)
    good |= interval("rank_correlation", 0.8, 0.9, 0.95)
    good |= {"weeks": 7.0, "compared_jobs": 2642.0, "jobs_in_log": 3430.0}
    return good | {"mean_recorded": HOUR, "mean_simulated": 1.05 * HOUR} | values
