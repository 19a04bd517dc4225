"""The simulated machine: its hosts, its storages and its network."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from batsched_py.errors import PlatformError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.simulator.platform.network import Network
from batsched_py.workload.grid_sites import GridSite, GridSites
from batsched_py.workload.host_power import SLEEP, WATTS, find_power_groups, read_sleep_pstates
from batsched_py.workload.processor_power import PowerGroup, PowerGroups, ProcessorPower
from batsched_py.workload.workload import REFERENCE_SPEED

MASTER_HOST = "master_host"
STORAGE = "storage"
"""The role of hosts that store."""
ZONE = "AS0"
"""Id of the outermost zone of the platforms that we write."""
MAX_HOSTS = 1_000_000


class Host(msgspec.Struct, frozen=True):
    """A host: its speed in flop/s in each pstate, its properties, and the pstate it begins in."""

    name: str
    speeds: tuple[float, ...]
    properties: dict[str, str] = {}
    zone_properties: dict[str, str] = {}
    pstate: int = 0
    cluster: str = ""
    """Id of the innermost cluster or zone that it is in."""
    cores: int = 1
    """The cores that the platform file gives it; a job uses one of them."""

    @property
    def speed(self) -> float:
        """The speed (flop/s) in the pstate that the host begins in."""
        return self.speeds[self.pstate]

    @property
    def computes(self) -> bool:
        """Whether jobs may run on it: storages only have an id."""
        return self.properties.get("role") != STORAGE


class NumberedHosts(Sequence[Host]):
    """Hosts of a few kinds that differ only in their names; each is made when it is needed.

    Each of ``kinds`` is a host, and the number of the first host after those of its kind. Names are
    zero-padded, so that name order is number order.
    """

    def __init__(self, kinds: Iterable[tuple[Host, int]]) -> None:
        pairs = list(kinds)
        self.kinds = [kind for kind, _ in pairs]
        self._ends = [end for _, end in pairs]
        self._width = len(str(len(self) - 1))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, at: Any) -> Any:
        numbers = range(len(self))[at]  # from the end too; raises IndexError
        if isinstance(numbers, range):
            return [self._host(number) for number in numbers]
        return self._host(numbers)

    def _host(self, number: int) -> Host:
        kind = self.kinds[bisect_right(self._ends, number)]
        return msgspec.structs.replace(kind, name=f"node{number:0{self._width}d}")


class Platform(msgspec.Struct):
    """The hosts of a machine in the order of their ids: compute ``hosts``, then ``storages``.

    Batsim 4.2 numbers hosts by lexicographic order of their names, which is not the numeric one,
    Batsim 5 by the one that it is.
    """

    hosts: Sequence[Host]
    storages: list[Host] = []
    network: Network = msgspec.field(default_factory=Network)

    @property
    def uniform_speed(self) -> float | None:
        """The speed (flop/s, in the first pstate) of every compute host, None if they differ."""
        speeds = {host.speed for host in self._kinds()}
        return speeds.pop() if len(speeds) == 1 else None

    def find_multicore_hosts(self) -> list[Host]:
        """Return the compute hosts that have several cores."""
        return [host for host in self._kinds() if host.cores > 1]

    def find_power(self) -> PowerGroups:
        """Return the power of the compute hosts; raises :class:`PlatformError` if malformed."""
        hosts = self.hosts
        return find_power_groups((h.name, h.properties, h.speeds, h.pstate) for h in hosts)

    def notes(self) -> list[str]:
        """Return sentences on where the simulation differs from the platform file."""
        notes = []
        if several := self.find_multicore_hosts():
            notes.append(
                f"host {several[0].name!r} has {several[0].cores} cores: a job computes on one of "
                "them, as under Batsim; give one host per core to use all"
            )
        if self.network.without_route:
            notes.append(f"{self.network.without_route}: messages take no time there, as in Batsim")
        return notes

    def _kinds(self) -> Sequence[Host]:
        """Return the compute hosts, one of each kind if they are numbered."""
        return self.hosts.kinds if isinstance(self.hosts, NumberedHosts) else self.hosts


class ProcessorSpeeds:
    """The speed of each processor of a platform (flop/s), in its first power state."""

    def __init__(self, platform: Platform) -> None:
        self._uniform = platform.uniform_speed
        self._of_speed: list[tuple[float, ProcessorSet]] = []
        """The processors of each speed, the slowest first, if speeds differ."""
        if self._uniform is None:
            numbers: dict[float, list[int]] = {}
            for number, host in enumerate(platform.hosts):
                numbers.setdefault(host.speed, []).append(number)
            self._of_speed = sorted((speed, ProcessorSet.of(of)) for speed, of in numbers.items())

    def find_least(self, processors: ProcessorSet) -> float:
        """Return the speed of the slowest of ``processors``, which decides how long a job takes."""
        if self._uniform is not None:
            return self._uniform
        return next(speed for speed, of_it in self._of_speed if of_it & processors)


def make_grid(sites: GridSites, speed_factor: float = 1.0) -> Platform:
    """Return a platform as :func:`make_homogeneous`, with the speed of each grid site."""
    nb_hosts = sum(site.processors.size for site in sites)
    if not 0 < nb_hosts <= MAX_HOSTS:
        raise PlatformError(f"a platform of {nb_hosts} hosts: expected 1 to {MAX_HOSTS}")
    if not 0 < speed_factor < float("inf"):
        raise PlatformError(f"a speed factor of {speed_factor}: expected a positive number")
    kinds = [
        (Host("", (REFERENCE_SPEED * speed_factor * site.speed,), cluster=site.name), last + 1)
        for site in sites
        for _, last in site.processors.intervals()
    ]
    return Platform(NumberedHosts(sorted(kinds, key=itemgetter(1))))


def make_homogeneous(nb_hosts: int, speed_factor: float = 1.0) -> Platform:
    """Return a platform of ``nb_hosts`` equal hosts of ``speed_factor`` Gflop/s, without network.

    The names are zero-padded, so that name order is number order. Raises :class:`PlatformError`
    for a number of hosts or a factor that no platform can have.
    """
    return make_grid((GridSite(ZONE, ProcessorSet.interval(0, nb_hosts)),), speed_factor)


def find_clusters(platform: Platform) -> GridSites:
    """Return the clusters of a platform as grid sites, in the order of their first hosts.

    There are none if the platform is one cluster. Raises :class:`PlatformError` for a cluster whose
    hosts differ in speed.
    """
    if len({host.cluster for host in platform.hosts}) < 2:
        return ()
    numbers: dict[str, list[int]] = {}
    speeds: dict[str, float] = {}
    for number, host in enumerate(platform.hosts):
        numbers.setdefault(host.cluster, []).append(number)
        if speeds.setdefault(host.cluster, host.speed) != host.speed:
            raise PlatformError(
                f"the hosts of {host.cluster!r} differ in speed: expected sites of equal ones"
            )
    return tuple(
        GridSite(name, ProcessorSet.of(of_it), speeds[name] / REFERENCE_SPEED)
        for name, of_it in numbers.items()
    )


def scale_speeds(platform: Platform, speed_factor: float) -> Platform:
    """Return ``platform`` with every speed of its compute hosts multiplied by ``speed_factor``.

    Speeds of pstates that a host only passes stay: they are the lengths of its switches.
    """
    if speed_factor == 1:
        return platform
    hosts = [
        msgspec.structs.replace(host, speeds=_scaled(host, speed_factor)) for host in platform.hosts
    ]
    return msgspec.structs.replace(platform, hosts=hosts)


def _scaled(host: Host, speed_factor: float) -> tuple[float, ...]:
    ways = read_sleep_pstates(host.name, host.properties, len(host.speeds)).values()
    passed = {pstate for way in ways for pstate in way}
    return tuple(
        speed if pstate in passed else speed * speed_factor
        for pstate, speed in enumerate(host.speeds)
    )


def add_pstates(platform: Platform, power: PowerGroups) -> Platform:
    """Return ``platform``, whose hosts have one pstate, with those to sleep in and to pass.

    They are 1 to sleep in, 2 on the way off and 3 on the way on; unknown watts are 0. Without a
    group that can sleep, the platform is returned as it is.
    """
    if not any(group.power.can_sleep for group in power):
        return platform
    hosts = list(platform.hosts)
    every = ProcessorSet.interval(0, len(hosts))
    for group in (PowerGroup(every, ProcessorPower()), *power):
        speeds, properties = _make_pstates(group.power)
        for number in group.processors & every:
            host = platform.hosts[number]
            all_speeds = (host.speed, *speeds)
            hosts[number] = msgspec.structs.replace(host, speeds=all_speeds, properties=properties)
    return msgspec.structs.replace(platform, hosts=hosts)


def _make_pstates(power: ProcessorPower) -> tuple[tuple[float, ...], dict[str, str]]:
    """Return the speeds of the pstates from 1 on, and the properties of all."""
    watts = [(power.idle_watts or 0.0, power.computing_watts or 0.0)]
    speeds, properties = list[float](), dict[str, str]()
    if power.off_seconds is not None and power.on_seconds is not None:
        speeds = [1.0, 1 / power.off_seconds, 1 / power.on_seconds]
        properties[SLEEP] = "1:2:3"
        for mean, speed in zip(
            (power.asleep_watts, power.off_joules, power.on_joules), speeds, strict=True
        ):
            watts.append(((mean or 0.0) * speed,) * 2)
    properties[WATTS] = ",".join(f"{idle!r}:{full!r}" for idle, full in watts)
    return tuple(speeds), properties


def limit_hosts(platform: Platform, nb_hosts: int) -> Platform:
    """Return ``platform`` with its first ``nb_hosts`` compute hosts only, as Batsim's --mmax does.

    A platform that has no more hosts than that is returned as it is. Raises
    :class:`PlatformError` for less than one host.
    """
    if nb_hosts < 1:
        raise PlatformError(f"a platform limited to {nb_hosts} hosts: expected 1 or more")
    if nb_hosts >= len(platform.hosts):
        return platform
    return msgspec.structs.replace(platform, hosts=platform.hosts[:nb_hosts])
