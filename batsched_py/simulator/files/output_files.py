"""Makes Batsim's table of jobs and its summary from the outcome of the embedded simulator."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from math import fsum, inf

import numpy as np

from batsched_py.files.csv_text import make_csv_lines, quote_fields, six_decimals
from batsched_py.processors.last_times import LastTimes
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.protocol.batsim_jobs_columns import JOBS_COLUMNS, SUCCESS
from batsched_py.simulator.ended_jobs import EndedJobs, iterate_columns
from batsched_py.simulator.machines import MachineState
from batsched_py.simulator.outcome import Outcome


def make_lines(
    jobs: Iterable[EndedJobs],
    columns: Sequence[str] = (),
    further: Callable[[EndedJobs], Sequence[list[str]]] | None = None,
    *,
    quote_metadata: bool = True,
) -> Iterator[str]:
    """Yield the lines of ``_jobs.csv``, one per job in order of completion.

    ``jobs`` are columns of several jobs each, as :func:`~.ended_jobs.iterate_columns` yields them.
    ``columns`` come after Batsim's, with the texts that ``further`` returns for some jobs: a list
    for each column. Batsim 4.2 writes metadata in quotes, also where there are none.
    """
    yield ",".join((JOBS_COLUMNS, *columns)) + "\n"
    for some in jobs:
        texts = [] if further is None else list(map(quote_fields, further(some)))
        quote = '"' if quote_metadata else ""
        metadata = [f"{quote}{metadata}{quote}" for metadata in some.metadata]
        yield from make_csv_lines(*_fields(some), metadata, *texts)


def _fields(jobs: EndedJobs) -> Iterator[list[str]]:
    """Yield Batsim's columns but for the metadata.

    Those after the final state are empty of jobs that never ran; withdrawn ones have a wait.
    """
    ids = [job_id.partition("!") for job_id in jobs.id]
    yield quote_fields([name for _, _, name in ids])
    yield quote_fields([workload for workload, _, _ in ids])
    yield quote_fields(jobs.profile)
    yield six_decimals(jobs.submit)
    yield list(map(str, jobs.size))
    walltimes = [-1.0 if time is None else time for time in jobs.walltime]
    yield six_decimals(np.array(walltimes, dtype=np.float64))
    yield ["1" if state == SUCCESS else "0" for state in jobs.final_state]
    yield jobs.final_state
    yield six_decimals(jobs.start)
    yield six_decimals(jobs.execution)
    yield six_decimals(jobs.finish)
    yield six_decimals(jobs.waited)
    yield six_decimals(jobs.finish - jobs.submit)
    yield six_decimals(jobs.stretch)
    yield list(map(to_text, jobs.alloc))
    yield six_decimals(jobs.make_column(jobs.consumed_energy))


class Summary:
    """The sums of Batsim's summary, to which jobs are added in parts: 32 bytes per job."""

    def __init__(self, nb_processors: int) -> None:
        self.nb_jobs = 0
        self.waits, self.turnarounds, self.slowdowns = array("d"), array("d"), array("d")
        self.areas = array("d")
        """Processor-seconds."""
        self.makespan = 0.0
        self.success = 0
        self._last = LastTimes(ProcessorSet.interval(0, nb_processors))
        """When jobs finished on the processors."""

    def add(self, some: EndedJobs) -> None:
        """Add the next jobs to the sums."""
        ran = some.ran
        self.nb_jobs += len(some)
        waits, turnarounds = some.start - some.submit, some.finish - some.submit
        areas = (some.end - some.start) * some.nb_processors
        self.waits.frombytes(waits[ran].tobytes())
        self.turnarounds.frombytes(turnarounds[ran].tobytes())
        self.slowdowns.frombytes(some.stretch[ran].tobytes())
        self.areas.frombytes(areas[ran].tobytes())
        self.makespan = max([self.makespan, *some.finish[ran].tolist()])
        self.success += some.final_state.count(SUCCESS)
        for finish, alloc in compress(zip(some.finish_time, some.alloc, strict=True), ran.tolist()):
            self._last.note(finish, alloc)

    def sum_last_use(self) -> float:
        """Return the sum over all processors of the time (seconds) of their last use.

        Batsim accounts for the time of a machine when its state changes: after its last job, and
        if it never has one, no idle time is counted.
        """
        return sum(alloc.size * finish for finish, alloc in self._last.all())


def format_schedule_csv(outcome: Outcome, sums: Summary | None = None) -> str:
    """Return the text of ``_schedule.csv``: Batsim's summary; ``sums`` are of the run's jobs.

    Means and the success rate divide by all jobs, rejected ones included, as in Batsim; its
    makespan is the absolute last end. Withdrawn jobs count as rejected ones, as to Batsim they are;
    waits are of the jobs that ran. The two wall-clock columns are nan, so that the same run
    gives the same bytes; the measured times are in ``_run.json``.
    """
    values = compute_schedule_values(outcome, sums)
    return ",".join(values) + "\n" + ",".join(values.values()) + "\n"


def compute_schedule_values(outcome: Outcome, sums: Summary | None = None) -> dict[str, str]:
    """Return the values of Batsim's summary by name, as :func:`format_schedule_csv` writes them."""
    if sums is None:
        sums = Summary(outcome.nb_processors)
        for some in iterate_columns(outcome.jobs):
            sums.add(some)
    nb_jobs, nb_ran = sums.nb_jobs, len(sums.waits)
    states, power = _machine_times(outcome, sums), outcome.power
    return {
        "batsim_version": "v4.2.0",
        "consumed_joules": six(power.energy.summed_up if power and power.energy.metered else 0),
        "makespan": six(sums.makespan),
        "max_slowdown": six(max(sums.slowdowns, default=0)),
        "max_turnaround_time": six(max(sums.turnarounds, default=0)),
        "max_waiting_time": six(max(sums.waits, default=0)),
        "mean_slowdown": _mean(sums.slowdowns, nb_jobs),
        "mean_turnaround_time": _mean(sums.turnarounds, nb_jobs),
        "mean_waiting_time": _mean(sums.waits, nb_jobs),
        "nb_computing_machines": str(outcome.nb_processors + outcome.nb_storages),
        "nb_grouped_switches": str(power.nb_requests if power else 0),
        "nb_jobs": str(nb_jobs),
        "nb_jobs_finished": str(nb_ran),
        "nb_jobs_killed": str(nb_ran - sums.success),
        "nb_jobs_rejected": str(nb_jobs - nb_ran),
        "nb_jobs_success": str(sums.success),
        "nb_machine_switches": str(power.nb_switches if power else 0),
        "scheduling_time": "nan",
        "simulation_time": "nan",
        "success_rate": _mean([sums.success], nb_jobs),
        **{f"time_{state.value}": six(states[state]) for state in _BY_NAME},
    }


_BY_NAME = sorted(MachineState, key=lambda state: state.value)


def _machine_times(outcome: Outcome, sums: Summary) -> dict[MachineState, float]:
    """Return the machine-seconds in each state, counted as Batsim does."""
    if outcome.machines is not None:
        return outcome.machines.times()
    computing = sum(sums.areas)
    times = dict.fromkeys(MachineState, 0.0)
    times[MachineState.COMPUTING] = computing
    times[MachineState.IDLE] = sums.sum_last_use() - computing
    return times


six = "{:.6f}".format


def _mean(values: Sequence[float], count: int) -> str:
    """Divide as Batsim does; of no jobs it writes what C prints for 0/0."""
    if not count:
        return "-nan"
    try:
        return six(fsum(values) / count)
    except OverflowError:
        return six(inf)  # as sums of C are then
