"""What the jobs run on: machines, their power, and the programs, as far as a run needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Any, Protocol

from batsched_py.protocol import messages as m
from batsched_py.simulator.energy.consumption import Energy
from batsched_py.simulator.energy.power_states import PowerManagement
from batsched_py.simulator.execution import Execution, final_state
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.finished_jobs import EndedJobs
from batsched_py.simulator.jobs import Registry, SimulatedJob
from batsched_py.simulator.machines import Machines, TracedMachines
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.tasks.stepwise_jobs import Program, Programs
from batsched_py.support.processor_sets import to_text


class Agenda(Protocol):
    """What the site needs of the simulation: the time, and things to happen later (seconds)."""

    now: float

    def later(
        self,
        time: float,
        do: Callable[[], Iterable[m.Event] | None],
        due: Callable[[], bool] | None = None,
    ) -> None:
        """Do something at a time, and send the events that it returns, if it is due then."""
        ...

    def end_now(self, job: SimulatedJob) -> None:
        """Let a running job end at this instant."""
        ...


class Site:
    """Machines, execution, programs and power of one simulation.

    Only what the options ask for is followed: a simulation of computations on hosts of their own
    pays for nothing else. ``failing`` says that machines may become unavailable.
    """

    def __init__(
        self,
        platform: Platform,
        options: Options,
        registry: Registry,
        agenda: Agenda,
        *,
        failing: bool,
    ) -> None:
        self._platform, self._registry, self._agenda = platform, registry, agenda
        self._tasks_time = inf
        """When the next parallel task goes on, seconds."""
        self._tasks_timer = 0
        """Number of the timer for that; those with other numbers mean nothing."""
        self._programs: Programs | None = None
        self.has_programs = False
        """Whether a job was ever more than a duration, so that there is something to settle."""
        self.energy = Energy(platform.hosts) if options.energy else None
        self.states = (
            TracedMachines(
                len(platform.hosts),
                sharing=options.compute_sharing,
                asleep=0 if self.energy is None else self.energy.asleep(),
                traced=options.trace_machines,
            )
            if failing or options.trace_machines or options.energy or options.compute_sharing
            else None
        )
        # Static jobs stay in memory with their workload; of dynamic ones there may be any number.
        ended: list[SimulatedJob] | EndedJobs = EndedJobs() if options.dynamic_jobs else []
        self.execution = Execution(
            platform,
            Machines(len(platform.hosts)) if self.states is None else self.states,
            ended,
            self.programs,
            energy=self.energy,
            varying=options.energy or options.compute_sharing,
        )
        self.power: PowerManagement | None = None
        if self.energy is not None and self.states is not None:
            self.power = PowerManagement(
                platform,
                self.states,
                self.energy,
                self.programs().tasks,
                later=agenda.later,
                send=self.send,
            )

    def programs(self) -> Programs:
        """Return what runs jobs that are more than a duration, made when first asked for."""
        if self._programs is None:
            self._programs = Programs(
                self._platform,
                wake=self._wake,
                say=self._say,
                ended=self._ended,
                find=self._registry.profile,
            )
            self.has_programs = True
        return self._programs

    def expect(self, events: Sequence[ExternalEvent]) -> None:
        """Let external events happen; with the last one comes the notice that it was."""
        for event in events:
            self._agenda.later(event.time, partial(self._occur, event))
        last = max((event.time for event in events), default=0.0)
        self._agenda.later(last, lambda: [self._notice("no_more_external_event_to_occur")])

    def _occur(self, event: ExternalEvent) -> Iterable[m.Event]:
        machines, states, now = event.machines, self.states, self._agenda.now
        if event.available is None:
            details = {name: value for name, value in event.content.items() if name != "type"}
            return [self._notice(event.content["type"], details)]
        if states is not None and event.available:
            states.give_back(machines, now)
        elif states is not None:
            states.withdraw(machines, now)
        kind = "event_machine_available" if event.available else "event_machine_unavailable"
        return [self._notice(kind, {"resources": to_text(machines)})] if machines else []

    def _notice(self, kind: str, details: dict[str, Any] | None = None) -> m.Notify:
        return m.Notify(timestamp=self._agenda.now, type=kind, details=details or {})

    def waiting_for_messages(self) -> Sequence[SimulatedJob]:
        """Return the running jobs that go on with a message only."""
        return [] if self._programs is None else list(self._programs.waiting())

    def send(self, event: m.Event) -> None:
        """Send an event of this instant."""
        self._agenda.later(self._agenda.now, lambda: [event])

    def settle(self) -> None:
        """Bring the time of the next end, and the loads of hosts, up to date.

        To be called at the end of all that happens at an instant, before the time moves on.
        """
        if self._programs is None:
            return
        tasks, now = self._programs.tasks, self._agenda.now
        if self.energy is not None:
            for host in tasks.changed_loads():
                self.energy.set_load(host, tasks.load(host), now)
        time = tasks.next_time()
        if time != self._tasks_time:
            self._tasks_time = time
            self._tasks_timer += 1
            if time < inf:
                due = partial(self._is_next, self._tasks_timer)
                self._agenda.later(max(time, now), self._advance, due)

    def _is_next(self, timer: int) -> bool:
        return timer == self._tasks_timer

    def _advance(self) -> None:
        self._tasks_time = inf
        self.programs().advance(self._agenda.now)

    def _wake(self, time: float, program: Program, serial: int) -> None:
        programs = self.programs()
        self._agenda.later(
            time,
            lambda: programs.woken(program, self._agenda.now),
            partial(programs.is_due, program, serial),
        )

    def _say(self, job: SimulatedJob, message: Any) -> None:
        job_id = job.description.id
        self.send(m.FromJobMsg(timestamp=self._agenda.now, job_id=job_id, msg=message))

    def _ended(self, job: SimulatedJob, return_code: int) -> None:
        job.return_code, job.final_state = return_code, final_state(return_code)
        self._agenda.end_now(job)
