"""Batsim 4.2's output files, written from what the embedded simulator leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from batsched_py.files.writers import parts_of, write_parts
from batsched_py.simulator.files.output_files import jobs_lines, schedule_csv
from batsched_py.simulator.outcome import Outcome
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.simulator.power.power_states import PowerManagement

Shown = Callable[[float], str]
short: Shown = "{:g}".format
"""Writes a number with six significant digits, as Batsim 4.2.0 does in its traces."""


def machine_states_lines(machines: TracedMachines, shown: Shown = short) -> Iterator[str]:
    """Yield the lines of ``_machine_states.csv``: how many machines are in each state, and when."""
    yield "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n"
    for time, *counts in machines.rows():
        yield f"{shown(time)}," + ",".join(map(str, counts)) + "\n"


def consumed_energy_lines(power: PowerManagement, shown: Shown = short) -> Iterator[str]:
    """Yield the lines of ``_consumed_energy.csv``: joules until then, and watts."""
    yield "time,energy,event_type,wattmin,epower\n"
    for time, energy, kind, least, mean in power.energy.events():
        watts = "NA" if mean is None else shown(mean)
        yield f"{shown(time)},{shown(energy)},{kind},{shown(least)},{watts}\n"


def pstate_changes_lines(power: PowerManagement, shown: Shown = short) -> Iterator[str]:
    """Yield the lines of ``_pstate_changes.csv``: time, machines, and their new pstate."""
    yield "time,machine_id,new_pstate\n"
    for time, machines, pstate in power.changes():
        yield f"{shown(time)},{machines},{pstate}\n"


def write_outputs(outcome: Outcome, prefix: str, *, exact: bool = False) -> list[str]:
    """Write the files that Batsim writes, each whole or not at all; return their paths.

    ``PREFIX_jobs.csv`` and ``PREFIX_schedule.csv``, and if they were followed
    ``PREFIX_machine_states.csv``, ``PREFIX_consumed_energy.csv`` and
    ``PREFIX_pstate_changes.csv``. These three have six significant digits, as Batsim's, or all if
    they are to be ``exact``. Raises :class:`OutputError`.
    """
    shown: Shown = repr if exact else short
    files: dict[str, Iterable[str]] = {"jobs": jobs_lines(outcome.jobs)}
    if outcome.machines is not None and outcome.machines.traced:
        files["machine_states"] = machine_states_lines(outcome.machines, shown)
    if outcome.power is not None:
        files["consumed_energy"] = consumed_energy_lines(outcome.power, shown)
        files["pstate_changes"] = pstate_changes_lines(outcome.power, shown)
    files["schedule"] = [schedule_csv(outcome)]
    return write_each({f"{prefix}_{name}.csv": lines for name, lines in files.items()})


def write_each(files: Mapping[str, Iterable[str]]) -> list[str]:
    """Write the lines of files, each whole or not at all; return their paths."""
    for path, lines in files.items():
        write_parts(path, parts_of(lines))
    return list(files)
