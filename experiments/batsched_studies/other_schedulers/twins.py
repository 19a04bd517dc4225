"""A small copy of the EASY of batsched, which proves why its schedules differ; not for use.

It is written from what recorded runs show, as the twins of the study of conformance are.
"""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_studies.conformance.twins import ProcessorPlan


class EasyByNumber:
    """EASY whose first job reserves certain processors: the lowest that are free when it can start.

    Others may overtake it on all other processors. The reservation is made anew when a job ended.
    Then all waiting jobs are tried, otherwise only new ones. ``delay`` (seconds) makes each job
    longer than its walltime in the plan, as batsched's option ``-d``.
    """

    def __init__(self, *, delay: float = 0.0) -> None:
        self._delay = delay
        self._plan: ProcessorPlan | None = None
        self._head: Job | None = None
        self._nb_seen = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start jobs from the front while they fit, then those that leave the head its place."""
        if self._plan is None:
            self._plan = ProcessorPlan(machine.nb_processors, self._delay)
        plan, waiting = self._plan, list(queue)
        ended = plan.advance(now)
        nb_seen = self._nb_seen
        self._nb_seen = max([nb_seen, *(job.number + 1 for job in waiting)])
        if ended:
            self._head = None
        for job in waiting:
            if self._head in (None, job):
                self._head = None if (place := plan.place(job)).start == now else job
            elif (not ended and job.number < nb_seen) or job.size > machine.free:
                continue
            elif (place := plan.place(job)).start > now:
                del plan.reserved[job.number]
            if place.start == now:
                yield Start(job, place.processors)
