"""The tables of the page."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.report.kit import Interval
from batsched_studies.filled_page import line
from batsched_studies.semi_open import reopening
from batsched_users.analytic import mixed
from batsched_users.analytic.mixed_queue import MixedPoint
from batsched_users.analytic.reopen_queue import solve_constant

CLOSED_THINK_TIME = 5.0
"""Z of the mixed model."""
FIELDS = (
    *("throughput", "mean_response", "jobs_per_user", "throughput_per_user"),
    *("continued_run_time", "last_run_time"),
)
"""In the order of the published numbers."""


def steady_states(nb_users: int, open_rate: float) -> list[MixedPoint]:
    """Return the mixed model of the thesis's figure, with 1, 2, ... closed users."""
    return mixed(nb_users, open_rate, CLOSED_THINK_TIME, 1.0)


def mixed_rows() -> Iterator[str]:
    """Yield the lines of the mixed model: ours, and by the other program."""
    for users, theirs in reopening.PRINTED["mixed"].items():
        closed, both = (steady_states(int(users), rate)[-1] for rate in (0.0, reopening.OPEN_RATE))
        ours = (
            *(closed.closed_response, closed.throughput, both.closed_response),
            *(both.closed_throughput, both.throughput, both.open_response),
        )
        pairs = zip(ours, theirs, strict=True)
        yield line(users, *(f"{own:.4f} / {other:.4f}" for own, other in pairs))


def constant_rows(measured: reopening.Measured) -> Iterator[str]:
    """Yield the lines of a constant probability."""
    for probability, (throughput, response) in reopening.PRINTED["constant"].items():
        case = reopening.Case(reopening.CONSTANT, float(probability))
        exact = solve_constant(reopening.OPEN_RATE, case.probability)
        yield line(
            probability,
            throughput,
            f"{exact.throughput:.4f}",
            format_interval(reopening.mean(measured, case, "throughput")),
            response,
            f"{exact.mean_response:.3f}",
            format_interval(reopening.mean(measured, case, "mean_response")),
            f"{exact.jobs_per_user:.2f}",
            f"{exact.throughput_per_user:.3f}",
        )


def think_rows(measured: reopening.Measured) -> Iterator[str]:
    """Yield the lines of the think time with a constant probability."""
    for probability in reopening.PROBABILITIES:
        for rate in reopening.THINK_RATES:
            case = reopening.Case(reopening.CONSTANT, probability, think_time=1 / rate)
            fields = ("throughput", "mean_response", "mean_queue", "throughput_per_user")
            cells = (format_interval(reopening.mean(measured, case, field)) for field in fields)
            yield line(probability, f"{rate:g}", *cells)


def adaptive_rows(measured: reopening.Measured, model: str) -> Iterator[str]:
    """Yield the lines of a probability that hangs on the response: ours, and the other program."""
    for rate, theirs in reopening.PRINTED["adaptive"][model].items():
        case = reopening.Case(model, open_rate=float(rate))
        pairs = zip(FIELDS, theirs, strict=True)
        yield line(
            rate,
            *(
                f"{format_interval(reopening.mean(measured, case, f))} / {other}"
                for f, other in pairs
            ),
        )


def format_interval(interval: Interval) -> str:
    """Return an interval with three digits after the point, or as many as make sense."""
    digits = 3 if interval.value < 5 else 2
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{interval.value:.{digits}f} ({ends})"
