"""The core of a scheduler: users, waiting queue, policy and machine, without any messages.

At each instant a driver first reports all job ends and calls that are due, then it asks the users,
then it reports all submissions, then it lets the policy decide, once, and concludes the instant.
Each decision calls a method of the driver at once.

There are two drivers. :class:`~batsched_py.decision_process.DecisionProcess` speaks with a
simulator in messages, :class:`~batsched_py.simulator.direct.DirectSimulation` simulates itself.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import chain
from math import inf
from operator import neg
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Protocol

from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.model import decisions as d
from batsched_py.model.decisions import CallMeLater, Decision, Kill, Reject, Start
from batsched_py.model.endless_work import ProgressWatch
from batsched_py.model.job import ENDED, RUNNING, WAITING, Job
from batsched_py.model.machine import Machine
from batsched_py.model.machine_side import MachineSide
from batsched_py.model.policy import ExplainingScheduler, Scheduler, may_dilate
from batsched_py.model.policy_mistakes import find_mistake, make_decision_error
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.site import UNKNOWN
from batsched_py.model.sleepers import Sleepers
from batsched_py.model.user_model import (
    REJECTED,
    WITHDRAWN,
    UserModel,
    find_method,
    iterate_returned,
)
from batsched_py.options.budgets import Budgets
from batsched_py.support.json_values import to_python
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME
from batsched_py.workload.grid_sites import HOME, GridSites, find_home, nb_processors
from batsched_py.workload.logs.clock import Clock
from batsched_py.workload.machine_description import PARTITION, MachineDescription
from batsched_py.workload.workload import RUN_AFTER

if TYPE_CHECKING:
    from batsched_py.workload.processor_power import PowerGroups

Observer = Callable[[float, WaitingQueue, Machine], None]
"""Called with time, waiting queue and machine; it may look, and must not change anything."""


class ShutdownRule(Protocol):
    """Switches processors off and on, whatever the policy; see the package ``shutdown``."""

    def decide(
        self, now: float, queue: WaitingQueue, machine: Machine, policy: Scheduler, *, begins: bool
    ) -> Iterable[d.SwitchOff | d.SwitchOn | CallMeLater]:
        """Yield decisions after the last pass at ``now`` (seconds), while there is work to come.

        If the simulation ``begins``, it may only ask for a call.
        """


class System(MachineSide):
    """Users, waiting queue, policy and machine of a simulation.

    ``sites`` are the grid sites of the machine, if any. ``description`` is the content of a machine
    file, with limits of jobs. ``budgets`` are limits that end endless work. ``speed_factor`` is the
    speed of the processors as a multiple of the recorded machine's. ``clock`` is that of the log.
    ``power`` has the durations of switches, ``shutdown`` is the rule that switches processors off.
    All else is as in :class:`~batsched_py.model.users_side.UsersSide`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        users: UserModel | None = None,
        *,
        shake: int | None = None,
        sites: GridSites = (),
        description: MachineDescription | None = None,
        speed_factor: float = 1.0,
        budgets: Budgets = Budgets(),  # noqa: B008 - it cannot change
        nb_recorded: int = 0,
        clock: Clock = UNKNOWN,
        power: PowerGroups = (),
        shutdown: ShutdownRule | None = None,
    ) -> None:
        of_users = users, shake, description, budgets, nb_recorded
        super().__init__(*of_users, scheduler=scheduler, power=power)
        self.sites = sites
        self._speed_factor, self._clock = speed_factor, clock
        self._shutdown = shutdown
        self._last_pass: int | None = None
        """The pass after which that rule was applied last; None: it never was."""
        self.observer: Observer | None = None
        """Called after each scheduling pass, if not None."""
        self.nb_passes = 0
        """Number of scheduling passes."""
        self._nb_jobs = 0
        """Number of jobs that were shown to the policy."""
        self._nb_changes = 0
        """Number of jobs that it had seen, and of jobs that had ended, at the last instant."""
        self._calls: list[float] = []
        """Times of the calls to come, the next one last: the driver makes each by
        :meth:`call_came`."""
        self.may_dilate = False
        """Whether the policy may let jobs run longer in some places."""
        self._progress = ProgressWatch(budgets, scheduler)
        self._most_decisions = budgets.decisions
        self._policy_started = find_method(scheduler, "job_started")
        self._policy_withdrawn = find_method(scheduler, "job_withdrawn")

    # What a driver provides ----------------------------------------------------------------------

    @abstractmethod
    def _reject(self, job: Job, *, withdrawn: bool = False) -> None:
        """Report a rejection: drop a waiting job, which its user may have ``withdrawn``."""

    @abstractmethod
    def _kill(self, job: Job) -> None:
        """End a job that runs."""

    @abstractmethod
    def _expects_static_jobs(self) -> bool:
        """Return whether jobs of the workload are still to be submitted."""

    # What happens --------------------------------------------------------------------------------

    def begin(self, nb_compute_resources: int) -> None:
        """Begin with a machine of ``nb_compute_resources`` processors.

        Raises :class:`ProtocolError` if the sites or the machine file have another number.
        """
        described = self.description
        for what, size in (
            (f"{len(self.sites)} sites have", nb_processors(self.sites)),
            ("machine file says", described.nb_processors if described else 0),
        ):
            if size and size != nb_compute_resources:
                raise ProtocolError(
                    f"the simulator has {nb_compute_resources} compute resources, but the {what} "
                    f"{size} processors"
                )
        self.machine = Machine(nb_compute_resources, self.sites, described, self._clock, self.power)
        self.may_dilate = may_dilate(self.scheduler, self.sites)
        self.show_site()

    def job_ended(self, job: Job, state: str) -> None:
        """Free the processors of a job that ran; ``state`` is Batsim's word for its end."""
        self.machine.end(job)
        self.nb_running -= 1
        self._must_schedule = True
        if self._policy_ended is not None:
            self._policy_ended(self.now, job)
        if self._of_users or self._dependents:
            self._tell_users(job, state)

    def call_came(self) -> None:
        """Run a scheduling pass at the next :meth:`decide`, since the earliest call is due."""
        due = self._calls.pop()  # calls come in the order of their times
        if due > self.now:  # too early, by the last digit of a clock
            self._call_at(due)
        self._must_schedule = True

    def job_submitted(self, job: Job) -> None:
        """Add a new job to the waiting queue, or reject it if it can never run.

        A later run of a job waits first until the run before has ended.
        """
        if RUN_AFTER in job.extra and self._waits_for_run(job, self._open_jobs()):
            return
        job.number = self._nb_jobs
        self._nb_jobs += 1
        self._must_schedule = True
        may_run = 0 < job.size <= self.machine.nb_processors
        if self.description is not None:
            job.partition = self.description.find_place(job.extra.get(PARTITION))
            may_run &= self.description.admits(job)
            nodes = self.machine.partitions[job.partition].nodes
            if nodes is not None and may_run:
                job.demand = nodes.make_demand(job.size, job.extra, f"job {job.id}")
                may_run = nodes.can_hold(job.demand)
        if may_run:
            self.queue.append(job)
        else:
            self._refuse(job)

    def _drop_withdrawn(self, job: Job, *, was_shown: bool) -> None:
        if was_shown:
            self.queue.remove(job)
            self._must_schedule = True
        self._reject(job, withdrawn=True)
        if was_shown and self._policy_withdrawn is not None:
            self._policy_withdrawn(self.now, job)

    def _kill_for_user(self, job: Job) -> None:
        if self.is_bound(job):
            self._unbind(job)
            self._reject(job, withdrawn=True)
            self.nb_withdrawn += 1
            self._tell_users(job, WITHDRAWN)
        else:
            self._kill(job)

    def waiting_jobs(self) -> Iterable[Job]:
        """Return the jobs that wait, maybe for processors to wake, and are not held for others."""
        return chain(self.queue, (job for job, *_ in self._bound.values()))

    def _open_jobs(self) -> Iterable[Job]:
        return chain(self.queue, self.machine.releases())

    def expected_start(self, job: Job) -> float | None:
        """Return when a waiting job will start by the plan of the policy, None if unknown."""
        if self.is_bound(job):
            return job.start_time
        waited = job.state is WAITING and job.submit_time < self.now and job.id not in self._held
        if not waited or not isinstance(self.scheduler, ExplainingScheduler):
            return None
        reason = self.scheduler.held(job, self.now, self.queue, self.machine)
        if reason is None or reason.why not in ("head", "plan") or reason.until == inf:
            return None
        return reason.until

    def set_home(self, job: Job) -> None:
        """Store the home site of a job in it, if the machine has sites.

        Raises :class:`UsageError` for a home that does not exist.
        """
        if self.sites:
            job.home = find_home(self.sites, job.extra, job.user, job.id)
            job.extra = {**job.extra, HOME: self.sites[job.home].name}

    # The policy ----------------------------------------------------------------------------------

    def decide(self) -> None:
        """Run the policy, and the users if they learn of an end, until neither has more to do.

        Then processors are switched off and on.
        """
        while self._must_schedule:
            self._must_schedule = False
            self.nb_passes += 1
            decisions: Iterable[Any] = ()
            decision = None
            nb_repeatable = 0  # there are at most as many starts and rejections as jobs
            try:
                decisions = self.scheduler.schedule(self.now, self.queue, self.machine)
                if type(decisions) is not GeneratorType:
                    decisions = iterate_returned(decisions, self.scheduler, "schedule")
                for decision in decisions:
                    if isinstance(decision, Start):
                        self._start(decision)
                        continue
                    nb_repeatable += not isinstance(decision, Reject)
                    if nb_repeatable > self._most_decisions:
                        raise self._progress.make_decisions_error(self.now)
                    self._carry_out(decision)
            except Exception as error:
                mistake = find_mistake(error, self.now, decisions, decision)
                if mistake is None:
                    raise
                raise mistake from error
            if self.observer is not None or self._bound or not self._users_know:
                self._end_pass()
        if self.machine.sleepers is not None:
            self._switch_processors(self.machine.sleepers)

    def _end_pass(self) -> None:
        """Put jobs back that have lost processors, show the pass, and ask users who know more."""
        if self._bound:
            self._put_back()  # outages of a machine file begin in a pass
        if self.observer is not None:
            self.observer(self.now, self.queue, self.machine)
        if not self._users_know and self.users is not None:
            self.ask_users(self.users)

    def _switch_processors(self, sleepers: Sleepers) -> None:
        """Apply the rule that switches processors off after new passes; request all switches."""
        last, self._last_pass = self._last_pass, self.nb_passes
        if self._shutdown is not None and last != self.nb_passes and self._expects_work():
            args = self.now, self.queue, self.machine, self.scheduler
            for decision in self._shutdown.decide(*args, begins=last is None):
                if isinstance(decision, CallMeLater):
                    self._add_call(decision.time)
                else:
                    self._carry_out(decision)
        for (on, seconds), processors in sleepers.take_requests().items():
            self._switch(processors, seconds, on=on)

    def _expects_work(self) -> bool:
        """Return whether jobs wait, run, or may be submitted."""
        come = self._of_users or self._users_due < inf or self._expects_static_jobs()
        return bool(come or len(self.queue) or self.nb_running)

    def _start(self, decision: Start) -> None:
        job, size = decision.job, decision.job.size
        self.nb_running += 1
        if decision.dilation != 1 or decision.transfer:
            self._start_dilated(decision)
            execute = self._execute_dilated
        else:
            self.machine.start(job, self.now, decision.processors)
            self.queue.remove(job)
            execute = self._execute
        if self.machine.sleepers is None or not self._bind(job, size, execute):
            execute(job)
            if self._job_started is not None:
                self._tell_start(job)
        if self._policy_started is not None:
            self._policy_started(self.now, job)

    def _start_dilated(self, decision: Start) -> None:
        """Take the processors of a job that runs longer where it is placed."""
        job = decision.job
        if not self.may_dilate:
            raise InvariantError(
                f"{type(self.scheduler).__name__} started job {job.id} with a dilation: its method "
                "dilates() must announce this"
            )
        if job.state is WAITING:
            self.queue.remove(job)  # before its size may change
        self.machine.start(job, self.now, decision.processors, decision.dilation, decision.transfer)

    def _carry_out(self, decision: Decision) -> None:
        """Carry out a decision that starts no job."""
        if isinstance(decision, CallMeLater):
            self._progress.policy_called = True
            self._call_at(decision.time)
        elif isinstance(decision, Reject):
            job = decision.job
            if job.state is not WAITING:
                raise InvariantError(f"job {job.id} was rejected while {job.state.value}")
            self.queue.remove(job)
            self._refuse(job)
        elif isinstance(decision, Kill):
            job = decision.job
            if job.state is not RUNNING:
                raise InvariantError(f"job {job.id} was killed while {job.state.value}")
            if job.number in self._bound:
                self._unbind(job)
                self._refuse(job)
            else:
                self._kill(job)
        elif isinstance(decision, d.SwitchOff | d.SwitchOn):
            self._request_switch(decision)
        else:
            raise make_decision_error(self.scheduler, decision)

    def _call_at(self, time: float) -> None:
        """Call the policy at ``time`` (seconds); raises :class:`InvariantError` if it cannot be."""
        if type(time) is not float:
            time = to_python(time)
        if not isinstance(time, (float, int)) or not abs(time) <= LATEST_TIME:
            raise InvariantError(f"a call at {time!r} was requested: expected {UP_TO_LATEST_TIME}")
        if time <= self.now:
            raise InvariantError(f"a call at {time} was requested at {self.now}: it must be later")
        self._add_call(time)

    def _add_call(self, time: float) -> bool:
        """Add a call that is later than now; return whether it is new."""
        calls = self._calls
        if calls and time >= calls[-1]:
            at = bisect_left(calls, -time, key=neg)
            if calls[at] == time:
                return False
            calls.insert(at, time)
        else:
            calls.append(time)
        if len(calls) > self._most_decisions:
            raise self._progress.make_decisions_error(self.now)
        return True

    def conclude(self, event: str) -> None:
        """End an instant: keep a call outstanding for the users, and end endless work.

        ``event`` is the name of the last event of the instant, as Batsim calls it.
        """
        machine = self.machine
        nb_changes = self._nb_jobs + machine.nb_ended
        if nb_changes > self._nb_changes:
            self._nb_changes = nb_changes
        else:
            state = (
                *(self._nb_jobs, machine.nb_ended, machine.unavailable),
                *(len(self.queue), self.nb_running),
            )
            self._progress.count_message(self.now, event, state)
        due = self._users_due
        if due < inf and (not self._calls or due < self._calls[-1]):
            self._add_call(due)

    def _refuse(self, job: Job) -> None:
        job.state = ENDED
        self._reject(job)
        self._must_schedule = True
        self._tell_users(job, REJECTED)
