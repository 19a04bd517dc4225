"""The power of processors that sleep: two kinds by their numbers, and nodes of a machine file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batsched_py.processors.sets import ProcessorSet
from batsched_py.workload.processor_power import PowerGroup, PowerGroups, ProcessorPower
from helpers.partitions import entry

BY_HAND = ProcessorPower(
    idle_watts=100,
    computing_watts=200,
    asleep_watts=10,
    off_seconds=20,
    off_joules=2400,
    on_seconds=50,
    on_joules=7500,
)
"""Round numbers, those of the cases in the shared folder: 120 W to go, 150 W to come back."""
TAURUS = ProcessorPower(
    idle_watts=95,
    computing_watts=190.738,
    asleep_watts=9.75,
    off_seconds=6.1,
    off_joules=620,
    on_seconds=152,
    on_joules=19030,
)
"""The numbers of batsched's tests."""


Seconds = tuple[float, float]
"""To switch a processor off, and on."""


def groups_of(seconds: Sequence[Seconds | None]) -> PowerGroups:
    """Return the power of processors by the seconds of each; None: it is always on."""
    return tuple(
        PowerGroup(
            ProcessorSet.of(at for at, other in enumerate(seconds) if other == pair),
            ProcessorPower(off_seconds=pair[0], on_seconds=pair[1]),
        )
        for pair in dict.fromkeys(seconds)
        if pair is not None
    )


def nodes_with(power: ProcessorPower, **values: Any) -> str:
    """Return nodes of a machine file, each processor of which has this power."""
    lines = str(power).replace(",", "\n")
    return f"{entry('nodes', **values)}[nodes.power]\n{lines}\n"
