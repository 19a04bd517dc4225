"""The command line of Batsim for a simulation with our scheduler."""

from __future__ import annotations

from collections.abc import Sequence


def batsim_arguments(
    *,
    platform: str,
    workloads: Sequence[str],
    endpoint: str,
    prefix: str,
    registers: bool,
    quiet: bool = False,
    batsim5: bool = False,
    energy: bool = False,
) -> list[str]:
    """Return the arguments of Batsim 4.2 or 5 for a simulation with our scheduler.

    ``registers`` lets the scheduler submit jobs: users do so, and policies under which jobs run
    longer in some places. ``quiet`` limits Batsim's log to errors, ``energy`` lets processors be
    switched. Batsim's traces are switched off: they cost more time than the simulation, and nothing
    here reads them. Batsim 5 writes no traces by default, and our scheduler enables registration by
    a message. It adds no underscore to ``prefix``, so the argument has one.
    """
    arguments = ["-p", platform]
    for workload in workloads:
        arguments += ["-w", workload]
    if batsim5:
        arguments += ["-s", endpoint, "", "-e", f"{prefix}_"]
        arguments += ["--energy-host"] if energy else []
        return [*arguments, "-q"] if quiet else arguments
    arguments += ["-s", endpoint, "-e", prefix, *(["-E"] if energy else [])]
    if registers:
        arguments += ["--enable-dynamic-jobs", "--enable-profile-reuse"]
    if quiet:
        arguments += ["-q"]
    return [*arguments, "--disable-schedule-tracing", "--disable-machine-state-tracing"]
