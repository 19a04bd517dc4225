"""The idle gaps of a schedule, and what sleeping in them could save without moving any job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import inf, nan
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
    """Return the gaps between jobs, before the first and after the last one of each processor.

    ``start``, ``finish`` (seconds) and ``processors`` are those of jobs that ran. Gaps before first
    jobs begin at 0.

    >>> find_gaps(np.array([10.0]), np.array([30.0]), [ProcessorSet.interval(0, 1)], 1)
    Gaps(begin=array([ 0., 30.]), end=array([10., inf]))
    """
    number = np.fromiter(chain.from_iterable(processors), np.int64)
    sizes = np.array([len(each) for each in processors], dtype=np.int64)
    every = np.arange(nb_processors)
    number = np.concatenate([every, number, every])
    busy_from = np.concatenate([np.full(len(every), -inf), np.repeat(start, sizes)])
    busy_to = np.concatenate([np.zeros(len(every)), np.repeat(finish, sizes)])
    busy_from = np.concatenate([busy_from, np.full(len(every), inf)])
    busy_to = np.concatenate([busy_to, np.full(len(every), inf)])
    order = np.lexsort((busy_from, number))
    begin, end = busy_to[order][:-1], busy_from[order][1:]
    is_gap = (number[order][1:] == number[order][:-1]) & (end > begin)
    return Gaps(begin[is_gap], end[is_gap])


def compute_break_even(power: ProcessorPower) -> float:
    """Return the shortest gap (s) in which switching off and on again needs no more energy.

    Watts times seconds of idling equal the joules of both switches and of the sleep between them.
    The power must be metered, and sleep must need fewer watts than idling.

    >>> taurus = dict(idle_watts=95, asleep_watts=9.75, off_seconds=6.1, on_seconds=152)
    >>> taurus |= dict(computing_watts=190.738, off_joules=620, on_joules=19030)
    >>> round(compute_break_even(ProcessorPower(**taurus)), 1)
    212.4
    """
    idle, asleep = _known(power.idle_watts), _known(power.asleep_watts)
    switching = _known(power.off_seconds) + _known(power.on_seconds)
    joules = _known(power.off_joules) + _known(power.on_joules) - asleep * switching
    return max(switching, joules / (idle - asleep))


def find_sleeps(gaps: Gaps, power: ProcessorPower) -> Gaps:
    """Return the gaps that are longer than break-even."""
    is_long = gaps.end - gaps.begin > compute_break_even(power)
    return Gaps(gaps.begin[is_long], gaps.end[is_long])


def compute_possible_saving(gaps: Gaps, power: ProcessorPower, span: Span) -> float:
    """Return the joules that switching could save in a span if it moved no job.

    Each gap longer than break-even is slept in full: the processor is switched off when the gap
    begins, and is on again when the gap ends. A rule that keeps the schedule saves no more, apart
    from gaps that cross the ends of the span.
    """
    begin, end = find_sleeps(gaps, power)
    off_seconds, on_seconds = _known(power.off_seconds), _known(power.on_seconds)
    off = _measure_within(begin, begin + off_seconds, span) / off_seconds
    on = _measure_within(end - on_seconds, end, span) / on_seconds
    asleep = _measure_within(begin + off_seconds, end - on_seconds, span)
    spent = off * _known(power.off_joules) + on * _known(power.on_joules)
    spent += asleep * _known(power.asleep_watts)
    return _known(power.idle_watts) * _measure_within(begin, end, span) - spent


def _known(value: float | None) -> float:
    return nan if value is None else value


def _measure_within(begin: Column, end: Column, span: Span) -> float:
    """Return the total length of intervals inside a span, seconds."""
    return float((np.clip(end, *span) - np.clip(begin, *span)).sum())
