"""The starts that a policy has promised to the first waiting jobs, and the processors they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from math import inf
from operator import or_
from typing import NamedTuple

from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.site import Site
from batsched_py.model.user_model import find_method
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes
from batsched_py.workload.machine_description import Outage


class Promise(NamedTuple):
    """The promised start of the first waiting job of a partition or machine."""

    head: Job
    site: Site
    time: float
    """Seconds, inf if nothing is promised."""
    unusable: ProcessorSet
    """Processors that a planned outage takes away by then."""

    def count_surplus(self) -> int:
        """Return how many more processors than needed will be there; below 0: how many lack."""
        site = self.site
        assert site.sleepers is not None
        lost, times = site.sleepers.lost, site.waking_times()
        if self.unusable:
            lost, times = lost | self.unusable, site.ready_times()
        lost = site.nodes_of(lost)
        gone = sum((some & lost).size for time, some in times if time <= self.time)
        return site.free_at(self.time) - gone - self.head.size

    def choose_missing(self) -> ProcessorSet:
        """Return the sleeping processors to wake for the job."""
        if self.time == inf or (surplus := self.count_surplus()) >= 0:
            return NO_PROCESSORS
        return choose_sleepers(self.site, -surplus, self.unusable)


def choose_sleepers(site: Site, count: int, but: ProcessorSet = NO_PROCESSORS) -> ProcessorSet:
    """Return up to ``count`` lost processors, those that can be ready first, then the lowest."""
    assert site.sleepers is not None
    chosen, lost = NO_PROCESSORS, site.sleepers.lost
    usable = site.nodes_of(lost) - site.nodes_of(but)
    for _, some in site.ready_times():
        part = some & usable
        chosen |= part.lowest(min(part.size, count - chosen.size))
    return chosen & lost


def find_promises(
    now: float, queue: WaitingQueue, machine: Machine, policy: Scheduler, outages: Iterable[Outage]
) -> Iterator[Promise]:
    """Give the promise to the first job of each partition, or of the machine without partitions.

    Jobs that a limit holds back do not count. The policy explains which job is first and when it
    starts; else it is the first of the queue, and starts when enough processors are free.
    """
    places, parts, held = set[int](), machine.partitions, find_method(policy, "held")
    for job in queue:
        if job.partition in places:
            continue
        head, site, time = job, parts[job.partition], inf
        reason = held and held(head, now, queue, machine)
        if reason is not None and reason.why == "limit":
            continue
        if reason is not None and reason.by is not None:
            head = next((other for other in queue if other.id == reason.by), head)
            reason = held and held(head, now, queue, machine)
        if reason is not None:
            time, name = reason.until, reason.site
            site = next((each for each in machine.sites if name and each.name == name), site)
        places.add(job.partition)
        if time == inf:
            is_ready = site.begins(head.size) <= now
            time = now if is_ready else shadow_time_and_extra_nodes(head, site)[0]
        gone = (out.processors for out in outages if now < out.end and out.begin <= time < inf)
        yield Promise(head, site, time, reduce(or_, gone, NO_PROCESSORS))
        if len(places) == len(parts):
            return
