"""A planner whose order changes: what the versions of dynP have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import find_fixed_key
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.planning.plan import Plan
from batsched_py.schedulers.planning.planner import Planner

POLICIES = ("fcfs", "sjf", "ljf")
"""The orders that dynP switches between; ties prefer the first."""
KEYS = {policy: find_fixed_key(policy) for policy in POLICIES}
"""The sort keys of the waiting queue, by policy."""


class OrderSwitching:
    """The base class of the versions of dynP: a planner whose order changes, with counters."""

    needs_estimates = True
    reads_reservations = True

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.active = POLICIES[0]
        """The policy that plans now."""
        self.counts = SwitchCounts()

    def plan_in_active_order(
        self, now: float, queue: WaitingQueue, machine: Machine
    ) -> Iterator[Decision]:
        """Plan in the active order, and start the jobs that are planned for now."""
        planner = self.planner
        order = planner.sort_jobs(queue, KEYS[self.active])
        plan = planner.make_plan(planner.make_base(now, queue, machine), order, now_only=True)
        yield from self.carry_out(now, queue, machine, plan)

    def carry_out(
        self, now: float, queue: WaitingQueue, machine: Machine, plan: Plan
    ) -> Iterator[Decision]:
        """Carry out the plan, and count the jobs that it starts."""
        for decision in self.planner.carry_out(now, queue, machine, plan):
            if isinstance(decision, Start):
                self.counts.started[self.active] += 1
            yield decision

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Free the advance reservation of a withdrawn job."""
        self.planner.forget(job)

    def statistics(self) -> dict[str, Any]:
        """Return the counters of the thesis: steps, cases, switches, jobs started per policy."""
        return msgspec.to_builtins(self.counts)  # type: ignore[no-any-return]

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        return self.planner.held(job, now, machine, f"planned in the order {self.active}")


class SwitchCounts(msgspec.Struct):
    """Counters of cases and of the use of policies, as in the thesis's Tables 5.3 and 5.4."""

    steps: int = 0
    cases: dict[str, int] = {}
    switches: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(POLICIES, 0))
    no_switch: int = 0
    started: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(POLICIES, 0))

    def count_step(self, case: str | None, old: str, new: str) -> None:
        """Count a self-tuning step from the ``old`` policy to the ``new`` one."""
        self.steps += 1
        if case is not None:
            self.cases[case] = self.cases.get(case, 0) + 1
        if new == old:
            self.no_switch += 1
        else:
            self.switches[new] += 1
