"""Queueing models with open and closed users, to compare simulations with exact results."""

from batsched_users.analytic.impatient_queue import (
    ImpatientQueue,
    impatient,
    make_impatient_workload,
)
from batsched_users.analytic.mixed_queue import Bounds, MixedPoint, bounds, mixed
from batsched_users.analytic.reopen_queue import Reopen, constant, exponential, hyperbola, reopen

__all__ = [
    "Bounds",
    "ImpatientQueue",
    "MixedPoint",
    "Reopen",
    "bounds",
    "constant",
    "exponential",
    "hyperbola",
    "impatient",
    "make_impatient_workload",
    "mixed",
    "reopen",
]
