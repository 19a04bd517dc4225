"""Simulations of the re-open model: each case with ten seeds of 10,000 users."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_py.report.kit import Interval, mean_interval, paired_ratio, read_published
from batsched_users.analytic import Reopen, constant, exponential, hyperbola, reopen

Floats = NDArray[np.float64]
PRINTED = read_published(Path(__file__).parent)
USERS = 10_000
"""As many as in the thesis."""
SEEDS = range(10)

CONSTANT, EXPONENTIAL, HYPERBOLA = "constant", "exponential", "hyperbola"
ADAPTIVE = (EXPONENTIAL, HYPERBOLA)
OPEN_RATE, THINK_TIME = 0.5, 1.0
"""Where they are not what is varied; the service rate is 1."""
THINK_RATES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The thesis varies 1 / Z."""
PROBABILITIES = (0.36, 0.47)
"""With which the thesis varies the think rate."""
RATES = tuple(round(0.1 * n, 1) for n in range(1, 10))


class Case(NamedTuple):
    """A re-open model."""

    model: str
    probability: float = 0.0
    """Of the constant one."""
    open_rate: float = OPEN_RATE
    think_time: float = THINK_TIME


CASES = (
    *(Case(CONSTANT, p, think_time=1 / rate) for p in PROBABILITIES for rate in THINK_RATES),
    *(Case(CONSTANT, float(p)) for p in PRINTED["constant"]),
    *(Case(model, open_rate=rate) for model in ADAPTIVE for rate in RATES),
)
Measured = Mapping[Case, list[Reopen]]
"""By case what came out, one for each seed."""


def simulated(case: Case, seed: int) -> Reopen:
    """Simulate a case with a seed."""
    goes_on = {
        CONSTANT: constant(case.probability),
        EXPONENTIAL: exponential(),
        HYPERBOLA: hyperbola(10),  # the thesis's unit is a mean service, of ten minutes
    }[case.model]
    return reopen(case.open_rate, goes_on, think_time=case.think_time, nb_users=USERS, seed=seed)


def measured_by_case(workers: int) -> Measured:
    """Simulate all cases in several processes."""
    with ProcessPoolExecutor(workers) as pool:
        cases = dict.fromkeys(CASES)
        tasks = {case: [pool.submit(simulated, case, seed) for seed in SEEDS] for case in cases}
        return {case: [task.result() for task in of_case] for case, of_case in tasks.items()}


def mean(measured: Measured, case: Case, field: str) -> Interval:
    """Return the mean of a field over the seeds, with its 95 % interval."""
    return mean_interval(values(measured, case, field))


def ratio(measured: Measured, ours: Case, base: Case, field: str) -> Interval:
    """Return the mean of a field in relation to that of another case, over pairs of equal seeds."""
    return paired_ratio(values(measured, ours, field), values(measured, base, field))


def values(measured: Measured, case: Case, field: str) -> Floats:
    """Return a field of the results of a case, by seed."""
    return np.array([getattr(result, field) for result in measured[case]], dtype=np.float64)
