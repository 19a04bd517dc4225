"""The policy ``filler``: start every waiting job that fits, in submission order."""

from __future__ import annotations

from batsched_py.model.queue.orders import OrderName
from batsched_py.schedulers.list_scheduling import ListScheduling


class Filler(ListScheduling):
    """Start every waiting job that fits, in queue order; wide jobs may starve."""

    def __init__(self, *, order: OrderName = "fcfs") -> None:
        super().__init__(order=order, take="first_fit")
