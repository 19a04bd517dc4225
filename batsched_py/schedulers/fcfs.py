"""The policy ``fcfs``: first come, first served."""

from __future__ import annotations

from batsched_py.schedulers.list_scheduling import ListScheduling


class Fcfs(ListScheduling):
    """First come, first served: jobs start in submission order, and none overtakes."""

    packs_nodes = True

    def __init__(self) -> None:
        super().__init__()
