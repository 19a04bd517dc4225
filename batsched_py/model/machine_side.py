"""The machine of a simulation: jobs end there, and begin when their processors are awake."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

from batsched_py.errors import InvariantError, ProtocolError, parameter
from batsched_py.model.decisions import SwitchOff, SwitchOn
from batsched_py.model.job import ENDED, RUNNING, WAITING, Job, JobState
from batsched_py.model.machine import Machine, to_processor_set
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.user_model import find_method
from batsched_py.model.users_side import UsersSide
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_text
from batsched_py.units import LATE

if TYPE_CHECKING:
    from batsched_py.workload.processor_power import PowerGroups


class MachineSide(UsersSide):
    """The machine and the waiting queue of a simulation, and the jobs that are bound.

    A job is bound from the decision to start it until its processors are awake; then it begins.
    """

    __slots__ = (
        "_bound",
        "_must_schedule",
        "_policy_ended",
        "machine",
        "nb_running",
        "power",
        "queue",
        "scheduler",
    )

    def __init__(self, *of_users: Any, scheduler: Scheduler, power: PowerGroups) -> None:
        super().__init__(*of_users)
        self.scheduler, self.power = scheduler, power
        self.machine = Machine(0)
        self.queue = WaitingQueue()
        self.nb_running = 0
        """Number of jobs that run or are bound."""
        self._must_schedule = False
        self._bound: dict[int, tuple[Job, float, int, Callable[[Job], None]]] = {}
        """Bound jobs by number: with the time of the decision (seconds), the size before it, and
        what executes them."""
        self._policy_ended = find_method(scheduler, "job_ended")

    # What a driver provides ----------------------------------------------------------------------

    @abstractmethod
    def _execute(self, job: Job) -> None:
        """Let a job run on ``job.processors``."""

    @abstractmethod
    def _execute_dilated(self, job: Job) -> None:
        """Let a job run on ``job.processors``, longer than recorded."""

    @abstractmethod
    def _switch(self, processors: ProcessorSet, seconds: float, *, on: bool) -> None:
        """Switch processors on or off, which lasts some seconds; report it to :meth:`switched`."""

    # What happens --------------------------------------------------------------------------------

    def set_available(self, processors: ProcessorSet, available: bool) -> None:
        """Make processors unavailable, or available again.

        A job whose processors are woken waits again, at its place, if it loses one of them.
        """
        self.machine.set_available(processors, available)
        self._must_schedule = True
        self._put_back()

    def _put_back(self) -> None:
        """Let bound jobs that have lost processors wait again; wake nothing that is unavailable."""
        gone = self.machine.unavailable
        if gone and self.machine.sleepers is not None:
            self.machine.sleepers.wake_no_more(gone)
        for job, _, size, _ in [*self._bound.values()]:
            if job.processors & gone:
                self._unbind(job, WAITING)
                job.size = size
                job.dilation, job.transfer = 1.0, 0.0
                self.queue.insert(job)

    def switched(self, processors: ProcessorSet, *, on: bool) -> None:
        """Note that processors have been switched; raises :class:`ProtocolError` if unexpected."""
        sleepers, which = self.machine.sleepers, f"{to_text(processors)!r} {'on' if on else 'off'}"
        expected = None if sleepers is None else sleepers.end_switch(processors, on=on)
        if expected is None:
            raise ProtocolError(f"the simulator switched {which}, which was not requested")
        if abs(self.now - expected) > LATE:
            raise ProtocolError(
                f"the simulator switched {which} at {self.now}, expected at {expected}: correct "
                f"the seconds of {parameter('power')}"
            )
        self._must_schedule = True

    def begin_bound(self) -> None:
        """Execute the jobs whose processors are all awake now, after the events of an instant."""
        assert self.machine.sleepers is not None
        away = self.machine.sleepers.away
        for job, decided, _, execute in [*self._bound.values()]:
            if not job.processors & away:
                del self._bound[job.number]
                if job.start_time != self.now:
                    self.machine.begin_late(job, self.now)
                job.waking = self.now - decided
                execute(job)
                if self._job_started is not None:
                    self._tell_start(job)

    def is_bound(self, job: Job) -> bool:
        """Return whether a job waits for its processors to wake."""
        return job.state is RUNNING and job.number in self._bound

    def _unbind(self, job: Job, state: JobState = ENDED) -> None:
        """Free the processors of a job that has not begun; they are woken all the same."""
        del self._bound[job.number]
        self.machine.end(job)
        self.nb_running -= 1
        self._must_schedule = True
        job.start_time, job.state = inf, state  # the policy sees that it did not run
        if self._policy_ended is not None:
            self._policy_ended(self.now, job)
        job.processors = NO_PROCESSORS

    # What is decided -----------------------------------------------------------------------------

    def _bind(self, job: Job, size: int, execute: Callable[[Job], None]) -> bool:
        """Wake the processors of a job that is started; return whether it must wait for them.

        ``size`` is that of the job before the decision; ``execute`` is called when they are awake.
        """
        sleepers = self.machine.sleepers
        if sleepers is None or not job.processors & sleepers.away:
            return False
        self._bound[job.number] = job, self.now, size, execute
        sleepers.wake(job.processors)
        return True

    def _request_switch(self, decision: SwitchOff | SwitchOn) -> None:
        on, sleepers = isinstance(decision, SwitchOn), self.machine.sleepers
        doing = f"switching {'on' if on else 'off'}"
        if sleepers is None:
            raise InvariantError(
                f"{doing}: no processor can sleep: give the seconds of switches by "
                f"{parameter('power')}, the machine file or the platform"
            )
        if on:
            able, switch = sleepers.away - self.machine.unavailable, sleepers.wake
            expected = "sleeping ones that are not out of order"
        else:
            able, expected = self.machine.idle & sleepers.can_sleep, "idle ones that can sleep"
            switch = sleepers.switch_off
        wanted = to_processor_set(decision.processors, doing)
        if others := wanted - able:
            raise InvariantError(f"{doing} {to_text(others)!r}: expected {expected}")
        switch(wanted)
