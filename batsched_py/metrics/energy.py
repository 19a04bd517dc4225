"""Energy of machines with equal hosts, by a formula instead of a simulation of power.

A host consumes ``idle`` watts, and ``computing`` watts while a job is on it. SimGrid's energy
plug-in (``-E`` of the simulator) has the same result if each job keeps its hosts fully busy: for
profiles that compute without communication, but not for delays, which leave hosts idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from batsched_py.metrics.machine import compute_states
from batsched_py.results.job_table import Column, JobTable


class EqualHosts(msgspec.Struct, frozen=True):
    """The power of each of a machine's equal hosts, in watts: idle, and with a job on it."""

    idle: float
    computing: float

    def energy(self, table: JobTable, spans: Sequence[tuple[float, float]]) -> float:
        """Return the joules that all hosts consume in ``spans``, each from begin to end (s).

        ``sum (idle N (end - begin) + (computing - idle) busy(begin, end))`` over the spans, which
        do not overlap; N are :attr:`JobTable.nb_processors`, and busy the processor-seconds of jobs
        between the two instants. nan without N.
        """
        hosts = float("nan") if table.nb_processors is None else table.nb_processors
        length = sum(end - begin for begin, end in spans)
        return self.idle * hosts * length + (self.computing - self.idle) * busy_within(table, spans)

    def energies(self, table: JobTable, spans: Sequence[tuple[float, float]]) -> Column:
        """Return the joules of :meth:`energy` in each of ``spans``, which may overlap; shape (n,).

        Multiply by the carbon intensities or prices of the spans for a weighted sum.
        """
        hosts = float("nan") if table.nb_processors is None else table.nb_processors
        lengths = np.diff(_edges(spans)).ravel()
        busy = _busy_within_each(table, spans)
        return self.idle * hosts * lengths + (self.computing - self.idle) * busy


def busy_within(table: JobTable, spans: Sequence[tuple[float, float]]) -> float:
    """Return the processor-seconds that jobs use in ``spans`` of time that do not overlap.

    Each is from begin to end, seconds. Many spans cost little more than one.
    """
    return float(_busy_within_each(table, spans).sum())


def _edges(spans: Sequence[tuple[float, float]]) -> Column:
    """Return begin and end of each span; shape (n, 2)."""
    return np.array(spans, dtype=np.float64).reshape(-1, 2)


def _busy_within_each(table: JobTable, spans: Sequence[tuple[float, float]]) -> Column:
    """Return the processor-seconds that jobs use in each of ``spans``; shape (n,)."""
    if not table.ran.any():
        return np.zeros(len(spans))
    states = compute_states(table)
    used = np.concatenate([[0.0], np.cumsum(states.busy[:-1] * np.diff(states.time))])
    until: Column = np.interp(_edges(spans), states.time, used)
    return np.diff(until).ravel()
