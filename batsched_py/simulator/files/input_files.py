"""A simulation from files, as Batsim's command line describes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.external_events import read_events
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import MASTER_HOST, limited
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.workload.batsim_workload import read_workload


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a simulation, and how its machine is made of them."""

    platform: Path
    workloads: Sequence[Path] = ()
    events: Sequence[Path] | None = None
    """Files of external events; None: none at all, which the scheduler sees the difference of."""
    master_host: str = MASTER_HOST
    roles: Mapping[str, str] = {}
    """Roles of hosts by name, beside those in the platform file."""
    mmax: int = 0
    """Use the first so many machines only; 0: all."""
    mmax_workload: bool = False
    """Use as many machines as the largest of the workloads says."""


def prepare(inputs: Inputs, options: Options) -> Simulator:
    """Read the files, and return a simulation that is ready to run.

    Raises :class:`InputError` naming file and place, and :class:`UsageError` for options that do
    not fit.
    """
    if options.profile_reuse and not options.dynamic_jobs:
        raise UsageError(
            f"{parameter('profile_reuse')} means nothing without {parameter('dynamic_jobs')}"
        )
    if options.shake is not None and options.shake < 0:
        raise UsageError(f"{parameter('shake')} {options.shake}: expected at least 0")
    for path in (inputs.platform, *(inputs.events or ())):
        _check_file(path)
    workloads = [read_workload(path, negative_subtimes=True) for path in inputs.workloads]
    for workload, path in zip(workloads, inputs.workloads, strict=True):
        workload.name = str(path.absolute())  # what SIMULATION_BEGINS says
    platform = read_platform(inputs.platform, inputs.master_host, inputs.roles)
    mmax = inputs.mmax
    if inputs.mmax_workload:
        mmax = max((workload.nb_res for workload in workloads), default=mmax)
    if mmax > len(platform.hosts):
        raise UsageError(
            f"{parameter('mmax')} {mmax}: the platform has {len(platform.hosts)} machines"
        )
    if mmax:
        platform = limited(platform, mmax)
    events = None
    if inputs.events is not None:
        events = read_events(
            inputs.events, len(platform.hosts), forward_unknown=options.forward_unknown_events
        )
    return Simulator(platform, workloads, options, events)


def _check_file(path: Path) -> None:
    """Raise :class:`UsageError` if there is no file; workloads are checked when they are read."""
    if not path.exists():
        raise UsageError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: expected a file")


def parse_roles(texts: Sequence[str]) -> dict[str, str]:
    """Read Batsim's ``HOST1,HOST2:ROLE``, of which the last one is valid for a host.

    Raises :class:`UsageError`.
    """
    roles: dict[str, str] = {}
    for text in texts:
        hosts, colon, named = text.rpartition(":")
        if not colon or not all(hosts.split(",")) or not named:
            raise UsageError(f"{parameter('roles')} {text!r}: expected such as host1,host2:storage")
        for host in hosts.split(","):
            roles[host] = named
    return roles
