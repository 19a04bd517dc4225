"""Simulations of the re-open model: each case with ten seeds, and 10,000 users each."""

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
"""The number of users in the thesis."""
SEEDS = range(10)

CONSTANT, EXPONENTIAL, HYPERBOLA = "constant", "exponential", "hyperbola"
ADAPTIVE = (EXPONENTIAL, HYPERBOLA)
OPEN_RATE, THINK_TIME = 0.5, 1.0
"""The values unless they are varied; the service rate is 1."""
THINK_RATES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The values of 1 / Z that the thesis varies."""
PROBABILITIES = (0.36, 0.47)
"""The probabilities for which the thesis varies the think rate."""
RATES = tuple(round(0.1 * n, 1) for n in range(1, 10))


class Case(NamedTuple):
    """The parameters of a re-open model, in which users may submit another job after each job."""

    model: str
    probability: float = 0.0
    """The probability to continue, in the constant model."""
    open_rate: float = OPEN_RATE
    think_time: float = THINK_TIME


CASES = (
    *(Case(CONSTANT, p, think_time=1 / rate) for p in PROBABILITIES for rate in THINK_RATES),
    *(Case(CONSTANT, float(p)) for p in PRINTED["constant"]),
    *(Case(model, open_rate=rate) for model in ADAPTIVE for rate in RATES),
)
Measured = Mapping[Case, list[Reopen]]
"""The results of each case, one for each seed."""


def simulate_case(case: Case, seed: int) -> Reopen:
    """Simulate a re-open model with a seed."""
    goes_on = {
        CONSTANT: constant(case.probability),
        EXPONENTIAL: exponential(),
        HYPERBOLA: hyperbola(10),  # the thesis's unit is a mean service, of ten minutes
    }[case.model]
    return reopen(case.open_rate, goes_on, think_time=case.think_time, nb_users=USERS, seed=seed)


def simulate_cases(workers: int) -> Measured:
    """Simulate all cases with all seeds, in several processes."""
    with ProcessPoolExecutor(workers) as pool:
        cases = dict.fromkeys(CASES)
        tasks = {case: [pool.submit(simulate_case, case, seed) for seed in SEEDS] for case in cases}
        return {case: [task.result() for task in of_case] for case, of_case in tasks.items()}


def mean(measured: Measured, case: Case, field: str) -> Interval:
    """Return the mean of a result field over the seeds, with its 95 % interval."""
    return mean_interval(values(measured, case, field))


def ratio(measured: Measured, ours: Case, base: Case, field: str) -> Interval:
    """Return the ratio of a result field's means in two cases, over pairs of equal seeds."""
    return paired_ratio(values(measured, ours, field), values(measured, base, field))


def values(measured: Measured, case: Case, field: str) -> Floats:
    """Return a result field of a case, one value for each seed."""
    return np.array([getattr(result, field) for result in measured[case]], dtype=np.float64)
