"""The power of a run's processors, and their switches, which ``PREFIX_power.csv`` has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.files.csv_text import make_csv_line
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.workload.processor_power import PowerGroups, ProcessorPower

POWER = "_power.csv"
"""The name, after PREFIX, of the table of switches."""
STATES = ("computing", "idle", "asleep", "switching_off", "switching_on")
"""The states of a processor."""
CHANGES = {"switching_off": (3, 1), "asleep": (2, 3), "switching_on": (4, 2), "awake": (1, 4)}
"""By state in the table of switches: the numbers of this state and of the one before it."""
Change = tuple[float, ProcessorSet, str]
"""The time in seconds at which processors entered a state; all are awake in the beginning."""
Watts = NDArray[np.float64]


class MachinePower(msgspec.Struct, frozen=True):
    """The power of the processors of a machine, and their switches in order of time."""

    groups: PowerGroups
    changes: Sequence[Change] = ()

    @property
    def size(self) -> int:
        """The number of processors of known power."""
        return sum(len(group.processors) for group in self.groups)

    @property
    def stored(self) -> dict[str, str]:
        """The power of the groups of processors, as ``PREFIX_run.json`` has it."""
        return {to_text(group.processors): str(group.power) for group in self.groups}

    def sum_watts(self, sizes: Watts, sets: Callable[[], Sequence[ProcessorSet]]) -> Watts:
        """Return the watts of sets of processors in each of :data:`STATES`; shape (n, 5).

        ``sets`` is called only if processors differ in power; else the ``sizes`` are enough.
        """
        if len({group.power for group in self.groups}) == 1:
            return np.outer(sizes, list_watts(self.groups[0].power))
        total, all_sets = np.zeros((len(sizes), len(STATES))), sets()
        for group in self.groups:
            counts = np.array([len(group.processors & each) for each in all_sets])
            inside = counts > 0  # else unknown watts, which are nan, would count
            total[inside] += np.outer(counts[inside], list_watts(group.power))
        return total


def list_watts(power: ProcessorPower) -> Watts:
    """Return the watts of a processor in each of :data:`STATES`, nan where they are unknown."""
    switched = np.zeros(3)
    if power.can_sleep:
        joules = np.array([power.asleep_watts, power.off_joules, power.on_joules], np.float64)
        switched = joules / np.array([1.0, power.off_seconds, power.on_seconds], np.float64)
    return np.array([power.computing_watts, power.idle_watts, *switched], np.float64)


def format_changes(changes: Sequence[Change]) -> str:
    """Return the text of a ``PREFIX_power.csv``."""
    rows = ((f"{time:.6f}", to_text(processors), state) for time, processors, state in changes)
    return "".join(map(make_csv_line, [("time", "processors", "state"), *rows]))


def find_spells(
    changes: Iterable[Change], end: float
) -> Iterator[tuple[float, float, ProcessorSet, str]]:
    """Yield begin and end (seconds), processors and state of each spell of sleep before ``end``."""
    present: list[Change] = []
    for time, processors, state in changes:
        left = []
        for since, some, was in present:
            if (over := some & processors) and since < min(time, end):
                yield since, min(time, end), over, was
            if others := some - processors:
                left.append((since, others, was))
        present = left if state == "awake" else [*left, (time, processors, state)]
    yield from ((since, end, some, was) for since, some, was in present if since < end)
