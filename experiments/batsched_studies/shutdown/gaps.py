"""The idle gaps of a schedule, and what sleeping in them could save without moving any job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np

from batsched_py.processors.sets import ProcessorSet
from batsched_py.results.job_table import Column
from batsched_py.workload.processor_power import ProcessorPower

Span = tuple[float, float]
"""Begin and end, in seconds."""


class Gaps(NamedTuple):
    """Times in which a processor has no job, of all processors; columns of shape (n,), seconds."""

    begin: Column
    end: Column
    """inf after the last job of a processor."""


def find_gaps(
    start: Column, finish: Column, processors: Sequence[ProcessorSet], nb_processors: int
) -> Gaps:
    """Return the gaps before, between and after the jobs of each processor, from 0 on.

    ``start``, ``finish`` (seconds) and ``processors`` are those of jobs that ran.

    >>> find_gaps(np.array([10.0]), np.array([30.0]), [ProcessorSet.interval(0, 1)], 1)
    Gaps(begin=array([ 0., 30.]), end=array([10., inf]))
    """
    sizes, every = list(map(len, processors)), np.arange(nb_processors)
    number = np.concatenate([every, every, np.fromiter(chain.from_iterable(processors), np.int64)])
    # Each processor is also busy before 0, and after the end.
    busy_from = np.append(np.repeat([-inf, inf], nb_processors), np.repeat(start, sizes))
    busy_to = np.append(np.repeat([0.0, inf], nb_processors), np.repeat(finish, sizes))
    order = np.lexsort((busy_from, number))
    begin, end = busy_to[order][:-1], busy_from[order][1:]
    is_gap = (np.diff(number[order]) == 0) & (end > begin)
    return Gaps(begin[is_gap], end[is_gap])


def compute_break_even(power: ProcessorPower) -> float:
    """Return the shortest gap (s) in which switching off and on again needs no more energy.

    The power must be metered, with fewer watts asleep than idle.

    >>> watts = dict(idle_watts=95, computing_watts=190.738, asleep_watts=9.75)
    >>> switches = dict(off_seconds=6.1, off_joules=620, on_seconds=152, on_joules=19030)
    >>> round(compute_break_even(ProcessorPower(**watts, **switches)), 1)
    212.4
    """
    idle, _, asleep, off_seconds, on_seconds, off_joules, on_joules = list_numbers(power)
    seconds, joules = off_seconds + on_seconds, off_joules + on_joules
    return max(seconds, (joules - asleep * seconds) / (idle - asleep))


def compute_possible_saving(gaps: Gaps, power: ProcessorPower, span: Span) -> float:
    """Return the joules that switching could save in a span if it moved no job.

    In each gap longer than break-even, the processor is switched off when the gap begins, and is on
    again when it ends. A rule that keeps the schedule saves no more, apart from gaps that cross the
    ends of the span.
    """
    idle, _, asleep, off_seconds, on_seconds, off_joules, on_joules = list_numbers(power)
    is_long = gaps.end - gaps.begin > compute_break_even(power)
    begin, end = gaps.begin[is_long], gaps.end[is_long]
    times = (begin, begin + off_seconds, end - on_seconds, end)
    before = np.array([np.clip(time, *span).sum() for time in times])
    lengths = np.diff(before)  # going off, asleep, coming on
    watts = np.array([off_joules / off_seconds, asleep, on_joules / on_seconds])
    return float(((idle - watts) * lengths).sum())


def list_numbers(power: ProcessorPower) -> list[float]:
    """Return all numbers of a metered power, in the order of its fields."""
    return [float(getattr(power, name)) for name in power.__struct_fields__]
