"""Time, events and messages of the embedded simulator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar

from batsched_py.errors import DeadlockError, PlatformError, ProtocolError
from batsched_py.options.setting_fields import parse_budgets
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.protocol import messages as m
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.applied_decisions import Decisions
from batsched_py.simulator.ended_jobs import FinishedJobs
from batsched_py.simulator.energy import Energy
from batsched_py.simulator.execution import Execution
from batsched_py.simulator.external_events import ExternalEvent, schedule_events
from batsched_py.simulator.jobs import SUBMITTED, JobRegistry, SimulatedJob
from batsched_py.simulator.machines import Machines
from batsched_py.simulator.options import Options
from batsched_py.simulator.outcome import Outcome, make_deadlock_error, make_late_error
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.simulator.power.power_states import PowerManagement
from batsched_py.simulator.simulation_begins import make_simulation_begins
from batsched_py.simulator.tasks.stepwise_jobs import StepwiseJobs
from batsched_py.transport import Partner
from batsched_py.units import LATEST_TIME
from batsched_py.workload.workload import Workload

__all__ = ["Options", "Outcome", "Simulator"]


class Simulator:
    """Simulates Batsim 4.2 on one platform; ``events`` are external ones.

    All events at exactly the same time are in one message. Decisions take effect at their
    timestamp, so a scheduler may model the time that it needs. Energy, pstates and shared machines
    are simulated if the options ask for them. Batsim 5 is a subclass,
    :class:`.batsim5.simulator.Batsim5Simulator`. Raises :class:`WorkloadError` for jobs and
    :class:`PlatformError` for machines that cannot be simulated.
    """

    is_batsim5: ClassVar[bool] = False
    decisions_class: ClassVar[type[Decisions]] = Decisions
    power_class: ClassVar[type[PowerManagement]] = PowerManagement
    shared_machines_class: ClassVar[type[TracedMachines]] = TracedMachines
    """Of machines that may run several jobs."""

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload] = (),
        options: Options | None = None,
        events: Sequence[ExternalEvent] | None = None,
    ) -> None:
        options = options or Options()
        assert options.is_batsim5 == self.is_batsim5
        self.platform, self.options = platform, options
        self.events, self.workloads = events, workloads
        self.agenda = agenda = Agenda()
        self.outcome: Outcome | None = None
        """The outcome of the simulation, once it has ended."""
        self._workloads = {f"w{i}": workload for i, workload in enumerate(workloads)}
        self._registry = JobRegistry(options)
        # Exact times are for this process, which gives no machine to two jobs, nor switches it.
        sharing = options.compute_sharing or (self.is_batsim5 and not options.exact_times)
        varying = options.energy or sharing
        if varying:
            _check_one_core(platform)
        pstates: Energy | None = None
        """The pstates of the hosts, also where their energy is not accounted for."""
        if options.energy or options.switching or (self.is_batsim5 and sharing):
            pstates = Energy([*platform.hosts, *platform.storages], metered=options.energy)
        self._energy = energy = pstates if options.energy else None
        self._asleep = NO_PROCESSORS if pstates is None else pstates.find_asleep()
        """The machines that sleep in the beginning."""
        self._states: TracedMachines | None = None
        """The machines, if their states are followed."""
        self._shows_states = varying or options.trace_machines or events is not None
        if self._shows_states or options.switching:
            self._states = (self.shared_machines_class if sharing else TracedMachines)(
                len(platform.hosts),
                sharing=sharing,
                asleep=self._asleep,
                traced=options.trace_machines,
            )
        self._stepwise = StepwiseJobs(
            agenda,
            platform,
            self._registry.profile,
            energy,
            most_steps=parse_budgets(options.budgets).messages,
            by_repetition=self.is_batsim5,
        )
        self._execution = Execution(
            agenda,
            platform,
            self._states or Machines(len(platform.hosts)),
            self._stepwise,
            # Static jobs stay in memory with their workload; of dynamic ones there may be any
            # number.
            FinishedJobs() if options.dynamic_jobs else [],
            energy=energy,
            sharing=sharing,
            any_size=self.is_batsim5,
            end_delay=options.end_delay,
        )
        self._later = self._load_workloads()
        """The static jobs to submit, the next one last."""
        self._decisions = self.decisions_class(
            agenda, self._registry, self._execution, self._stepwise, options
        )
        if pstates is not None and self._states is not None:
            self._decisions.power = self.power_class(
                agenda, platform, self._states, pstates, self._stepwise.tasks
            )
        if events is not None and self._states is not None:
            schedule_events(events, agenda, self._states)
        self._pending: list[m.Event] = []
        self._in_parts = options.each_event or options.shake is not None
        """Whether the events of an instant may come in several messages."""
        self._nb_messages = 0
        self._random = (
            None if options.shake is None else random.Random(f"events of {options.shake}")
        )
        self._cut = 0.0 if self._random is None else self._random.random()

    def _load_workloads(self) -> list[SimulatedJob]:
        """Return the jobs of all workloads, the first one last, and set its submission."""
        workloads = self._workloads
        jobs = [job for name, load in workloads.items() for job in self._registry.load(name, load)]
        jobs.sort(key=lambda job: job.description.submit_time)  # stable: w0 before w1
        if workloads:  # of workloads without jobs, only the end is announced
            first = jobs[0].description.submit_time if jobs else 0.0
            self.agenda.at(max(0.0, first), self._submit)
        return jobs[::-1]

    def _submit(self) -> list[m.Event]:
        """Submit the static jobs of now; after the last one, announce that.

        As in Batsim, of timers for the same instant the one set first goes off first: so the timer
        of the next submission is set here.
        """
        later, now = self._later, self.agenda.now
        events: list[m.Event] = []
        if later and self._energy is not None:
            self._energy.note_submission(now)
        while later:
            submit_time = later[-1].description.submit_time
            if submit_time > now:
                self.agenda.at(submit_time, self._submit)
                return events
            job = later.pop()
            job.state = SUBMITTED
            events.append(self._registry.make_submission(job, now))
        events.append(m.Notify(timestamp=now, type="no_more_static_job_to_submit"))
        return events

    def _begin(self) -> m.SimulationBegins:
        return make_simulation_begins(self.platform, self.options, self._workloads, self._asleep)

    def run(self, scheduler: Partner) -> Outcome:
        """Simulate to the end, and return the outcome.

        Raises :class:`ProtocolError` where Batsim would abort on a decision,
        :class:`DeadlockError`: nothing can happen any more, but jobs wait or registration was
        never finished, and :class:`BudgetError`: jobs go on for ever.
        """
        agenda, decisions, stepwise = self.agenda, self._decisions, self._stepwise
        each_event = self.options.each_event
        self._exchange(scheduler, [self._begin()])
        for reports in agenda.instants():
            if agenda.now > LATEST_TIME:
                ended = [event.job_id for event in reports if isinstance(event, m.JobCompleted)]
                raise make_late_error(agenda.now, ended)
            self._pending = self._pending + reports if self._pending else reports
            if stepwise.in_use:
                stepwise.report_loads()
            if each_event:
                self._pending.sort(key=lambda e: (e.timestamp, type(e) is not m.JobSubmitted))
            while self._pending and not decisions.busy:
                events, self._pending = self._pending, []
                self._exchange(scheduler, self._first_part(events) if self._in_parts else events)
        self.outcome = Outcome(
            self._execution.finished,
            self._nb_messages,
            len(self.platform.hosts),
            agenda.now,
            len(self.platform.storages),
            self._states if self._shows_states else None,
            decisions.power if self._shows_states else None,
        )
        if not decisions.stopped:
            self._check_all_done()
        self._say_goodbye(scheduler)
        self.outcome.nb_messages = self._nb_messages
        return self.outcome

    # Messages ------------------------------------------------------------------------------------

    def _exchange(self, scheduler: Partner, events: list[m.Event]) -> None:
        self._nb_messages += 1
        self._stepwise.nb_steps = 0
        reply = scheduler(m.Message(self.agenda.now, events))
        self._registry.forget_ended(events)
        self._decisions.carry_out(reply)

    def _say_goodbye(self, scheduler: Partner) -> None:
        self._nb_messages += 1
        now = self.agenda.now
        reply = scheduler(m.Message(now, [m.SimulationEnds(timestamp=now)]))
        late = [event.tag for event in reply.events if type(event) is not m.Notify]
        if late:
            raise ProtocolError(
                f"{', '.join(late)} in the reply to SIMULATION_ENDS: decisions come too late there"
            )

    def _first_part(self, events: list[m.Event]) -> list[m.Event]:
        """Return the next message's events; events of later messages become pending."""
        if self.options.each_event:
            self._pending = events[1:]
            return events[:1]
        if self._random is None or len(events) < 2 or not _LOOSE.issuperset(map(type, events)):
            return events
        if events[0].timestamp != events[-1].timestamp:
            return events  # what happened while the scheduler was busy stays in order
        last: list[m.Event] = [event for event in events if type(event) is m.Notify]
        loose = [event for event in events if type(event) is not m.Notify]
        loose.sort(key=_find_name)  # their order depends on whether energy is accounted for
        self._random.shuffle(loose)
        events = loose + last
        cut = 1
        while cut < len(events) and self._random.random() >= self._cut:
            cut += 1
        self._pending = events[cut:]
        return events[:cut]

    # The end -------------------------------------------------------------------------------------

    def _check_all_done(self) -> None:
        now = self.agenda.now
        unfinished = self._registry.list_unfinished()
        if unfinished:
            listening = self._stepwise.count_waiting()
            raise make_deadlock_error(
                now,
                unfinished,
                len(self.platform.hosts),
                self._execution.nb_free,
                any_started=self._execution.any_started,
                reason=f" ({listening} for a message, running)" if listening else "",
            )
        if not self._registry.registration.finished:
            raise DeadlockError(
                f"deadlock at {now}: the scheduler never sent registration_finished"
            )


def _check_one_core(platform: Platform) -> None:
    """Raise :class:`PlatformError` for a host whose cores jobs would share."""
    if several := platform.find_multicore_hosts():
        raise PlatformError(
            f"host {several[0].name!r} has {several[0].cores} cores, which cannot be simulated "
            "where jobs share hosts (as always under Batsim 5) or energy is accounted for: "
            "give one host per core"
        )


def _find_name(event: m.Event) -> tuple[str, str]:
    """Return the kind of an event, and the job or the call that it is about."""
    if isinstance(event, m.RequestedCall):
        return event.tag, event.call_id or ""
    assert isinstance(event, m.JobSubmitted | m.JobCompleted)
    return event.tag, event.job_id


_LOOSE = {m.JobSubmitted, m.JobCompleted, m.RequestedCall, m.Notify}
"""Events whose order in an instant has no meaning."""
