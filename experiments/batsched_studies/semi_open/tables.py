"""The tables of the page, and the verdicts below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from batsched_py.report import Verdict
from batsched_py.report.formatting import WORDS
from batsched_py.report.kit import Interval, all_hold
from batsched_studies.filled_page import line
from batsched_studies.semi_open.reopening import (
    ADAPTIVE,
    CONSTANT,
    EXPONENTIAL,
    HYPERBOLA,
    OPEN_RATE,
    PRINTED,
    PROBABILITIES,
    RATES,
    THINK_RATES,
    Case,
    Measured,
    mean,
)
from batsched_users.analytic import mixed
from batsched_users.analytic.mixed_queue import MixedPoint, closed_response
from batsched_users.analytic.reopen_queue import with_constant

CLOSED_THINK_TIME = 5.0
"""Z of the mixed model."""
SAME = 0.02
"""Up to this relative difference of means over equal seeds nothing has an effect (ours)."""
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
    for users, theirs in PRINTED["mixed"].items():
        closed, both = (steady_states(int(users), rate)[-1] for rate in (0.0, OPEN_RATE))
        ours = (
            *(closed.closed_response, closed.throughput, both.closed_response),
            *(both.closed_throughput, both.throughput, both.open_response),
        )
        pairs = zip(ours, theirs, strict=True)
        yield line(users, *(f"{own:.4f} / {other:.4f}" for own, other in pairs))


def constant_rows(measured: Measured) -> Iterator[str]:
    """Yield the lines of a constant probability."""
    for probability, (throughput, response) in PRINTED["constant"].items():
        case = Case(CONSTANT, float(probability))
        exact = with_constant(OPEN_RATE, case.probability)
        yield line(
            probability,
            throughput,
            f"{exact.throughput:.4f}",
            told(mean(measured, case, "throughput")),
            response,
            f"{exact.mean_response:.3f}",
            told(mean(measured, case, "mean_response")),
            f"{exact.jobs_per_user:.2f}",
            f"{exact.throughput_per_user:.3f}",
        )


def think_rows(measured: Measured) -> Iterator[str]:
    """Yield the lines of the think time with a constant probability."""
    for probability in PROBABILITIES:
        for rate in THINK_RATES:
            case = Case(CONSTANT, probability, think_time=1 / rate)
            fields = ("throughput", "mean_response", "mean_queue", "throughput_per_user")
            cells = (told(mean(measured, case, field)) for field in fields)
            yield line(probability, f"{rate:g}", *cells)


def adaptive_rows(measured: Measured, model: str) -> Iterator[str]:
    """Yield the lines of a probability that hangs on the response: ours, and the other program."""
    for rate, theirs in PRINTED["adaptive"][model].items():
        case = Case(model, open_rate=float(rate))
        pairs = zip(FIELDS, theirs, strict=True)
        yield line(rate, *(f"{told(mean(measured, case, f))} / {other}" for f, other in pairs))


def told(interval: Interval) -> str:
    """Return an interval with three digits after the point, or as many as make sense."""
    digits = 3 if interval.value < 5 else 2
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{interval.value:.{digits}f} ({ends})"


def verdict_rows(measured: Measured) -> Iterator[str]:
    """Yield the lines of the claims."""
    for verdict in verdicts(measured):
        yield line(verdict.claim, WORDS[verdict.holds], verdict.evidence)


def verdicts(measured: Measured) -> list[Verdict]:
    """Return what chapter 6 claims, and whether it comes out."""
    return [*_of_mixed(), *_of_constant(measured), *_of_adaptive(measured)]


def _of_mixed() -> Iterator[Verdict]:
    states = steady_states(60, OPEN_RATE)
    slope = states[-1].closed_response - states[-2].closed_response
    yield _verdict(
        "Mixed: with many closed users their response is on a line, and X the service rate",
        abs(slope - 1 / (1 - OPEN_RATE)) < 1e-6 and states[-1].throughput > 1 - 1e-6,
        f"{slope:.4f} a user, 1 / (mu - lambda) = {1 / (1 - OPEN_RATE):g}; X = "
        f"{states[-1].throughput:.4f} with 60 users",
    )
    above = [
        state.closed_response - closed_response(state.nb_users, 1.0, OPEN_RATE, CLOSED_THINK_TIME)
        for state in states[:12]
    ]
    yield _verdict(
        "Mixed: before that, the response is above that line",
        min(above) > 0,
        f"by {above[0]:.2f} with one user, {above[4]:.2f} with five, {above[9]:.4f} with ten",
    )


def _of_constant(measured: Measured) -> Iterator[Verdict]:
    for field, name in (
        ("throughput", "throughput"),
        ("mean_response", "response"),
        ("mean_queue", "queue"),
        ("throughput_per_user", "throughput by user"),
    ):
        ends = []
        for probability in PROBABILITIES:
            few, many = (
                mean(measured, Case(CONSTANT, probability, think_time=1 / rate), field)
                for rate in (THINK_RATES[0], THINK_RATES[-1])
            )
            ends.append((few, many))
        yield _verdict(
            f"Constant p: the think rate has no effect on the {name}",
            all(abs(many.value / few.value - 1) <= SAME for few, many in ends),
            "; ".join(
                f"p = {p:g}: {told(few)} with 1 / Z = {THINK_RATES[0]:g}, {told(many)} with "
                f"{THINK_RATES[-1]:g}"
                for p, (few, many) in zip(PROBABILITIES, ends, strict=True)
            ),
        )
    low, high = (with_constant(OPEN_RATE, p) for p in (0.1, 0.47))
    growth = high.throughput / low.throughput, high.mean_response / low.mean_response
    yield _verdict(
        "Constant p: throughput and jobs by user grow moderately with p, response and queue "
        "explode near saturation",
        growth[0] < 2 < growth[1],
        f"from p = 0.1 to 0.47 X x {growth[0]:.2f}, R x {growth[1]:.1f}",
    )
    yield _verdict(
        "Constant p: throughput by user falls with p",
        high.throughput_per_user < low.throughput_per_user,
        f"{low.throughput_per_user:.3f} at p = 0.1, {high.throughput_per_user:.3f} at 0.47",
    )


def _of_adaptive(measured: Measured) -> Iterator[Verdict]:
    def at(model: str, rate: float, field: str) -> Interval:
        return mean(measured, Case(model, open_rate=rate), field)

    def both(rate: float, field: str) -> tuple[Interval, Interval]:
        return at(EXPONENTIAL, rate, field), at(HYPERBOLA, rate, field)

    def beside(rate: float, field: str) -> str:
        exp, hyp = both(rate, field)
        return f"at lambda = {rate:g} {told(exp)} with e^-r, {told(hyp)} with the hyperbola"

    low, high = RATES[0], RATES[-1]
    utilised = both(high, "throughput")
    yield _verdict(
        "Adaptive p: the throughput comes to 1 as more users arrive, and the system limits itself",
        all(x.value > 0.95 for x in utilised)
        and all(at(model, high, "jobs_per_user").value < 1.2 for model in ADAPTIVE),
        beside(high, "throughput"),
    )
    yield _order(
        "Adaptive p: the hyperbola has more jobs by user at first", low, "jobs_per_user", both
    )
    yield _verdict(
        "Adaptive p: with the hyperbola, jobs by user fall nearly along a line to 1; with e^-r "
        "less and less steeply",
        _bend(measured, HYPERBOLA) < _bend(measured, EXPONENTIAL),
        f"largest distance from the line between lambda = {low:g} and {high:g}: "
        f"{_bend(measured, HYPERBOLA):.3f} and {_bend(measured, EXPONENTIAL):.3f} jobs",
    )
    for rate in (0.5, 0.7):
        yield _order(
            f"Adaptive p: the hyperbola is nearer to X = 1, lambda = {rate:g}",
            rate,
            "throughput",
            both,
        )
    yield _order("Adaptive p: the hyperbola has longer responses", 0.7, "mean_response", both)
    exp, hyp = both(high, "throughput_per_user")
    yield _verdict(
        "Adaptive p: with the hyperbola throughput by user is low at high lambda",
        _higher(exp, hyp),
        beside(high, "throughput_per_user"),
    )
    for field, reading in (
        ("throughput_per_user", "all jobs over the time of all"),
        ("mean_of_user_throughputs", "mean of each user's jobs over his time"),
    ):
        claim = "Adaptive p: with the hyperbola throughput by user starts higher"
        yield _order(f"{claim} ({reading})", low, field, both)
    for model, name in ((EXPONENTIAL, "e^-r"), (HYPERBOLA, "the hyperbola")):
        first, last = (
            (at(model, rate, "continued_run_time"), at(model, rate, "last_run_time"))
            for rate in (low, high)
        )
        yield _verdict(
            f"Run-time bias, {name}: last jobs run longer than others, less so with more load",
            all_hold(
                (
                    *(_higher(leave, stay) for stay, leave in (first, last)),
                    _higher(first[1], last[1]),
                )
            ),
            f"last jobs {told(first[1])} and continued ones {told(first[0])} at lambda = {low:g}, "
            f"{told(last[1])} and {told(last[0])} at {high:g}",
        )
    gaps = [
        at(model, low, "last_run_time").value - at(model, low, "continued_run_time").value
        for model in ADAPTIVE
    ]
    yield _verdict(
        "Run-time bias: stronger with the hyperbola",
        gaps[1] > gaps[0],
        f"last less continued at lambda = {low:g}: {gaps[0]:.2f} with e^-r, {gaps[1]:.2f} with the "
        "hyperbola",
    )


def _bend(measured: Measured, model: str) -> float:
    """Return how far jobs by user are from the line between the ends of the sweep, at most."""
    jobs = [mean(measured, Case(model, open_rate=rate), "jobs_per_user").value for rate in RATES]
    steps = len(jobs) - 1
    on_line = (jobs[0] + (jobs[-1] - jobs[0]) * n / steps for n in range(len(jobs)))
    return max(abs(ours - straight) for ours, straight in zip(jobs, on_line, strict=True))


def _order(
    claim: str, rate: float, field: str, both: Callable[[float, str], tuple[Interval, Interval]]
) -> Verdict:
    exp, hyp = both(rate, field)
    evidence = f"{told(hyp)} with the hyperbola, {told(exp)} with e^-r at lambda = {rate:g}"
    return _verdict(claim, _higher(hyp, exp), evidence)


def _higher(one: Interval, other: Interval) -> bool | None:
    """Tell whether a mean is higher than another; None if their intervals overlap."""
    return True if one.low > other.high else False if one.high < other.low else None


def _verdict(claim: str, holds: bool | None, evidence: str) -> Verdict:
    return Verdict(f"{claim}.", holds, evidence, effect=evidence)
