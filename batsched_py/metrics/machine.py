"""Metrics of the machine: makespan, work, utilisation, lost capacity, throughput, queue, windows.

``N`` is the number of processors of the machine (:attr:`JobTable.nb_processors`). Jobs that were
rejected count only for the first submission, withdrawn ones for it and for the queue.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.quotient import ratio
from batsched_py.units import DAY, HOUR, MONTH


def makespan(table: JobTable) -> float:
    """From the first submission to the last end: ``max f - min a``.

    Batsim's and Streit's makespan is :func:`last_end` instead.

    Unit: s. Source: Madon et al. 2024, section 4.
    """
    return float(np.nanmax(table.finish) - np.min(table.submit))


def last_end(table: JobTable) -> float:
    """Makespan as an absolute time: ``max f``.

    Unit: s. Source: Streit 2003, eq. 3.5; Batsim's summary.
    """
    return float(np.nanmax(table.finish))


def squashed_area(table: JobTable) -> float:
    """Workload: ``sum w p``.

    Unit: processor s. Source: Streit 2003, footnote of section 7.3.1; Schlagkamp 2015.
    """
    return float(table.only_ran.area.sum())


def total_completion_time(table: JobTable) -> float:
    """``sum f``.

    Unit: s. Source: Streit 2003, section 3.4 (named only).
    """
    return float(table.only_ran.finish.sum())


def total_idle_time(table: JobTable) -> float:
    """``N (max f - min a) - sum w p``.

    Unit: processor s. Source: Streit 2003, section 3.4 (named only).
    """
    return _processors(table) * makespan(table) - squashed_area(table)


def mean_busy_processors(table: JobTable) -> float:
    """``sum w p / (max f - min a)``.

    Unit: processors. Source: Madon et al. 2024, section 4 (there on windows).
    """
    return ratio(squashed_area(table), makespan(table))


def utilisation(table: JobTable) -> float:
    """UTIL: ``sum w p / (N (max f - min a))``, from the first submission to the last end.

    Unit: 1. Source: Streit 2003, eq. 3.6; Zakay, PhD thesis.
    """
    return ratio(squashed_area(table), _processors(table) * makespan(table))


def utilisation_to_last_submission(table: JobTable) -> float:
    """Mean share of busy processors from the first to the last submission, ``max a - min a``.

    It leaves out the time in which nothing more comes and the machine empties. Zakay does not
    state the time window: this is one interpretation, and :func:`utilisation` the other.

    Unit: 1. Source: Zakay, PhD thesis (our interpretation).
    """
    begin, end = float(np.min(table.submit)), float(np.max(table.submit))
    return ratio(busy_time(table, begin, end), _processors(table) * (end - begin))


def loss_of_capacity(table: JobTable) -> float:
    """LOC: ``sum_k f_k (t_{k+1} - t_k) d_k / (N (max f - min a))``.

    ``f_k`` are the free processors between the instants k and k + 1, and ``d_k`` is 1 iff a job
    waits then: the share of the machine that stood idle although there were jobs for it. Both are
    taken after all starts at instant k. Streit's instants are submissions and ends; starts are
    added here, which is the same where jobs start at submissions and ends, and right where they
    do not (Batsim with a delay of the process, reservations).

    Unit: 1. Source: Streit 2003, eq. 3.7.
    """
    states = compute_states(table)
    free = np.maximum(_processors(table) - states.busy[:-1], 0)
    lost = free * np.diff(states.time) * (states.waiting[:-1] > 0)
    return ratio(float(lost.sum()), _processors(table) * makespan(table))


def throughput_per_hour(table: JobTable) -> float:
    """Jobs that ran by hour of ``max f - min a``.

    Unit: jobs/h. Source: Shmueli and Feitelson 2009; Streit 2003, section 3.4 (named only).
    """
    return ratio(float(table.ran.sum()), makespan(table) / HOUR)


def throughput_to_last_submission(table: JobTable) -> float:
    """Jobs that ended by the last submission, by hour of ``max a - min a``.

    Where users react, what gets done is a result; it is over the time in which they submit, since
    after their horizon the machine only empties. Zakay does not state the time window.

    Unit: jobs/h. Source: Zakay, PhD thesis, chapter 5 (our interpretation).
    """
    begin, end = float(np.min(table.submit)), float(np.max(table.submit))
    return ratio(float((table.only_ran.finish <= end).sum()), (end - begin) / HOUR)


def mean_queue_length(table: JobTable) -> float:
    """Jobs that wait, averaged over time: ``sum (s - a) / (max f - min a)``.

    A withdrawn job waits until its withdrawal, or the last end.

    Unit: jobs. Source: Zakay, PhD thesis, chapter 4 (there the distribution).
    """
    waits = float(table.only_ran.waiting.sum())
    if len(table.withdrawal):
        submit, left = _waits_of_withdrawn(table)
        waits += float((left - submit).sum())
    return ratio(waits, makespan(table))


def queue_length_distribution(table: JobTable) -> Column:
    """Return the share of time with each number of waiting jobs, from 0 to the most.

    From the first submission to the last end; it sums to 1, and is empty if no job ran.
    Source: Zakay, PhD thesis, chapter 4.
    """
    if not table.ran.any():
        return np.empty(0)
    states = compute_states(table)
    length = np.diff(states.time)
    shares = np.bincount(np.maximum(states.waiting[:-1], 0), weights=length)
    return np.asarray(shares / length.sum(), dtype=np.float64)


def window(table: JobTable, start: float, length: float) -> dict[str, float]:
    """Return throughput (jobs ended per day) and mean busy processors in a window of time.

    The window is ``[start, start + length)``, in seconds from the first submission; its length
    is the denominator of both. Jobs of rare behaviour keep processors busy, but do not count as
    ended; the first submission may be one of theirs. Source: Madon et al. 2024, section 4.
    """
    begin = float(np.min(table.submit)) + start
    end = begin + length
    finished = table.only_measured.finish  # nan of rejected jobs is in no window
    ended = int(((finished >= begin) & (finished < end)).sum())
    return {
        "start": start,
        "length": length,
        "throughput_per_day": ended / (length / DAY),
        "mean_busy_processors": busy_time(table, begin, end) / length,
    }


def windows(
    table: JobTable, start: float = 14 * DAY, months: Sequence[float] = (4, 6, 8)
) -> list[dict[str, float]]:
    """Return :func:`window` for windows of some ``months`` of 30 days (Madon et al. 2024, Fig. 9).

    They begin two weeks after the first submission; windows that end after the last job are left
    out.
    """
    if not table.ran.any():
        return []
    span = makespan(table)
    return [window(table, start, n * MONTH) for n in months if start + n * MONTH <= span]


class States(msgspec.Struct):
    """The numbers of busy processors and of waiting jobs over time; columns of shape (k,)."""

    time: Column
    """The instants at which a number changes, increasing; seconds."""
    busy: Column
    """Busy processors from an instant on."""
    waiting: NDArray[np.int64]
    """Jobs that wait from an instant on, after all events of the instant."""


def compute_states(table: JobTable) -> States:
    """Return the numbers of busy processors and waiting jobs over time, until the last end."""
    ran = table.only_ran
    n = len(ran.submit)
    time = np.concatenate([ran.submit, ran.start, ran.finish])
    busy = np.concatenate([np.zeros(n), ran.size, -ran.size])
    waiting = np.repeat(np.array([1, -1, 0]), n)
    if len(table.withdrawal):
        waits = _waits_of_withdrawn(table)
        time = np.concatenate([time, *waits])
        busy = np.concatenate([busy, np.zeros(2 * len(waits[0]))])
        waiting = np.concatenate([waiting, np.repeat(np.array([1, -1]), len(waits[0]))])
    order = np.argsort(time, kind="stable")
    time = time[order]
    last = np.append(time[1:] != time[:-1], True)  # at each instant, what is left in the end
    return States(time[last], np.cumsum(busy[order])[last], np.cumsum(waiting[order])[last])


def busy_time(table: JobTable, begin: float, end: float) -> float:
    """Return the processor-seconds that jobs use between two instants (seconds)."""
    ran = table.only_ran
    busy = np.clip(ran.finish, begin, end) - np.clip(ran.start, begin, end)
    return float((busy * ran.size).sum())


def _waits_of_withdrawn(table: JobTable) -> tuple[Column, Column]:
    """Return begin and end of the waits of withdrawn jobs, as far as they are before the last end.

    Seconds, of shape (n,) for n withdrawn jobs.
    """
    withdrawn, end = table.withdrawn, last_end(table)
    begins, ends = table.submit[withdrawn], table.withdrawal[withdrawn]
    return np.minimum(begins, end), np.minimum(ends, end)


def _processors(table: JobTable) -> float:
    return float("nan") if table.nb_processors is None else float(table.nb_processors)
