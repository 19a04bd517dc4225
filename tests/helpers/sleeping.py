"""Policies on machines that sleep, with switches as told or drawn; times in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from batsched_py.model.decisions import CallMeLater, Decision, SwitchOff, SwitchOn
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.processors.sets import to_text
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.ended_jobs import merge_forms
from batsched_py.simulator.outcome import Outcome
from batsched_py.simulator.platform.hosts import make_grid, make_homogeneous
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload.grid_sites import parse_sites
from batsched_py.workload.log_partitions import with_whole_nodes
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.processor_power import PowerGroups
from helpers.powers import groups_of
from helpers.processors import processors

OFF, ON = 20.0, 50.0
"""Seconds to switch a processor off, and on."""


class Switching:
    """A policy, and what is switched beside it."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from self.policy.schedule(now, queue, machine)
        yield from self.switches(now, queue, machine)

    def switches(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        raise NotImplementedError


class AsTold(Switching):
    """Switches processors at some times: ``{20: "off 2-3"}``."""

    def __init__(self, policy: Any, switches: Mapping[float, str]) -> None:
        super().__init__(policy)
        self.left = dict(sorted(switches.items()))

    def switches(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        for time in [time for time in self.left if time <= now]:
            to, _, which = self.left.pop(time).partition(" ")
            yield (SwitchOn if to == "on" else SwitchOff)(processors(which))
        if self.left:
            yield CallMeLater(min(self.left))


class AtRandom(Switching):
    """Switches some processors off at each pass.

    With an odd seed it also wakes some, and asks for further passes while jobs wait or run.
    """

    def __init__(self, policy: Any, seed: int) -> None:
        super().__init__(policy)
        self.random, self.wakes = Random(seed), bool(seed % 2)

    def switches(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        sleepers = machine.sleepers
        assert sleepers is not None
        random, able = self.random, sleepers.away - machine.unavailable
        if on := [number for number in able if self.wakes and random.random() < 0.2]:
            yield SwitchOn(on)
        share = random.choice((0, 0.3, 1))
        idle = machine.idle & sleepers.can_sleep
        if off := [number for number in idle if random.random() < share]:
            yield SwitchOff(off)
        is_busy = len(queue) or machine.free < machine.nb_available
        if self.wakes and is_busy and random.random() < 0.3:
            yield CallMeLater(now + random.choice((1, 15, 60)))


def power(nb: int, unlike: bool = False, always_on: int = 0) -> PowerGroups:
    """Return ``nb`` processors, of which the last ones may be faster, or never sleep."""
    half = nb // 2 if unlike else nb - always_on
    return groups_of([(OFF, ON)] * half + [(3.0, 7.0)] * (nb - half - always_on))


def run_sleeping(
    policy: Any,
    jobs: Sequence[DrawnJob],
    nb: int,
    *,
    estimates: Mapping[int, float] = {},
    partitions: Sequence[str] = (),
    described: MachineDescription | None = None,
    sites: str | None = None,
    groups: PowerGroups | None = None,
    shutdown: Shutdown | None = None,
) -> Outcome:
    """Simulate jobs on ``nb`` processors that can sleep; estimates are by the place of the job."""
    load = workload(jobs, nb)
    for at, estimate in estimates.items():
        load.jobs[at].estimate = estimate
    for job, partition in zip(load.jobs, partitions, strict=False):
        job.extra["partition"] = partition
    if described is not None:
        load = with_whole_nodes(load, described)
    parts = () if sites is None else parse_sites(sites)
    simulation = DirectSimulation(
        policy,
        sites=parts,
        description=described,
        power=power(nb) if groups is None else groups,
        shutdown=None if shutdown is None else make_rule(shutdown),
    )
    machine = make_grid(parts, 1.0) if parts else make_homogeneous(nb, 1.0)
    return simulation.run(machine, load)


def as_told(
    make: Any, switches: Mapping[float, str], described: MachineDescription | None = None
) -> AsTold:
    """Return the policy that ``make`` makes, with switches beside it."""
    return AsTold(adapt_to_partitions(make, described), switches)


def placed(outcome: Outcome) -> list[tuple[float, float, str]]:
    """Return start, end and processors of each job in the order of their ids."""
    jobs = sorted(merge_forms(outcome.jobs), key=lambda job: job.description.id)
    return [(job.start_time, job.finish_time, to_text(job.alloc)) for job in jobs]
