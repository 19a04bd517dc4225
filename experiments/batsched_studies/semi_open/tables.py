"""The tables of docs/validation/semi-open.md."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.report.kit import Interval
from batsched_studies.filled_page import format_line
from batsched_studies.semi_open import reopening
from batsched_users.analytic import mixed
from batsched_users.analytic.mixed_queue import MixedPoint
from batsched_users.analytic.reopen_queue import solve_constant

CLOSED_THINK_TIME = 5.0
"""The think time Z of the mixed model."""
FIELDS = (
    *("throughput", "mean_response", "jobs_per_user", "throughput_per_user"),
    *("continued_run_time", "last_run_time"),
)
"""The result fields in the order of the published numbers."""


def solve_mixed(nb_users: int, open_rate: float) -> list[MixedPoint]:
    """Return the steady states of the mixed model with 1, 2, ..., ``nb_users`` closed users."""
    return mixed(nb_users, open_rate, CLOSED_THINK_TIME, 1.0)


def make_mixed_rows() -> Iterator[str]:
    """Yield the table lines of the mixed model: our values, and those of another program."""
    for users, theirs in reopening.PRINTED["mixed"].items():
        closed, both = (solve_mixed(int(users), rate)[-1] for rate in (0.0, reopening.OPEN_RATE))
        ours = (
            *(closed.closed_response, closed.throughput, both.closed_response),
            *(both.closed_throughput, both.throughput, both.open_response),
        )
        pairs = zip(ours, theirs, strict=True)
        yield format_line(users, *(f"{own:.4f} / {other:.4f}" for own, other in pairs))


def make_constant_rows(measured: reopening.Measured) -> Iterator[str]:
    """Yield the table lines of models with a constant probability to continue."""
    for probability, (throughput, response) in reopening.PRINTED["constant"].items():
        case = reopening.Case(reopening.CONSTANT, float(probability))
        exact = solve_constant(reopening.OPEN_RATE, case.probability)
        yield format_line(
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


def make_think_rows(measured: reopening.Measured) -> Iterator[str]:
    """Yield the table lines of several think times, with a constant probability to continue."""
    for probability in reopening.PROBABILITIES:
        for rate in reopening.THINK_RATES:
            case = reopening.Case(reopening.CONSTANT, probability, think_time=1 / rate)
            fields = ("throughput", "mean_response", "mean_queue", "throughput_per_user")
            cells = (format_interval(reopening.mean(measured, case, field)) for field in fields)
            yield format_line(probability, f"{rate:g}", *cells)


def make_adaptive_rows(measured: reopening.Measured, model: str) -> Iterator[str]:
    """Yield the table lines of a probability to continue that depends on the response time."""
    for rate, theirs in reopening.PRINTED["adaptive"][model].items():
        case = reopening.Case(model, open_rate=float(rate))
        pairs = zip(FIELDS, theirs, strict=True)
        yield format_line(
            rate,
            *(
                f"{format_interval(reopening.mean(measured, case, f))} / {other}"
                for f, other in pairs
            ),
        )


def format_interval(interval: Interval) -> str:
    """Return an interval as text with three decimals, or two for values from 5 on."""
    digits = 3 if interval.value < 5 else 2
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{interval.value:.{digits}f} ({ends})"
