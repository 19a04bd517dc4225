"""Simulates a policy as a scheduler of others: it knows of no users, who meet it by a proxy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from batsched_py import Result
from batsched_py.model.user_model import UserModel
from batsched_py.plugins.isolated_run import isolate
from batsched_py.plugins.plugins import RIGID
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.described_result import describe_result
from batsched_py.run.make_process import check_limits, make_driver, make_process
from batsched_py.run.resolved_run import ResolvedRun
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.transport.users_proxy import UsersProxy
from batsched_py.workload.logs.clock import Clock


def simulate_behind_proxy(resolved: ResolvedRun, protocol: int) -> Result:
    """Return the result of a run whose users meet its policy by a proxy; ``protocol`` is 4 or 5."""
    with isolate(resolved.run.seed):
        return _simulate(resolved, protocol)


def _simulate(resolved: ResolvedRun, protocol: int) -> Result:
    run, workload = resolved.run, resolved.workload
    without = msgspec.structs.replace(run, users=RIGID, user_options={}, shake=None)
    clock = Clock.of(workload)
    process = make_process(without, None, resolved.machine, clock=clock)
    made: list[UsersProxy] = []

    def make_proxy(policy: Any, users: UserModel, **options: Any) -> UsersProxy:
        kept = {name: options[name] for name in ("shake", "budgets", "nb_recorded")}
        made.append(proxy := UsersProxy(process.answer, users, **kept))
        return proxy

    def choose(users: UserModel | None) -> Callable[..., UsersProxy]:
        return make_proxy

    proxy = make_driver(choose, run, workload, resolved.machine)
    nodes = resolved.machine.nb_processors or workload.nb_res
    check_limits(process.scheduler, workload, nodes)
    is_batsim5 = protocol == 5
    simulator: Callable[..., Simulator] = Batsim5Simulator if is_batsim5 else Simulator
    options = Options(
        dynamic_jobs=True,
        profile_reuse=True,
        protocol=protocol,
        exact_times=is_batsim5,
        budgets=run.budgets,
        shake=run.shake,
    )
    platform = resolved.machine.hosts(nodes, run.speed_factor)
    outcome = simulator(platform, [], options).run(proxy.answer)
    driver = msgspec.defstruct("Driver", ["scheduler", "users", "nb_too_late"])
    behind = driver(process.scheduler, proxy.users, proxy.nb_too_late)
    return describe_result(resolved, EmbeddedOutput(outcome), 0.0, behind)
