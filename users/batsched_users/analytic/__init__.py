"""Queueing models with open and closed users, to compare simulations with exact results."""

from batsched_users.analytic.mixed_queue import Bounds, MixedPoint, bounds, mixed
from batsched_users.analytic.reopen_queue import Reopen, constant, exponential, hyperbola, reopen

__all__ = [
    "Bounds",
    "MixedPoint",
    "Reopen",
    "bounds",
    "constant",
    "exponential",
    "hyperbola",
    "mixed",
    "reopen",
]
