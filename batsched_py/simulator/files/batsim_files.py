"""Writes the output files of Batsim 4.2 and 5 for the embedded simulator.

Batsim 5's ``real_exec_info.json`` is not written. It only has the time that the real program took
and how much memory it had, and the same run is to give the same bytes.

Source: the files of Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from batsched_py.files.writers import encode_lines, write_parts
from batsched_py.simulator.batsim5.simulator import BATSIM5
from batsched_py.simulator.ended_jobs import EndedJobs, iterate_columns
from batsched_py.simulator.files.output_files import (
    Summary,
    compute_schedule_values,
    format_schedule_csv,
    make_lines,
    six,
)
from batsched_py.simulator.options import Options
from batsched_py.simulator.outcome import Outcome
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.simulator.power.power_states import PowerManagement
from batsched_py.workload.batsim.batsim5_profiles import make_full_id

_WALL_CLOCK = ("scheduling_time", "simulation_time")
Shown = Callable[[float], str]
short: Shown = "{:g}".format
"""Writes a number with six significant digits, as Batsim 4.2.0 does in its traces."""


def make_machine_states_lines(machines: TracedMachines, shown: Shown = short) -> Iterator[str]:
    """Yield the lines of ``_machine_states.csv``: times, and the number of machines by state."""
    yield "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n"
    for time, *counts in machines.rows():
        yield f"{shown(time)}," + ",".join(map(str, counts)) + "\n"


def make_consumed_energy_lines(power: PowerManagement, shown: Shown = short) -> Iterator[str]:
    """Yield the lines of ``_consumed_energy.csv``: times, joules until then, and watts."""
    yield "time,energy,event_type,wattmin,epower\n"
    for time, energy, kind, least, mean in power.energy.events():
        watts = "NA" if mean is None else shown(mean)
        yield f"{shown(time)},{shown(energy)},{kind},{shown(least)},{watts}\n"


def make_pstate_changes_lines(power: PowerManagement, shown: Shown = short) -> Iterator[str]:
    """Yield the lines of ``_pstate_changes.csv``: time, machines, and their new pstate."""
    yield "time,machine_id,new_pstate\n"
    for time, machines, pstate in power.changes():
        yield f"{shown(time)},{machines},{pstate}\n"


def write_batsim4_outputs(
    outcome: Outcome, prefix: str, *, exact: bool = False, tables: bool = True
) -> list[str]:
    """Write the files that Batsim 4.2 writes, each whole or not at all; return their paths.

    ``PREFIX_jobs.csv`` and ``PREFIX_schedule.csv``, and if they were followed
    ``PREFIX_machine_states.csv``, ``PREFIX_consumed_energy.csv`` and
    ``PREFIX_pstate_changes.csv``. These three have six significant digits, as Batsim's, or all if
    they are to be ``exact``. Without ``tables``, the first two are not written. Raises
    :class:`OutputError`.
    """
    shown: Shown = repr if exact else short
    files: dict[str, Iterable[str]] = {}
    if tables:
        files["jobs"] = make_lines(iterate_columns(outcome.jobs))
    if outcome.machines is not None and outcome.machines.traced:
        files["machine_states"] = make_machine_states_lines(outcome.machines, shown)
    if outcome.power is not None:
        files["consumed_energy"] = make_consumed_energy_lines(outcome.power, shown)
        files["pstate_changes"] = make_pstate_changes_lines(outcome.power, shown)
    if tables:
        files["schedule"] = [format_schedule_csv(outcome)]
    return _write_each({f"{prefix}_{name}.csv": lines for name, lines in files.items()})


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
    jobs = map(_with_full_profiles, iterate_columns(outcome.jobs))
    files: dict[str, Iterable[str]] = {"jobs.csv": make_lines(jobs, quote_metadata=False)}
    if outcome.machines is not None and outcome.machines.traced:
        files["machine_states.csv"] = make_machine_states_lines(outcome.machines, shown)
    if outcome.power is not None and options.energy:
        in_full: Shown = repr if options.exact_times else six
        files["consumed_energy.csv"] = make_consumed_energy_lines(outcome.power, in_full)
    if outcome.power is not None and trace_pstates:
        files["pstate_changes.csv"] = make_pstate_changes_lines(outcome.power, shown)
    if whole:
        files["schedule.json"] = [format_schedule_json(outcome)]
    return _write_each({f"{prefix}{name}": lines for name, lines in files.items()})


def _with_full_profiles(jobs: EndedJobs) -> EndedJobs:
    """Return jobs whose profiles have full ids, with their workload."""
    profiles = [
        make_full_id(profile, job_id.partition("!")[0])
        for job_id, profile in zip(jobs.id, jobs.profile, strict=True)
    ]
    return msgspec.structs.replace(jobs, profile=profiles)


def format_schedule_json(outcome: Outcome) -> str:
    """Return the text of ``schedule.json``: the summary of the run.

    As in Batsim 5.0.0-rc2 the makespan is the last end, but for submissions before 0, and means
    over no jobs are ``-nan``, which is not JSON.
    """
    sums, first_submission = Summary(outcome.nb_processors), 0.0
    for some in iterate_columns(outcome.jobs):
        sums.add(some)
        first_submission = float(some.submit[some.ran].min(initial=first_submission))
    values = compute_schedule_values(outcome, sums) | {
        "batsim_version": f'"{BATSIM5}"',
        "makespan": six(sums.makespan - first_submission),
    }
    lines = [f'  "{name}": {value}' for name, value in values.items() if name not in _WALL_CLOCK]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _write_each(files: Mapping[str, Iterable[str]]) -> list[str]:
    for path, lines in files.items():
        write_parts(path, encode_lines(lines))
    return list(files)
