"""Makes the result of a simulation from its output, with everything that is stored with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from batsched_py.errors import InvariantError, UsageError
from batsched_py.model.counters import read_counters
from batsched_py.model.user_model import reacts
from batsched_py.processors.sets import to_text
from batsched_py.results.run_files import to_stored_sites
from batsched_py.run.notes import make_notes
from batsched_py.run.plugin_objects import Driver
from batsched_py.run.resolved_run import ResolvedRun
from batsched_py.run.result import Output, Recording, Result, versions
from batsched_py.run.stored_values import OF_MACHINE_FILE, OF_POWER, Run
from batsched_py.support.json_values import copy_containers
from batsched_py.workload.conversion_rules import as_dict


def describe_result(
    resolved: ResolvedRun,
    output: Output,
    wall_time: float,
    driver: Driver,
    *,
    notes: Iterable[str] = (),
    details: dict[str, Any] | None = None,
    recording: Recording | None = None,
) -> Result:
    """Return the result of a simulation by ``driver`` that took ``wall_time`` seconds.

    ``details`` describe a simulator in another process, whose counters are gone with it. Raises
    :class:`InputError` if there was nothing to submit, and :class:`UsageError` if warm-up and
    cool-down leave nothing to measure.
    """
    run, machine, workload = resolved.run, resolved.machine, resolved.workload
    power = output.table.power
    counted: dict[str, Any] = {"statistics": None}
    fault = None
    if details is None:
        counted, fault = _read_statistics(driver)
    notes = [*workload.notes, *machine.notes, *notes]
    notes += make_notes(resolved, driver.scheduler, driver.users, output)
    if nb := driver.nb_too_late:
        notes.append(f"{nb} withdrawals came too late: the jobs had started or ended")
    parts = machine.description.partitions if machine.description else ()
    partitions = {part.name: to_text(part.processors) for part in parts}
    settings = {
        "input": {
            "name": workload.name,
            "sha256": resolved.input.sha256,
            "nb_jobs": len(workload.jobs),
        },
        "run": make_stored_run(run),
        "rules": copy_containers(workload.rules),
        "nb_processors": output.nb_processors,
        **({"sites": to_stored_sites(machine.sites)} if machine.sites else {}),
        **({} if power is None else {"power": power.stored}),
        **({"partitions": partitions} if run.machine else {}),
        "unix_start_time": workload.unix_start_time,
        "time_zone": workload.time_zone,
        "users_react": reacts(driver.users),
        "notes": [*notes, fault] if fault else notes,
        "versions": dict(versions()),
        **({"provenance": {"files": resolved.files}} if resolved.files else {}),
    }
    if details is not None:
        settings["backend"] = details
    settings |= counted
    ends = {"warm_up": run.warm_up, "cool_down": run.cool_down}
    result = Result(output, settings, wall_time, **ends, recording=recording)
    result.log, result.fault = resolved.input.path, fault
    result.fields_of_jobs = frozenset().union(*(job.extra for job in workload.jobs))
    if run.warm_up or run.cool_down:
        _check_measured(result, run)
    return result


def _read_statistics(driver: Driver) -> tuple[dict[str, Any], str | None]:
    """Return the counters of the policy and of the users, and the fault of a counter or None."""
    try:
        counted = read_counters(driver.scheduler)
        of_users = read_counters(driver.users)
    except InvariantError as error:
        return {"statistics": None}, str(error)
    return {"statistics": counted, **({"user_statistics": of_users} if of_users else {})}, None


def make_stored_run(run: Run) -> dict[str, Any]:
    """Return the run as it is stored; of budgets what was given, for they change no result.

    Raises :class:`UsageError` for options that cannot be stored.
    """
    try:
        stored: dict[str, Any] = msgspec.to_builtins(run) | {"rules": as_dict(run.rules)}
    except TypeError as error:  # it says of which type
        raise UsageError(
            f"options are stored with the run, so they must be what JSON has: {error}; give an "
            "instance, or a function that returns one"
        ) from None
    stored |= {name: None if (of := getattr(run, name)) is None else str(of) for name in OF_POWER}
    for name in (*OF_MACHINE_FILE, *OF_POWER):  # there were none once
        if stored[name] is None:
            del stored[name]
    if given := str(run.budgets):
        return stored | {"budgets": given}
    del stored["budgets"]
    return stored


def _check_measured(result: Result, run: Run) -> None:
    """Raise :class:`UsageError` if warm-up and cool-down leave nothing to measure."""
    table = result.table
    if len(table.submit) and not table.measured.any():
        span = table.submit.max() - table.submit.min()
        raise UsageError(
            f"a warm-up of {run.warm_up:g} s and a cool-down of {run.cool_down:g} s leave no job "
            f"to measure: the submissions span {span:g} s"
        )
