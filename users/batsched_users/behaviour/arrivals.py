"""Gaps between submissions that follow a Weibull distribution, for open arrivals.

Source: A. Streit, PhD thesis, Paderborn 2003, section 3.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gamma, log
from typing import Self

import msgspec
import numpy as np

from batsched_py.errors import InputError

RESOLUTION = 1.0
"""Logs have whole seconds."""


class Weibull(msgspec.Struct, frozen=True):
    """A Weibull distribution: P(X <= x) = 1 - exp(-(x / beta)^alpha)."""

    alpha: float
    """Shape; below 1, gaps vary more than exponential ones: bursts and long silences."""
    beta: float
    """Scale, seconds."""

    @property
    def mean(self) -> float:
        """The mean gap in seconds: beta * gamma(1 + 1 / alpha)."""
        return self.beta * gamma(1 + 1 / self.alpha)

    def quantile(self, u: float) -> float:
        """Return the gap in seconds that is not exceeded with probability ``u``, 0 <= u < 1."""
        return float(self.beta * (-log(1 - u)) ** (1 / self.alpha))

    @classmethod
    def fit(cls, gaps: Sequence[float], what: str) -> Self:
        """Fit a Weibull distribution to recorded gaps in seconds, by maximum likelihood.

        Gaps are known to the second, and many are 0, where the density of a Weibull distribution
        with alpha < 1 is infinite. So the likelihood is that of intervals: a gap of k seconds is
        one from k - 1/2 to k + 1/2. Raises :class:`InputError` for fewer than two different gaps;
        ``what`` names their source in its message.
        """
        from scipy.optimize import minimize

        values, counts = np.unique(np.asarray(gaps, dtype=np.float64), return_counts=True)
        if len(values) < 2:
            raise InputError(
                f"{what}: {len(values)} different gaps between submissions; a fit needs at least "
                "2: give alpha and beta"
            )
        low = np.maximum(values - RESOLUTION / 2, 0)
        high = values + RESOLUTION / 2

        def minus_log_likelihood(logs: Sequence[float]) -> float:
            alpha, beta = np.exp(logs)
            with np.errstate(over="ignore"):  # far from the optimum
                begin, length = (low / beta) ** alpha, (high / beta) ** alpha
                # log(exp(-begin) - exp(-end)), without cancellation
                inside = np.log(np.maximum(-np.expm1(begin - length), np.finfo(float).tiny))
            return float((counts * (begin - inside)).sum() / counts.sum())

        start = [0.0, np.log(max(np.average(values, weights=counts), RESOLUTION))]
        optimum = minimize(
            minus_log_likelihood,
            start,
            method="Nelder-Mead",
            options={"xatol": 1e-6, "fatol": 1e-12},
        )
        alpha, beta = np.exp(optimum.x)
        return cls(float(alpha), float(beta))


PUBLISHED = {
    "CTC": Weibull(0.35, 60),
    "KTH": Weibull(0.35, 200),
    "SDSC": Weibull(0.40, 290),
    "LANL": Weibull(0.45, 180),
    "PC2-2001": Weibull(0.25, 40),
    "PC2-2002": Weibull(0.25, 40),
    "CHPC": Weibull(0.35, 300),
    "MHPCC": Weibull(0.35, 120),
}
"""The parameters of the thesis (Table 3.7) by trace."""


ARCHIVE = {
    "CTC-SP2-1996": "CTC",
    "KTH-SP2-1996": "KTH",
    "LANL-CM5-1994": "LANL",
    "SDSC-SP2-1998": "SDSC",
}
"""How log names of the Parallel Workloads Archive begin -> name of the trace in the thesis."""


def find_published(log: str) -> Weibull | None:
    """Return the Weibull parameters that the thesis gives for a log of the archive.

    The log may have any version. None if the thesis has no such log.
    """
    traces = [trace for name, trace in ARCHIVE.items() if log.startswith(name)]
    return PUBLISHED[traces[0]] if traces else None
