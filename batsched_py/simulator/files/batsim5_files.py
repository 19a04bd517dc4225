"""Batsim 5's output files, written from what the embedded simulator leaves.

``real_exec_info.json`` is not: all that is in it is how long the real program took and how much
memory it had, and the same run is to give the same bytes.

Source: the files of Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from batsched_py.simulator.batsim5.simulator import BATSIM5
from batsched_py.simulator.ended_jobs import EndedJobs
from batsched_py.simulator.files.batsim4_files import (
    Shown,
    consumed_energy_lines,
    machine_states_lines,
    pstate_changes_lines,
    short,
    write_each,
)
from batsched_py.simulator.files.output_files import Summary, lines_of, schedule_values, six
from batsched_py.simulator.finished_jobs import columns_of
from batsched_py.simulator.options import Options
from batsched_py.simulator.outcome import Outcome
from batsched_py.workload.batsim.batsim5_profiles import full_id

_WALL_CLOCK = ("scheduling_time", "simulation_time")


def write_batsim5_outputs(
    outcome: Outcome, prefix: str, options: Options, *, trace_pstates: bool, whole: bool = True
) -> list[str]:
    """Write the files that Batsim 5 writes, each whole or not at all; return their paths.

    ``PREFIXjobs.csv``, and if they were asked for ``PREFIXmachine_states.csv``,
    ``PREFIXpstate_changes.csv`` and ``PREFIXconsumed_energy.csv``. ``PREFIXschedule.json`` comes
    only of a simulation that is ``whole``: after a deadlock there is none. Raises
    :class:`OutputError`.
    """
    shown: Shown = repr if options.exact_times else short
    files: dict[str, Iterable[str]] = {"jobs.csv": _jobs_lines(outcome)}
    if outcome.machines is not None and outcome.machines.traced:
        files["machine_states.csv"] = machine_states_lines(outcome.machines, shown)
    if outcome.power is not None and options.energy:
        in_full: Shown = repr if options.exact_times else six
        files["consumed_energy.csv"] = consumed_energy_lines(outcome.power, in_full)
    if outcome.power is not None and trace_pstates:
        files["pstate_changes.csv"] = pstate_changes_lines(outcome.power, shown)
    if whole:
        files["schedule.json"] = [schedule_json(outcome)]
    return write_each({f"{prefix}{name}": lines for name, lines in files.items()})


def _jobs_lines(outcome: Outcome) -> Iterator[str]:
    return lines_of(map(_with_full_profiles, columns_of(outcome.jobs)), quote_metadata=False)


def _with_full_profiles(jobs: EndedJobs) -> EndedJobs:
    """Return jobs with profiles that are called by their workload, too."""
    profiles = [
        full_id(profile, job_id.partition("!")[0])
        for job_id, profile in zip(jobs.id, jobs.profile, strict=True)
    ]
    return msgspec.structs.replace(jobs, profile=profiles)


def schedule_json(outcome: Outcome) -> str:
    """Return ``schedule.json``: the summary of the run.

    As in Batsim 5.0.0-rc2 the makespan is the last end, but for submissions before 0, and means
    over no jobs are ``-nan``, which is no JSON.
    """
    sums, first_submission = Summary(outcome.nb_processors), 0.0
    for some in columns_of(outcome.jobs):
        sums.add(some)
        first_submission = float(some.submit[some.ran].min(initial=first_submission))
    values = schedule_values(outcome, sums) | {
        "batsim_version": f'"{BATSIM5}"',
        "makespan": six(sums.makespan - first_submission),
    }
    lines = [f'  "{name}": {value}' for name, value in values.items() if name not in _WALL_CLOCK]
    return "{\n" + ",\n".join(lines) + "\n}\n"
