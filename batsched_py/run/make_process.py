"""Makes the scheduler of a run from its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from batsched_py.errors import UsageError, parameter
from batsched_py.model.policy import declares
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects
from batsched_py.run.resolved_machine import ResolvedMachine
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.schedulers.partitioned import adapt_to_partitions, unwrap_policy
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.logs.clock import Clock

if TYPE_CHECKING:
    from batsched_py.decision_process import DecisionProcess
    from batsched_py.model.user_model import UserModel
    from batsched_py.schedulers.shutdown.rules import IdleRule
    from batsched_py.workload.workload import Workload

D = TypeVar("D")


def make_driver(
    choose: Callable[[UserModel | None], Callable[..., D]],
    settings: ProcessSettings,
    workload: Workload | None,
    machine: ResolvedMachine,
    objects: PluginObjects = BY_NAME,
    clock: Clock | None = None,
    **options: Any,
) -> D:
    """Make the policy and the users that ``settings`` name, and a driver of both.

    ``choose`` returns the class of the driver for the users, which are None if the jobs are
    submitted at their recorded times. Users submit ``workload``. ``objects`` are in place of what
    the settings name. ``clock`` is by default that of the workload. Raises :class:`UsageError` for
    plug-ins and options that do not fit.
    """
    policy = adapt_to_partitions(lambda: objects.make_scheduler(settings), machine.description)
    users: UserModel | None = None
    nb_recorded = 0
    if workload is not None and settings.dynamic:
        from numpy.random import SeedSequence

        seed = SeedSequence(settings.seed).spawn(1)[0]
        users = objects.make_users(settings, workload.copy(), seed)
        nb_recorded = len(workload.jobs)
    return choose(users)(
        policy,
        users,
        shake=settings.shake,
        sites=machine.sites,
        description=machine.description,
        speed_factor=settings.speed_factor,
        budgets=settings.budgets,
        power=machine.power,
        shutdown=_make_rule(settings, machine),
        nb_recorded=nb_recorded,
        clock=clock or Clock.of(workload),
        **options,
    )


def _make_rule(settings: ProcessSettings, machine: ResolvedMachine) -> IdleRule | None:
    if settings.shutdown is None:
        return None
    from batsched_py.schedulers.shutdown.rules import make_rule

    return make_rule(settings.shutdown, machine.description.outages if machine.description else ())


def make_process(
    settings: ProcessSettings,
    workload: Workload | None,
    machine: ResolvedMachine = ResolvedMachine(),  # noqa: B008 - it cannot change
    *,
    clock: Clock | None = None,
    six_decimals: bool = False,
) -> DecisionProcess:
    """Return the scheduler that ``settings`` describe, as :func:`make_driver` makes it.

    ``six_decimals`` is for simulators whose times come with six decimals.
    """
    from batsched_py.decision_process import DecisionProcess

    return make_driver(
        lambda users: DecisionProcess,
        settings,
        workload,
        machine,
        clock=clock,
        six_decimals=six_decimals,
    )


def check_limits(scheduler: object, workload: Workload, nb_processors: float) -> None:
    """Raise :class:`UsageError` if a policy needs run times, and some jobs have no walltime.

    Jobs that are wider than the machine are refused anyway.
    """
    if not declares(scheduler, "needs_estimates"):
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
        f"{type(unwrap_policy(scheduler)).__name__} plans with the time limit of each job, but "
        f"{len(unlimited)} of {len(workload.jobs)} jobs in {workload.name} have none, the first is "
        f"job {unlimited[0].id}: {hint}"
    )
