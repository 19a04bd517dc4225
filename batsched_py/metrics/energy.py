"""Energy of machines whose hosts are all alike, by a formula: no simulation of power is needed.

A host consumes ``idle`` watts, and ``computing`` watts while a job is on it. It is what SimGrid's
energy plug-in (``-E`` of the simulator) accounts for where each job keeps its hosts fully busy:
for profiles that compute without communication, and not for delays, which leave hosts idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from batsched_py.metrics.machine import compute_states
from batsched_py.results.job_table import Column, JobTable


class EqualHosts(msgspec.Struct, frozen=True):
    """The power of each host, watts."""

    idle: float
    computing: float

    def energy(self, table: JobTable, spans: Sequence[tuple[float, float]]) -> float:
        """Return the joules that all hosts consume in some times, each from begin to end (s).

        ``sum (idle N (end - begin) + (computing - idle) busy(begin, end))`` over the times, which
        do not overlap; N are :attr:`JobTable.nb_processors`, and busy the processor-seconds of jobs
        between the two instants. nan without N.
        """
        hosts = float("nan") if table.nb_processors is None else table.nb_processors
        length = sum(end - begin for begin, end in spans)
        return self.idle * hosts * length + (self.computing - self.idle) * busy_within(table, spans)

    def energies(self, table: JobTable, spans: Sequence[tuple[float, float]]) -> Column:
        """Return the joules of :meth:`energy` in each of some times, which may overlap; shape (n,).

        Beside the carbon intensities or prices of these times, their sum is weighted by them.
        """
        hosts = float("nan") if table.nb_processors is None else table.nb_processors
        lengths = np.diff(_edges(spans)).ravel()
        busy = _busy_within_each(table, spans)
        return self.idle * hosts * lengths + (self.computing - self.idle) * busy


def busy_within(table: JobTable, spans: Sequence[tuple[float, float]]) -> float:
    """Return the processor-seconds that jobs use in some times that do not overlap.

    Each is from begin to end, seconds. Many cost little more than one.
    """
    return float(_busy_within_each(table, spans).sum())


def _edges(spans: Sequence[tuple[float, float]]) -> Column:
    """Return begin and end of each time; shape (n, 2)."""
    return np.array(spans, dtype=np.float64).reshape(-1, 2)


def _busy_within_each(table: JobTable, spans: Sequence[tuple[float, float]]) -> Column:
    return np.diff(busy_until(table, _edges(spans).ravel()).reshape(-1, 2)).ravel()


def busy_until(table: JobTable, times: Column) -> Column:
    """Return the processor-seconds that jobs have used until each of some times; shape (n,)."""
    if not table.ran.any():
        return np.zeros(len(times))
    states = compute_states(table)
    used = np.concatenate([[0.0], np.cumsum(states.busy[:-1] * np.diff(states.time))])
    return np.asarray(np.interp(times, states.time, used), dtype=np.float64)
