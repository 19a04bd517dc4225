"""Self-tuning dynP: planning that switches to the order with the best plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Literal

import msgspec

from batsched_py.model.decisions import Decision
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.timeline import Timeline
from batsched_py.options.option_values import boolean, number, one_of, whole_number
from batsched_py.schedulers.dynp.deciders import DECIDERS, Decider, apply_slackness, find_case
from batsched_py.schedulers.dynp.job_lists import LegacyList, OrderedLists
from batsched_py.schedulers.dynp.order_switching import KEYS, POLICIES, OrderSwitching
from batsched_py.schedulers.dynp.self_tuning_metrics import make_plan_metric
from batsched_py.schedulers.planning.plan import Plan
from batsched_py.schedulers.planning.planner import Admission, Begins, LimitRules, Planner
from batsched_py.units import HOUR


class SelfTuningStep(msgspec.Struct, gc=False):
    """One self-tuning step, as an observer sees it."""

    now: float
    history: list[tuple[float, int]]
    """Free processors from each time on, before any waiting job is planned."""
    plans: dict[str, Plan]
    values: dict[str, float]
    """Value of the self-tuning metric by policy."""
    old: str
    new: str


class Dynp(OrderSwitching):
    """Plan with FCFS, SJF and LJF at each step, and switch to the order with the best plan.

    This is the self-tuning dynP scheduler. Each job needs a walltime or an estimate.

    Source: A. Streit's thesis (Paderborn), 2003, chapter 4.

    Args:
        decider: How the next order is chosen. ``simple`` takes the best plan; ``advanced`` also
            stays with the old order if it is as good; the others prefer one order. Allowed: one of
            simple, advanced, fcfs-preferred, sjf-preferred, ljf-preferred.
        when: When plans are compared: at submissions (``half``), also at ends (``full``), or also
            after starts, for the next plan (``starts``).
        every_jobs: Number of jobs submitted since the last comparison, so that another is due.
            Allowed: a whole number, at least 0.
        every_hours: Hours since the last comparison, so that another is due at the next event.
            Allowed: a number, at least 0.
        metric: Metric of the plans, over the waiting jobs. Allowed: one of ART, ARTwW, ARTwA,
            ARTwA_32bit, SLDwA, SLD, SLDwW, ppSLD_60, ppSLD_unbounded, makespan, UTIL.
        slackness: Per cent by which a new order must be better than the old one. Allowed: a number
            from 0 to 100.
        first_jobs: Number of jobs of each plan that count (null: all). Allowed: a whole number, at
            least 1.
        within: Hours from now in which the planned start of a job must be, so that the job counts
            (null: any time). Allowed: a number, at least 0.
        min_size: Smallest size of a job that counts. Allowed: a whole number, at least 1.
        max_size: Largest size of a job that counts (null: any). Allowed: a whole number, at least
            ``min_size``.
        min_estimate: Shortest estimate of a job that counts, in seconds. Allowed: a number, at
            least 0.
        max_estimate: Longest estimate of a job that counts, in seconds (null: any). Allowed: a
            number, at least ``min_estimate``.
        preferred_reading: When a preferring decider returns to its order: if its plan is one of the
            best (``minimum``), or already if it is as good as the old order's (``old``).
        legacy_fcfs_list_order: Whether to imitate the list handling of the thesis's simulator.
    """

    def __init__(
        self,
        *,
        decider: str = "advanced",
        when: Literal["full", "half", "starts"] = "full",
        every_jobs: int = 0,
        every_hours: float = 0.0,
        metric: str = "ARTwW",
        slackness: float = 0.0,
        first_jobs: int | None = None,
        within: float | None = None,
        min_size: int = 1,
        max_size: int | None = None,
        min_estimate: float = 0.0,
        max_estimate: float | None = None,
        preferred_reading: Literal["minimum", "old"] = "minimum",
        legacy_fcfs_list_order: bool = False,
        limits: LimitRules | None = None,
        begins: Begins | None = None,
        admission: Admission = "against_full_plan",
    ) -> None:
        super().__init__(Planner(limits=limits, begins=begins, admission=admission))
        one_of("preferred_reading", preferred_reading, ("minimum", "old"))
        name = one_of("decider", decider, DECIDERS)
        self._decide: Decider = DECIDERS[name](preferred_reading)
        self._when = one_of("when", when, ("full", "half", "starts"))
        self._every_jobs = whole_number("every_jobs", every_jobs, 0)
        self._interval = HOUR * number("every_hours", every_hours, 0)
        sizes, estimates = (min_size, max_size), (min_estimate, max_estimate)
        self._value = make_plan_metric(metric, first_jobs, within, sizes, estimates)
        is_whole = (first_jobs, within, *sizes, *estimates) == (None, None, 1, None, 0, None)
        by_widths = is_whole and metric in ("ARTwW", "SLDwA")
        self._best_only = by_widths and preferred_reading == "minimum"
        """Whether the value of a plan does not matter if it is known to be worse than another."""
        self._slackness = number("slackness", slackness, 0, 100)
        legacy = boolean("legacy_fcfs_list_order", legacy_fcfs_list_order)
        self._lists: OrderedLists = LegacyList() if legacy else OrderedLists()
        self.observer: Callable[[SelfTuningStep], None] | None = None
        """Called at each self-tuning step, if not None."""
        self._seen = self._ended = 0
        self._last_step = -inf, 0
        """When the last step was, in seconds, and the number of jobs submitted until then."""

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Plan, with self-tuning steps if any are due, and start the jobs planned for now."""
        planner, lists, started = self.planner, self._lists, self.counts.started
        yield from planner.admit_reservations(now, queue, machine, KEYS[self.active])
        nb_new = len(planner.find_movable(queue.since(self._seen)))
        ended = self._when != "half" and machine.nb_ended > self._ended
        self._seen = queue.nb_arrived
        self._ended = machine.nb_ended
        base = planner.make_base(now, queue, machine)
        plan = self._self_tune(now, queue, base, nb_new, changed=ended)
        if plan is None or lists.plans_anew:
            jobs = lists.sort_jobs(self.active, planner, queue, planner.count_movable(queue))
            plan = planner.make_plan(base, jobs, now_only=True)
        nb_started = sum(started.values())
        yield from self.carry_out(now, queue, machine, plan)
        if self._when == "starts" and sum(started.values()) > nb_started:
            base = planner.make_base(now, queue, machine)
            self._self_tune(now, queue, base, 0, changed=True)

    def _self_tune(
        self, now: float, queue: WaitingQueue, base: Timeline, nb_new: int, *, changed: bool
    ) -> Plan | None:
        """Do the self-tuning steps that are due, and return the last plan; None without steps."""
        time, nb_submitted = self._last_step
        if now - time < self._interval or self._seen - nb_submitted < self._every_jobs:
            return None
        nb_waiting, plan = self.planner.count_movable(queue), None
        for nb_planned in self._lists.count_jobs_of_steps(nb_waiting, nb_new, changed):
            plan = self._self_tuning_step(now, queue, base, nb_planned)
            self._last_step = now, self._seen
        return plan

    def _self_tuning_step(
        self, now: float, queue: WaitingQueue, base: Timeline, nb_planned: int
    ) -> Plan:
        old = self.active
        planner, lists = self.planner, self._lists
        orders = {
            policy: lists.sort_jobs(policy, planner, queue, nb_planned)
            for policy in lists.order_policies(old)
        }
        plans = {old: planner.make_plan(base, orders[old])}
        best_only = self._best_only and self.observer is None
        if best_only:
            others = {policy: jobs for policy, jobs in orders.items() if policy != old}
            plans |= planner.make_plans_below(base, others, plans[old])
        values = dict.fromkeys(POLICIES, inf)
        if best_only and len(plans) == 1 and old != "ljf":  # nobody asks how much worse others are
            values[old] = 0.0
        else:
            values |= {policy: self._value(plan, now) for policy, plan in plans.items()}
        if not best_only or min(values, key=values.__getitem__) == "ljf":  # its case needs all
            for policy in orders:
                if policy not in plans:
                    plans[policy] = planner.make_plan(base, orders[policy])
                    values[policy] = self._value(plans[policy], now)
        compared = apply_slackness(values, old, self._slackness)
        new = self._decide(compared, old)
        self.counts.count_step(find_case(compared, old), old, new)
        self.active = new
        if self.observer is not None:
            history = list(zip(base.times, base.free, strict=True))
            plans = {policy: plans[policy] for policy in orders}
            self.observer(SelfTuningStep(now, history, plans, values, old, new))
        return plans[new]
