"""Watches one job during a replay: why it waits after each pass, and how it starts."""

from __future__ import annotations

from math import inf

import msgspec

from batsched_py.errors import PluginError
from batsched_py.explain.job_history import Life
from batsched_py.model.job import Job, JobState
from batsched_py.model.machine import Machine
from batsched_py.model.policy import ExplainingScheduler, Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED, WITHDRAWN
from batsched_py.protocol.dilated_jobs import find_original_id, is_placed
from batsched_py.results.machine_power import Change
from batsched_py.support.json_values import to_python


class Ended(msgspec.Struct, frozen=True):
    """A job that ended, with its size and how much earlier than expected."""

    job: str
    size: int
    early: float
    """Seconds before its expected end, inf where none was known."""


class Happened(msgspec.Struct, frozen=True, omit_defaults=True):
    """The events of an instant that may change what a policy decides."""

    ended: list[Ended] = []
    submitted: list[str] = []
    called: bool = False
    """A call came that the policy or the users had asked for."""
    machine_changed: bool = False
    """Processors failed, came back, or were switched on or off."""


class Pass(msgspec.Struct, frozen=True):
    """A scheduling pass after which the watched job still waits."""

    time: float
    held: WaitingReason
    waiting: int
    """Jobs in the queue."""
    happened: Happened
    needs_end_of: list[str]
    """For the head: the running jobs that must end before its reservation, the last one last."""


class Started(msgspec.Struct, frozen=True, omit_defaults=True):
    """The decision to start the watched job, and what led to it."""

    time: float
    """Of the decision, seconds; the job begins then, unless processors must be woken for it."""
    free: int
    """Free processors when the policy began to decide."""
    happened: Happened
    together_with: list[str] = []
    """Other jobs that started at that instant."""
    still_waiting: list[str] = []
    """Jobs submitted before it that still wait; it overtook them."""
    behind: str | None = None
    """The job behind whose reservation it was backfilled."""
    reservation: float = inf
    """The time of this reservation."""
    sites: dict[str, int] = {}
    """The number of its processors on each site, if the machine has sites."""
    waking_until: float | None = None
    """When the last of its processors should be awake, None if all are (seconds)."""


class Watch:
    """Watches the job ``wanted`` during a replay under ``policy``."""

    def __init__(self, wanted: str, policy: Scheduler, margin: float = 0.0) -> None:
        self.jobs: dict[str, Life] = {}
        """All jobs that were submitted so far, by id."""
        self.nb_processors = 0
        self.power_changes: list[Change] = []
        self.passes: list[Pass] = []
        self.started: Started | None = None
        self.now = 0.0
        self.policy = policy
        self._wanted = wanted
        self._margin = margin
        self._job: Job | None = None
        self._happened = Happened()
        self._head: str | None = None  # who had the reservation after the last pass
        self._seen = 0
        self._bound: dict[str, ProcessorSet] = {}
        """Jobs whose processors are being woken, with these."""
        self._queue = WaitingQueue()
        self._machine = Machine(0)

    @property
    def life(self) -> Life | None:
        """The watched job, None before its submission."""
        return self.jobs.get(self._wanted)

    def has_seen_all(self, now: float) -> bool:
        """Return whether the replay may stop: the job and the margin after it have ended."""
        life = self.life
        if life is None or life.end is None:
            return False
        return now > life.end + self._margin * (life.end - life.submit_time)

    def note_message(self, message: m.Message) -> None:
        """Note the events of a message, before the policy answers it."""
        self.now = message.now
        ended, submitted = [], []
        called = changed = False
        for event in message.events:
            if isinstance(event, m.JobCompleted):
                job = self.jobs.get(find_original_id(event.job_id))
                if job is not None:
                    early = job.expected_end - message.now
                    ended.append(Ended(job.id, job.nb_processors, early))
                    job.end, job.state = message.now, event.job_state
            elif isinstance(event, m.SimulationBegins):
                self.nb_processors = event.nb_compute_resources
            elif isinstance(event, m.JobSubmitted):
                if not is_placed(event.job_id):
                    submitted.append(event.job_id)
            elif isinstance(event, m.RequestedCall):
                called = True
            elif isinstance(event, m.Notify):
                changed = changed or event.type.startswith("event_machine_")
            elif isinstance(event, m.ResourceStateChanged):
                changed = True
        self._happened = Happened(ended, submitted, called, changed)

    def note_pass(self, now: float, queue: WaitingQueue, machine: Machine) -> None:
        """Ask the policy after a scheduling pass why the job waits, if it still does."""
        self._queue, self._machine = queue, machine
        if self._job is None:
            news = queue.since(self._seen)
            self._seen = queue.nb_arrived
            self._job = next((job for job in news if job.id == self._wanted), None)
        job = self._job
        if job is None or job.state is not JobState.WAITING:
            return
        held = self._held(job)
        needs = _counts_on(job, held, machine) if held.why == "head" else []
        self.passes.append(Pass(now, held, len(queue), self._happened, needs))
        if self.started is not None:  # processors that it was bound to have failed
            self.started, self.jobs[job.id].processors = None, NO_PROCESSORS
        self._head = job.id if held.why == "head" else held.by

    def note_reply(self, message: m.Message, reply: m.Message) -> None:
        """Note the jobs that a reply submits, starts, rejects or withdraws."""
        for event in (*reply.events, *message.events):
            if isinstance(event, m.RegisterJob | m.JobSubmitted):
                self._note_submission(message.now, event.job)
        started = []
        for event in reply.events:
            if isinstance(event, m.ExecuteJob):
                started += self._note_execution(event)
            elif isinstance(event, m.RejectJob):
                job = self.jobs[event.job_id]
                job.end = message.now
                job.state = WITHDRAWN if event.withdrawn else REJECTED
            elif isinstance(event, m.RegisterJob) and is_placed(event.job_id):
                job = self.jobs[find_original_id(event.job_id)]
                job.end = None  # it was refused so that this form of it runs
                job.dilation = event.job.extra["dilation"]
                job.transfer = event.job.extra.get("transfer", 0.0)
            elif isinstance(event, m.RegisterJob):
                self._happened.submitted.append(event.job_id)
        if (sleepers := self._machine.sleepers) is not None:
            self.power_changes = sleepers.changes
            started += self._note_bound()
        if self._wanted in started:
            self._note_start(started)

    def _note_execution(self, event: m.ExecuteJob) -> list[str]:
        """Note that a job runs; return its id unless it was bound to the processors before."""
        job = self.jobs[find_original_id(event.job_id)]
        started = [job.id] if self._bound.get(job.id) != event.alloc else []
        job.start, job.processors, job.state = self.now, event.alloc, "RUNNING"
        return started

    def _note_bound(self) -> list[str]:
        """Note the jobs whose processors are being woken, and return those that are new."""
        jobs = self._machine.releases()
        bound = {job.id: job.processors for job in jobs if self.jobs[job.id].start is None}
        new = [name for name in bound if bound[name] != self._bound.get(name)]
        for name in new:
            self.jobs[name].processors = bound[name]
        self._bound = bound
        return new

    def _note_submission(self, now: float, job: m.JobDescription) -> None:
        if job.id in self.jobs or is_placed(job.id):
            return  # the echo of a registration, or a job that is here already
        self.jobs[job.id] = Life(
            job.id, len(self.jobs), job.size, now, job.expected_run_time, job.extra
        )

    def _note_start(self, started: list[str]) -> None:
        job = next(job for job in self._machine.releases() if job.id == self._wanted)
        sizes = (self.jobs[name].nb_processors for name in started)
        shares = {site.name: site.share(job.processors) for site in self._machine.sites}
        head, until = self._reservation()
        backfilled = head is not None and self._was_ahead(head, job)
        self.started = Started(
            time=self.now,
            free=self._machine.free + sum(sizes),
            happened=self._happened,
            together_with=[name for name in started if name != job.id],
            still_waiting=[other.id for other in self._queue if other.number < job.number],
            behind=head.id if head is not None and backfilled else None,
            reservation=until if backfilled else inf,
            sites={name: len(share) for name, share in shares.items() if name and share},
            waking_until=job.start_time if job.start_time > self.now else None,
        )

    def _reservation(self) -> tuple[Job | None, float]:
        """Return the head that has a reservation and its time (seconds), None if there is none."""
        first = self._queue.head
        if first is None:
            return None, inf
        held = self._held(first)
        if held.why == "head":
            return first, held.until
        if held.why in ("processors", "reservation"):
            return next((job for job in self._queue if job.id == held.by), None), held.until
        return None, inf

    def _was_ahead(self, head: Job, job: Job) -> bool:
        """Return whether ``head`` was before ``job`` in the order, as far as that can be known."""
        key = getattr(getattr(self.policy, "order", None), "key", None)
        return head.id == self._head if key is None else bool(key(head) < key(job))

    def _held(self, job: Job) -> WaitingReason:
        """Ask the policy; without an answer the reason is the number of free processors."""
        policy, queue, machine = self.policy, self._queue, self._machine
        answer: object = None
        if isinstance(policy, ExplainingScheduler):
            answer = policy.held(job, self.now, queue, machine)
        if answer is None:
            place = next(at for at, other in enumerate(queue, 1) if other is job)
            return WaitingReason("unknown", place, free=machine.free)
        if not isinstance(answer, WaitingReason):
            name = type(self.policy).__name__
            raise PluginError(f"{name}.held returned {answer!r}: expected WaitingReason or None")
        return WaitingReason(*map(to_python, msgspec.structs.astuple(answer)))


def _counts_on(job: Job, held: WaitingReason, machine: Machine) -> list[str]:
    """Return the running jobs whose expected ends make room for the head by its reservation."""
    if held.until == inf:
        return []
    part = next((site for site in machine.sites if held.site and site.name == held.site), machine)
    (free, releases), needed = part.outlook(), []
    for expected_end, freed, _, other in releases:
        if free >= job.size or expected_end > held.until:
            break
        free += freed
        if other is not None:
            needed.append(other.id)
    return needed
