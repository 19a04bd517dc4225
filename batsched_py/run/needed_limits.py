"""Whether each job has the limit that a policy plans with, before the simulation begins."""

from __future__ import annotations

from batsched_py.errors import UsageError, parameter
from batsched_py.model.policy import needs_estimates
from batsched_py.schedulers.partitioned import policy_itself
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.workload import Workload


def check_limits(scheduler: object, workload: Workload, nb_processors: float) -> None:
    """Raise :class:`UsageError` if a policy plans with run times, and jobs have no limit.

    Jobs that are wider than the machine are refused anyway.
    """
    if not needs_estimates(scheduler):
        return
    unlimited = [
        job
        for job in workload.jobs
        if job.walltime is None and job.estimate is None and job.size <= nb_processors
    ]
    if not unlimited:
        return
    rules_apply = workload.rules and not is_batsim_json(workload.name)
    hint = "give each job a walltime or an estimate"
    if rules_apply and workload.rules.get("walltime") == "requested":
        hint = (
            f"{parameter('walltime')} double or {parameter('walltime')} exact gives them one, "
            f"{parameter('drop')} no-request leaves them out"
        )
    elif rules_apply:
        hint = (
            f"{parameter('least_walltime')} 1 or {parameter('walltime')} exact gives them one, "
            f"{parameter('drop')} zero-runtime leaves them out"
        )
    raise UsageError(
        f"{type(policy_itself(scheduler)).__name__} plans with the time limit of each job, but "
        f"{len(unlimited)} of {len(workload.jobs)} jobs in {workload.name} have none, the first is "
        f"job {unlimited[0].id}: {hint}"
    )
