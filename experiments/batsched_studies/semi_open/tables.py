"""The data of docs/validation/semi-open.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from batsched_py.report.kit import Interval
from batsched_studies.filled_page import Row
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


def pair_columns(*names: str) -> list[str]:
    """Return the names of our columns, each before that of the other program."""
    return [column for name in names for column in (name, f"{name}_other_program")]


def solve_mixed(nb_users: int, open_rate: float) -> list[MixedPoint]:
    """Return the steady states of the mixed model with 1, 2, ..., ``nb_users`` closed users."""
    return mixed(nb_users, open_rate, CLOSED_THINK_TIME, 1.0)


HEADERS: dict[str, Row] = {
    "mixed": (
        "closed_users",
        *pair_columns("turnaround_closed_without_open", "throughput_without_open"),
        *pair_columns("turnaround_closed", "throughput_closed", "throughput", "turnaround_open"),
    ),
    "constant": (
        *("p", "throughput_other_program", "throughput_exact", "throughput_simulated"),
        *("turnaround_other_program", "turnaround_exact", "turnaround_simulated"),
        *("jobs_per_user", "throughput_per_user"),
    ),
    "think": ("p", "think_rate", "throughput", "turnaround", "jobs_present", "throughput_per_user"),
    "adaptive": ("p", "open_rate", *pair_columns(*FIELDS)),
}
"""The columns of each table."""


def make_mixed_rows() -> Iterator[Row]:
    """Yield the rows of the mixed model: our values, and those of another program."""
    for users, theirs in reopening.PRINTED["mixed"].items():
        closed, both = (solve_mixed(int(users), rate)[-1] for rate in (0.0, reopening.OPEN_RATE))
        here = (
            *(closed.closed_response, closed.throughput, both.closed_response),
            *(both.closed_throughput, both.throughput, both.open_response),
        )
        pairs = zip(here, theirs, strict=True)
        yield users, *(f"{value:.4f}" for pair in pairs for value in pair)


def make_constant_rows(measured: reopening.Measured) -> Iterator[Row]:
    """Yield the rows of models with a constant probability to continue."""
    for probability, (throughput, response) in reopening.PRINTED["constant"].items():
        case = reopening.Case(reopening.CONSTANT, float(probability))
        exact = solve_constant(reopening.OPEN_RATE, case.probability)
        yield (
            probability,
            *(throughput, f"{exact.throughput:.4f}"),
            format_interval(reopening.mean(measured, case, "throughput")),
            *(response, f"{exact.mean_response:.3f}"),
            format_interval(reopening.mean(measured, case, "mean_response")),
            *(f"{exact.jobs_per_user:.2f}", f"{exact.throughput_per_user:.3f}"),
        )


def make_think_rows(measured: reopening.Measured) -> Iterator[Row]:
    """Yield the rows of several think times, with a constant probability to continue."""
    for probability in reopening.PROBABILITIES:
        for rate in reopening.THINK_RATES:
            case = reopening.Case(reopening.CONSTANT, probability, think_time=1 / rate)
            fields = ("throughput", "mean_response", "mean_queue", "throughput_per_user")
            cells = (format_interval(reopening.mean(measured, case, field)) for field in fields)
            yield probability, f"{rate:g}", *cells


def make_adaptive_rows(measured: reopening.Measured) -> Iterator[Row]:
    """Yield the rows of probabilities to continue that depend on the turnaround time."""
    for model in reopening.ADAPTIVE:
        for rate, theirs in reopening.PRINTED["adaptive"][model].items():
            case = reopening.Case(model, open_rate=float(rate))
            here = (format_interval(reopening.mean(measured, case, field)) for field in FIELDS)
            yield model, rate, *chain.from_iterable(zip(here, theirs, strict=True))


def list_differences(rows: Iterable[Row]) -> list[float]:
    """Return the relative difference of each simulated mean from the other program's value."""
    return [
        abs(float(str(here).partition(" ")[0]) / float(str(other)) - 1)
        for _, _, *cells in rows
        for here, other in zip(cells[::2], cells[1::2], strict=True)
    ]


def format_interval(interval: Interval) -> str:
    """Return an interval as text with three decimals, or two for values from 5 on."""
    digits = 3 if interval.value < 5 else 2
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{interval.value:.{digits}f} ({ends})"
