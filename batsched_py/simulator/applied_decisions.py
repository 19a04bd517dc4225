"""Carries out the decisions of a scheduler, each at its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_rules import check_metadata
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.execution import Execution
from batsched_py.simulator.jobs import SUBMITTED, JobRegistry, SimulatedJob
from batsched_py.simulator.options import Options
from batsched_py.simulator.power.power_states import PowerManagement
from batsched_py.simulator.tasks.stepwise_jobs import StepwiseJobs


class Decisions:
    """Carries out the decisions of a scheduler in the embedded simulator.

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
        self.busy = False
        """Whether the scheduler is busy: a decision is still to come at a later time."""
        self.stopped = False
        """Whether the scheduler has ended the simulation."""
        self.power: PowerManagement | None = None
        """Switches machines; None if energy is not accounted for."""
        self._agenda, self._registry, self._execution = agenda, registry, execution
        self._stepwise = stepwise
        self._handlers: dict[type, Callable[[Any], object]] = {
            m.ExecuteJob: self._execute,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call_later,
            m.SetJobMetadata: self._set_metadata,
            m.RegisterProfile: registry.add_profile,
            m.RegisterJob: registry.add_job,
            m.Notify: registry.registration.handle_notify,
            m.ToJobMsg: self._tell_job,
            m.ChangeJobState: self._change_job_state,
            m.SetResourceState: self._set_resource_state,
            m.Query: self._query,
            m.Answer: lambda decision: None,  # as in Batsim
        }
        if options.acknowledge_dynamic_jobs:
            self._handlers[m.RegisterJob] = self._register_acknowledged

    def carry_out(self, reply: m.Message, first: int = 0) -> None:
        """Carry out the decisions from number ``first`` on, pausing at those in the future."""
        decisions, now = reply.events, self._agenda.now
        at = first
        try:
            for decision in decisions[first:] if first else decisions:
                if decision.timestamp > reply.now:
                    raise ProtocolError(
                        f"{decision.tag} at {decision.timestamp} is later than the reply's now, "
                        f"{reply.now}"
                    )
                if decision.timestamp > now:
                    self._pause(decision.timestamp, reply, at)
                    return
                handler = self._handlers.get(type(decision))
                if handler is None:
                    raise ProtocolError(f"{decision.tag} is not a decision of a scheduler")
                handler(decision)
                at += 1
        except ProtocolError as error:
            place = f"event {at + 1} of {len(decisions)} in the reply, carried out at {now:f} s"
            text = self._name_in_error(error, decision)
            raise ProtocolError(f"{text} ({place})") from None
        if reply.now > now:
            self._pause(reply.now, reply, len(decisions))
        else:
            self.busy = False
            if self._stepwise.in_use:
                self._settle()

    def _name_in_error(self, error: ProtocolError, decision: m.Event) -> str:
        """Return the text of an error, with the decision's name in the protocol."""
        return str(error)

    def _pause(self, until: float, reply: m.Message, at: int) -> None:
        self.busy = True
        if self._stepwise.in_use:
            self._settle()
        self._agenda.at(until, partial(self.carry_out, reply, at))

    def _settle(self) -> None:
        self._stepwise.set_next_timer()
        self._stepwise.report_loads()

    # Jobs ----------------------------------------------------------------------------------------

    def _execute(self, decision: m.ExecuteJob) -> None:
        job = self._registry.find_job(decision.job_id, "EXECUTE_JOB")
        self._execution.start(job, decision)
        if decision.waking:
            job.note_waking(decision.waking)

    def _reject(self, decision: m.RejectJob) -> None:
        job = self._registry.find_job(decision.job_id, "REJECT_JOB")
        self._execution.reject(job, withdrawn=decision.withdrawn)
        self._registry.forget_rejected(decision.job_id)

    def _kill(self, decision: m.KillJob) -> None:
        if not decision.job_ids:
            raise ProtocolError("KILL_JOB: the list of jobs is empty")
        jobs = [self._registry.find_job(job_id, "KILL_JOB") for job_id in decision.job_ids]
        for job in jobs:
            if job.state is SUBMITTED:
                raise ProtocolError(
                    f"KILL_JOB: job {job.description.id} does not run: it waits to be started"
                )
        jobs = [job for job in jobs if not job.kill_requested]
        if not jobs:
            self._all_asked_for(decision)
            return
        for job in jobs:
            job.kill_requested = True
        killed = [(job, self._stop_job(job)) for job in jobs]
        self._agenda.at(self._agenda.now, self._killed, killed)

    def _all_asked_for(self, decision: m.KillJob) -> None:
        """Ignore, as Batsim 4.2, a kill of jobs that are being killed already."""

    def _stop_job(self, job: SimulatedJob) -> dict[str, Any] | None:
        """Stop a job that is to be killed; return its progress, None if it ends by itself.

        Its machines are free at once: this reply may turn them off or start a job there.
        """
        progress = self._execution.kill(job)
        if progress is not None:
            self._execution.free_machines(job)
        return progress

    def _put_down(self, job: SimulatedJob) -> list[m.Event]:
        """Record the end of a job that was stopped; return the events about it."""
        return self._execution.record_end(job)

    def _killed(self, jobs: list[tuple[SimulatedJob, dict[str, Any] | None]]) -> Iterator[m.Event]:
        """Yield the events about killed jobs, with the progress of jobs that had not ended."""
        progress = {}
        for job, done in jobs:
            if done is not None:
                yield from self._put_down(job)
                progress[job.description.id] = done
        job_ids = [job.description.id for job, _ in jobs]
        yield m.JobKilled(timestamp=self._agenda.now, job_ids=job_ids, job_progress=progress)

    def _set_metadata(self, decision: m.SetJobMetadata) -> None:
        check_metadata(decision)
        self._registry.find_job(decision.job_id, "SET_JOB_METADATA").metadata = decision.metadata

    def _register_acknowledged(self, decision: m.RegisterJob) -> None:
        """Add a job and notify the scheduler that it was submitted."""
        job = self._registry.add_job(decision)
        self._agenda.send(self._registry.make_submission(job, self._agenda.now))

    def _tell_job(self, decision: m.ToJobMsg) -> None:
        job = self._registry.find_job(decision.job_id, "TO_JOB_MSG")
        self._stepwise.give_message(job, decision.msg)

    def _change_job_state(self, decision: m.ChangeJobState) -> None:
        job = self._registry.find_job(decision.job_id, "CHANGE_JOB_STATE")
        self._execution.change_state(job, decision.job_state)

    # Others --------------------------------------------------------------------------------------

    def _call_later(self, decision: m.CallMeLater) -> None:
        agenda = self._agenda
        if decision.time <= agenda.now:
            raise ProtocolError(
                f"CALL_ME_LATER: {decision.time} is not later than the current time {agenda.now}"
            )
        agenda.at(decision.time, lambda: (m.RequestedCall(timestamp=agenda.now),))

    def _set_resource_state(self, decision: m.SetResourceState) -> None:
        if self.power is None:
            raise ProtocolError("SET_RESOURCE_STATE: energy is not accounted for (option energy)")
        self.power.switch(decision)

    def _query(self, decision: m.Query) -> None:
        if list(decision.requests) != ["consumed_energy"]:
            raise ProtocolError(
                f"QUERY: {list(decision.requests)} is not known, expected consumed_energy"
            )
        if self.power is None or not self.power.energy.metered:
            raise ProtocolError("QUERY: energy is not accounted for (option energy)")
        answers = {"consumed_energy": self.power.consumed()}
        self._agenda.send(m.Answer(timestamp=self._agenda.now, answers=answers))
