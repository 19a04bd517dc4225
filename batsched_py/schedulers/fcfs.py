"""First come, first served."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.decisions import Decision, Start
from batsched_py.machine import Machine
from batsched_py.waiting import WaitingQueue


class Fcfs:
    """First come, first served: jobs start in submission order, nobody overtakes."""

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start jobs from the head of the queue until one does not fit."""
        while (head := queue.head) and head.size <= machine.free:
            yield Start(head)
