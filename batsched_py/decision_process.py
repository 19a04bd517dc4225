"""The scheduler as Batsim sees it: it replies to one message at a time.

What it decides is the core's, :class:`~batsched_py.model.system.System`; here are the messages,
calls, and what Batsim was started with.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from batsched_py.errors import InvariantError, ProtocolError, parameter
from batsched_py.model.job import RUNNING, Job
from batsched_py.model.policy import Scheduler
from batsched_py.model.system import System
from batsched_py.model.user_model import UserModel, find_profile
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.decision_rules import round_up_to_six_decimals
from batsched_py.protocol.dilated_jobs import DilatedJobs, is_placed, make_placed_id
from batsched_py.protocol.power_groups import read_power_groups
from batsched_py.protocol.registered_jobs import RegisteredJobs
from batsched_py.workload.workload import WorkloadJob


class DecisionProcess(System):
    """Replies to Batsim's messages with the decisions of ``scheduler``, and the jobs of ``users``.

    ``six_decimals``: messages come from a program, with times of six decimals unless it
    announces exact ones: calls are then asked for at such times, and what Batsim cannot register
    is refused. All else is as in :class:`~batsched_py.model.system.System`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        users: UserModel | None = None,
        *,
        six_decimals: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(scheduler, users, **options)
        self._six_decimals = six_decimals
        self._dilated: DilatedJobs | None = None
        """None unless the policy may let jobs run longer."""
        self._killed: dict[str, bool] | None = None
        """Running jobs that were killed, where Batsim aborts on a second time; and whether their
        users did it, of which the policy does not know."""
        self._ended = self._more_static_jobs = self._is_batsim5 = False
        self._jobs: dict[str, Job] = {}
        """Those that wait or run, by their ids in messages."""
        self._registered: RegisteredJobs | None = None
        self._registering = False
        self._reply: list[m.Event] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            m.SimulationBegins: self._begins,
            m.SimulationEnds: self._ends,
            m.JobCompleted: self._completed,
            m.RequestedCall: self._requested_call,
            m.Notify: self._notified,
            m.ResourceStateChanged: self._state_changed,
        }

    def answer(self, message: m.Message) -> m.Message:
        """Return the reply to one message of Batsim.

        Raises :class:`ProtocolError` where Batsim was started otherwise than it must be or names a
        job that is not there, :class:`InvariantError` when policy or users err, and
        :class:`BudgetError` when there seems to be no end of what they do.
        """
        self.now = message.now
        if self.machine.sleepers is not None:
            self.machine.sleepers.now = message.now
        self._reply = []
        with self.name_time_in_errors():
            submissions = []
            for event in message.events:
                handler = self._handlers.get(type(event))
                if handler is not None:
                    handler(event)
                elif type(event) is m.JobSubmitted:
                    submissions.append(event)  # else it has nothing that the policy could use
            if self._bound:
                self.begin_bound()
            if self.users is not None:
                self.ask_users(self.users)
            if submissions:  # after all ends and users, wherever they stand
                self._submit_all(submissions)
            self.decide()
            if not self._ended:
                self.conclude(message.events[-1].tag if message.events else "an empty one")
                self._finish_registration()
        return m.Message(self.now, self._reply)

    def _finish_registration(self) -> None:
        """Notify Batsim when no user can submit any more."""
        waits = self._more_static_jobs or len(self.queue) or self._bound
        may_dilate = self._dilated is not None and waits
        if self._registering and self._users_due == inf and not (self._of_users or may_dilate):
            self._registering = False
            self._reply.append(m.Notify(timestamp=self.now, type="registration_finished"))

    # Events --------------------------------------------------------------------------------------

    def _begins(self, event: m.SimulationBegins) -> None:
        if self.machine.nb_processors:
            raise ProtocolError("SIMULATION_BEGINS came twice")
        if event.is_batsim5 or self.power:  # version 4 alone sends no times
            self.power = read_power_groups(event, self.power)
        self.begin(event.nb_compute_resources)
        if self._shutdown is not None and self.machine.sleepers is None:
            raise ProtocolError(
                f"{parameter('shutdown')}: by the messages of Batsim no processor can be switched "
                f"off: give {parameter('power')} off_seconds=S,on_seconds=S for its sleep_pstates"
            )
        self._is_batsim5 = event.is_batsim5
        self._registered = registered = RegisteredJobs(event, six_decimals=self._six_decimals)
        if self._six_decimals and event.is_batsim5:
            self._killed = {}
        self._six_decimals = registered.six_decimals
        # Without users there is nothing to register, and Batsim must know that.
        self._registering = registered.enabled
        if self.users is not None:
            registered.check_enabled()
        self._more_static_jobs = bool(event.workloads)
        if not self.may_dilate:
            return
        if not self._registering:
            raise ProtocolError(
                f"{type(self.scheduler).__name__} may let jobs run longer on some sites, which "
                "needs dynamic jobs: start Batsim with --enable-dynamic-jobs"
            )
        self._dilated = DilatedJobs(
            event.profiles,
            reuse=registered.reuses_profiles,
            speed_factor=self._speed_factor,
            six_decimals=self._six_decimals,
            has_metadata=not event.is_batsim5,
            refused=registered.refused,
        )

    def _ends(self, event: m.SimulationEnds) -> None:
        if self._jobs:
            raise ProtocolError(
                f"SIMULATION_ENDS came with {len(self.queue)} jobs waiting and {self.nb_running} "
                "running"
            )
        self._ended = True

    def _notified(self, event: m.Notify) -> None:
        if event.type in ("event_machine_available", "event_machine_unavailable"):
            processors = from_text(event.details.get("resources", ""))
            self.set_available(processors, event.type == "event_machine_available")
        elif event.type == "no_more_static_job_to_submit":
            self._more_static_jobs = False

    def _state_changed(self, event: m.ResourceStateChanged) -> None:
        resources = event.resources
        group = next((group for group in self.power if group.processors & resources), None)
        if self.machine.sleepers is not None and group is not None:
            self.switched(resources, on=event.state == str(group.awake_pstate))

    def _requested_call(self, event: m.RequestedCall) -> None:
        if not self._calls:
            raise ProtocolError("REQUESTED_CALL: no CALL_ME_LATER is outstanding")
        self.call_came()

    def _completed(self, event: m.JobCompleted) -> None:
        job = self._jobs.pop(event.job_id, None)
        if job is None or job.state is not RUNNING:
            raise ProtocolError(f"JOB_COMPLETED: job {event.job_id!r} does not run")
        if self._killed:
            self._killed.pop(event.job_id, None)
        self.job_ended(job, event.job_state)

    def _submit_all(self, submissions: list[m.JobSubmitted]) -> None:
        """Take the jobs that were not registered here: Batsim may repeat registered ones."""
        users, dilated = self.users is not None, self._dilated is not None
        for event in submissions:
            job_id = event.job_id
            if (users and job_id in self._submitted) or (dilated and is_placed(job_id)):
                continue
            if job_id in self._jobs:
                raise ProtocolError(f"JOB_SUBMITTED: job {job_id!r} came twice")
            self.job_submitted(self._job_of(event.job, event.profile))

    def _job_of(self, description: m.JobDescription, profile: dict[str, Any] | None) -> Job:
        """Return a job of a message as the policy sees it; its profile as far as known."""
        job = description.make_job()
        self._jobs[job.id] = job
        if self.sites:
            self.set_home(job)
            description.extra = job.extra
        if self._dilated is not None:
            self._dilated.add_waiting(description, profile)
        return job

    # Decisions -----------------------------------------------------------------------------------

    def _register(self, job_id: str, job: WorkloadJob, size: int, extra: dict[str, Any]) -> Job:
        assert self.users is not None
        assert self._registered is not None
        content = None if self._dilated is None else find_profile(job, self.users)
        description = m.JobDescription(
            job_id, self.now, size, job.profile, job.walltime, job.estimate, job.user, extra
        )
        self._registered.register(self._reply, self.now, description, job, self.users, content)
        return self._job_of(description, content)

    def _execute(self, job: Job) -> None:
        self._reply.append(
            m.ExecuteJob(timestamp=self.now, job_id=job.id, alloc=job.processors, waking=job.waking)
        )
        if self._dilated is not None:
            self._dilated.forget(job.id)

    def _execute_dilated(self, job: Job) -> None:
        """Let another form of a job run in its place."""
        assert self._dilated is not None
        self._jobs[make_placed_id(job.id)] = self._jobs.pop(job.id)
        self._reply += self._dilated.start(job, self.now, self.machine.find_least_speed(job))

    def _reject(self, job: Job, *, withdrawn: bool = False) -> None:
        del self._jobs[job.id]
        if self._dilated is not None:
            self._dilated.forget(job.id)
        rejection = m.RejectJob(timestamp=self.now, job_id=job.id, withdrawn=withdrawn)
        self._reply.append(rejection)

    def _kill(self, job: Job) -> None:
        job_id = self._find_running_id(job)
        if self._killed is not None:
            if self._killed.get(job_id):
                return
            if job_id in self._killed:
                raise InvariantError(f"job {job.id} was killed twice, and Batsim 5 aborts on that")
            self._killed[job_id] = False
        self._reply.append(m.KillJob(timestamp=self.now, job_ids=[job_id]))

    def _kill_for_user(self, job: Job) -> None:
        job_id = self._find_running_id(job)
        if self._killed is None or job_id not in self._killed:
            super()._kill_for_user(job)
            if self._killed is not None:
                self._killed[job_id] = True

    def _switch(self, processors: ProcessorSet, seconds: float, *, on: bool) -> None:
        by_state: dict[int, ProcessorSet] = {}
        for group in self.power:
            if part := group.processors & processors:
                state = group.awake_pstate if on else group.asleep_pstate
                by_state[state] = by_state.get(state, NO_PROCESSORS) | part
        for pstate, resources in by_state.items():
            self._reply.append(
                m.SetResourceState(
                    timestamp=self.now,
                    resources=resources,
                    state=str(pstate),
                    turned=True if self._is_batsim5 else None,
                )
            )

    def _expects_static_jobs(self) -> bool:
        return self._more_static_jobs

    def _find_running_id(self, job: Job) -> str:
        """Return the id of a job that runs, or of the form of it that runs in its place."""
        return job.id if job.id in self._jobs else make_placed_id(job.id)

    def _add_call(self, time: float) -> bool:
        if self._six_decimals:
            time = round_up_to_six_decimals(time)
        is_new = super()._add_call(time)
        if is_new:
            self._reply.append(m.CallMeLater(timestamp=self.now, time=time))
        return is_new
