"""Batsim's output files, written from what the embedded simulator leaves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from batsched_py.processors import to_text
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.registry import SimulatedJob

JOBS_COLUMNS = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,"
    "success,final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,"
    "stretch,allocated_resources,consumed_energy,metadata"
)
LEAST_EXECUTION_TIME = 1e-5
"""Batsim writes this run time (seconds) for a job that took none."""


def times(job: SimulatedJob) -> tuple[float, float]:
    """Return execution and finish time (seconds) of a job that ran, as Batsim writes them."""
    execution = job.finish_time - job.start_time
    if execution > 0:
        return execution, job.finish_time
    return LEAST_EXECUTION_TIME, job.finish_time + LEAST_EXECUTION_TIME


def jobs_csv(
    jobs: Iterable[SimulatedJob],
    columns: Sequence[str] = (),
    further: Iterable[Sequence[str]] | None = None,
) -> str:
    """Return ``_jobs.csv``: a row per job in order of completion, Batsim's columns.

    ``columns`` and ``further``, the texts of each row, come after them.
    """
    lines = [",".join((JOBS_COLUMNS, *columns))]
    if further is None:
        lines += map(_row, jobs)
    else:
        lines += [
            ",".join((_row(job), *map(field, fields)))
            for job, fields in zip(jobs, further, strict=True)
        ]
    lines.append("")
    return "\n".join(lines)


def _row(job: SimulatedJob) -> str:
    description = job.description
    workload, _, name = description.id.partition("!")
    walltime = -1.0 if description.walltime is None else description.walltime
    submit = description.subtime
    head = (
        f"{field(name)},{field(workload)},{field(description.profile)},{submit:.6f},"
        f"{description.res},{walltime:.6f}"
    )
    if job.final_state == REJECTED:
        return f'{head},0,{REJECTED},,,,,,,,,"{job.metadata}"'
    execution, finish = times(job)
    turnaround = finish - submit
    success = int(job.final_state == "COMPLETED_SUCCESSFULLY")
    return (
        f"{head},{success},{job.final_state},{job.start_time:.6f},{execution:.6f},{finish:.6f},"
        f"{job.start_time - submit:.6f},{turnaround:.6f},{turnaround / execution:.6f},"
        f'{to_text(job.alloc)},-1.000000,"{job.metadata}"'
    )


def field(text: str) -> str:
    """Quote a CSV field if it needs it (a job may be called anything)."""
    if not any(character in text for character in ',"\n\r'):
        return text
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow([text])
    return buffer.getvalue()


def schedule_csv(outcome: Outcome) -> str:
    """Return ``_schedule.csv``: Batsim's summary of the run, one row.

    Means and the success rate divide by all jobs, rejected ones included, as in Batsim; its
    makespan is the absolute last end. The two wall-clock columns are nan, so that the same run
    gives the same bytes; the measured times are in ``_run.json``.
    """
    ran = [job for job in outcome.jobs if job.final_state != REJECTED]
    nb_jobs = len(outcome.jobs)
    submits = [job.description.subtime for job in ran]
    ends = [times(job) for job in ran]
    waits = [job.start_time - submit for job, submit in zip(ran, submits, strict=True)]
    turnarounds = [finish - submit for (_, finish), submit in zip(ends, submits, strict=True)]
    slowdowns = [
        turnaround / execution for turnaround, (execution, _) in zip(turnarounds, ends, strict=True)
    ]
    success = sum(job.final_state == "COMPLETED_SUCCESSFULLY" for job in ran)
    computing, idle = _machine_times(ran)
    values: dict[str, str] = {
        "batsim_version": "v4.2.0",
        "consumed_joules": _six(0),
        "makespan": _six(max((finish for _, finish in ends), default=0)),
        "max_slowdown": _six(max(slowdowns, default=0)),
        "max_turnaround_time": _six(max(turnarounds, default=0)),
        "max_waiting_time": _six(max(waits, default=0)),
        "mean_slowdown": _mean(slowdowns, nb_jobs),
        "mean_turnaround_time": _mean(turnarounds, nb_jobs),
        "mean_waiting_time": _mean(waits, nb_jobs),
        "nb_computing_machines": str(outcome.nb_processors),
        "nb_grouped_switches": "0",
        "nb_jobs": str(nb_jobs),
        "nb_jobs_finished": str(len(ran)),
        "nb_jobs_killed": str(len(ran) - success),
        "nb_jobs_rejected": str(nb_jobs - len(ran)),
        "nb_jobs_success": str(success),
        "nb_machine_switches": "0",
        "scheduling_time": "nan",
        "simulation_time": "nan",
        "success_rate": _mean([success], nb_jobs),
        "time_computing": _six(computing),
        "time_idle": _six(idle),
        "time_sleeping": _six(0),
        "time_switching_off": _six(0),
        "time_switching_on": _six(0),
        "time_unavailable": _six(0),
    }
    return ",".join(values) + "\n" + ",".join(values.values()) + "\n"


def _machine_times(ran: Sequence[SimulatedJob]) -> tuple[float, float]:
    """Return computing and idle processor-seconds.

    Batsim accounts for the time of a machine when its state changes: after its last job, and if
    it never has one, no idle time is counted.
    """
    computing = sum((job.finish_time - job.start_time) * job.alloc.bit_count() for job in ran)
    until = 0.0
    seen = 0
    for job in sorted(ran, key=lambda job: job.finish_time, reverse=True):
        until += (job.alloc & ~seen).bit_count() * job.finish_time
        seen |= job.alloc
    return computing, until - computing


def _six(value: float) -> str:
    return f"{value:.6f}"


def _mean(values: Sequence[float], count: int) -> str:
    """Divide as Batsim does; of no jobs it writes what C prints for 0/0."""
    return _six(sum(values) / count) if count else "-nan"
