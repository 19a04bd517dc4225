"""Conservative backfilling: every waiting job has a reservation, and none ever moves back."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from batsched_py.decisions import Decision, Start
from batsched_py.errors import UsageError
from batsched_py.held import Held
from batsched_py.jobs import Job, JobState
from batsched_py.machine import Machine
from batsched_py.orders import fixed_key
from batsched_py.timeline import Timeline
from batsched_py.waiting import WaitingQueue


class Conservative:
    """Conservative backfilling: jobs may overtake if they delay nobody who waits already.

    A job gets a reservation when it is submitted: the earliest start that delays no reservation
    made before. When a job ends early the schedule is compressed: in the order ``order`` each
    reservation is taken back and made anew, as early as it fits, which is never later. Jobs that
    outlive their estimates and processors that fail break promises: then all reservations are
    made anew.

    Source: A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, section 2.
    """

    def __init__(self, *, order: str = "fcfs") -> None:
        self._key = fixed_key(order)
        self._line = Timeline(0, 0.0)
        self._starts: dict[int, float] = {}  # reservation by the job's number
        self._running: list[Job] = []
        self._unavailable = 0
        self._seen = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Keep the reservations up to date, and start the jobs whose time has come."""
        early = self._take_ends_into_account(now)
        if self._is_broken(now, queue, machine):
            self._begin_anew(now, queue, machine)
        else:
            if early:
                self._compress(now, queue)
            self._reserve_for_new_jobs(queue)
        for job in list(queue.ranked(self._key)):
            if self._starts[job.number] <= now:
                del self._starts[job.number]
                self._running.append(job)
                yield Start(job)

    def _take_ends_into_account(self, now: float) -> bool:
        """Give back what jobs that ended early had left; tell whether there was any."""
        self._line.advance(now)
        early = False
        for job in self._running:
            if job.state is JobState.ENDED and job.expected_end > now:
                self._line.release(now, job.expected_end, job.size)
                early = True
        self._running = [job for job in self._running if job.state is JobState.RUNNING]
        return early

    def _is_broken(self, now: float, queue: WaitingQueue, machine: Machine) -> bool:
        """Tell whether what was promised cannot be kept, as the machine is not as expected."""
        return machine.free != self._line.free_at(now) or machine.unavailable != self._unavailable

    def _begin_anew(self, now: float, queue: WaitingQueue, machine: Machine) -> None:
        self._unavailable = machine.unavailable
        self._line = machine.timeline(now)
        self._starts.clear()
        self._seen = 0
        self._running = list(machine.releases())
        self._reserve_for_new_jobs(queue)

    def _compress(self, now: float, queue: WaitingQueue) -> None:
        line = self._line
        for job in queue.ranked(self._key):
            start = self._starts.get(job.number)
            if start is not None and start > now:
                line.release(start, start + job.estimate, job.size)
                self._starts[job.number] = line.place(job.size, job.estimate)

    def _reserve_for_new_jobs(self, queue: WaitingQueue) -> None:
        news = []
        for job in reversed(queue):
            if job.number < self._seen:
                break
            news.append(job)
        self._seen = queue.nb_arrived
        for job in reversed(news):
            if job.estimate == inf:
                raise UsageError(
                    f"job {job.id} has no walltime: reservations need one, or --walltime exact"
                )
            self._starts[job.number] = self._line.place(job.size, job.estimate)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> Held:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        start = self._starts[job.number]
        place = 1 + sum(other < start for other in self._starts.values())
        return Held("plan", place, until=start, free=machine.free, note="its own reservation")
