"""Simulates jobs of known length without messages: users, policy and machine in one loop.

It gives the schedule and the counters that a
:class:`~batsched_py.decision_process.DecisionProcess` and a
:class:`~batsched_py.simulator.engine.Simulator` give, but leaves out the messages between them and
the checks of these messages.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any

from batsched_py.errors import InvariantError
from batsched_py.model.job import ENDED, RUNNING, Job
from batsched_py.model.system import System
from batsched_py.model.user_model import UserModel, find_profile
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED, WITHDRAWN
from batsched_py.protocol.decision_rules import explain_refusal_by_both
from batsched_py.protocol.dilated_jobs import DilatedJobs
from batsched_py.protocol.messages import JobDescription
from batsched_py.simulator.agenda import FEW_ENTRIES
from batsched_py.simulator.ended_jobs import FinishedJobs
from batsched_py.simulator.jobs import FORGOTTEN, SUBMITTED, JobRegistry, SimulatedJob
from batsched_py.simulator.jobs import RUNNING as SIMULATED_RUNNING
from batsched_py.simulator.options import Options
from batsched_py.simulator.outcome import Outcome, make_deadlock_error, make_late_error
from batsched_py.simulator.platform.hosts import Platform, ProcessorSpeeds
from batsched_py.simulator.profiles import (
    Profile,
    has_known_length,
    make_usual_profile,
    parse_registered,
)
from batsched_py.units import LATEST_TIME
from batsched_py.workload.workload import Workload, WorkloadJob

STATIC = "w0"
"""The name of the workload that is submitted at its recorded times."""


class DirectSimulation(System):
    """Simulates the jobs of a workload, or of users, whose lengths are known when they start.

    All else is as in :class:`~batsched_py.model.system.System`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._ends: list[tuple[float, int, Job]] = []
        """Time, rank and job of each end to come: a heap."""
        self._rank = count()
        """Of the same instant, the job that was started first ends first."""
        self._switches: list[tuple[float, int, ProcessorSet, bool]] = []
        """Time, rank, processors and whether on, of each switch to end: a heap."""
        self._jobs: dict[str, SimulatedJob] = {}
        """The jobs that wait or run, by the id that the policy knows."""
        self._later: list[SimulatedJob] = []
        """The jobs of the workload that are not submitted yet, the next one last."""
        self._profiles: dict[str, Profile] = {}
        """The profiles of the users' jobs, by name."""
        self._longer: dict[str, Profile] = {}
        """The profiles of jobs that run longer where they are placed, by name."""
        self._nb_kills = 0
        """Number of kills since the ends of killed jobs were last removed."""
        self._dilated: DilatedJobs | None = None
        """None unless the policy may let jobs run longer."""
        self._finished: FinishedJobs | list[SimulatedJob] = []

    def run(self, platform: Platform, workload: Workload | None) -> Outcome:
        """Simulate to the end on ``platform``, and return the outcome.

        ``workload`` is submitted at its recorded times; None: users submit all jobs. Raises
        :class:`WorkloadError` for jobs that cannot be simulated, :class:`DeadlockError` if jobs
        wait and nothing can happen any more, and what policy and users raise.
        """
        self._speeds = ProcessorSpeeds(platform)
        self.begin(len(platform.hosts))
        if self.users is not None or self.may_dilate:  # there may be any number of jobs
            self._finished = FinishedJobs()
        if self.may_dilate:
            profiles = {} if workload is None else {STATIC: workload.profiles}
            self._dilated = DilatedJobs(
                profiles,
                reuse=True,
                speed_factor=self._speed_factor,
                refused=lambda form, profile: explain_refusal_by_both(form),
            )
        first = inf
        if workload is not None:
            self._later = JobRegistry(Options()).load(STATIC, workload)[::-1]
            first = max(0.0, self._later[-1].description.submit_time) if self._later else 0.0
        with self.name_time_in_errors():
            nb_messages = self._pass_instants(first)
        if self._jobs:
            raise make_deadlock_error(
                self.now,
                list(self._jobs.values()),
                self.machine.nb_processors,
                self.machine.free,
                any_started=self.nb_running + self.machine.nb_ended > 0,
            )
        return Outcome(
            self._finished,
            nb_messages,
            self.machine.nb_processors,
            self.now,
            len(platform.storages),
        )

    def _pass_instants(self, submission: float) -> int:
        """Go from instant to instant; return the number of messages that a simulator would send.

        ``submission`` is when the workload is first submitted (seconds), inf without one.
        """
        ends, users, sleepers = self._ends, self.users, self.machine.sleepers
        nb_messages = 2  # the first and the last
        event, submits = "SIMULATION_BEGINS", False
        while True:
            if users is not None:
                self.ask_users(users)
            if submits:
                submission = self._submit_recorded()
            self.decide()
            self.conclude(event)
            now = self._find_next(submission)
            if now == inf:
                return nb_messages
            self.now = now
            if sleepers is not None:
                sleepers.now = now
            while ends and ends[0][0] == now:
                self._end(heappop(ends)[2])
            event = "NOTIFY"
            if self._switches and self._switches[0][0] == now:
                self._end_switches()
                event = "RESOURCE_STATE_CHANGED"
            if self._calls and self._calls[-1] == now:
                self.call_came()
                event = "REQUESTED_CALL"
            submits = submission <= now
            nb_messages += 1

    def _find_next(self, submission: float) -> float:
        """Return the next instant at which anything happens, inf if nothing will.

        Raises :class:`SimulationError` for one so late that floats do not resolve it.
        """
        ends, calls = self._ends, self._calls
        while ends and ends[0][2].state is ENDED:  # it was killed before
            heappop(ends)
        now = submission
        if calls and calls[-1] < now:
            now = calls[-1]
        if self._switches and self._switches[0][0] < now:
            now = self._switches[0][0]
        if ends and ends[0][0] < now:
            now = ends[0][0]
            if LATEST_TIME < now < inf:
                raise make_late_error(now, [ends[0][2].id])
        return now

    def _end(self, job: Job) -> None:
        """End a job that runs, unless it was killed before."""
        if job.state is RUNNING:
            simulated = self._jobs.pop(job.id)
            simulated.state = FORGOTTEN
            self._finished.append(simulated)
            self.job_ended(job, simulated.final_state)

    def _end_switches(self) -> None:
        """End the switches of this instant, and execute the jobs that waited for them."""
        switches = self._switches
        while switches and switches[0][0] == self.now:
            _, _, processors, on = heappop(switches)
            self.switched(processors, on=on)
        self.begin_bound()

    # Submissions ---------------------------------------------------------------------------------

    def _submit_recorded(self) -> float:
        """Submit the jobs of the workload that are due; return when the next ones are."""
        later, now = self._later, self.now
        while later:
            due = later[-1].description.submit_time
            if due > now:
                return due
            self.job_submitted(self._add(later.pop()))
        return inf

    def _register(self, job_id: str, job: WorkloadJob, size: int, extra: dict[str, Any]) -> Job:
        users, name = self.users, job.profile
        assert users is not None
        profile, content = self._profiles.get(name), None
        if profile is None:
            profile = make_usual_profile(users.profiles.get(name)) or _read_profile(job, users)
            self._profiles[name] = profile
        if self._dilated is not None:
            content = find_profile(job, users)
        description = JobDescription(
            job_id, self.now, size, name, job.walltime, job.estimate, job.user, extra
        )
        is_usual = size > 0 and job.id.isalnum() and (job.walltime is None or job.walltime > 0)
        if not is_usual and (reason := explain_refusal_by_both(description)):
            raise InvariantError(f"{type(users).__name__} submitted job {job.id}: {reason}")
        return self._add(SimulatedJob(description, profile), content)

    def _add(self, simulated: SimulatedJob, content: dict[str, Any] | None = None) -> Job:
        """Let a job wait, and return it as the policy sees it; its profile as far as known."""
        description = simulated.description
        simulated.state = SUBMITTED
        job = description.make_job()
        self._jobs[job.id] = simulated
        if self.sites:
            self.set_home(job)
            description.extra = job.extra
        if self._dilated is not None:
            self._dilated.add_waiting(description, content)
        return job

    # Decisions -----------------------------------------------------------------------------------

    def _execute(self, job: Job) -> None:
        simulated, processors = self._jobs[job.id], job.processors
        size = simulated.description.size
        if processors.size != size and not simulated.profile.total:
            raise InvariantError(
                f"job {job.id} of size {size} was started on {processors.size} processors: "
                "a policy must not change the size of a job"
            )
        simulated.state = SIMULATED_RUNNING
        simulated.alloc = processors
        simulated.start_time = self.now
        if job.waking:
            simulated.note_waking(job.waking)
        duration = simulated.profile.delay
        if duration is None:
            speed = self._speeds.find_least(processors)
            duration = simulated.profile.compute_duration(speed, processors.size)
        simulated.set_end(duration)
        heappush(self._ends, (simulated.finish_time, next(self._rank), job))
        if self._dilated is not None:
            self._dilated.forget(job.id)

    def _execute_dilated(self, job: Job) -> None:
        """Let another form of a job run in its place."""
        assert self._dilated is not None
        waiting = self._jobs[job.id]
        for decision in self._dilated.start(job, self.now, self.machine.find_least_speed(job)):
            match decision:
                case m.SetJobMetadata():
                    waiting.metadata = decision.metadata
                case m.RejectJob():
                    self._drop(waiting)
                case m.RegisterProfile(profile_name=name, profile=content):
                    self._longer[name] = parse_registered(name, content)
                case m.RegisterJob(job=form):
                    self._jobs[job.id] = SimulatedJob(form, self._longer[form.profile])
                case m.ExecuteJob():
                    self._execute(job)

    def _reject(self, job: Job, *, withdrawn: bool = False) -> None:
        simulated = self._jobs.pop(job.id)
        self._drop(simulated)
        if withdrawn:
            simulated.final_state, simulated.finish_time = WITHDRAWN, self.now
        if self._dilated is not None:
            self._dilated.forget(job.id)

    def _switch(self, processors: ProcessorSet, seconds: float, *, on: bool) -> None:
        heappush(self._switches, (self.now + seconds, next(self._rank), processors, on))

    def _expects_static_jobs(self) -> bool:
        return bool(self._later)

    def _drop(self, simulated: SimulatedJob) -> None:
        simulated.state, simulated.final_state = FORGOTTEN, REJECTED
        self._finished.append(simulated)

    def _kill(self, job: Job) -> None:
        simulated = self._jobs[job.id]
        if simulated.kill_requested:
            return
        simulated.kill_requested = True
        if simulated.finish_time > self.now:  # else it ends by itself
            simulated.end_by_kill(self.now, computes=simulated.profile.is_parallel_task)
        heappush(self._ends, (self.now, next(self._rank), job))
        self._nb_kills += 1
        if self._nb_kills > FEW_ENTRIES + len(self._ends) // 2:
            self._ends[:] = [end for end in self._ends if end[2].state is RUNNING]
            heapify(self._ends)
            self._nb_kills = 0


def _read_profile(job: WorkloadJob, users: UserModel) -> Profile:
    """Return the profile of a job of users; raises :class:`InvariantError` for an unknown length.

    :class:`WorkloadError` if Batsim would refuse it.
    """
    content = find_profile(job, users)
    if not has_known_length(content):
        raise InvariantError(
            f"{type(users).__name__} submitted job {job.id} with the profile {job.profile!r}, "
            "whose run time is unknown: expected a delay, or a computation without communication, "
            "in its profiles when the simulation begins"
        )
    return parse_registered(job.profile, content)
