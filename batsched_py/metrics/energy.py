"""Energy of machines, by formulas instead of a simulation of power.

A host consumes ``idle`` watts, and ``computing`` watts while a job is on it; less when it sleeps.
SimGrid's energy plug-in (``-E`` of the simulator) has the same result if each job keeps its hosts
fully busy: for profiles that compute without communication, but not for delays, which leave hosts
idle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from batsched_py.errors import UsageError
from batsched_py.metrics.machine import compute_states, last_end
from batsched_py.results.job_table import Column, JobTable
from batsched_py.results.machine_power import CHANGES, STATES, list_watts
from batsched_py.support.quotient import ratio


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


class MachineEnergy:
    """The processor-seconds and the joules in each state, of a run whose power is known.

    Processors are idle also while their job waits for others. A switch counts in a span of time
    with the part that is in the span. Raises :class:`UsageError` if the power is unknown.

    >>> from batsched_py import simulate
    >>> result = simulate("sample", first=100, power="idle_watts=95,computing_watts=190")
    >>> MachineEnergy(result.table).joules([(0, 3600), (3600, 7200)])["asleep"].tolist()
    [0.0, 0.0]
    """

    def __init__(self, table: JobTable) -> None:
        if table.power is None:
            raise UsageError("the power of the processors is unknown: give it to the simulation")
        power, jobs = table.power, table.select(table.ran & table.took_time)
        nb = float("nan") if table.nb_processors is None else table.nb_processors
        sets = [processors for _, processors, _ in power.changes]
        sizes = np.array(list(map(len, sets)), np.float64)
        watts = power.sum_watts(sizes, lambda: sets)
        of_jobs = jobs.watts[:, [0, 1, 1, 1, 1]]  # in the last three states they are never
        idle = sum(len(each.processors) * list_watts(each.power)[1] for each in power.groups)
        self._watts = np.concatenate([watts, of_jobs, of_jobs]).T
        self._sizes = np.concatenate([sizes, jobs.size, jobs.size])
        self._idle = (nb, idle if power.size == nb else float("nan"))
        self._time = np.array([*(time for time, *_ in power.changes), *jobs.start, *jobs.finish])
        moves = [CHANGES[state] for *_, state in power.changes]
        moves += [(0, 1)] * len(jobs.start) + [(1, 0)] * len(jobs.start)
        self._to, self._since = np.array(moves, np.int8).reshape(-1, 2).T

    def processor_seconds(self, spans: Sequence[tuple[float, float]]) -> dict[str, Column]:
        """Return the processor-seconds in each of :data:`STATES` in ``spans``, which may overlap.

        Each span is from begin to end (s); columns are of shape (n,).
        """
        return self._integrate(spans, [self._sizes] * len(STATES), self._idle[0])

    def joules(self, spans: Sequence[tuple[float, float]]) -> dict[str, Column]:
        """Return the joules of :meth:`processor_seconds`, nan where they are unknown."""
        return self._integrate(spans, self._watts, self._idle[1])

    def _integrate(
        self,
        spans: Sequence[tuple[float, float]],
        weights: Sequence[Column] | Column,
        all_idle: float,
    ) -> dict[str, Column]:
        """Return by state the integrals of a sum of weights, ``all_idle`` if all are idle."""
        edges, order = _edges(spans), np.argsort(self._time, kind="stable")
        ends = np.append(edges.ravel(), self._time)
        time = np.concatenate([[ends.min(initial=0)], self._time[order], [ends.max(initial=0)]])
        areas = {}
        for number, state in enumerate(STATES):
            steps = weights[number] * ((self._to == number) * 1.0 - (self._since == number))
            levels = np.cumsum(np.append(all_idle if number == 1 else 0.0, steps[order]))
            levels = np.maximum(levels, 0.0)  # sums of watts are rounded
            until = np.append(0.0, np.cumsum(levels * np.diff(time)))
            areas[state] = np.diff(np.interp(edges, time, until)).ravel()
        return areas


def _make_metric(name: str, what: str, *states: str) -> Callable[[JobTable], float]:
    """Return the metric ``name``: the joules in some states from 0 to the last end."""

    def compute(table: JobTable) -> float:
        kept = table.__dict__.get("_joules")
        if kept is None:  # most of these metrics need it
            kept = MachineEnergy(table).joules([(0.0, last_end(table))])
            table.__dict__["_joules"] = kept
        return float(sum(kept[state][0] for state in states))

    compute.__name__ = name
    compute.__doc__ = f"Joules of {what} to the last end.\n\nUnit: J. Source: SimGrid."
    return compute


energy = _make_metric("energy", "all processors from 0", *STATES)
energy_idle = _make_metric("energy_idle", "idle processors from 0", "idle")
energy_asleep = _make_metric("energy_asleep", "sleeping processors from 0", "asleep")
energy_switching = _make_metric("energy_switching", "switching from 0", *STATES[3:])


def energy_computing(table: JobTable) -> float:
    """Joules of processors while jobs run on them.

    Unit: J. Source: SimGrid.
    """
    joules = (table.finish - table.start) * table.watts[:, 0]
    return float(joules[table.ran & table.took_time].sum())


def energy_saved_share(table: JobTable) -> float:
    """1 - energy / energy of the same schedule with all processors awake.

    Unit: 1. Source: this project.
    """
    assert table.power is not None
    awake = msgspec.structs.replace(table.power, changes=())
    return 1 - ratio(energy(table), energy(msgspec.structs.replace(table, power=awake)))


def nb_switches(table: JobTable) -> float:
    """Processors that were switched off or on by the last end, each as often as it was.

    Unit: switches. Source: Batsim's summary (nb_machine_switches).
    """
    assert table.power is not None
    end, changes = last_end(table), table.power.changes
    return float(sum(len(on) for time, on, to in changes if to[0] == "s" and time <= end))


METRICS = (
    *(energy, energy_computing, energy_idle, energy_asleep, energy_switching),
    *(energy_saved_share, nb_switches),
)
"""Of tables whose power is known."""


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
