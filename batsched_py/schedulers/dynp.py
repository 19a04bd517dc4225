"""dynP: planning that switches its order by itself, and the first version with bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.explanation import Held
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import fixed_key
from batsched_py.model.timeline import Timeline
from batsched_py.schedulers.dynp_deciders import DECIDERS, Decider, case_of, with_slackness
from batsched_py.schedulers.plan_values import plan_metric
from batsched_py.schedulers.planning import Plan, Planner
from batsched_py.support.option_values import boolean, number, one_of

POLICIES = ("fcfs", "sjf", "ljf")


class Step(msgspec.Struct, gc=False):
    """One self-tuning step, as an observer sees it."""

    now: float
    history: list[tuple[float, int]]
    """Free processors from each time on, before anything waiting is planned."""
    plans: dict[str, Plan]
    values: dict[str, float]
    """Value of the self-tuning metric by policy."""
    old: str
    new: str


class _Switching:
    """A planner whose order changes, and what it counts."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.active = POLICIES[0]
        """The policy that plans now."""
        self._counts = _Counts()

    def _carry_out(
        self, now: float, queue: WaitingQueue, machine: Machine, plan: Plan
    ) -> Iterator[Decision]:
        for decision in self._planner.carry_out(now, queue, machine, plan):
            if isinstance(decision, Start):
                self._counts.started[self.active] += 1
            yield decision

    def statistics(self) -> dict[str, Any]:
        """Return the counters of the thesis: steps, cases, switches, jobs started per policy."""
        return msgspec.to_builtins(self._counts)  # type: ignore[no-any-return]

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> Held:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        return self._planner.held(job, now, machine, f"planned in the order {self.active}")


class Dynp(_Switching):
    """Self-tuning dynP: plan with FCFS, SJF and LJF, and switch to the best plan's policy.

    The plans are compared by ``metric`` over the waiting jobs (``ARTwW``; smaller is better), and
    the ``decider`` takes a policy: ``simple``, ``advanced``, or ``fcfs-``, ``sjf-`` and
    ``ljf-preferred``. ``when`` is ``full`` (at submissions and ends) or ``half`` (at submissions).
    ``slackness`` percent a new policy must be better than the old one. ``first_jobs`` (of each
    plan) and ``within`` (hours until the planned start) restrict the jobs that count.
    ``preferred_reading`` and ``legacy_fcfs_list_order`` are explained in docs/policies.md, and
    ``limits``, ``begins``, ``admission`` are those of ``planning``.

    Source: A. Streit's thesis (Paderborn), 2003, chapter 4.
    """

    def __init__(
        self,
        *,
        decider: str = "advanced",
        when: str = "full",
        metric: str = "ARTwW",
        slackness: float = 0.0,
        first_jobs: int | None = None,
        within: float | None = None,
        preferred_reading: str = "minimum",
        legacy_fcfs_list_order: bool = False,
        limits: list[dict[str, Any]] | None = None,
        begins: str = "mon 00:00",
        admission: str = "against_full_plan",
    ) -> None:
        super().__init__(Planner(limits=limits, begins=begins, admission=admission))
        one_of("preferred_reading", preferred_reading, ("minimum", "old"))
        name = one_of("decider", decider, DECIDERS)
        self._decide: Decider = DECIDERS[name](preferred_reading)
        self._full = one_of("when", when, ("full", "half")) == "full"
        self._value = plan_metric(metric, first_jobs, within)
        self._slackness = number("slackness", slackness, 0, 100)
        legacy = boolean("legacy_fcfs_list_order", legacy_fcfs_list_order)
        self._lists: _Lists = _LegacyList() if legacy else _Lists()
        self.observer: Callable[[Step], None] | None = None
        """Called at each self-tuning step; None costs nothing."""
        self._seen = self._ended = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Plan, with a self-tuning step if one is due, and start what is planned for now."""
        planner = self._planner
        active = queue.ranked(fixed_key(self.active))
        yield from planner.arrivals(now, queue, machine, active)
        waiting, news = planner.movable(queue), planner.movable(queue.since(self._seen))
        ended = self._full and machine.nb_ended > self._ended
        self._seen = news[-1].number + 1 if news else self._seen
        self._ended = machine.nb_ended
        base = planner.base(now, queue, machine)
        plan = None
        for jobs in self._lists.steps(waiting, len(news), ended):
            plan = self._self_tuning_step(now, queue, base, jobs)
        if plan is None or self._lists.plans_anew:
            plan = self._plan(self.active, queue, base, waiting)
        yield from self._carry_out(now, queue, machine, plan)

    def _plan(self, policy: str, queue: WaitingQueue, base: Timeline, waiting: list[Job]) -> Plan:
        return self._planner.planned(base.copy(), self._lists.sorted(policy, queue, waiting))

    def _self_tuning_step(
        self, now: float, queue: WaitingQueue, base: Timeline, waiting: list[Job]
    ) -> Plan:
        old = self.active
        plans = {
            policy: self._plan(policy, queue, base, waiting)
            for policy in self._lists.evaluation_order(old)
        }
        values = {policy: self._value(plans[policy], now) for policy in POLICIES}
        compared = with_slackness(values, old, self._slackness)
        new = self._decide(compared, old)
        self._counts.step(case_of(compared, old), old, new)
        self.active = new
        if self.observer is not None:
            history = list(zip(base.times, base.free, strict=True))
            self.observer(Step(now, history, plans, values, old, new))
        return plans[new]


class DynpBounds(_Switching):
    """dynP with bounds: the mean estimate of the waiting jobs (AERT) chooses the order.

    Up to ``lower`` seconds SJF, up to ``upper`` FCFS, beyond LJF; with nobody waiting the policy
    stays.

    Source: A. Streit's thesis, 2003, section 4.2, equation 4.1.
    """

    def __init__(
        self,
        *,
        lower: float = 7200.0,
        upper: float | None = 9000.0,
        limits: list[dict[str, Any]] | None = None,
        begins: str = "mon 00:00",
        admission: str = "against_full_plan",
    ) -> None:
        super().__init__(Planner(limits=limits, begins=begins, admission=admission))
        self._lower = number("lower", lower, 0)
        self._upper = float("inf") if upper is None else number("upper", upper, self._lower)

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Choose the order, plan, and start what is planned for now."""
        planner = self._planner
        yield from planner.arrivals(now, queue, machine, queue.ranked(fixed_key(self.active)))
        if waiting := planner.movable(queue):
            old = self.active
            self.active = self._choose(sum(job.estimate for job in waiting) / len(waiting))
            self._counts.step(None, old, self.active)
        order = queue.ranked(fixed_key(self.active))
        plan = planner.planned(planner.base(now, queue, machine), order)
        yield from self._carry_out(now, queue, machine, plan)

    def _choose(self, average_estimate: float) -> str:
        if average_estimate <= self._lower:
            return "sjf"
        return "fcfs" if average_estimate <= self._upper else "ljf"


class _Counts(msgspec.Struct):
    """Case and policy-usage counters, as in the thesis's Tables 5.3 and 5.4."""

    steps: int = 0
    cases: dict[str, int] = {}
    switches: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(POLICIES, 0))
    no_switch: int = 0
    started: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(POLICIES, 0))

    def step(self, case: str | None, old: str, new: str) -> None:
        self.steps += 1
        if case is not None:
            self.cases[case] = self.cases.get(case, 0) + 1
        if new == old:
            self.no_switch += 1
        else:
            self.switches[new] += 1


class _Lists:
    """The waiting jobs in the order of each policy."""

    plans_anew = False
    """Whether the plan that is carried out is made once more after the decision."""

    def steps(self, waiting: list[Job], nb_new: int, ended: bool) -> list[list[Job]]:
        """Return the jobs that each self-tuning step of this instant plans: one step, if any.

        The last ``nb_new`` of ``waiting`` were submitted now; ``ended`` says that jobs ended.
        """
        return [waiting] if waiting and (nb_new or ended) else []

    def evaluation_order(self, old: str) -> tuple[str, ...]:
        """Return in which order the policies plan; it does not matter here."""
        return POLICIES

    def sorted(self, policy: str, queue: WaitingQueue, waiting: list[Job]) -> Iterator[Job]:
        """Return the jobs in the order of ``policy``."""
        return iter(queue.ranked(fixed_key(policy)))


class _LegacyList(_Lists):
    """One list for all policies, which FCFS leaves as SJF or LJF have sorted it.

    With it the thesis's numbers for half self-tuning come out, which no FCFS that sorts can
    give: what is carried out under FCFS follows the order in which the last evaluation left the
    list. There is a step at each submission, also at simultaneous ones, if two jobs wait then.
    """

    plans_anew = True

    def steps(self, waiting: list[Job], nb_new: int, ended: bool) -> list[list[Job]]:
        """Return what waits after the ends of this instant, and after each submission."""
        nb_old = len(waiting) - nb_new
        lengths = [*([nb_old] if ended else []), *range(nb_old + 1, len(waiting) + 1)]
        return [waiting[:length] for length in lengths if length > 1]

    def __init__(self) -> None:
        self._list: list[Job] = []

    def evaluation_order(self, old: str) -> tuple[str, ...]:
        if old == "ljf":
            return ("ljf", "sjf", "fcfs")
        return (old, *(policy for policy in POLICIES if policy != old))

    def sorted(self, policy: str, queue: WaitingQueue, waiting: list[Job]) -> Iterator[Job]:
        there = {job.number for job in waiting}
        known = {job.number for job in self._list}
        self._list = [job for job in self._list if job.number in there]
        self._list += [job for job in waiting if job.number not in known]
        if policy != "fcfs":  # Python's sort is stable, also in reverse
            self._list.sort(key=lambda job: job.estimate, reverse=policy == "ljf")
        return iter(self._list[:])
