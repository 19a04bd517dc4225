"""What a policy may ask the machine for, and give it: sets of processors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from procset import ProcSet

from batsched_py import (
    CountingScheduler,
    Decision,
    ExplainingScheduler,
    Job,
    Machine,
    ObservedScheduler,
    Start,
    WaitingQueue,
)
from batsched_py.errors import InvariantError
from batsched_py.support import plugins
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload

PLUGINS = list(plugins.names(plugins.SCHEDULERS))


class HighestFirst:
    """FCFS on the highest free processors, as procsets or as bitmasks."""

    def __init__(self, bitmask: bool) -> None:
        self.bitmask = bitmask

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        while (head := queue.head) and head.size <= machine.free:
            free = machine.free_procset()
            assert len(free) == machine.free
            highest = list(free)[-head.size :]
            mask = sum(1 << number for number in highest)
            yield Start(head, mask if self.bitmask else ProcSet(*highest))


@pytest.mark.parametrize("bitmask", [False, True])
def test_a_policy_may_choose_processors(bitmask: bool) -> None:
    jobs = [J(0, 2, 5), J(0, 1, 9), J(1, 2, 3)]
    outcome = run(workload(jobs, 4), HighestFirst(bitmask))
    assert starts(outcome) == [0, 0, 5]
    check_machine(outcome)
    chosen = {job.description.id[-1]: job.alloc for job in outcome.jobs}
    assert chosen == {"0": 0b1100, "1": 0b0010, "2": 0b1100}


@pytest.mark.parametrize(
    "processors", [ProcSet(0), ProcSet((0, 2)), ProcSet(3, 4), 0b0001, [0, 1], "0-1", (0, 1)]
)
def test_what_is_refused(processors: Any) -> None:
    """Too few, too many, not there, and what is no set of processors."""
    machine = Machine(4)
    with pytest.raises(InvariantError, match="job w0!1"):
        machine.start(Job("w0!1", 0, 2, 5.0, 5.0, 0.0, {}), 0.0, processors)
    assert machine.free == 4


def test_processors_out_of_order_are_not_free() -> None:
    machine = Machine(4)
    machine.set_available(0b0010, available=False)
    assert machine.free_procset() == ProcSet(0, 2, 3)


def test_what_our_policies_have_beside_schedule() -> None:
    """All say why a job waits; those that plan count, and dynP can be observed."""
    policies = {name: plugins.load(plugins.SCHEDULERS, name)() for name in PLUGINS}
    assert [name for name in PLUGINS if not isinstance(policies[name], ExplainingScheduler)] == []
    counting = [name for name in PLUGINS if isinstance(policies[name], CountingScheduler)]
    assert counting == ["dynp", "dynp_bounds", "grid", "planning"]
    assert [name for name in PLUGINS if isinstance(policies[name], ObservedScheduler)] == ["dynp"]
