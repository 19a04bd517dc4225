"""Schedulers with requests that no policy makes: pstates, kills, sharing, messages of jobs.

Each replies to messages as a :data:`~batsched_py.transport.Partner`. Decisions depend only on the
messages, so that two simulators with equal messages get equal replies.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.units import HOUR, MINUTE


class FirstFit:
    """Starts each job that fits, in order of submission, on the lowest free processors."""

    def __init__(self) -> None:
        self.waiting: list[m.JobDescription] = []
        self.running: dict[str, ProcessorSet] = {}
        """Processors by job."""
        self.free = NO_PROCESSORS
        self.more_to_come = True
        self.now = 0.0
        self._decisions: list[m.Event] = []

    def __call__(self, message: m.Message) -> m.Message:
        """Return the decisions on a message."""
        self.now, self._decisions = message.now, []
        for event in message.events:
            self.handle_event(event)
        if type(message.events[0]) is not m.SimulationEnds:
            self.decide()
        return m.Message(message.now, self._decisions)

    def send(self, kind: type[m.Event], **fields: Any) -> None:
        """Add a decision of this type to the reply, with the present time."""
        self._decisions.append(kind(timestamp=self.now, **fields))

    def handle_event(self, event: m.Event) -> None:
        """Update the free processors and the waiting jobs by an event of the simulator."""
        if isinstance(event, m.SimulationBegins):
            self.free = ProcessorSet.interval(0, event.nb_compute_resources)
        elif isinstance(event, m.JobSubmitted):
            self.waiting.append(event.job)
        elif isinstance(event, m.JobCompleted):
            self.free |= self.running.pop(event.job_id)
        elif isinstance(event, m.Notify) and event.type == "no_more_static_job_to_submit":
            self.more_to_come = False

    def decide(self) -> None:
        """Start the waiting jobs that fit on the free processors."""
        for job in [job for job in self.waiting if job.size <= len(self.free)]:
            if job.size <= len(self.free):
                self.start(job, self.free.lowest(job.size))

    def start(self, job: m.JobDescription, alloc: ProcessorSet, **fields: Any) -> None:
        """Start a job on the processors ``alloc``; ``fields`` are further ones of EXECUTE_JOB."""
        self.waiting.remove(job)
        self.running[job.id] = alloc
        self.free -= alloc
        self.send(m.ExecuteJob, job_id=job.id, alloc=alloc, **fields)

    @property
    def done(self) -> bool:
        """Whether no job waits or runs, and none will be submitted."""
        return not (self.more_to_come or self.waiting or self.running)


class PowerSaver(FirstFit):
    """Sends idle processors to sleep, wakes them for jobs, and queries the energy.

    Every hour, and as they wake, processors change between full and half speed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._asleep = self._woken = NO_PROCESSORS
        self._speed = 0

    def handle_event(self, event: m.Event) -> None:
        """Take processors that changed their pstate back into use, or note that they sleep."""
        super().handle_event(event)
        if isinstance(event, m.SimulationBegins | m.RequestedCall) and not self.done:
            self.send(m.Query, requests={"consumed_energy": {}})
            self.send(m.CallMeLater, time=self.now + HOUR)
            self._speed = 1 - self._speed
            self._switch(self.free, self._speed)
        elif isinstance(event, m.ResourceStateChanged):
            if event.state == "2":
                self._asleep |= event.resources
            else:
                self.free |= event.resources
                self._woken -= event.resources

    def decide(self) -> None:
        """Start jobs; wake as many processors as they need, or let all idle ones sleep."""
        super().decide()
        lacking = sum(job.size for job in self.waiting) - len(self.free)
        lacking = min(lacking - len(self._woken), len(self._asleep))
        if lacking > 0:
            self._woken |= self._switch(self._asleep.lowest(lacking), self._speed)
        elif not self.waiting:
            self._switch(self.free, 2)

    def _switch(self, processors: ProcessorSet, state: int) -> ProcessorSet:
        if processors:
            self.send(m.SetResourceState, resources=processors, state=str(state))
            self.free -= processors
            self._asleep -= processors
        return processors


class Killer(FirstFit):
    """Kills each fourth job a minute after its start, if it still runs."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[float, str]] = []

    def start(self, job: m.JobDescription, alloc: ProcessorSet, **fields: Any) -> None:
        """Start a job; of each fourth job request a call at the time when it will be killed."""
        super().start(job, alloc, **fields)
        if int(job.id.partition("!")[2]) % 4 == 0:
            self._due.append((self.now + MINUTE, job.id))
            self.send(m.CallMeLater, time=self.now + MINUTE)

    def decide(self) -> None:
        """Kill the jobs that are due, then start jobs; times in messages have six decimals."""
        due = [entry for entry in self._due if entry[0] <= self.now + 1e-5]
        self._due = [entry for entry in self._due if entry not in due]
        if job_ids := [job_id for _, job_id in due if job_id in self.running]:
            self.send(m.KillJob, job_ids=job_ids)
        super().decide()


class Sharing(FirstFit):
    """Gives each processor two jobs at a time, and every fifth job two executors on each."""

    def __init__(self) -> None:
        super().__init__()
        self._load: Counter[int] = Counter()

    def handle_event(self, event: m.Event) -> None:
        """Count the jobs of each processor; it is free while it has fewer than two."""
        if isinstance(event, m.JobCompleted):
            self._load.subtract(self.running[event.job_id])
        super().handle_event(event)

    def start(self, job: m.JobDescription, alloc: ProcessorSet, **fields: Any) -> None:
        """Start a job, every fifth one with two executors on each of half as many processors."""
        if int(job.id.partition("!")[2]) % 5 == 0 and job.size % 2 == 0:
            alloc = alloc.lowest(job.size // 2)
            fields["mapping"] = {str(rank): str(rank // 2) for rank in range(job.size)}
        super().start(job, alloc, **fields)
        self._load.update(alloc)
        self.free |= ProcessorSet.of(number for number in alloc if self._load[number] < 2)


class Talker(FirstFit):
    """Answers messages that jobs send, and sets the metadata of these jobs."""

    def handle_event(self, event: m.Event) -> None:
        """Answer ``go`` to jobs with even numbers, and ``stop`` to others."""
        super().handle_event(event)
        if isinstance(event, m.FromJobMsg):
            even = int(event.job_id.partition("!")[2]) % 2 == 0
            self.send(m.ToJobMsg, job_id=event.job_id, msg="go" if even else "stop")
            self.send(m.SetJobMetadata, job_id=event.job_id, metadata=f"said {event.msg}")


class Resubmitter(FirstFit):
    """Registers each job a second time when it ends, with another profile."""

    def __init__(self) -> None:
        super().__init__()
        self._not_yet_again: set[str] = set()

    def handle_event(self, event: m.Event) -> None:
        """Register a job anew when it ends for the first time."""
        super().handle_event(event)
        if isinstance(event, m.JobSubmitted) and event.job_id.startswith("w0!"):
            self._not_yet_again.add(event.job_id)
        elif isinstance(event, m.JobCompleted) and event.job_id in self._not_yet_again:
            self._not_yet_again.remove(event.job_id)
            self._register(int(event.job_id.partition("!")[2]))
            if not self.more_to_come and not self._not_yet_again:
                self.send(m.Notify, type="registration_finished")

    def _register(self, number: int) -> None:
        profile = {"type": "delay", "delay": 100.0 + number}
        name = f"again{number}"
        self.send(m.RegisterProfile, workload_name="dyn", profile_name=name, profile=profile)
        again = m.JobDescription(f"dyn!{number}", self.now, 1 + number % 4, name)
        self.send(m.RegisterJob, job_id=again.id, job=again)
