"""Lets simulated users meet a scheduler of others, which knows recorded jobs only.

The proxy stands between a simulator and the scheduler. It registers the jobs of the users with the
simulator, and shows them to the scheduler as if they were static jobs of a workload ``dyn``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, describe_waiting_jobs
from batsched_py.model.endless_work import ProgressWatch
from batsched_py.model.job import ENDED, RUNNING, Job
from batsched_py.model.user_model import REJECTED, UserModel, find_profile
from batsched_py.model.users_side import UsersSide
from batsched_py.options.budgets import Budgets
from batsched_py.protocol import messages as m
from batsched_py.protocol.registered_jobs import RegisteredJobs
from batsched_py.transport import Partner
from batsched_py.transport.hidden_ends import HiddenEnds
from batsched_py.transport.proxy_calls import ProxyCalls
from batsched_py.units import DAY
from batsched_py.workload.workload import DYNAMIC, WorkloadJob

_HIDDEN_OPTIONS = ("dynamic-jobs-enabled", "dynamic-jobs-acknowledged", "profile-reuse-enabled")


class UsersProxy(UsersSide):
    """Stands between a simulator and ``scheduler``, and adds the jobs of ``users``.

    :meth:`answer` is the scheduler that the simulator sees. What concerns no job of users passes
    unchanged. With ``registers`` the scheduler registers jobs itself. ``shows_profiles``: the first
    message names the profiles of the users. ``six_decimals`` is as in
    :class:`~batsched_py.protocol.registered_jobs.RegisteredJobs`, all else as in
    :class:`~batsched_py.model.users_side.UsersSide`.

    No message of Batsim reports that a user withdrew a waiting job. So the job is rejected at the
    simulator, and the scheduler goes on to see it. If the scheduler starts it, the simulator does
    not learn of that: the scheduler gets JOB_COMPLETED with COMPLETED_KILLED at once.

    A scheduler that needs time, whose reply has a later ``now``, sees new jobs of users only when
    that time is over.
    """

    def __init__(
        self,
        scheduler: Partner,
        users: UserModel,
        *,
        six_decimals: bool = False,
        registers: bool = False,
        shows_profiles: bool = True,
        shake: int | None = None,
        budgets: Budgets = Budgets(),  # noqa: B008 - it cannot change
        nb_recorded: int = 0,
    ) -> None:
        super().__init__(users, shake, None, budgets, nb_recorded)
        self._scheduler, self._six_decimals = scheduler, six_decimals
        self._registers, self._shows_profiles = registers, shows_profiles
        self._progress = ProgressWatch(budgets, "the scheduler")
        self._registered: RegisteredJobs | None = None
        self._nb_processors = self._nb_jobs = self.nb_ended = self.nb_exchanges = 0
        self._forwards_profiles = self._ended = False
        self._more_static_jobs = self._submissions_over = False
        self._registering = self._theirs_registering = False
        """Whether the simulator, and the scheduler, still expect that jobs are registered."""
        self._reply: list[m.Event] = []
        self._until = 0.0
        """The time (seconds) until which the scheduler is busy: the ``now`` of its reply."""
        self._shown: list[m.Event] = []
        """Events for the next message to the scheduler."""
        self._unsent: dict[str, m.Event] = {}
        """Submissions among them, by job."""
        self._descriptions: dict[str, m.JobDescription] = {}
        """The users' jobs that were not shown yet."""
        self._waiting: dict[str, Job] = {}
        self._running: dict[str, Job] = {}
        self._hidden = HiddenEnds()
        self._calls = ProxyCalls()
        self._handlers: dict[type, Callable[[Any], None]] = {
            m.SimulationBegins: self._begins,
            m.SimulationEnds: self._ends,
            m.JobSubmitted: self._came,
            m.JobCompleted: self._completed,
            m.JobKilled: self._kill_was_done,
            m.RequestedCall: self._call_came,
            m.Notify: self._notified,
        }
        self._takers: dict[type, Callable[[Any], None]] = {
            m.ExecuteJob: self._start,
            m.RejectJob: self._reject,
            m.KillJob: self._kill,
            m.CallMeLater: self._call_later,
            m.RegisterProfile: self._register_for_scheduler,
            m.RegisterJob: self._register_for_scheduler,
            m.Notify: self._notify,
            m.SetJobMetadata: self._pass_unless_withdrawn,
            m.ChangeJobState: self._pass_unless_withdrawn,
        }

    def answer(self, message: m.Message) -> m.Message:
        """Return the reply to one message of the simulator.

        Raises :class:`ProtocolError` for messages that make no sense, and
        :class:`InvariantError` and :class:`BudgetError` when users err, as well as what the
        scheduler raises.
        """
        self.now = self._until = message.now
        self._reply = []
        with self.name_time_in_errors():
            for event in message.events:
                handler = self._handlers.get(type(event))
                if handler is None:
                    self._shown.append(event)
                else:
                    handler(event)
            assert self.users is not None
            if not self._ended:
                self.ask_users(self.users)
            self._converse(message.now)
            if not self._ended:
                self._conclude(message)
        return m.Message(self._until, self._reply)

    # The conversation with the scheduler ---------------------------------------------------------

    def _converse(self, now: float) -> None:
        """Send the scheduler what there is, and again if users react to its decisions."""
        users = self.users
        assert users is not None
        while self._until == now:  # else the scheduler is busy
            self._note_last_submission()
            if not self._shown:
                return
            self._exchange(now)
            if not self._users_know and self._until == now:
                self.ask_users(users)

    def _exchange(self, now: float) -> None:
        """Send what there is to the scheduler, and carry out what it decides."""
        events, self._shown = self._shown, []
        self._unsent.clear()
        self._hidden.phantoms.clear()
        self.nb_exchanges += 1
        reply = self._scheduler(m.Message(now, events))
        for decision in reply.events:
            if decision.timestamp > self.now:
                self.now = decision.timestamp
            else:
                decision.timestamp = self.now
            taker = self._takers.get(type(decision))
            if taker is None:
                self._reply.append(decision)
            else:
                taker(decision)
        self._until = max(self._until, reply.now)

    def _note_last_submission(self) -> None:
        """Show the scheduler once that no job will be submitted any more."""
        if self._submissions_over or self._registered is None or self._ended:
            return
        if self._users_due == inf and not self._of_users and not self._more_static_jobs:
            self._submissions_over = True
            self._shown.append(m.Notify(timestamp=self.now, type="no_more_static_job_to_submit"))

    def _conclude(self, message: m.Message) -> None:
        """Ask for the call that the users need, and end registration after their last job."""
        if self._registering and self._submissions_over and not self._theirs_registering:
            self._registering = False
            self._reply.append(m.Notify(timestamp=self._until, type="registration_finished"))
        due = self._users_due
        if self._until > message.now and (self._shown or not self._users_know):
            due = min(due, self._until)
        if due < self._calls.next_own:
            due = self._calls.add_own(due)
            # First, as Batsim waits for the time of each decision.
            self._reply.insert(0, m.CallMeLater(timestamp=message.now, time=due))
        tag = message.events[-1].tag if message.events else "an empty one"
        state = (self._nb_jobs, self.nb_ended, len(self._waiting), len(self._running))
        self._progress.count_message(message.now, tag, state)

    # Events of the simulator ---------------------------------------------------------------------

    def _begins(self, event: m.SimulationBegins) -> None:
        if self._registered is not None:
            raise ProtocolError("SIMULATION_BEGINS came twice")
        users, config = self.users, event.config
        assert users is not None
        size = event.nb_compute_resources
        self._registered = registered = RegisteredJobs(event, six_decimals=self._six_decimals)
        registered.check_enabled()
        self._calls.six_decimals = registered.six_decimals
        self._calls.are_named = event.is_batsim5
        self._nb_processors = size
        self._forwards_profiles = bool(config.get("profiles-forwarded-on-submission"))
        self._more_static_jobs = bool(event.workloads)
        self._registering, self._theirs_registering = True, self._registers
        shown = msgspec.structs.replace(
            event, workloads={**event.workloads, DYNAMIC: type(users).__name__}
        )
        if self._shows_profiles:
            shown.profiles = {**event.profiles, DYNAMIC: dict(users.profiles)}
        if not self._registers:
            hidden = {name: False for name in _HIDDEN_OPTIONS if name in config}
            shown.config = {**config, **hidden}
        self.show_site()
        self._shown.append(shown)
        self._exchange(self.now)  # alone, as Batsim sends it

    def _ends(self, event: m.SimulationEnds) -> None:
        if self._waiting or self._running:
            raise ProtocolError(
                f"SIMULATION_ENDS came with {len(self._waiting)} jobs waiting and "
                f"{len(self._running)} running"
            )
        self._ended = True
        self._shown.append(event)

    def _came(self, event: m.JobSubmitted) -> None:
        if event.job_id in self._submitted:
            return  # Batsim repeats a registered job, which the scheduler knows
        self._shown.append(event)
        if event.job_id not in self._waiting and event.job_id not in self._running:
            self._add_waiting(event.job.make_job())

    def _completed(self, event: m.JobCompleted) -> None:
        job = self._running.pop(event.job_id, None)
        if job is None:
            raise ProtocolError(f"JOB_COMPLETED: job {event.job_id!r} does not run")
        self._shown.append(event)
        self.nb_ended += 1
        job.state = ENDED
        self._tell_users(job, event.job_state)

    def _kill_was_done(self, event: m.JobKilled) -> None:
        if (shown := self._hidden.hide_kills(event)) is not None:
            self._shown.append(shown)

    def _call_came(self, event: m.RequestedCall) -> None:
        if not self._calls.take_own(event):
            self._shown.append(event)

    def _notified(self, event: m.Notify) -> None:
        if event.type == "no_more_static_job_to_submit":
            self._more_static_jobs = False
        else:
            self._shown.append(event)

    # Decisions of the scheduler ------------------------------------------------------------------

    def _start(self, decision: m.ExecuteJob) -> None:
        job_id = decision.job_id
        if self._hidden.is_gone(job_id):
            self._shown.append(self._hidden.pretend_run(decision, self.now))
            return
        self._reply.append(decision)
        job = self._waiting.pop(job_id, None)
        if job is not None:  # else the simulator refuses it
            job.state, job.start_time, job.processors = RUNNING, self.now, decision.alloc
            job.expected_end = self.now + job.estimate
            self._running[job_id] = job
            self._tell_start(job)

    def _reject(self, decision: m.RejectJob) -> None:
        if self._hidden.is_gone(decision.job_id):
            self._hidden.withdrawn.discard(decision.job_id)
            return
        self._reply.append(decision)
        job = self._waiting.pop(decision.job_id, None)
        if job is not None:
            job.state = ENDED
            self._tell_users(job, REJECTED)

    def _kill(self, decision: m.KillJob) -> None:
        left, gone = self._hidden.kill(decision.job_ids)
        if left or not decision.job_ids:
            decision.job_ids = left
            self._reply.append(decision)
        if gone:
            self._shown.append(m.JobKilled(timestamp=self.now, job_ids=gone, job_progress={}))

    def _call_later(self, decision: m.CallMeLater) -> None:
        self._reply.append(decision)
        self._calls.add_theirs(decision)

    def _register_for_scheduler(self, decision: m.RegisterProfile | m.RegisterJob) -> None:
        if not self._registers:
            raise ProtocolError(
                f"{decision.tag}: the scheduler registers jobs itself, which only "
                "--scheduler-registers allows"
            )
        self._reply.append(decision)
        if isinstance(decision, m.RegisterJob):
            self._add_waiting(decision.job.make_job())

    def _notify(self, decision: m.Notify) -> None:
        """Note whether the scheduler registers more jobs: that ends with those of the users."""
        if not self._registers or decision.type not in _OF_REGISTRATION:
            self._reply.append(decision)
            return
        self._theirs_registering = decision.type == "continue_registration"
        if self._theirs_registering and not self._registering:
            self._registering = True
            self._reply.append(decision)

    def _pass_unless_withdrawn(self, decision: m.SetJobMetadata | m.ChangeJobState) -> None:
        if not self._hidden.is_gone(decision.job_id):
            self._reply.append(decision)

    # What the users do ---------------------------------------------------------------------------

    def _register(self, job_id: str, job: WorkloadJob, size: int, extra: dict[str, Any]) -> Job:
        assert self._registered is not None
        assert self.users is not None
        description = m.JobDescription(
            job_id, self.now, size, job.profile, job.walltime, job.estimate, job.user, extra
        )
        self._registered.register(self._reply, self.now, description, job, self.users)
        self._descriptions[job_id] = description
        return description.make_job()

    def job_submitted(self, job: Job) -> None:
        """Show a new job to the scheduler, or reject it if it can never run."""
        description = self._descriptions.pop(job.id)
        self._add_waiting(job)
        if not 0 < job.size <= self._nb_processors:
            self._reject(m.RejectJob(timestamp=self.now, job_id=job.id))
            return
        given, *_ = self._of_users[job.id]
        if (description.profile, description.submit_time) != (given.profile, self.now):
            description = msgspec.structs.replace(
                description, profile=given.profile, submit_time=self.now
            )
        profile = None
        if self._forwards_profiles:
            assert self.users is not None
            profile = find_profile(given, self.users)
        event = m.JobSubmitted(timestamp=self.now, job_id=job.id, job=description, profile=profile)
        self._unsent[job.id] = event
        self._shown.append(event)

    def _add_waiting(self, job: Job) -> None:
        job.number = self._nb_jobs
        self._nb_jobs += 1
        self._waiting[job.id] = job

    def _drop_withdrawn(self, job: Job, *, was_shown: bool) -> None:
        self._reply.append(m.RejectJob(timestamp=self.now, job_id=job.id, withdrawn=True))
        if not was_shown:
            del self._descriptions[job.id]
            return
        del self._waiting[job.id]
        if (event := self._unsent.pop(job.id, None)) is not None:
            self._shown.remove(event)
        else:
            self._hidden.withdrawn.add(job.id)

    def _kill_for_user(self, job: Job) -> None:
        if self._hidden.kill_for_user(job.id):
            self._reply.append(m.KillJob(timestamp=self.now, job_ids=[job.id]))

    def waiting_jobs(self) -> Iterable[Job]:
        """Return the jobs that wait and are not held for others."""
        return self._waiting.values()

    def expected_start(self, job: Job) -> float | None:
        """Return None: the protocol has no plans."""
        return None

    # What others want to know --------------------------------------------------------------------

    def describe_progress(self) -> str:
        """Return the progress of the simulation in words."""
        return (
            f"simulated {self.now / DAY:.1f} days, {self.nb_ended:,} jobs ended, "
            f"{len(self._running):,} run, {len(self._waiting):,} wait"
        )

    def find_stuck_jobs(self) -> str | None:
        """Return which jobs wait while nothing runs, None if there are none."""
        jobs = list(self._waiting.values())
        if self._running or not jobs:
            return None
        size = self._nb_processors
        return describe_waiting_jobs(
            [job.id for job in jobs],
            size,
            size,
            (jobs[0].id, jobs[0].size),
            any_started=self.nb_ended > 0,
        )


_OF_REGISTRATION = ("registration_finished", "continue_registration")
