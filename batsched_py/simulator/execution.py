"""The execution of jobs on machines: start, end, reject and kill, with Batsim's states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED, WITHDRAWN
from batsched_py.protocol.decision_rules import check_mapping
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.ended_jobs import FinishedJobs
from batsched_py.simulator.energy import Energy
from batsched_py.simulator.jobs import (
    ENDED,
    FORGOTTEN,
    RUNNING,
    SUBMITTED,
    SimulatedJob,
)
from batsched_py.simulator.machines import Machines
from batsched_py.simulator.platform.hosts import Platform, ProcessorSpeeds
from batsched_py.simulator.profiles import Composed
from batsched_py.simulator.tasks.stepwise_jobs import StepwiseJobs


class Execution:
    """Starts and ends jobs on machines, and keeps how each job ended.

    The jobs go to ``finished``, in order of completion, rejection or withdrawal. A delay, and a
    computation on hosts that are not shared and have no account of ``energy``, end at a time that
    is known when they start; ``stepwise`` runs all others. A job may be given ``any_size``, as by
    Batsim 5: its executors take turns on the hosts that it has. ``end_delay`` (seconds) is as in
    :class:`~batsched_py.simulator.options.Options`.
    """

    def __init__(
        self,
        agenda: Agenda,
        platform: Platform,
        machines: Machines,
        stepwise: StepwiseJobs,
        finished: list[SimulatedJob] | FinishedJobs,
        *,
        energy: Energy | None = None,
        sharing: bool = False,
        any_size: bool = False,
        end_delay: float = 0.0,
    ) -> None:
        self.finished = finished
        self._any_size = any_size
        self._end_delay = end_delay
        self._agenda, self._machines, self._stepwise = agenda, machines, stepwise
        self._energy = energy
        self._sharing = sharing
        self._varying = sharing or energy is not None
        self._speeds = ProcessorSpeeds(platform)
        self._with_cores = ProcessorSet.of(
            [at for at, host in enumerate(platform.hosts) if host.cores > 1]
            if platform.find_multicore_hosts()
            else ()
        )
        self.any_started = False

    @property
    def nb_free(self) -> int:
        """Number of machines on which a job may start now."""
        return self._machines.nb_free

    def start(self, job: SimulatedJob, decision: m.ExecuteJob) -> None:
        """Start a job by ``decision``; set its ``finish_time``, inf if it is unknown yet.

        Raises :class:`ProtocolError` where Batsim would abort.
        """
        alloc, now = decision.alloc, self._agenda.now
        self._check(job, decision)
        if not self._machines.occupy(alloc, now):
            wrong = self._machines.find_not_free(alloc)
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} was given {to_text(wrong)!r}: "
                f"{self._machines.explain_refusal(wrong)}"
            )
        if self._energy is not None:
            self._energy.note_job_start(job.description.id, alloc, now)
        job.alloc = alloc
        job.state = RUNNING
        job.start_time = now
        self.any_started = True
        duration = self._known_duration(job, decision)
        if duration is not None:
            job.set_end(duration)
        else:
            job.finish_time = inf
            hosts = self._hosts(job, decision)
            self._check_cores(decision.job_id, hosts)
            self._stepwise.begin(job, hosts)
            self._stepwise.ended.clear()  # it is there if it did nothing that takes time
            self._agenda.after_each = self._complete_stepwise
        if job.finish_time < inf:
            job.end = self._agenda.at(job.finish_time + self._end_delay, self.complete, job)

    def _known_duration(self, job: SimulatedJob, decision: m.ExecuteJob) -> float | None:
        """Return the run time of a job (seconds), None if it is unknown beforehand."""
        profile, mapping = job.profile, decision.mapping
        if profile.body is not None or profile.delay is not None:
            return profile.delay
        if self._varying:
            return None
        if mapping is not None:
            # an executor on each machine, in any order
            places = len(set(map(int, mapping.values())))
            if not places == len(mapping) == len(decision.alloc):
                return None
        return profile.compute_duration(self._speeds.find_least(job.alloc), job.alloc.size)

    def complete(self, job: SimulatedJob) -> list[m.Event]:
        """Free the machines of a job that ended or was killed; return the events about it."""
        self.free_machines(job)
        return self.record_end(job)

    def free_machines(self, job: SimulatedJob) -> None:
        """Free the machines of a job that ended or was killed."""
        now = job.finish_time
        job.end = None
        job.state = ENDED
        self._machines.release(job.alloc, now)
        if self._energy is not None:
            job.consumed_energy = self._energy.note_job_end(job.description.id, job.alloc, now)

    def record_end(self, job: SimulatedJob) -> list[m.Event]:
        """Add a job to the finished jobs; return the events about it."""
        self.finished.append(job)
        return [
            m.JobCompleted(
                timestamp=self._agenda.now,
                job_id=job.description.id,
                job_state=job.final_state,
                return_code=job.return_code,
                alloc=job.alloc,
            )
        ]

    def _complete_stepwise(self) -> list[m.Event]:
        """Complete the jobs whose last step has ended at this instant."""
        self._stepwise.set_next_timer()
        ended = self._stepwise.ended
        completions = [event for job in ended for event in self.complete(job)]
        ended.clear()
        self._stepwise.count_step()
        return completions

    def reject(self, job: SimulatedJob, *, withdrawn: bool = False) -> None:
        """Reject a submitted job; raises :class:`ProtocolError` for other jobs.

        ``withdrawn``: its user withdrew it.
        """
        if job.state is not SUBMITTED:
            raise ProtocolError(f"REJECT_JOB: job {job.description.id} is {job.state.value}")
        job.state = FORGOTTEN
        job.final_state = REJECTED
        if withdrawn:
            job.final_state, job.finish_time = WITHDRAWN, self._agenda.now
        self.finished.append(job)

    def kill(self, job: SimulatedJob) -> dict[str, Any] | None:
        """Stop a running job; return its progress, as Batsim reports it.

        A job that ends now ends by itself; None is returned for it.
        """
        now = self._agenda.now
        if job.state is not RUNNING or job.finish_time <= now:
            return None
        if not self._sharing and self._stepwise.has_no_work(job):  # Batsim 5 kills it
            return None
        progress = self._progress(job, now)
        computes = job.profile.is_parallel_task
        if job.end is not None:
            self._agenda.cancel(job.end)
        elif self._stepwise.is_running(job):
            computes = self._stepwise.kill(job)
        job.state = ENDED
        job.end_by_kill(now, computes=computes)
        return progress

    def _progress(self, job: SimulatedJob, now: float) -> dict[str, Any]:
        if self._stepwise.is_running(job):
            return self._stepwise.progress(job)
        if not job.alloc:  # set to running by CHANGE_JOB_STATE
            done = 0.0
        else:
            speed = self._speeds.find_least(job.alloc)
            duration = job.profile.compute_duration(speed, job.alloc.size)
            done = (now - job.start_time) / duration if duration else 1.0
        return {"profile_name": job.description.profile, "progress": done}

    def change_state(self, job: SimulatedJob, state: str) -> None:
        """Set the state of a job, as the scheduler decided: only from submitted to running.

        Raises :class:`ProtocolError` for all others, which Batsim 4.2.0 does not survive.
        """
        if state != "RUNNING" or job.state is not SUBMITTED:
            raise ProtocolError(
                f"CHANGE_JOB_STATE: job {job.description.id} is {job.state.value} and cannot be "
                f"set to {state}: Batsim 4.2.0 survives only a submitted job that is set to RUNNING"
            )
        job.state = RUNNING
        job.start_time, job.finish_time = self._agenda.now, inf

    def _check(self, job: SimulatedJob, decision: m.ExecuteJob) -> None:
        alloc = decision.alloc
        size = job.description.size
        if job.state is not SUBMITTED:
            raise ProtocolError(f"EXECUTE_JOB: job {decision.job_id} is {job.state.value}")
        if decision.mapping is not None and not self._any_size:
            check_mapping(decision, size)
        elif alloc.size != size and not job.profile.total and not self._any_size:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} of size {size} was given "
                f"{alloc.size} processors ({to_text(alloc)!r})"
            )
        if not alloc.size:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} of size {size} was given no processors"
            )
        body = job.profile.body
        if type(body) is Composed and not body.parts:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has the composed profile "
                f"{job.description.profile!r}, which was registered dynamically: Batsim 4.2.0 "
                "crashes on it"
            )
        uses_storage = decision.storage_mapping is not None and not self._any_size
        if uses_storage or decision.additional_io_job is not None:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} uses storage, which the embedded simulator "
                "does not run: use real Batsim"
            )
        if decision.further and "profile_allocation_override" in decision.further:
            raise ProtocolError(
                f"EXECUTE_JOB: job {decision.job_id} has a profile_allocation_override, which the "
                "embedded simulator does not do: use real Batsim"
            )

    def _hosts(self, job: SimulatedJob, decision: m.ExecuteJob) -> list[int]:
        """Return the host of each executor of a job.

        Where a job may run on hosts of ``any_size``, a mapping may also have more executors than
        the job has, or fewer.
        """
        hosts, size = list(decision.alloc), job.description.size
        if decision.mapping is not None:
            if self._any_size and not (size := len(decision.mapping)):
                raise ProtocolError(f"EXECUTE_JOB: the mapping of job {decision.job_id} is empty")
            return [hosts[place] for place in check_mapping(decision, size)]
        return [hosts[place % len(hosts)] for place in range(size)] if self._any_size else hosts

    def _check_cores(self, job_id: str, hosts: Sequence[int]) -> None:
        """Refuse several executors of a job on a host with several cores: they would share them."""
        if self._with_cores and len(set(hosts)) < len(hosts):
            shared = next(host for host, count in Counter(hosts).items() if count > 1)
            if shared in self._with_cores:
                raise ProtocolError(
                    f"EXECUTE_JOB: job {job_id} has several executors on machine {shared}, which "
                    "has several cores: the embedded simulator uses one core per host; give one "
                    "host per core, or use real Batsim"
                )
