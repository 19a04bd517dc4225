"""Makes a simulation from files, as Batsim's command line does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import PlatformError, ProtocolError, UsageError, located, parameter
from batsched_py.files.readers import parse_json, read_bytes, unpack
from batsched_py.protocol import messages as m
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.external_events import read_events, read_generic_events
from batsched_py.simulator.options import Options
from batsched_py.simulator.platform.hosts import MASTER_HOST, Platform, limit_hosts
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.workload.batsim.batsim_workload import read_workload
from batsched_py.workload.workload import Workload


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """The input files of a simulation, and the options that choose its machines."""

    platform: Path
    workloads: Sequence[Path] = ()
    events: Sequence[Path] | None = None
    """Files of external events; None: none at all, which the scheduler sees the difference of."""
    master_host: str = MASTER_HOST
    roles: Mapping[str, str] = {}
    """Roles of hosts by name, in addition to the roles in the platform file."""
    mmax: int = 0
    """Number of machines to use, the first ones; 0: all."""
    mmax_workload: bool = False
    """Use as many machines as the largest of the workloads needs."""


def prepare(inputs: Inputs, options: Options) -> Simulator:
    """Read the files, and return a simulation that is ready to run.

    Under Batsim 5 the options are not all known yet: it asks for some by its hello. See
    :func:`apply_hello`.

    Raises :class:`InputError` naming file and place, and :class:`UsageError` for options that do
    not fit.
    """
    if options.profile_reuse and not options.dynamic_jobs:
        raise UsageError(f"{parameter('profile_reuse')} needs {parameter('dynamic_jobs')}")
    if options.shake is not None and options.shake < 0:
        raise UsageError(f"{parameter('shake')} {options.shake}: expected at least 0")
    is_batsim5 = options.is_batsim5
    workloads = [
        read_workload(path, negative_subtimes=True, batsim5=is_batsim5, batsims_name=f"w{at}")
        for at, path in enumerate(inputs.workloads)
    ]
    for workload, path in zip(workloads, inputs.workloads, strict=True):
        workload.name = str(path.absolute())  # what SIMULATION_BEGINS says
    platform = _platform(inputs, workloads, natural=is_batsim5)
    events = None
    if inputs.events is not None and is_batsim5:
        events = read_generic_events(inputs.events)
    elif inputs.events is not None:
        events = read_events(
            inputs.events, len(platform.hosts), forward_unknown=options.forward_unknown_events
        )
    with located(inputs.platform, PlatformError):
        if is_batsim5:
            paths = enumerate(inputs.events or ())
            lists = [{"name": f"ee{at}", "filename": str(path.absolute())} for at, path in paths]
            called = {"external_event_lists": lists}
            return Batsim5Simulator(platform, workloads, options, events, called)
        return Simulator(platform, workloads, options, events)


def _platform(inputs: Inputs, workloads: Sequence[Workload], *, natural: bool) -> Platform:
    """Read the platform, as much of it as is to be used."""
    platform = read_platform(inputs.platform, inputs.master_host, inputs.roles, natural=natural)
    mmax = inputs.mmax
    if inputs.mmax_workload:
        most = max((workload.nb_res for workload in workloads), default=mmax)
        mmax = min(mmax, most) if natural and mmax else most
    if mmax > len(platform.hosts):
        raise UsageError(
            f"{parameter('mmax')} {mmax}: the platform has {len(platform.hosts)} machines"
        )
    return limit_hosts(platform, mmax) if mmax else platform


def apply_hello(simulator: Simulator, hello: m.Hello, called: dict[str, Any]) -> Batsim5Simulator:
    """Return a prepared simulation with the options that a scheduler of Batsim 5 asks for.

    ``called`` is the command line of the program. Raises :class:`ProtocolError` where Batsim 5
    crashes.
    """
    assert isinstance(simulator, Batsim5Simulator)
    options = simulator.options.with_features(hello.features)
    if options.forward_profiles_at_begin:
        for workload in simulator.workloads:
            _check_all_used(workload)
    return simulator.make_new(options, called)


def _check_all_used(workload: Workload) -> None:
    """Raise :class:`ProtocolError` if the file of a workload has profiles that no job uses."""
    text = unpack(read_bytes(workload.name), workload.name)
    content: Any = parse_json(text, dict[str, Any], workload.name)
    names = (name.rpartition("!")[2] for name in content["profiles"])
    if unused := [name for name in names if name not in workload.profiles]:
        raise ProtocolError(
            f"forward_profiles_on_simulation_begins: no job of {workload.name} uses the profile "
            f"{unused[0]!r}, and Batsim 5.0.0-rc2 crashes on that"
        )


def parse_roles(texts: Sequence[str]) -> dict[str, str]:
    """Read roles of hosts, ``HOST1,HOST2:ROLE``; of several roles of a host, the last counts.

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
