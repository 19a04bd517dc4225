"""Carries out the decisions of a scheduler where Batsim 5 differs from Batsim 4.2.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, parameter
from batsched_py.processors.sets import to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.batprotocol_decisions import write_decision
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.applied_decisions import Decisions
from batsched_py.simulator.batsim5.machines import PowerManagementOfBatsim5
from batsched_py.simulator.batsim5.periodic import Grid
from batsched_py.simulator.execution import Execution
from batsched_py.simulator.jobs import JobRegistry, SimulatedJob
from batsched_py.simulator.options import Options
from batsched_py.simulator.tasks.stepwise_jobs import StepwiseJobs
from batsched_py.workload.batsim.batsim5_profiles import to_event


class _Stopped(Exception):  # noqa: N818 - nothing is wrong
    """The scheduler ends the simulation: its further decisions are dropped."""


class Batsim5Decisions(Decisions):
    """Carries out the decisions of a scheduler as Batsim 5 does.

    Raises :class:`ProtocolError` where Batsim would abort.
    """

    def __init__(
        self,
        agenda: Agenda,
        registry: JobRegistry,
        execution: Execution,
        stepwise: StepwiseJobs,
        options: Options,
    ) -> None:
        super().__init__(agenda, registry, execution, stepwise, options)
        self._grid = Grid(agenda)
        self._forwards_on_kill = options.forward_profiles_on_kill
        self._is_exact = options.exact_times
        register = self._register_acknowledged if options.acknowledge_dynamic_jobs else self._add
        for only_of_4 in (m.SetJobMetadata, m.ToJobMsg, m.ChangeJobState, m.Query, m.Answer):
            del self._handlers[only_of_4]
        self._handlers |= {
            m.RegisterProfile: self._register_profile,
            m.RegisterJob: register,
            m.CallPeriodically: self._call_periodically,
            m.StopCall: lambda decision: self._grid.stop("call", decision.call_id),
            m.CreateProbe: self._create_probe,
            m.StopProbe: lambda decision: self._grid.stop("probe", decision.probe_id),
            m.ForceSimulationStop: self._stop,
            m.Hello: self._hello,
        }
        self._handlers = {
            kind: partial(self._carry_out_one, handle) for kind, handle in self._handlers.items()
        }
        self._stopped_jobs: list[SimulatedJob] = []
        """Killed by the decision before."""
        self._over: dict[str, list[m.Event]] = {}
        """The events about killed jobs that are over, by job id."""

    def carry_out(self, reply: m.Message, first: int = 0) -> None:
        """Carry out the decisions from number ``first`` on, pausing at those in the future."""
        try:
            super().carry_out(reply, first)
        except _Stopped:
            self.stopped = self.busy = True  # there is no further message but the end
            self._agenda.clear()

    def _carry_out_one(self, handle: Callable[[Any], object], decision: m.Event) -> None:
        """Carry out a decision; the jobs that the one before has killed are over after it."""
        stopped, self._stopped_jobs = self._stopped_jobs, []
        handle(decision)
        for job in stopped:
            self._over[job.description.id] = self._execution.record_end(job)

    def _name_in_error(self, error: ProtocolError, decision: m.Event) -> str:
        if type(decision) not in self._handlers:
            return str(error)
        name, _ = write_decision(decision)
        text = str(error).removeprefix(decision.tag)
        return f"{name}{text}" if text.startswith((":", " ")) else f"{name}: {text}"

    def _execute(self, decision: m.ExecuteJob) -> None:
        power = self.power
        if isinstance(power, PowerManagementOfBatsim5) and (lost := power.astray & decision.alloc):
            raise ProtocolError(
                f"{decision.job_id} was given {to_text(lost)!r}, which was changed to a pstate in "
                "which nothing is computed"
            )
        super()._execute(decision)

    def _add(self, decision: m.RegisterJob) -> SimulatedJob:
        """Add a job, which is submitted now, even if its description has another time."""
        job, now = decision.job, self._agenda.now
        job.submit_time = now
        if job.walltime is not None and job.walltime < 0:
            job.walltime = None
        added = self._registry.add_job(decision)
        if not self._metered and not self._is_exact:
            added.consumed_energy = 0.0  # as Batsim 5 writes of those that were registered
        return added

    def _register_acknowledged(self, decision: m.RegisterJob) -> None:
        event = self._registry.make_submission(self._add(decision), self._agenda.now)
        if event.job.walltime == 0:  # Batsim 5 documents this, and ends it at once
            event.job = msgspec.structs.replace(event.job, walltime=None)
        self._agenda.send(event)

    def _kill(self, decision: m.KillJob) -> None:
        decision.job_ids = list(dict.fromkeys(decision.job_ids))
        super()._kill(decision)

    def _all_asked_for(self, decision: m.KillJob) -> None:
        raise ProtocolError(
            f"KILL_JOB: {', '.join(decision.job_ids)}: that is asked for already, and has not "
            "been answered yet"
        )

    def _stop_job(self, job: SimulatedJob) -> dict[str, Any] | None:
        progress = super()._stop_job(job)
        if progress is not None:
            self._stopped_jobs.append(job)
        return progress

    def _put_down(self, job: SimulatedJob) -> list[m.Event]:
        return self._over.pop(job.description.id, None) or super()._put_down(job)

    def _killed(self, jobs: list[tuple[SimulatedJob, dict[str, Any] | None]]) -> Iterator[m.Event]:
        self._stopped_jobs = []
        for event in super()._killed(jobs):
            if self._forwards_on_kill and isinstance(event, m.JobKilled):
                event.further = {"profiles": self._profiles(jobs)}
            yield event

    def _profiles(
        self, jobs: list[tuple[SimulatedJob, dict[str, Any] | None]]
    ) -> list[dict[str, Any]]:
        """Return the profiles of the jobs that were really killed, each once."""
        profiles = {}
        for job, done in jobs:
            content = self._registry.find_content(job.description)
            if done is not None and content is not None:
                workload = job.description.id.partition("!")[0]
                profile = to_event(content, job.description.profile, workload)
                profiles[profile["id"]] = profile
        return [profiles[profile_id] for profile_id in sorted(profiles)]

    def _register_profile(self, decision: m.RegisterProfile) -> None:
        """Add a profile; parts of another workload only where profiles are not dropped."""
        registration, workload = self._registry.registration, decision.workload_name
        for part in decision.profile.get("seq", ()) if registration.releases else ():
            if registration.resolve_profile(workload, part)[0] != workload:
                raise ProtocolError(
                    f"its part {part!r} is of another workload, and Batsim 5.0.0-rc2 crashes "
                    "when the profile is dropped; with profile_reuse it is not"
                )
        self._registry.add_profile(decision)

    def _call_later(self, decision: m.CallMeLater) -> None:
        """Call at a time, at once if that is past."""
        time = max(decision.time, self._agenda.now)
        self._agenda.at(time, partial(self._call_with, decision.call_id, last=False))

    def _call_periodically(self, decision: m.CallPeriodically) -> None:
        call_id = decision.call_id
        self._grid.begin(
            "call",
            call_id,
            decision.period,
            decision.nb_periods,
            lambda last: self._call_with(call_id, last=last),
        )

    def _call_with(self, call_id: str | None, *, last: bool) -> tuple[m.Event]:
        return (m.RequestedCall(timestamp=self._agenda.now, call_id=call_id, last=last),)

    @property
    def _metered(self) -> bool:
        return self.power is not None and self.power.energy.metered

    def _create_probe(self, decision: m.CreateProbe) -> None:
        """Report energy at the second multiple of the period, and at the later ones."""
        if not self._metered:
            raise ProtocolError(
                f"probe {decision.probe_id!r}: energy is not accounted for (start with "
                f"{parameter('energy')})"
            )
        if not decision.resources:
            raise ProtocolError(f"probe {decision.probe_id!r}: expected at least one host")
        earlier = count()

        def tick(last: bool) -> tuple[m.Event, ...]:
            return (self._probe(decision),) if next(earlier) else ()

        nb_ticks = None if decision.nb_periods is None else decision.nb_periods + 1
        self._grid.begin("probe", decision.probe_id, decision.period, nb_ticks, tick)

    def _probe(self, decision: m.CreateProbe) -> m.Event:
        assert self.power is not None
        now, hosts = self._agenda.now, decision.resources
        joules = self.power.energy.consumed_by_each(hosts, now)
        data: float | list[float] = joules
        if decision.aggregation:
            data = sum(joules) / (len(joules) if decision.aggregation == "ArithmeticMean" else 1)
        return m.ProbeData(timestamp=now, probe_id=decision.probe_id, resources=hosts, data=data)

    def _stop(self, decision: m.ForceSimulationStop) -> None:
        raise _Stopped

    def _hello(self, decision: m.Hello) -> None:
        raise ProtocolError("a second hello: the scheduler has sent one already")
