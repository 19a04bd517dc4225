"""Small copies of other tools' rules, which prove the cause of a difference; not for use.

They are written from what the recorded runs show and from published descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job, JobState
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.processors.sets import ProcessorSet


class Reservation:
    """The processors that a plan keeps for a job, from a start to an end (seconds)."""

    def __init__(self, job: Job, start: float, end: float, processors: ProcessorSet) -> None:
        self.job = job
        self.start = start
        self.end = end
        self.processors = processors


class ProcessorPlan:
    """A plan that names the processors of each job, so that free processors can be fragmented."""

    def __init__(self, nb_processors: int, delay: float) -> None:
        self.delay = delay
        self.everything = ProcessorSet.interval(0, nb_processors)
        self.now = 0.0
        self.reserved: dict[int, Reservation] = {}

    def advance(self, now: float) -> bool:
        """Remove the ended jobs from the plan; return whether there were any."""
        self.now = now
        ended = [
            number
            for number, reservation in self.reserved.items()
            if reservation.job.state is JobState.ENDED
        ]
        for number in ended:
            del self.reserved[number]
        return bool(ended)

    def place(self, job: Job) -> Reservation:
        """Reserve the lowest processors that are free for the whole job, as early as possible.

        A job that is in the plan already is taken out before.
        """
        self.reserved.pop(job.number, None)
        others = self.reserved.values()
        duration = job.estimate + self.delay
        for start in sorted({self.now, *(other.end for other in others if other.end > self.now)}):
            free = self._free(start, start + duration)
            if len(free) >= job.size:
                break
        else:
            start, free = inf, self.everything
        reservation = Reservation(job, start, start + duration, free.lowest(job.size))
        self.reserved[job.number] = reservation
        return reservation

    def _free(self, start: float, end: float) -> ProcessorSet:
        free = self.everything
        for other in self.reserved.values():
            if other.start < end and other.end > start:
                free -= other.processors
        return free


class ConservativeBySets:
    """Conservative backfilling in which each reservation names its processors.

    When a job ended, each waiting job in queue order gives its reservation back and takes a new
    one; when none ended, only new jobs take one.
    """

    def __init__(self, *, delay: float = 5.0) -> None:
        self._delay = delay
        self._plan: ProcessorPlan | None = None

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Update the plan, and start the jobs whose reservation begins now."""
        if self._plan is None:
            self._plan = ProcessorPlan(machine.nb_processors, self._delay)
        plan = self._plan
        ended = plan.advance(now)
        for job in list(queue):
            if not ended and job.number in plan.reserved:
                continue
            reservation = plan.place(job)
            if reservation.start == now:
                yield Start(job, reservation.processors)
