"""Batsim's command line, as our process needs it."""

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
) -> list[str]:
    """Return the arguments of Batsim 4.2 or 5 for a simulation with our process.

    ``registers`` is for users who submit their jobs during the simulation, and for policies under
    which jobs run longer in some places. ``quiet`` leaves only errors in Batsim's log. Batsim's
    traces are switched off: they cost more time than the simulation, and nobody here reads them.
    Batsim 5 has none unless asked for, is told by our process whether jobs are registered, and
    names its files by the whole ``prefix`` and nothing between: so the underscore is given to it.
    """
    arguments = ["-p", platform]
    for workload in workloads:
        arguments += ["-w", workload]
    if batsim5:
        arguments += ["-s", endpoint, "", "-e", f"{prefix}_"]
        return [*arguments, "-q"] if quiet else arguments
    arguments += ["-s", endpoint, "-e", prefix]
    if registers:
        arguments += ["--enable-dynamic-jobs", "--enable-profile-reuse"]
    if quiet:
        arguments += ["-q"]
    return [*arguments, "--disable-schedule-tracing", "--disable-machine-state-tracing"]
