"""Runs a policy with a rule that switches processors off, and checks every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from batsched_py import Workload
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import Shutdown, parse_shutdown
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.processor_power import PowerGroup, ProcessorPower

Switch = tuple[float, str, str]
"""When it begins (seconds), the processors, and whether "off" or "on"."""


class Ran(NamedTuple):
    """What came out of a simulation."""

    jobs: dict[str, tuple[float | None, str]]
    """Start (seconds) and processors by id."""
    switches: list[Switch]
    changes: list[tuple[float, ProcessorSet, str]]
    runs: dict[str, float]
    last_end: float


def run_with_rule(
    load: Workload,
    make_policy: Callable[[], Any],
    shutdown: str | Shutdown,
    seconds: Sequence[tuple[float, float] | None] | tuple[float, float] = (20, 50),
    described: MachineDescription | None = None,
    look: Callable[[DirectSimulation, Iterable[Any]], None] | None = None,
) -> Ran:
    """Simulate; ``seconds`` are those to switch off and on, of all processors or of each.

    ``look`` is called with the decisions of the rule before they are carried out.
    """
    each = [seconds] * load.nb_res if isinstance(seconds, tuple) else seconds
    groups = tuple(
        PowerGroup(ProcessorSet.interval(at, 1), ProcessorPower(off_seconds=s[0], on_seconds=s[1]))
        for at, s in enumerate(each)
        if s is not None
    )
    if isinstance(seconds, tuple):
        groups = (PowerGroup(ProcessorSet.interval(0, load.nb_res), groups[0].power),)
    options = parse_shutdown(shutdown)
    rule = make_rule(options, described.outages if described else ())
    system = DirectSimulation(
        adapt_to_partitions(make_policy, described),
        description=described,
        power=groups,
        shutdown=rule,
    )
    if look is not None:
        decide = rule.decide

        def looking(*args: Any, **more: Any) -> Iterable[Any]:
            for decision in decide(*args, **more):
                look(system, decision)
                yield decision

        rule.decide = looking
    outcome = system.run(make_homogeneous(load.nb_res), load)
    jobs = {
        job.description.id.partition("!")[2]: (
            job.start_time,
            to_text(job.alloc) if job.alloc else "",
        )
        for job in outcome.jobs
    }
    runs = {
        job.description.id.partition("!")[2]: job.finish_time - job.start_time
        for job in outcome.jobs
        if job.alloc
    }
    changes = system.machine.sleepers.changes
    words = {"switching_off": "off", "switching_on": "on"}
    switches = [(time, to_text(some), words[to]) for time, some, to in changes if to in words]
    ends = [job.finish_time for job in outcome.jobs if job.finish_time is not None]
    return Ran(jobs, switches, changes, runs, max(ends, default=0.0))
