"""The runs of the study, and the policies compared draw by draw.

A *draw* has the same jobs and the same random numbers of users in all cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from batsched_py.metrics import saturated
from batsched_py.report import kit
from batsched_py.report.kit import SEED, Interval, Quantity, Runs
from batsched_py.units import HOUR

FCFS, EASY, UPS = POLICIES = ("fcfs", "easy", "ups")
NAMES = {FCFS: "FCFS", EASY: "EASY", UPS: "UPS"}
PAIRS = ((EASY, FCFS), (UPS, FCFS), (EASY, UPS))
"""The policies that are compared: the first one minus the second."""
RIGID, SESSIONS = "rigid", "sessions"
LOOPS = {RIGID: "recorded times", SESSIONS: "users who wait for their sessions"}
PATIENT, IMPATIENT, THREE_TIMES, RESUBMITTING = KINDS = (
    "patient",
    "impatient",
    "impatient x 3",
    "resubmitting",
)
WORK, WAIT, JOBS, REQUESTED = "work", "wait", "jobs", "requested"
QUANTITIES = (
    Quantity(WORK, "work_in_period", "work done (% of the capacity)", 100),
    Quantity("of_all", "work_of_all", "work of all jobs that ran (% of the capacity)", 100),
    Quantity(WAIT, "km_wait", "Kaplan-Meier mean wait (h)", 1 / HOUR),
    Quantity(JOBS, "given_up_share", "jobs given up (%)", 100),
    Quantity(REQUESTED, "given_up_work_share", "requested work given up (%)", 100),
    Quantity("served", "wait_of_served", "wait of served jobs (h)", 1 / HOUR),
    Quantity("given_up", "wait_of_given_up", "wait of jobs given up (h)", 1 / HOUR),
    Quantity("all", "wait_of_all", "wait of all jobs (h)", 1 / HOUR),
)
SHOWN = (JOBS, REQUESTED, WORK, "of_all", WAIT, "served", "given_up", "all")


class Case(NamedTuple):
    """The runs of one policy with one kind of users."""

    loop: str
    patience: str
    policy: str
    runs: Runs

    @property
    def nb_saturated(self) -> int:
        """The number of runs whose backlog grows by more than a job a week."""
        return sum(map(saturated, self.runs.values("backlog_growth")))


def read(runs: pd.DataFrame) -> dict[str, Runs]:
    """Return the runs by log, each draw as a replication; empty for a campaign without runs."""
    if runs.empty:
        return {}
    frame = runs.assign(log=runs["log"].map(kit.log_name))
    if "draw" in frame:
        frame[SEED] = frame["draw"]
    return {log: of_log for (log,), of_log in Runs(frame, QUANTITIES).groups("log")}


def select(runs: Runs, loop: str, patience: str, policy: str) -> Runs:
    """Return the runs of a case; empty if it has none."""
    return runs.where(loop=loop, patience=patience, scheduler=policy)


def find_cases(runs: Runs) -> Iterator[Case]:
    """Yield the cases that have runs, policies last."""
    for loop in LOOPS:
        for patience in KINDS:
            for policy in POLICIES:
                if found := select(runs, loop, patience, policy):
                    yield Case(loop, patience, policy, found)


def compare(runs: Runs, loop: str, patience: str, ours: str, base: str, quantity: str) -> Interval:
    """Return by how much a policy has more of a quantity than another one, draw by draw."""
    return kit.paired_difference(*_pair(runs, loop, patience, (ours, base), quantity))


def compute_wait_ratios(runs: Runs, loop: str, patience: str) -> pd.Series[float]:
    """Return the Kaplan-Meier wait under FCFS over that under EASY, by draw."""
    easy, fcfs = _pair(runs, loop, patience, (EASY, FCFS), WAIT)
    return fcfs / easy.where(easy > 0, np.nan)


def compute_leads(runs: Runs, loop: str, patience: str) -> pd.Series[float]:
    """Return the work done under EASY minus that under FCFS in points, by draw."""
    easy, fcfs = _pair(runs, loop, patience, (EASY, FCFS), WORK)
    return easy - fcfs


def _pair(
    runs: Runs, loop: str, patience: str, policies: tuple[str, str], quantity: str
) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return a quantity under two policies, of the draws that both have."""
    sides = (select(runs, loop, patience, policy).values(quantity) for policy in policies)
    return kit.paired(*sides)
