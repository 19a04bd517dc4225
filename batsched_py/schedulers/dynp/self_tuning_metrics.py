"""Self-tuning metrics of dynP: the value of a plan, smaller is better.

They work on planned starts and estimated durations of the waiting jobs. Of the same jobs, sums
rank as means do, so nothing is divided; whole numbers stay whole, and sums are exact (``fsum``),
so that plans that are equal are seen to be. Source: A. Streit's thesis, 2003,
sections 3.4, 4.3 and 5.1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, inf

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.schedulers.planning.planner import Plan
from batsched_py.support.option_values import number, one_of
from batsched_py.units import HOUR

PlanMetric = Callable[[Plan, float], float]


def art(plan: Plan, now: float) -> float:
    """ART: sum of response times, seconds."""
    return fsum(start + job.estimate - job.submit_time for job, start in plan)


def artww(plan: Plan, now: float) -> float:
    """ARTwW: sum of width x response time (eq. 3.3)."""
    return fsum(job.size * (start + job.estimate - job.submit_time) for job, start in plan)


def artwa(plan: Plan, now: float) -> float:
    """ARTwA: sum of area x response time."""
    return fsum(
        job.size * job.estimate * (start + job.estimate - job.submit_time) for job, start in plan
    )


def makespan(plan: Plan, now: float) -> float:
    """Time until the latest planned end, seconds (eq. 3.5)."""
    return max((start + job.estimate for job, start in plan), default=now) - now


def sld(plan: Plan, now: float) -> float:
    """SLD: sum of slowdowns."""
    return fsum(_slowdown(job, start) for job, start in plan)


def sldww(plan: Plan, now: float) -> float:
    """SLDwW: sum of width x slowdown."""
    return fsum(job.size * _slowdown(job, start) for job, start in plan)


def ppsld_60(plan: Plan, now: float) -> float:
    """ppSLD_60: sum of per-processor slowdowns, run times below 60 s counting as 60 s."""
    return fsum(
        max((start + job.estimate - job.submit_time) / (job.size * max(job.estimate, 60.0)), 1.0)
        for job, start in plan
    )


def util(plan: Plan, now: float) -> float:
    """UTIL of the plan from now to its end, negated as larger is better (eq. 3.6)."""
    area = fsum(job.size * job.estimate for job, _ in plan)
    length = makespan(plan, now)
    return -area / length if 0 < length < inf else 0.0


def _slowdown(job: Job, start: float) -> float:
    """Return response time / run time; a job of no length counts as one of 1e-9 s."""
    return (start + job.estimate - job.submit_time) / max(job.estimate, 1e-9)


PLAN_METRICS: dict[str, PlanMetric] = {
    "ART": art,
    "ARTwW": artww,
    "ARTwA": artwa,
    "SLDwA": artww,  # the same but for a factor that all plans of a step share (eq. 3.8)
    "SLD": sld,
    "SLDwW": sldww,
    "ppSLD_60": ppsld_60,
    "makespan": makespan,
    "UTIL": util,
}
"""Self-tuning metrics by the names of the thesis."""


_WEIGHTS: dict[str, Callable[[Job], float]] = {
    "ART": lambda job: 1,
    "ARTwW": lambda job: job.size,
    "ARTwA": lambda job: job.size * job.estimate,
    "SLDwA": lambda job: job.size * job.estimate,
    "SLD": lambda job: 1,
    "SLDwW": lambda job: job.size,
    "ppSLD_60": lambda job: 1,
}
"""What the sums are divided by where plans count different jobs."""


def plan_metric(
    name: str, first_jobs: int | None = None, within: float | None = None
) -> PlanMetric:
    """Return the metric called ``name`` over all jobs of a plan, or some of them.

    Counted are the ``first_jobs`` of the plan, or those planned to start ``within`` some hours;
    plans then count different jobs, so sums become means, and a plan of which no job counts is
    worse than any other. Jobs that cannot start in any plan never count.

    Source of the restrictions: section 4.5, named there and not evaluated.
    """
    if first_jobs is not None and (type(first_jobs) is not int or first_jobs < 1):
        raise UsageError(f"first_jobs={first_jobs}: expected a number of jobs, at least 1")
    horizon = inf if within is None else HOUR * number("within", within, 0)
    metric = PLAN_METRICS[one_of("metric", name, PLAN_METRICS)]
    if first_jobs is None and horizon == inf:
        return lambda plan, now: metric([entry for entry in plan if entry[1] < inf], now)
    weight = _WEIGHTS.get(name)

    def restricted(plan: Plan, now: float) -> float:
        some = [entry for entry in plan if inf > entry[1] <= now + horizon][:first_jobs]
        if not some:
            return inf
        total = 1 if weight is None else fsum(weight(job) for job, _ in some)
        return metric(some, now) / total if total else 0.0

    return restricted
