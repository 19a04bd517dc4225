"""Jobs that run step by step, because their duration is not known at the start.

The duration of a delay, and of a computation on unshared hosts, is known at its start
(:mod:`batsched_py.simulator.execution`). All other jobs run here, step by step. For the order of
the parts of a composed profile see :mod:`batsched_py.simulator.tasks.composed_profiles`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import floor, inf
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.options.budgets import make_budget_error
from batsched_py.protocol import messages as m
from batsched_py.simulator.agenda import Agenda, Timer
from batsched_py.simulator.energy import Energy
from batsched_py.simulator.jobs import SimulatedJob, find_final_state
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.profiles import DEEPEST, Profile
from batsched_py.simulator.tasks.composed_profiles import ProfilePosition
from batsched_py.simulator.tasks.parallel_tasks import ParallelTask, ParallelTasks
from batsched_py.workload.batsim.profile_fields import ReceiveFields, SendFields

WALLTIME_REACHED = -1
_MOST_LOOKS = 2.0**52
"""Number of looks for messages from which their times are as good as continuous."""

FindProfile = Callable[[str, str], Profile | None]
"""Returns a profile by workload and name, None if there is none."""


@dataclass(slots=True, eq=False)
class StepwiseJob:
    """A running job: its position in its profile, its step, and its remaining walltime."""

    job: SimulatedJob
    hosts: list[int]
    """The host of each executor."""
    position: ProfilePosition
    remaining: float | None
    """Remaining seconds of the walltime, None without one; updated at the end of each step."""
    timer: Timer | None = None
    """Goes off at the end of the step, or of the walltime."""
    begin: float = 0.0
    """The beginning of the step, seconds."""
    length: float = 0.0
    in_vain: int = 0
    """Number of looks for messages at this instant that found none."""
    task: ParallelTask | None = None

    @property
    def profile(self) -> Profile:
        """The profile of the step."""
        return self.position.profile

    def has_time_for(self, length: float) -> bool:
        """Return whether a step of ``length`` seconds ends before the walltime."""
        return self.remaining is None or length < self.remaining


class StepwiseJobs:
    """Runs jobs step by step, and puts jobs that have ended into ``ended``.

    ``energy`` receives the loads of hosts at the times at which SimGrid accounts for them: where a
    task ends, and where the one executor of a task begins. A job may do ``most_steps`` without a
    message. ``by_repetition``: how the progress of killed jobs counts parts.
    """

    def __init__(
        self,
        agenda: Agenda,
        platform: Platform,
        find: FindProfile,
        energy: Energy | None = None,
        *,
        most_steps: float = inf,
        by_repetition: bool = False,
    ) -> None:
        self._platform = platform
        self._by_repetition = by_repetition
        self.ended: list[SimulatedJob] = []
        """The jobs that ended at this instant; the caller removes them."""
        self.in_use = False
        """Whether any job has run step by step, so that a timer may be needed."""
        self.nb_steps = 0
        """Number of steps since a job ended or a message was sent; senders reset it."""
        self._agenda, self._find, self._energy = agenda, find, energy
        self._most_steps = most_steps
        self._running: dict[str, StepwiseJob] = {}
        self._by_task: dict[ParallelTask, StepwiseJob] = {}
        self._next_end = inf
        """The next time at which a parallel task ends or advances, seconds."""
        self._timer: Timer | None = None
        """The timer of that time."""

    @cached_property
    def tasks(self) -> ParallelTasks:
        """The parallel tasks of the jobs."""
        return ParallelTasks(self._platform)

    def begin(self, job: SimulatedJob, hosts: list[int]) -> None:
        """Let a job begin on the hosts of its executors."""
        self.in_use = True
        described = job.description
        position = ProfilePosition(described.id, described.profile, job.profile)
        running = StepwiseJob(job, hosts, position, described.walltime)
        self._running[described.id] = running
        self._step(running)

    def is_running(self, job: SimulatedJob) -> bool:
        """Return whether a job is running step by step."""
        return job.description.id in self._running

    def has_no_work(self, job: SimulatedJob) -> bool:
        """Return whether a job is running that computes nothing, so it ends at this instant."""
        profile = job.profile
        computes = profile.body is None and profile.delay is None
        return computes and profile.flops == 0 and self.is_running(job)

    def set_next_timer(self) -> None:
        """Set the timer of the next end of a parallel task.

        Call it at the end of an instant, after all its events.
        """
        now, time = self._agenda.now, self.tasks.find_next_time()
        if time != self._next_end:
            self._next_end = time
            if self._timer is not None:
                self._agenda.cancel(self._timer)
            if time < inf:
                self._timer = self._agenda.at(max(time, now), self._tasks_go_on)

    def count_step(self) -> None:
        """Count a step; raises :class:`BudgetError` if jobs run for ever without a message."""
        self.nb_steps += 1
        if self.nb_steps > self._most_steps:
            running = [running.job.description for running in self._running.values()]
            if self.nb_steps > self._most_steps * len(running):
                job = running[0]
                such = "" if len(running) == 1 else f" and {len(running) - 1} others"
                raise make_budget_error(
                    "messages",
                    self._most_steps,
                    self._agenda.now,
                    f"job {job.id} with the profile {job.profile!r}{such} did "
                    f"{self.nb_steps} steps without a message",
                )

    def report_loads(self) -> None:
        """Report the new loads of hosts to the account of energy.

        Call it where SimGrid computes the rates of its tasks: before time advances, and before a
        message, which is a zero-length step there.
        """
        if self._energy is not None:
            for host in self.tasks.take_changed_loads():
                self._energy.set_load(host, self.tasks.load(host))

    def kill(self, job: SimulatedJob) -> bool:
        """Stop a job; return whether it was in a parallel task."""
        running = self._running.pop(job.description.id)
        computes = running.task is not None
        self._set_timer(running, None)
        self._cancel_task(running)
        return computes

    def progress(self, job: SimulatedJob) -> dict[str, Any]:
        """Return the progress of a running job, as Batsim reports it of killed jobs."""
        running, now = self._running[job.description.id], self._agenda.now
        done: float | None = None
        if running.task is not None:
            done = 1.0 - self.tasks.remaining(running.task, now)
        elif running.profile.delay is not None:
            done = (now - running.begin) / running.length if running.length else 0.0
        return running.position.progress(done, by_repetition=self._by_repetition)

    def give_message(self, job: SimulatedJob, message: str) -> None:
        """Store a message for a job, which receives it with its next ``recv`` profile."""
        if job.messages is None:
            job.messages = deque()
        job.messages.append(message)
        running = self._running.get(job.description.id)
        if running is not None and isinstance(running.profile.body, ReceiveFields):
            self._look_again(running, running.profile.body)

    def count_waiting(self) -> int:
        """Return the number of running jobs that wait for messages."""
        return sum(isinstance(job.profile.body, ReceiveFields) for job in self._running.values())

    # Timers --------------------------------------------------------------------------------------

    def _set_timer(self, running: StepwiseJob, time: float | None) -> None:
        """Wake a job at ``time`` (seconds) instead of an earlier setting; None: not at all."""
        if running.timer is not None:
            self._agenda.cancel(running.timer)
        running.timer = None
        if time is not None:
            running.timer = self._agenda.at(time, self._woken, running)

    def _woken(self, running: StepwiseJob) -> None:
        """Advance a job whose timer has gone off: at the end of its step, or at its walltime."""
        if running.task is not None:
            timer = running.timer
            self._advance()
            if running.timer is timer:  # else it ended at this very instant
                self._cancel_task(running)
                self._finish(running, WALLTIME_REACHED)
            return
        if self._energy is not None:  # it slept in SimGrid, on the first of its hosts
            self._energy.account([next(iter(running.job.alloc))], self._agenda.now)
        if isinstance(running.profile.body, ReceiveFields):
            self._look(running)
        elif not running.has_time_for(running.length):
            self._finish(running, WALLTIME_REACHED)
        else:
            if running.remaining is not None:
                running.remaining -= running.length
            self._step_ended(running)

    def _tasks_go_on(self) -> None:
        self._next_end = inf
        self._advance()

    def _advance(self) -> None:
        """Advance the jobs whose parallel tasks have ended."""
        now = self._agenda.now
        for task in self.tasks.advance(now):
            running = self._task_ended(task)
            if running.remaining is not None:
                running.remaining = max(0.0, running.remaining - (now - running.begin))
            self._step_ended(running)

    # Steps ---------------------------------------------------------------------------------------

    def _step(self, running: StepwiseJob) -> None:
        """Begin a job's current profile, and further ones as long as they take no time."""
        while self._begin_step(running):
            pass

    def _begin_step(self, running: StepwiseJob) -> bool:
        """Begin a profile; return whether another one begins at once."""
        running.position.enter()
        now, profile = self._agenda.now, running.profile
        if now > running.begin:
            running.in_vain = 0
        running.begin, running.length = now, 0.0
        if profile.delay is not None:
            self._sleep(running, profile.delay)
        elif isinstance(profile.body, SendFields):
            job_id = running.job.description.id
            self._agenda.send(m.FromJobMsg(timestamp=now, job_id=job_id, msg=profile.body.msg))
            self._sleep(running, profile.body.sleeptime)
        elif isinstance(profile.body, ReceiveFields):
            return self._receive(running, profile.body)
        else:
            self._compute(running)
        return False

    def _sleep(self, running: StepwiseJob, length: float) -> None:
        running.length = length
        if running.remaining is not None and not running.has_time_for(length):
            length = running.remaining
        self._set_timer(running, running.begin + length)

    def _compute(self, running: StepwiseJob) -> None:
        nb_executors = len(running.hosts)
        flops, com = running.profile.compute_demand(nb_executors)
        if not isinstance(flops, list):
            flops = [flops] * nb_executors
        if len(flops) != nb_executors:
            raise ProtocolError(
                f"job {running.job.description.id}: its profile {running.position.name!r} is for "
                f"{len(flops)} executors, it has {nb_executors}"
            )
        if self._energy is not None and nb_executors == 1:
            self._energy.account(running.hosts, running.begin)
        running.task = self.tasks.start(running.begin, running.hosts, flops, com)
        self._by_task[running.task] = running
        self._set_timer_at_walltime(running)

    def _set_timer_at_walltime(self, running: StepwiseJob) -> None:
        left = running.remaining
        self._set_timer(running, None if left is None else running.begin + left)

    def _step_ended(self, running: StepwiseJob) -> None:
        if self._goes_on(running):
            self._step(running)

    def _goes_on(self, running: StepwiseJob) -> bool:
        """Move to the next profile after a step; return whether there is one."""
        return_code = running.position.advance(running.profile.return_code)
        if return_code is not None:
            self._finish(running, return_code)
        return return_code is None

    def _finish(self, running: StepwiseJob, return_code: int) -> None:
        self._set_timer(running, None)
        job = running.job
        del self._running[job.description.id]
        job.return_code, job.final_state = return_code, find_final_state(return_code)
        job.finish_time = self._agenda.now
        self.ended.append(job)
        self.nb_steps = 0

    def _cancel_task(self, running: StepwiseJob) -> None:
        if running.task is not None:
            self.tasks.cancel(running.task, self._agenda.now)
            self._task_ended(running.task)

    def _task_ended(self, task: ParallelTask) -> StepwiseJob:
        """Remove a task that ended or was cancelled; return its job."""
        running = self._by_task.pop(task)
        running.task = None
        if self._energy is not None:
            self._energy.account(running.hosts, self._agenda.now)
        return running

    # Messages ------------------------------------------------------------------------------------

    def _look(self, running: StepwiseJob) -> None:
        """Look for a message, unless the walltime is reached."""
        body = running.profile.body
        assert isinstance(body, ReceiveFields)
        left = running.remaining
        if left is not None and self._agenda.now >= running.begin + left:
            self._finish(running, WALLTIME_REACHED)
        elif self._receive(running, body):
            self._step(running)

    def _receive(self, running: StepwiseJob, body: ReceiveFields) -> bool:
        """Take a message if there is one; otherwise continue without, or look again later.

        Returns whether another profile begins at once.
        """
        messages, now = running.job.messages, self._agenda.now
        if messages:
            fits = re.fullmatch(body.regex, messages.popleft())
            target = body.success if fits else body.failure
        elif body.timeout:
            target = body.timeout
            running.in_vain += 1
        else:  # with a timer at the walltime only: an early look changes nothing
            self._set_timer_at_walltime(running)
            return False
        if running.remaining is not None:
            running.remaining -= now - running.begin
        if not target:
            return self._goes_on(running)
        position, job_id = running.position, running.job.description.id
        profile = self._find(job_id.partition("!")[0], target)
        if profile is None:
            raise ProtocolError(
                f"job {job_id}: its profile {position.name!r} leads to {target!r}, which is not "
                f"there at {now:f} s: Batsim drops profiles that no job and no composed profile "
                "names, and without profile reuse those of jobs that have ended"
            )
        name = position.name
        if not position.lead_to(target, profile) or running.in_vain > DEEPEST:
            raise ProtocolError(
                f"job {job_id}: its profile {name!r} leads to itself, or to others, more than "
                f"{DEEPEST} deep or times at once"
            )
        return True

    def _look_again(self, running: StepwiseJob, body: ReceiveFields) -> None:
        """Wake a waiting job at the next time at which it looks for messages."""
        now = self._agenda.now
        looked, time = (now - running.begin) / body.polltime, now
        if looked < _MOST_LOOKS:
            time = running.begin + (floor(looked) + 1) * body.polltime
        if running.remaining is not None:
            time = min(time, running.begin + running.remaining)
        self._set_timer(running, max(time, now))
