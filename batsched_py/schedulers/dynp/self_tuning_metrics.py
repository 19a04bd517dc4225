"""Self-tuning metrics of dynP: the value of a plan, smaller is better.

They work on planned starts and estimated durations of the waiting jobs. Sums over the same jobs
rank plans as means do, so nothing is divided; whole numbers stay whole, and sums are exact
(``fsum``), so that equal plans have equal values. Source: A. Streit's thesis, 2003, sections 3.4,
4.3 and 5.1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, inf
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number, one_of
from batsched_py.schedulers.planning.plan import Plan, Term
from batsched_py.units import HOUR

PlanMetric = Callable[[Plan, float], float]
"""(plan, now) -> value."""


def _response(size: Any, estimate: Any, submit_time: Any, start: Any) -> Any:
    return start + estimate - submit_time


def _slowdown(size: Any, estimate: Any, submit_time: Any, start: Any) -> Any:
    """Return response time / run time; a zero-length job counts as one of 1e-9 s."""
    return (start + estimate - submit_time) / _at_least(estimate, 1e-9)


def _per_processor_slowdown(size: Any, estimate: Any, submit_time: Any, start: Any) -> Any:
    response = start + estimate - submit_time
    return response / (size * _at_least(estimate, 60.0))


def _at_least(value: Any, least: float) -> Any:
    """Return the larger one: of numbers, or of each number in an array."""
    return value.clip(least) if hasattr(value, "clip") else max(value, least)


def _area(size: Any, estimate: Any, submit_time: Any, start: Any) -> Any:
    return size * estimate


def _area_response(size: Any, estimate: Any, submit_time: Any, start: Any) -> Any:
    return size * estimate * (start + estimate - submit_time)


def _sum(term: Term) -> PlanMetric:
    return lambda plan, now: fsum(plan.evaluate(term))


def makespan(plan: Plan, now: float) -> float:
    """Time until the latest planned end, seconds (eq. 3.5)."""
    ends = plan.evaluate(lambda size, estimate, submit_time, start: start + estimate)
    return max(ends, default=now) - now


def util(plan: Plan, now: float) -> float:
    """UTIL of the plan from now to its end, negated as larger is better (eq. 3.6)."""
    length = makespan(plan, now)
    return -fsum(plan.evaluate(_area)) / length if 0 < length < inf else 0.0


_artww = _sum(lambda size, *times: size * _response(size, *times))

PLAN_METRICS: dict[str, PlanMetric] = {
    "ART": _sum(_response),
    "ARTwW": _artww,  # eq. 3.3
    "ARTwA": _sum(_area_response),
    "ARTwA_32bit": _sum(lambda *of_job: _area_response(*of_job) % 2.0**32),
    "SLDwA": _artww,  # the same but for a factor that all plans of a step share (eq. 3.8)
    "SLD": _sum(_slowdown),
    "SLDwW": _sum(lambda size, *times: size * _slowdown(size, *times)),
    "ppSLD_60": _sum(lambda *of_job: _at_least(_per_processor_slowdown(*of_job), 1.0)),
    "ppSLD_unbounded": _sum(_per_processor_slowdown),
    "makespan": makespan,
    "UTIL": util,
}
"""Self-tuning metrics by their names in the thesis: sums of response times (seconds; also weighed
by width or area), of slowdowns (also weighed by width), and of per-processor slowdowns (run times
of at least 60 s); :func:`makespan` and :func:`util`.

Two are as the thesis's program must have computed them, since its Tables 5.5 and 5.6 come out so:
``ppSLD_unbounded`` may fall below 1, and ``ARTwA_32bit`` keeps the lower 32 bits of each product.
"""


def _number_of_jobs(plan: Plan, now: float) -> float:
    return len(plan)


_all_widths = _sum(lambda size, *times: size)
_all_areas = _sum(_area)

_WEIGHTS: dict[str, PlanMetric] = {
    "ART": _number_of_jobs,
    "ARTwW": _all_widths,
    "ARTwA": _all_areas,
    "ARTwA_32bit": _all_areas,
    "SLDwA": _all_areas,
    "SLD": _number_of_jobs,
    "SLDwW": _all_widths,
    "ppSLD_60": _number_of_jobs,
    "ppSLD_unbounded": _number_of_jobs,
}
"""The divisors of the sums where plans count different jobs."""


def make_plan_metric(
    name: str,
    first_jobs: int | None = None,
    within: float | None = None,
    sizes: tuple[int, int | None] = (1, None),
    estimates: tuple[float, float | None] = (0.0, None),
) -> PlanMetric:
    """Return the metric called ``name`` over all jobs of a plan, or over some of them.

    Only jobs with these ``sizes`` and ``estimates`` (seconds; from, to; None: any) count, if they
    are planned to start ``within`` some hours, and of these the ``first_jobs`` of the plan. Plans
    may then count different jobs, so sums become means, and a plan of which no job counts is worse
    than any other. Jobs that cannot start in any plan never count.

    Source of the restrictions: section 4.5, named there and not evaluated.
    """
    if first_jobs is not None and (type(first_jobs) is not int or first_jobs < 1):
        raise UsageError(f"first_jobs={first_jobs}: expected a number of jobs, at least 1")
    horizon = inf if within is None else HOUR * number("within", within, 0)
    least, most = _range("size", 1, *sizes)
    shortest, longest = _range("estimate", 0, *estimates)
    metric = PLAN_METRICS[one_of("metric", name, PLAN_METRICS)]
    if first_jobs is None and (horizon, least, most, shortest, longest) == (inf, 1, inf, 0, inf):
        return lambda plan, now: metric(plan.select(), now)
    weight = _WEIGHTS.get(name)

    def restricted(plan: Plan, now: float) -> float:
        def counts(size: Any, estimate: Any, submit_time: Any, start: Any) -> Any:
            of_job = (size >= least) & (size <= most)
            return (
                of_job & (estimate >= shortest) & (estimate <= longest) & (start <= now + horizon)
            )

        some = plan.select(counts, first_jobs)
        if not some:
            return inf
        total = 1 if weight is None else weight(some, now)
        return metric(some, now) / total if total else 0.0

    return restricted


def _range(name: str, least: float, low: float, high: float | None) -> tuple[float, float]:
    low = number(f"min_{name}", low, least)
    return low, inf if high is None else number(f"max_{name}", high, low)
