"""The verdicts on the claims of chapter 6, from cases compared seed by seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from batsched_py.report import Verdict
from batsched_py.report.formatting import WORDS
from batsched_py.report.kit import Interval, all_hold, median_ratio, paired_ratio
from batsched_studies.filled_page import Row
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
    Floats,
    Measured,
    mean,
    ratio,
    values,
)
from batsched_studies.semi_open.tables import CLOSED_THINK_TIME, format_interval, solve_mixed
from batsched_users.analytic.mixed_queue import closed_response
from batsched_users.analytic.reopen_queue import solve_constant

SAME = 0.02
"""Up to this relative difference there is no effect (our limit)."""
FULL, FEW = 0.95, 1.2
"""Throughput above the first is about 1; a system with fewer jobs per user than the second limits
itself (our limits)."""
NAMES = {EXPONENTIAL: "e^-r", HYPERBOLA: "the hyperbola"}
SIDES = ("last", "continued")
LOW, HIGH = RATES[0], RATES[-1]
"""The lowest and the highest open rate."""


def make_verdict_rows(measured: Measured) -> Iterator[Row]:
    """Yield the rows of the claims and their verdicts."""
    for verdict in judge_claims(measured):
        yield verdict.claim, WORDS[verdict.holds], verdict.effect, verdict.reading


def judge_claims(measured: Measured) -> list[Verdict]:
    """Return a verdict on each claim of chapter 6.

    Simulated cases are compared by the ratio of their means over pairs of equal seeds. A claim
    holds if it holds in all of the interval, and is inconclusive if it holds in a part.
    """
    return [
        *_of_mixed(),
        *_of_think_rate(measured),
        *_of_constant(),
        *_of_adaptive(measured),
        *_of_run_times(measured),
    ]


def _of_mixed() -> Iterator[Verdict]:
    states = solve_mixed(60, OPEN_RATE)
    slope = states[-1].closed_response - states[-2].closed_response
    yield _verdict(
        "line",
        abs(slope - 1 / (1 - OPEN_RATE)) < 1e-6 and states[-1].throughput > 1 - 1e-6,
        f"{slope:.4f} a user, 1 / (mu - lambda) = {1 / (1 - OPEN_RATE):g}; X = "
        f"{states[-1].throughput:.4f}",
    )
    above = [
        state.closed_response - closed_response(state.nb_users, 1.0, OPEN_RATE, CLOSED_THINK_TIME)
        for state in states[:12]
    ]
    yield _verdict(
        "above",
        min(above) > 0,
        f"by {above[0]:.2f} with one user, {above[4]:.2f} with five, {above[9]:.4f} with ten",
    )


def _of_think_rate(measured: Measured) -> Iterator[Verdict]:
    slow, fast = THINK_RATES[0], THINK_RATES[-1]
    for field in ("throughput", "mean_response", "mean_queue", "throughput_per_user"):
        changes = [
            ratio(
                measured,
                Case(CONSTANT, p, think_time=1 / fast),
                Case(CONSTANT, p, think_time=1 / slow),
                field,
            )
            for p in PROBABILITIES
        ]
        yield _verdict(
            f"think_{field}",
            all_hold(change.within(1 - SAME, 1 + SAME) for change in changes),
            f"1 / Z = {fast:g} over {slow:g}, "
            + "; ".join(
                f"p = {p:g}: x {format_interval(change)}"
                for p, change in zip(PROBABILITIES, changes, strict=True)
            ),
        )


def _of_constant() -> Iterator[Verdict]:
    low, high = (solve_constant(OPEN_RATE, p) for p in (0.1, 0.47))
    growth = high.throughput / low.throughput, high.mean_response / low.mean_response
    yield _verdict(
        "grows",
        growth[0] < 2 < growth[1],
        f"p = 0.47 over 0.1: X x {growth[0]:.2f}, R x {growth[1]:.1f}",
    )
    by_user = high.throughput_per_user / low.throughput_per_user
    yield _verdict("falls", by_user < 1, f"p = 0.47 over 0.1: x {by_user:.3f}")


def _of_adaptive(measured: Measured) -> Iterator[Verdict]:
    def between(rate: float, field: str) -> Interval:
        """Return the ratio of the hyperbola to e^-r."""
        ours, base = (Case(model, open_rate=rate) for model in (HYPERBOLA, EXPONENTIAL))
        return ratio(measured, ours, base, field)

    yield _comes_to_one(measured)
    yield _more("more_jobs", between(LOW, "jobs_per_user"), LOW)
    yield _along_a_line(measured)
    for rate in (0.5, 0.7):
        yield _more("nearer", between(rate, "throughput"), rate)
    yield _more("longer", between(0.7, "mean_response"), 0.7)
    by_user = between(HIGH, "throughput_per_user")
    yield _verdict("low_by_user", by_user.below(1), _beside(by_user, HIGH))
    yield _more("higher_by_user", between(LOW, "throughput_per_user"), LOW)
    hyperbola, exponential = (
        values(measured, Case(model, open_rate=LOW), "mean_of_user_throughputs")
        for model in (HYPERBOLA, EXPONENTIAL)
    )
    yield _more("higher_mean_of_users", median_ratio(hyperbola, exponential), LOW)


def _comes_to_one(measured: Measured) -> Verdict:
    at_end = [Case(model, open_rate=HIGH) for model in ADAPTIVE]
    throughputs = [mean(measured, case, "throughput") for case in at_end]
    jobs = [mean(measured, case, "jobs_per_user") for case in at_end]
    holds = all_hold((*(x.above(FULL) for x in throughputs), *(n.below(FEW) for n in jobs)))
    effect = "; ".join(
        f"{NAMES[case.model]}: X = {format_interval(x)}, {format_interval(n)} jobs per user"
        for case, x, n in zip(at_end, throughputs, jobs, strict=True)
    )
    return _verdict("comes_to_one", holds, f"lambda = {HIGH:g}, {effect}")


def _along_a_line(measured: Measured) -> Verdict:
    """Judge whether jobs per user fall along a line; those of e^-r fall less and less."""
    hyperbola, exponential = (
        np.array([values(measured, Case(model, open_rate=rate), "jobs_per_user") for rate in RATES])
        for model in (HYPERBOLA, EXPONENTIAL)
    )
    bend = paired_ratio(measure_bend(hyperbola), measure_bend(exponential))
    first, middle, last = (exponential[at] for at in (0, len(RATES) // 2, -1))
    falls = paired_ratio(first - middle, middle - last)
    return _verdict(
        "along_a_line",
        all_hold((bend.below(1), falls.above(1))),
        f"farthest from a line, hyperbola over e^-r: x {format_interval(bend)}; fall of e^-r in "
        f"the first half over the second: x {format_interval(falls)}",
    )


def measure_bend(jobs: Floats) -> Floats:
    """Return how far ``jobs``, shape (rates, seeds), are from the line between their ends."""
    share = np.linspace(0, 1, len(jobs))[:, None]
    straight = jobs[0] + share * (jobs[-1] - jobs[0])
    farthest: Floats = np.abs(jobs - straight).max(axis=0)
    return farthest


def _of_run_times(measured: Measured) -> Iterator[Verdict]:
    for model in ADAPTIVE:
        low, high = (Case(model, open_rate=rate) for rate in (LOW, HIGH))
        last = [
            paired_ratio(*(values(measured, case, f"{which}_run_time") for which in SIDES))
            for case in (low, high)
        ]
        less = paired_ratio(_bias(measured, high), _bias(measured, low))
        yield _verdict(
            "bias",
            all_hold((*(longer.above(1) for longer in last), less.below(1))),
            f"last over continued jobs: x {format_interval(last[0])} at lambda = {LOW:g}, "
            f"x {format_interval(last[1])} at {HIGH:g}; their difference at {HIGH:g} over {LOW:g}: "
            f"x {format_interval(less)}",
            model=NAMES[model],
        )
    cases = (Case(model, open_rate=LOW) for model in (HYPERBOLA, EXPONENTIAL))
    yield _more("stronger_bias", paired_ratio(*(_bias(measured, case) for case in cases)), LOW)


def _bias(measured: Measured, case: Case) -> Floats:
    """Return by how much last jobs run longer on average than other jobs, by seed."""
    last, continued = (values(measured, case, f"{which}_run_time") for which in SIDES)
    return last - continued


def _more(key: str, change: Interval, rate: float) -> Verdict:
    """Return whether the hyperbola has more than e^-r at a rate."""
    return _verdict(key, change.above(1), _beside(change, rate), rate=rate)


def _beside(change: Interval, rate: float) -> str:
    return f"hyperbola over e^-r at lambda = {rate:g}: x {format_interval(change)}"


def _verdict(key: str, holds: bool | None, effect: str, **named: object) -> Verdict:
    texts = {name: text.format(**named) for name, text in PRINTED["claims"][key].items()}
    return Verdict(texts["claim"], holds, "", effect=effect, reading=texts["reading"])
