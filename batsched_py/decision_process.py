"""The decision process: one loop between the simulator, the users and the policy.

It answers one message at a time. Of an instant it handles all job ends first, then the reactions
of the users until nobody is due, then all submissions, then runs the policy once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf
from types import GeneratorType
from typing import Any

from batsched_py.errors import BatschedError, InvariantError, ProtocolError
from batsched_py.model import decisions as d
from batsched_py.model.endless_work import ProgressWatch, SubmissionWatch
from batsched_py.model.job import ENDED, RUNNING, WAITING, Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler, may_dilate
from batsched_py.model.policy_mistakes import mistake_of_policy, no_decision
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.user_model import EndedJob, UserModel, given, next_due, plain_job
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.protocol.decision_rules import Refusal, refused_by_batsim4, refused_by_batsim5
from batsched_py.protocol.dilated_jobs import DilatedJobs, is_placed, placed_id
from batsched_py.protocol.dynamic_registration import DYNAMIC
from batsched_py.protocol.message_json import six_decimals_up
from batsched_py.support.budgets import Budgets
from batsched_py.support.json_values import plain, shown
from batsched_py.support.processor_sets import from_text
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME
from batsched_py.workload.machine_file import PARTITION, MachineDescription
from batsched_py.workload.sites import HOME, Sites, home_of, nb_processors
from batsched_py.workload.workload import ORIGINAL_SUBMISSION, WorkloadJob, takes_too_long

Observer = Callable[[float, WaitingQueue, Machine], None]
"""Called with time, waiting queue and machine; it may look, and must not change anything."""


class DecisionProcess:
    """Answers Batsim's messages with the decisions of ``scheduler``, for ``users`` if any.

    ``shake`` is the seed of a random order of the jobs that users submit at one instant (None:
    in the order in which the model gives them). ``six_decimals`` says that times come with six
    decimals only, as Batsim prints them: calls are then asked for at such times. ``sites`` are
    the parts of the machine, none if it is one, ``description`` is what a machine file says of it,
    with limits that jobs are refused by; ``speed_factor`` is by how much its processors are
    faster than those that the jobs were recorded on. ``budgets`` say what is taken for endless
    work, ``nb_recorded`` how many jobs the users may submit before it is counted.
    """

    # With more than 30 attributes and no slots, CPython 3.11 is slower at each of them.
    __slots__ = (
        "_call_times",
        "_calls",
        "_description",
        "_dilated",
        "_ended",
        "_handlers",
        "_jobs",
        "_killed",
        "_more_static_jobs",
        "_most_decisions",
        "_must_schedule",
        "_nb_jobs",
        "_nb_jobs_before",
        "_of_users",
        "_profiles",
        "_progress",
        "_random",
        "_refused",
        "_registered",
        "_registering",
        "_reply",
        "_reuses_profiles",
        "_six_decimals",
        "_speed_factor",
        "_submissions",
        "_users_due",
        "_users_told",
        "machine",
        "nb_passes",
        "nb_running",
        "now",
        "observer",
        "queue",
        "scheduler",
        "sites",
        "users",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        users: UserModel | None = None,
        *,
        shake: int | None = None,
        six_decimals: bool = False,
        sites: Sites = (),
        description: MachineDescription | None = None,
        speed_factor: float = 1.0,
        budgets: Budgets = Budgets(),  # noqa: B008 - it cannot change
        nb_recorded: int = 0,
    ) -> None:
        self.scheduler = scheduler
        self.users = users
        self.machine = Machine(0)
        self.queue = WaitingQueue()
        self.now = 0.0
        self.observer: Observer | None = None
        """Looks at the state after each scheduling pass; None costs nothing."""
        self._ended = self._more_static_jobs = False
        self._random = None if shake is None else random.Random(f"users of {shake}")
        self._six_decimals = six_decimals
        self.sites, self._speed_factor = sites, speed_factor
        self._description = description
        self._dilated: DilatedJobs | None = None
        """None unless the policy may let jobs run longer."""
        self._refused: Refusal | None = None
        """What the other side cannot register; None: it says so itself, it is our simulator."""
        self._killed: set[str] | None = None
        """Running jobs that were killed, where Batsim aborts on a second time."""
        self._jobs: dict[str, Job] = {}
        self._nb_jobs = self._nb_jobs_before = 0
        self.nb_running = 0
        self.nb_passes = 0
        """How often the policy was called."""
        self._progress = ProgressWatch(budgets, scheduler)
        self._submissions = SubmissionWatch(budgets, nb_recorded)
        self._most_decisions = budgets.decisions
        self._of_users: dict[str, WorkloadJob] = {}
        self._users_due, self._users_told = inf, False
        """When the users submit next, as they said last; whether they were told of an end since."""
        self._registered: set[str] = set()
        self._calls: list[float] = []  # outstanding CALL_ME_LATER, a heap
        self._call_times: set[float] = set()
        """The same times, to find one."""
        self._reuses_profiles = False
        self._profiles: set[str] = set()
        """Those registered to be used again: as many as users have different ones."""
        self._registering = self._must_schedule = False
        self._reply: list[m.Event] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            m.SimulationBegins: self._begins,
            m.SimulationEnds: self._ends,
            m.JobCompleted: self._completed,
            m.RequestedCall: self._called,
            m.Notify: self._notified,
        }

    def answer(self, message: m.Message) -> m.Message:
        """Return the reply to one message.

        Raises :class:`ProtocolError` where Batsim was started otherwise than it must be or names a
        job that is not there, :class:`InvariantError` when policy or users err, and
        :class:`BudgetError` when there seems to be no end of what they do.
        """
        self.now = message.now
        self._reply = []
        try:
            self._hear(message.events)
            while self._must_schedule:
                self._must_schedule = False
                self._schedule()
                if self._users_told and self.users is not None:  # it rejected a job of theirs
                    self._ask_users(self.users)
            if not self._ended:
                self._conclude(message)
        except SystemExit as error:  # only a plug-in can have asked for that
            raise InvariantError(
                f"the policy or the user model left by SystemExit({error})"
            ) from error
        except Exception as error:
            if not isinstance(error, BatschedError):
                error.add_note(f"at {self.now}")
            raise
        return m.Message(self.now, self._reply)

    def _hear(self, events: list[m.Event]) -> None:
        for event in events:
            handler = self._handlers.get(type(event))
            if handler is not None:  # else it says nothing now that the policy could use
                handler(event)
        if self.users is not None:
            self._ask_users(self.users)
        for event in events:  # submissions after all ends and users, wherever they stand
            if type(event) is m.JobSubmitted and not self._is_echo(event):
                if event.job_id in self._jobs:
                    raise ProtocolError(f"JOB_SUBMITTED: job {event.job_id!r} came twice")
                self._enqueue(event.job, event.profile)

    def _may_have_changed_nothing(self, message: m.Message) -> None:
        machine = self.machine
        state = (
            *(self._nb_jobs, machine.nb_ended, machine.unavailable),
            *(len(self.queue), self.nb_running),
        )
        tag = message.events[-1].tag if message.events else "an empty one"
        self._progress.idle_message(self.now, tag, state)

    # Events ----------------------------------------------------------------------------------

    def _check_size(self, nb_resources: int) -> None:
        """Raise :class:`ProtocolError` if Batsim's machine is not as large as what is known."""
        described = self._description
        for what, size in (
            (f"{len(self.sites)} sites have", nb_processors(self.sites)),
            ("machine file says", described.nb_processors if described else 0),
        ):
            if size and size != nb_resources:
                raise ProtocolError(
                    f"SIMULATION_BEGINS: {nb_resources} compute resources, but the {what} {size} "
                    "processors"
                )

    def _begins(self, event: m.SimulationBegins) -> None:
        if self.machine.nb_processors:
            raise ProtocolError("SIMULATION_BEGINS came twice")
        self._check_size(event.nb_compute_resources)
        self.machine = Machine(event.nb_compute_resources, self.sites, self._description)
        config = event.config
        if config.get(m.EXACT_TIMES):
            self._six_decimals = False
        else:
            self._refused = refused_by_batsim4
        if event.is_batsim5:
            self._refused, self._killed = refused_by_batsim5, set()
        if config.get("redis-enabled"):
            raise ProtocolError(
                "Batsim keeps its jobs in redis, which is not read here: start it without "
                "--enable-redis"
            )
        # Without users there is nothing to register, which Batsim must be told too.
        self._registering = bool(config.get("dynamic-jobs-enabled"))
        self._reuses_profiles = bool(config.get("profile-reuse-enabled"))
        if self.users is not None and not self._registering:
            raise ProtocolError(
                "a user model submits jobs dynamically: start Batsim with --enable-dynamic-jobs"
            )
        self._more_static_jobs = bool(event.workloads)
        if may_dilate(self.scheduler, self.sites):
            if not self._registering:
                raise ProtocolError(
                    f"{type(self.scheduler).__name__} lets jobs run longer in some places, in a "
                    "form that is registered then: start Batsim with --enable-dynamic-jobs"
                )
            self._dilated = DilatedJobs(
                event.profiles,
                reuse=self._reuses_profiles,
                speed_factor=self._speed_factor,
                six_decimals=self._six_decimals,
                has_metadata=not event.is_batsim5,
                refused=self._refused,
            )

    def _notified(self, event: m.Notify) -> None:
        if event.type in ("event_machine_available", "event_machine_unavailable"):
            processors = from_text(event.details.get("resources", ""))
            self.machine.set_available(processors, event.type == "event_machine_available")
            self._must_schedule = True
        elif event.type == "no_more_static_job_to_submit":
            self._more_static_jobs = False

    def _ends(self, event: m.SimulationEnds) -> None:
        if self._jobs:
            raise ProtocolError(
                f"SIMULATION_ENDS came with {len(self.queue)} jobs waiting and {self.nb_running} "
                "running"
            )
        self._ended = True

    def _called(self, event: m.RequestedCall) -> None:
        if not self._calls:
            raise ProtocolError("REQUESTED_CALL: no CALL_ME_LATER is outstanding")
        # Calls come in the order of their times.
        due = heappop(self._calls)
        self._call_times.discard(due)
        if due > self.now:  # too early, by the last digit of a clock
            self._call_at(due)
        self._must_schedule = True

    def _is_echo(self, event: m.JobSubmitted) -> bool:
        """Tell whether a submitted job is one that was registered here."""
        if self._dilated is not None and is_placed(event.job_id):
            return True
        return self.users is not None and event.job_id in self._registered

    def _completed(self, event: m.JobCompleted) -> None:
        job = self._jobs.pop(event.job_id, None)
        if job is None or job.state is not RUNNING:
            raise ProtocolError(f"JOB_COMPLETED: job {event.job_id!r} does not run")
        self.machine.end(job)
        if self._killed:
            self._killed.discard(event.job_id)
        self.nb_running -= 1
        self._must_schedule = True
        if self._of_users:
            self._tell_users(job, event.job_state)

    # Users -----------------------------------------------------------------------------------

    def _ask_users(self, users: UserModel) -> None:
        now = self.now
        due = next_due(users)
        while due <= now:
            jobs = self._submissions.jobs_due(users, now)
            if self._random is not None:
                self._random.shuffle(jobs)
            for job in jobs:
                self._register(job, users)
            due = next_due(users)
        self._users_due, self._users_told = due, False

    def _register(self, job: WorkloadJob, users: UserModel) -> None:
        now = self.now
        name = f"{DYNAMIC}!{job.id}"
        if name in self._registered:
            raise InvariantError(f"users submitted job {job.id} twice")
        self._registered.add(name)
        described = plain_job(job, users)
        profile = job.profile
        if not self._reuses_profiles:  # Batsim forgets a profile with its first job
            profile = f"{profile}#{_without_mark(job.id)}"
            self._register_profile(profile, job, users)
        elif profile not in self._profiles:
            self._profiles.add(profile)
            self._register_profile(profile, job, users)
        extra = {**described.extra}  # policies may write into it
        original = described.original_submission_time
        if original is not None:
            extra.setdefault(ORIGINAL_SUBMISSION, original)
        size = described.size
        if self._description is not None:
            size = self._description.partition_of(extra).whole_nodes(size)
        description = m.JobDescription(
            name, now, size, profile, described.walltime, described.estimate, described.user, extra
        )
        refused = self._refused
        if refused and (
            reason := refused(description, plain(users.profiles.get(job.profile)) or {})
        ):
            raise InvariantError(f"{type(users).__name__} submitted job {job.id}: {reason}")
        self._reply.append(m.RegisterJob(timestamp=now, job_id=name, job=description))
        self._of_users[name] = job
        self._enqueue(
            description, None if self._dilated is None else plain(users.profiles.get(job.profile))
        )

    def _register_profile(self, name: str, job: WorkloadJob, users: UserModel) -> None:
        content = users.profiles.get(job.profile)
        if content is None:
            raise InvariantError(
                f"{type(users).__name__} submitted job {job.id} with the profile "
                f"{job.profile!r}, which is not in its profiles"
            )
        content = plain(content)
        if takes_too_long(content):
            raise InvariantError(
                f"{type(users).__name__} submitted job {job.id}: its profile: delay is "
                f"{shown(content['delay'])}, expected a number: {UP_TO_LATEST_TIME}"
            )
        self._reply.append(
            m.RegisterProfile(
                timestamp=self.now, workload_name=DYNAMIC, profile_name=name, profile=content
            )
        )

    def _tell_users(self, job: Job, state: str) -> None:
        submitted = self._of_users.pop(job.id, None)
        if submitted is not None and self.users is not None:
            start = job.start_time if job.start_time < inf else None
            ended = EndedJob(submitted, job.submit_time, start, self.now)
            self.users.job_ended(self.now, ended, state)
            self._users_told = True

    def _conclude(self, message: m.Message) -> None:
        """Keep one call outstanding, and tell Batsim when no user can submit any more."""
        if self._nb_jobs > self._nb_jobs_before:
            self._nb_jobs_before = self._nb_jobs
        elif not message.events or type(message.events[-1]) is not m.JobCompleted:
            self._may_have_changed_nothing(message)
        due = self._users_due
        if due < inf:
            if not self._calls or due < self._calls[0]:
                self._call_at(due)
        elif self._registering and not self._of_users and not self._may_dilate():
            self._registering = False
            self._reply.append(m.Notify(timestamp=self.now, type="registration_finished"))

    def _may_dilate(self) -> bool:
        """Tell whether a job may be started with a dilation from now on."""
        return self._dilated is not None and (self._more_static_jobs or bool(len(self.queue)))

    def _call_at(self, time: float) -> None:
        time = plain(time)
        if not isinstance(time, (float, int)) or not abs(time) <= LATEST_TIME:
            raise InvariantError(f"a call at {time!r} was asked for: expected {UP_TO_LATEST_TIME}")
        if self._six_decimals:
            time = six_decimals_up(time)
        if time in self._call_times:
            return
        if time <= self.now:
            raise InvariantError(f"a call at {time} was asked for at {self.now}: it must be later")
        heappush(self._calls, time)
        self._call_times.add(time)
        if len(self._calls) > self._most_decisions:
            raise self._progress.too_many_decisions(self.now)
        self._reply.append(m.CallMeLater(timestamp=self.now, time=time))

    # Jobs and the policy -----------------------------------------------------------------------

    def _enqueue(
        self, description: m.JobDescription, profile: dict[str, Any] | None = None
    ) -> None:
        job = Job(
            description.id,
            self._nb_jobs,
            description.size,
            description.walltime,
            description.expected_run_time,
            description.submit_time,
            description.extra,
            description.user or "",
        )
        self._nb_jobs += 1
        self._jobs[job.id] = job
        self._must_schedule = True
        if self.sites:
            job.home = home_of(self.sites, description.extra, description.user, description.id)
            home = self.sites[job.home].name
            description.extra = job.extra = {**description.extra, HOME: home}
        may_run = 0 < job.size <= self.machine.nb_processors
        if self._description is not None:
            job.partition = self._description.place_of(description.extra.get(PARTITION))
            may_run &= self._description.partitions[job.partition].admits(job.size, job.walltime)
        if not may_run:
            self._refuse(job)
            return
        self.queue.append(job)
        if self._dilated is not None:
            self._dilated.waits(description, profile)

    def _schedule(self) -> None:
        now, queue, machine = self.now, self.queue, self.machine
        self.nb_passes += 1
        decisions: Iterable[Any] = ()
        decision = None
        nb_repeatable = 0  # starts and rejections are no more than jobs
        try:
            decisions = self.scheduler.schedule(now, queue, machine)
            if type(decisions) is not GeneratorType:
                decisions = given(decisions, self.scheduler, "schedule")
            for decision in decisions:
                if isinstance(decision, d.Start):
                    self._start(decision)
                    continue
                nb_repeatable += not isinstance(decision, d.Reject)
                if nb_repeatable > self._most_decisions:
                    raise self._progress.too_many_decisions(now)
                if isinstance(decision, d.CallMeLater):
                    self._progress.policy_called = True
                    self._call_at(decision.time)
                else:
                    self._refuse_or_kill(decision)
        except Exception as error:
            mistake = mistake_of_policy(error, now, decisions, decision)
            if mistake is None:
                raise
            raise mistake from error
        if self.observer is not None:
            self.observer(now, queue, machine)

    def _refuse_or_kill(self, decision: d.Decision) -> None:
        if isinstance(decision, d.Reject):
            if decision.job.state is not WAITING:
                raise InvariantError(
                    f"job {decision.job.id} was rejected while {decision.job.state.value}"
                )
            self.queue.remove(decision.job)
            self._refuse(decision.job)
        elif isinstance(decision, d.Kill):
            self._kill(decision.job)
        else:
            raise no_decision(self.scheduler, decision)

    def _start(self, decision: d.Start) -> None:
        job = decision.job
        self.nb_running += 1
        if decision.dilation != 1 or decision.transfer:
            self._start_dilated(decision)
            return
        alloc = self.machine.start(job, self.now, decision.processors)
        self.queue.remove(job)
        self._reply.append(m.ExecuteJob(timestamp=self.now, job_id=job.id, alloc=alloc))
        if self._dilated is not None:
            self._dilated.forget(job.id)

    def _start_dilated(self, decision: d.Start) -> None:
        """Start a job that runs longer where it is placed, in a form of its own."""
        job, machine = decision.job, self.machine
        if self._dilated is None:
            raise InvariantError(
                f"{type(self.scheduler).__name__} started job {job.id} with a dilation: it must "
                "say beforehand that it dilates"
            )
        if job.state is WAITING:
            self.queue.remove(job)  # before its size may change
        machine.start(job, self.now, decision.processors, decision.dilation, decision.transfer)
        self._jobs[placed_id(job.id)] = self._jobs.pop(job.id)
        speed = min(site.speed for site in machine.sites if site.share(job.processors))
        self._reply += self._dilated.start(job, self.now, speed)

    def _refuse(self, job: Job) -> None:
        job.state = ENDED
        del self._jobs[job.id]
        if self._dilated is not None:
            self._dilated.forget(job.id)
        self._reply.append(m.RejectJob(timestamp=self.now, job_id=job.id))
        self._must_schedule = True
        self._tell_users(job, REJECTED)

    def _kill(self, job: Job) -> None:
        if job.state is not RUNNING:
            raise InvariantError(f"job {job.id} was killed while {job.state.value}")
        running = job.id if job.id in self._jobs else placed_id(job.id)
        if self._killed is not None:
            if running in self._killed:
                raise InvariantError(f"job {job.id} was killed twice, and Batsim 5 aborts on that")
            self._killed.add(running)
        self._reply.append(m.KillJob(timestamp=self.now, job_ids=[running]))


def _without_mark(job_id: str) -> str:
    """Write an id without ``#``, each in its own way: what follows the last ``#`` is the id."""
    return job_id.replace("%", "%25").replace("#", "%23")
