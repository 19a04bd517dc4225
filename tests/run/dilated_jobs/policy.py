"""A policy of sites: at home, on another site with a transfer, or spread over all at a price."""

from __future__ import annotations

from collections.abc import Iterator

from procset import ProcSet

from batsched_py import Decision, Machine, Start, WaitingQueue


class Grid:
    """First come first served, on the first of the placements that fits."""

    def dilates(self, sites: object) -> bool:
        return True

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        while (job := queue.head) and job.size <= machine.free:
            home = machine.sites[job.home]
            for site in (home, *machine.sites):
                if job.size <= site.free:
                    processors = ProcSet(*list(site.free_procset())[: job.size])
                    yield Start(job, processors, 1 / site.speed, 0.0 if site is home else 2.5)
                    break
            else:
                yield Start(job, None, 1.3 / min(site.speed for site in machine.sites))
