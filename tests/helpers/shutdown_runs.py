"""Runs a policy with a rule that switches processors off, and looks at each of its decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from batsched_py import Workload
from batsched_py.model.decisions import CallMeLater, SwitchOff, SwitchOn
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import parse_shutdown
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.workload.machine_description import MachineDescription
from helpers.powers import Seconds, groups_of

Decision = SwitchOff | SwitchOn | CallMeLater
Look = Callable[[DirectSimulation, Any, Decision | None], None]


class Ran(NamedTuple):
    """What came out of a simulation; times in seconds."""

    jobs: dict[str, tuple[float, float, str]]
    """Start, end and processors of the jobs that ran, by id."""
    switches: list[tuple[float, str, str]]
    """When each began, "off" or "on", and the processors."""
    changes: list[tuple[float, ProcessorSet, str]]
    calls: list[float]
    """The calls that the rule asked for."""


def run_with_rule(
    load: Workload,
    make_policy: Callable[[], Any],
    shutdown: str | None,
    seconds: Seconds | Sequence[Seconds | None] = (20, 50),
    described: MachineDescription | None = None,
    look: Look | None = None,
) -> Ran:
    """Simulate; ``seconds`` are those of all processors or of each, None: it cannot sleep.

    ``look`` is called with each decision of the rule before it is carried out, and at last None.
    """
    each = [seconds] * load.nb_res if isinstance(seconds, tuple) else seconds
    options = parse_shutdown(shutdown)
    rule = None if options is None else make_rule(options, described.outages if described else ())
    system = DirectSimulation(
        adapt_to_partitions(make_policy, described),
        description=described,
        power=groups_of(each),
        shutdown=None if rule is None else (looking := _LookedAt(rule, look)),
    )
    if rule is not None:
        looking.system = system
    outcome = system.run(make_homogeneous(load.nb_res), load)
    jobs = {
        job.description.id.partition("!")[2]: (job.start_time, job.finish_time, to_text(job.alloc))
        for job in outcome.jobs
        if job.alloc
    }
    changes = system.machine.sleepers.changes if system.machine.sleepers else []
    words = {"switching_off": "off", "switching_on": "on"}
    switches = [(time, words[to], to_text(some)) for time, some, to in changes if to in words]
    return Ran(jobs, switches, changes, [] if rule is None else looking.calls)


class _LookedAt:
    """A rule, each of whose decisions is looked at."""

    system: DirectSimulation

    def __init__(self, rule: Any, look: Look | None) -> None:
        self._rule, self._look = rule, look
        self.calls: list[float] = []

    def decide(self, *args: Any, begins: bool) -> Iterator[Decision]:
        for decision in self._rule.decide(*args, begins=begins):
            if isinstance(decision, CallMeLater):
                self.calls.append(decision.time)
            elif self._look is not None:
                self._look(self.system, self._rule, decision)
            yield decision
        if self._look is not None and not begins:
            self._look(self.system, self._rule, None)
