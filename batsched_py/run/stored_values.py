"""The values that determine a run and are stored with its results."""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.budgets import AboveZero, Budgets
from batsched_py.plugins.plugins import EXTERNAL, RIGID
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.units import MINUTE, WEEK
from batsched_py.workload.conversion_rules import DEFAULT, PRESETS, Rules, check_sites
from batsched_py.workload.grid_sites import MOST_TIMES, is_platform, parse_sites
from batsched_py.workload.machine_file import MachineChanges
from batsched_py.workload.processor_power import ProcessorPower

EMBEDDED = "embedded"
"""Name of the back end that is the embedded simulator in this process."""
SOCKETS = ("socket", "socket5")
"""The embedded simulator behind a socket, in the place of Batsim 4 and of Batsim 5."""
OF_MACHINE_FILE = ("machine", *MachineChanges.__struct_fields__)
"""Settings of a machine file."""
_OF_THE_SIZE = (
    ("nodes", "sites"),
    ("machine", "nodes"),
    ("machine", "platform"),
    ("platform", "nodes"),
)
"""Pairs of settings that both give the size of the machine."""
OF_POWER = ("power", "shutdown")
"""Settings of power, which are written as ``NAME=N,...``."""
_MOST_SEEDS = 2**128


class Timeouts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of a run in seconds, with the names of Batsim's own runner, robin."""

    ready: AboveZero = 300.0
    """For Batsim to tell its version, the scheduler to listen, and Batsim's first message."""
    run: AboveZero = WEEK
    """For the simulation (a week)."""
    success: AboveZero = MINUTE
    """For the other side, once one has ended well."""
    failure: AboveZero = 5.0
    """For the other side, once one has failed."""


class ProcessSettings(MachineChanges, frozen=True, kw_only=True):
    """What determines a scheduler: its policy, its users, their seed and its machine."""

    scheduler: str = "easy"
    scheduler_options: dict[str, Any] = msgspec.field(default_factory=dict)
    users: str = RIGID
    user_options: dict[str, Any] = msgspec.field(default_factory=dict)
    seed: int = 0
    shake: int | None = None
    sites: str | None = None
    machine: str | None = None
    speed_factor: float = 1.0
    power: ProcessorPower | str | None = None
    """Of each processor; a text is a platform file with the power of its hosts, for ``serve``."""
    shutdown: Shutdown | None = None
    budgets: Budgets = Budgets()

    @property
    def dynamic(self) -> bool:
        """Whether users submit the jobs; else they are the simulator's workload."""
        return self.users != RIGID

    def check(self) -> None:
        """Raise :class:`UsageError` for values that are out of bounds or exclude each other."""
        for name, seed in (("seed", self.seed), ("shake", self.shake)):
            if seed is not None and not 0 <= seed < _MOST_SEEDS:
                shown = seed if seed < 0 else f"of {seed.bit_length()} bits"
                raise UsageError(f"{parameter(name)} {shown}: expected at least 0, below 2^128")
        if not self.dynamic and self.user_options:
            option = next(iter(self.user_options))
            raise UsageError(
                f"rigid replay has no users, so the option {option!r} has no effect: "
                f"choose users by {parameter('users')}, or leave it out"
            )
        if not 1 / MOST_TIMES <= self.speed_factor <= MOST_TIMES:
            raise UsageError(
                f"{parameter('speed_factor')} {self.speed_factor}: expected a positive number, "
                f"{1 / MOST_TIMES:g} to {MOST_TIMES:g}"
            )
        if self.sites is not None and not is_platform(self.sites):
            parse_sites(self.sites)
        if self.machine is not None and self.sites is not None:
            raise UsageError(
                f"{parameter('machine')} {self.machine} and {parameter('sites')} {self.sites}: a "
                "machine has partitions or grid sites: give one of them"
            )
        if self.shutdown is not None and self.scheduler == EXTERNAL:
            raise UsageError(
                f"{parameter('shutdown')} {self.shutdown}: an external scheduler switches "
                "processors off by its own rules; leave it out"
            )
        changes = [name for name in OF_MACHINE_FILE[2:] if getattr(self, name) is not None]
        if changes and self.machine is None:
            raise UsageError(
                f"{parameter(changes[0])} changes a machine file: give {parameter('machine')}"
            )


class Run(ProcessSettings, frozen=True, kw_only=True):
    """Everything that determines a simulation, apart from the content of its files."""

    rules: Rules = PRESETS[DEFAULT]
    platform: str | None = None
    nodes: int | None = None
    skip_bad_lines: bool = False
    each_event: bool = False
    end_delay: float = 0.0
    """Seconds."""
    backend: str = EMBEDDED
    batsim: str | None = None
    batsim_log: bool = False
    timeouts: Timeouts = Timeouts()
    warm_up: float = 0.0
    """Seconds."""
    cool_down: float = 0.0
    """Seconds."""

    @property
    def must_read_platform(self) -> bool:
        """Whether the platform file must be one that this package reads: real Batsim reads more."""
        return self.backend in (EMBEDDED, *SOCKETS) or self.rules.walltime == "exact"

    def check(self) -> None:
        """Raise :class:`UsageError` for values that are out of bounds or exclude each other."""
        super().check()
        if self.nodes is not None and not 0 < self.nodes <= MOST_PROCESSORS:
            expected = "at least 1" if self.nodes <= 0 else f"at most {MOST_PROCESSORS}"
            raise UsageError(f"{parameter('nodes')} {self.nodes}: expected {expected}")
        for one, other in _OF_THE_SIZE:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise UsageError(
                    f"{parameter(one)} and {parameter(other)} both set the size of the machine: "
                    "give one of them"
                )
        if self.power is not None and (self.platform is not None or isinstance(self.power, str)):
            raise UsageError(
                f"{parameter('power')} {self.power}: a {parameter('platform')} file has the power "
                "of its hosts itself (wattage_per_state, sleep_pstates)"
            )
        if self.platform is None and self.sites is None:
            check_sites(self.rules, ())
        for name in ("warm_up", "cool_down", "end_delay"):
            seconds = getattr(self, name)
            if not 0 <= seconds < inf:
                raise UsageError(f"{parameter(name)} {seconds}: expected a time of at least 0 s")
        if self.end_delay and self.backend != EMBEDDED:
            raise UsageError(
                f"{parameter('end_delay')} works with {parameter('backend')} {EMBEDDED} only"
            )
        if self.each_event and (self.backend != EMBEDDED or self.shake is not None):
            raise UsageError(
                f"{parameter('each_event')} works with {parameter('backend')} {EMBEDDED} only, and "
                f"not with {parameter('shake')}"
            )


def check_outside(
    backends: Collection[str], *, batsim_log: bool, timeouts: Timeouts | str | None
) -> None:
    """Raise :class:`UsageError` for options of other back ends where all are embedded."""
    for name, given in (("batsim_log", batsim_log), ("timeouts", timeouts is not None)):
        if given and set(backends) == {EMBEDDED}:
            raise UsageError(
                f"{parameter(name)}: only a simulator in another process has limits and a log"
            )
