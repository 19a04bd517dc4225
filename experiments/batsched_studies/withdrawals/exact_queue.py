"""Simulates impatient queues under several policies, and compares them with the exact means."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_py import simulate
from batsched_py.protocol.batsim_jobs_columns import WITHDRAWN
from batsched_users.analytic.impatient_queue import impatient, make_impatient_workload

Numbers = NDArray[np.float64]
NB_BATCHES = 30
WARM_UP = 0.05
"""Share of the jobs, the first ones, that are left out."""


class Case(NamedTuple):
    """An impatient queue: mean times in seconds, and the number of processors."""

    interarrival: float
    service: float
    nb_servers: int
    patience: float


CASES = {
    "A": Case(100, 1000, 8, 2000),
    "C": Case(100, 1000, 10, 4000),
    "E": Case(300, 900, 4, 3600),
}
POLICIES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "fcfs": ("fcfs", {}),
    "last come first served": ("list", {"order": "lcfs"}),
    "ups": ("ups", {}),
}
OF_FCFS = ("served_wait", "withdrawn_wait")
"""The means that depend on the order of the queue."""


class Mean(NamedTuple):
    """A simulated mean with its standard error by batch means, and the exact value."""

    simulated: float
    error: float
    exact: float

    @property
    def distance(self) -> float:
        """The difference from the exact value in standard errors."""
        return (self.simulated - self.exact) / self.error


def compare_queue(case: Case, policy: str, nb_jobs: int, seed: int) -> dict[str, Mean]:
    """Simulate a case, and return each mean that the policy of this name does not change."""
    scheduler, options = POLICIES[policy]
    result = simulate(
        make_impatient_workload(nb_jobs, *case[:3], seed=seed),
        scheduler=scheduler,
        scheduler_options=dict(options),
        users="withdraws",
        user_options={"clock": "job", "mean_patience": float(case.patience)},
        seed=seed,
    )
    jobs = result.jobs.sort_values("submission_time")
    withdrawn = (jobs.final_state == WITHDRAWN).to_numpy()
    submit = jobs.submission_time.to_numpy(np.float64)
    left = np.where(withdrawn, jobs.withdrawal_time, jobs.starting_time).astype(np.float64)
    run = np.where(withdrawn, 0.0, jobs.execution_time).astype(np.float64)
    exact = impatient(*case)
    measured = _measure(submit, left - submit, run, withdrawn, case)
    return {
        name: Mean(mean, error, getattr(exact, name))
        for name, (mean, error) in measured.items()
        if policy == "fcfs" or name not in OF_FCFS
    }


def _measure(
    submit: Numbers, wait: Numbers, run: Numbers, withdrawn: NDArray[np.bool_], case: Case
) -> dict[str, tuple[float, float]]:
    rows = np.array_split(np.arange(int(len(submit) * WARM_UP), len(submit)), NB_BATCHES)
    spans = [submit[min(part[-1] + 1, len(submit) - 1)] - submit[part[0]] for part in rows]
    ones = np.ones(len(submit))
    parts: dict[str, tuple[Numbers, Numbers | None]] = {
        "withdrawn": (withdrawn.astype(np.float64), ones),
        "queue": (wait, None),
        "wait": (wait, ones),
        "utilisation": (run / case.nb_servers, None),
        "served_wait": (wait * ~withdrawn, (~withdrawn).astype(np.float64)),
        "withdrawn_wait": (wait * withdrawn, withdrawn.astype(np.float64)),
    }
    return {
        name: _ratio(
            np.array([above[part].sum() for part in rows]),
            np.array(spans) if below is None else np.array([below[part].sum() for part in rows]),
        )
        for name, (above, below) in parts.items()
    }


def _ratio(above: Numbers, below: Numbers) -> tuple[float, float]:
    """Return the ratio of sums over batches, and its standard error (delta method)."""
    ratio = float(above.sum() / below.sum())
    residual = above - ratio * below
    error = sqrt(len(above) / (len(above) - 1) * float(residual @ residual)) / float(below.sum())
    return ratio, error
