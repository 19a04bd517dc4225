"""The decision process of a run, as its settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batsched_py.decision_process import DecisionProcess
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects
from batsched_py.run.resolved_machine import ResolvedMachine
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.schedulers.partitioned import on_partitions

if TYPE_CHECKING:
    from batsched_py.model.user_model import UserModel
    from batsched_py.workload.workload import Workload


def make_process(
    settings: ProcessSettings,
    workload: Workload | None,
    machine: ResolvedMachine = ResolvedMachine(),  # noqa: B008 - it cannot change
    *,
    six_decimals: bool = False,
    objects: PluginObjects = BY_NAME,
) -> DecisionProcess:
    """Return the decision process of ``settings``; its users replay ``workload``, if there are any.

    ``six_decimals`` is for simulators whose times come with six decimals; ``objects`` are in place
    of what the settings name. Raises :class:`UsageError` for plug-ins and options that do not fit.
    """
    policy = on_partitions(lambda: objects.scheduler_of(settings), machine.description)
    users: UserModel | None = None
    if workload is not None and settings.dynamic:
        from numpy.random import SeedSequence

        seed = SeedSequence(settings.seed).spawn(1)[0]
        users = objects.users_of(settings, workload.copy(), seed)
    return DecisionProcess(
        policy,
        users,
        shake=settings.shake,
        six_decimals=six_decimals,
        sites=machine.sites,
        description=machine.description,
        speed_factor=settings.speed_factor,
        budgets=settings.budgets,
        nb_recorded=0 if users is None or workload is None else len(workload.jobs),
    )
