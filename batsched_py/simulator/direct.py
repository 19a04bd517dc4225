"""Simulates jobs of known length without messages: users, policy and machine in one loop.

The schedule, and all that is counted, is as with a
:class:`~batsched_py.decision_process.DecisionProcess` in a
:class:`~batsched_py.simulator.engine.Simulator`. What these say to each other, and check of each
other, is left out.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

from batsched_py.errors import InvariantError
from batsched_py.model.job import ENDED, RUNNING, Job
from batsched_py.model.system import JOB_COMPLETED, System
from batsched_py.model.user_model import find_profile
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.protocol.dilated_jobs import DilatedJobs
from batsched_py.protocol.messages import JobDescription
from batsched_py.simulator.ended_jobs import FinishedJobs
from batsched_py.simulator.execution import end_by_kill, set_end
from batsched_py.simulator.jobs import FORGOTTEN, SUBMITTED, JobRegistry, SimulatedJob
from batsched_py.simulator.jobs import RUNNING as SIMULATED_RUNNING
from batsched_py.simulator.options import Options
from batsched_py.simulator.outcome import Outcome, make_deadlock_error, make_late_error
from batsched_py.simulator.platform.hosts import Platform, ProcessorSpeeds
from batsched_py.simulator.profiles import Profile, has_known_length, parse_registered
from batsched_py.units import LATEST_TIME
from batsched_py.workload.workload import Workload, WorkloadJob

STATIC = "w0"
"""The name of the workload that is submitted at its recorded times."""


class DirectSimulation(System):
    """Simulates the jobs of a workload, or of users, whose lengths are known when they start.

    All else is as in :class:`~batsched_py.model.system.System`.
    """

    __slots__ = (
        "_dilated",
        "_finished",
        "_heap",
        "_jobs",
        "_later",
        "_order",
        "_profiles",
        "_speeds",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._heap: list[tuple[float, int, Job | None]] = []
        """Time, rank and job of each coming end; of a call of the policy there is no job."""
        self._order = count()
        """Ranks: of the same instant, what was set first comes first."""
        self._jobs: dict[str, SimulatedJob] = {}
        """Those that wait or run, by the id that the policy knows."""
        self._later: list[SimulatedJob] = []
        """The jobs of the workload that are not submitted yet, the next one last."""
        self._profiles: dict[str, Profile] = {}
        """Those of the users' jobs."""
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
            self._dilated = DilatedJobs(profiles, reuse=True, speed_factor=self._speed_factor)
        first = inf
        if workload is not None:
            self._later = JobRegistry(Options()).load(STATIC, workload)[::-1]
            first = max(0.0, self._next_submission() if self._later else 0.0)
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
        heap, users = self._heap, self.users
        nb_messages = 2  # the first and the last
        event, submitting = "SIMULATION_BEGINS", False
        while True:
            if users is not None:
                self.ask_users(users)
            if submitting:
                submission = self._submit_recorded()
            self.decide()
            self.conclude(event)
            while heap and (killed := heap[0][2]) is not None and killed.state is ENDED:
                heappop(heap)
            now = heap[0][0] if heap else inf
            submitting = submission <= now
            if submitting:
                now = submission
            if now > LATEST_TIME:
                break
            self.now = now
            event = self._pass_ends() if heap and heap[0][0] == now else "NOTIFY"
            nb_messages += 1
        if now < inf:
            ending = heap[0][2] if heap else None
            raise make_late_error(now, [ending.id] if ending is not None else [])
        return nb_messages

    def _pass_ends(self) -> str:
        """End the jobs that end now, and make the calls that are due; return the last event."""
        heap, now = self._heap, self.now
        event = ""
        while heap and heap[0][0] == now:
            job = heappop(heap)[2]
            if job is None:
                self.call_came()
                event = "REQUESTED_CALL"
            elif job.state is RUNNING:
                event = self._end(job)
        return event

    def _end(self, job: Job) -> str:
        """End a job that runs; return the name of the last event about it."""
        simulated = self._jobs.pop(job.id)
        simulated.state = FORGOTTEN
        self._finished.append(simulated)
        self.job_ended(job, simulated.final_state)
        return "JOB_KILLED" if simulated.kill_requested else JOB_COMPLETED

    # Submissions ---------------------------------------------------------------------------------

    def _next_submission(self) -> float:
        return self._later[-1].description.submit_time if self._later else inf

    def _submit_recorded(self) -> float:
        """Submit the jobs of the workload that are due; return when the next ones are."""
        while (due := self._next_submission()) <= self.now:
            self.job_submitted(self._add(self._later.pop()))
        return due

    def _register(self, job_id: str, job: WorkloadJob, size: int, extra: dict[str, Any]) -> Job:
        users, name = self.users, job.profile
        assert users is not None
        profile, content = self._profiles.get(name), None
        if profile is None or self._dilated is not None:
            content = find_profile(job, users)
        if profile is None:
            assert content is not None
            if not has_known_length(content):
                raise InvariantError(
                    f"{type(users).__name__} submitted job {job.id} with the profile {name!r}: "
                    "expected a delay, or a computation without communication, as are all of its "
                    "profiles when the simulation begins"
                )
            profile = self._profiles[name] = parse_registered(name, content)
        description = JobDescription(
            job_id, self.now, size, name, job.walltime, job.estimate, job.user, extra
        )
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
        self._start_simulated(job, self._jobs[job.id])
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
                    self._profiles[name] = parse_registered(name, content)
                case m.RegisterJob(job=form):
                    self._jobs[job.id] = SimulatedJob(form, self._profiles[form.profile])
                case m.ExecuteJob():
                    self._start_simulated(job, self._jobs[job.id])

    def _start_simulated(self, job: Job, simulated: SimulatedJob) -> None:
        simulated.state = SIMULATED_RUNNING
        simulated.alloc = job.processors
        simulated.start_time = self.now
        profile = simulated.profile
        duration = profile.delay
        if duration is None:
            speed = self._speeds.find_least(job.processors)
            duration = profile.compute_duration(speed, job.processors.size)
        set_end(simulated, duration)
        heappush(self._heap, (simulated.finish_time, next(self._order), job))

    def _reject(self, job: Job) -> None:
        self._drop(self._jobs.pop(job.id))
        if self._dilated is not None:
            self._dilated.forget(job.id)

    def _drop(self, simulated: SimulatedJob) -> None:
        simulated.state, simulated.final_state = FORGOTTEN, REJECTED
        self._finished.append(simulated)

    def _kill(self, job: Job) -> None:
        simulated = self._jobs[job.id]
        if simulated.kill_requested:
            return
        simulated.kill_requested = True
        if simulated.finish_time > self.now:  # else it ends by itself
            end_by_kill(simulated, self.now, computes=simulated.profile.is_parallel_task)
        heappush(self._heap, (self.now, next(self._order), job))

    def _set_call(self, time: float) -> None:
        heappush(self._heap, (time, next(self._order), None))
