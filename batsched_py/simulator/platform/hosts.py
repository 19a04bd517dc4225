"""The machine that is simulated: its hosts, its storages and its network."""

from __future__ import annotations

import msgspec

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.network import Network
from batsched_py.support.processor_sets import numbers
from batsched_py.workload.sites import SiteDescription, Sites, nb_processors
from batsched_py.workload.workload import REFERENCE_SPEED

MASTER_HOST = "master_host"
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

    @property
    def speed(self) -> float:
        """The speed (flop/s) in the pstate that the host begins in."""
        return self.speeds[self.pstate]


class Platform(msgspec.Struct):
    """The hosts in the order of their resource ids: ``hosts``, which compute, then ``storages``.

    Batsim numbers hosts by lexicographic order of their names, which is not the numeric one.
    """

    hosts: list[Host]
    storages: list[Host] = []
    network: Network = msgspec.field(default_factory=Network)

    @property
    def uniform_speed(self) -> float | None:
        """The speed (flop/s, in the first pstate) of every compute host, None if they differ."""
        speeds = {host.speed for host in self.hosts}
        return speeds.pop() if len(speeds) == 1 else None


def with_sites(sites: Sites, speed_factor: float = 1.0) -> Platform:
    """Return the hosts of :func:`homogeneous`, those of each site with its speed."""
    platform = homogeneous(nb_processors(sites), speed_factor)
    for site in sites:
        for number in numbers(site.processors):
            host = platform.hosts[number]
            speeds = tuple(speed * site.speed for speed in host.speeds)
            platform.hosts[number] = msgspec.structs.replace(host, speeds=speeds, cluster=site.name)
    return platform


def sites_of(platform: Platform) -> Sites:
    """Return the clusters of a platform as sites, in the order of their first hosts.

    None if there is but one cluster. Raises :class:`PlatformError` for a cluster whose hosts
    differ in speed.
    """
    if len({host.cluster for host in platform.hosts}) < 2:
        return ()
    processors: dict[str, int] = {}
    speeds: dict[str, float] = {}
    for number, host in enumerate(platform.hosts):
        processors[host.cluster] = processors.get(host.cluster, 0) | 1 << number
        if speeds.setdefault(host.cluster, host.speed) != host.speed:
            raise PlatformError(
                f"the hosts of {host.cluster!r} differ in speed: expected sites of equal ones"
            )
    return tuple(
        SiteDescription(name, mask, speeds[name] / REFERENCE_SPEED)
        for name, mask in processors.items()
    )


def homogeneous(nb_hosts: int, speed_factor: float = 1.0) -> Platform:
    """Return ``nb_hosts`` equal hosts of ``speed_factor`` Gflop/s, whose messages take no time.

    The names are zero-padded, so that name order is number order. Raises :class:`PlatformError`
    for a number of hosts or a factor that no platform can have.
    """
    if not 0 < nb_hosts <= MAX_HOSTS:
        raise PlatformError(f"a platform of {nb_hosts} hosts: expected 1 to {MAX_HOSTS}")
    if not 0 < speed_factor < float("inf"):
        raise PlatformError(f"a speed factor of {speed_factor}: expected a positive number")
    width = len(str(nb_hosts - 1))
    speeds = (REFERENCE_SPEED * speed_factor,)
    names = (f"node{number:0{width}d}" for number in range(nb_hosts))
    return Platform([Host(name, speeds, cluster=ZONE) for name in names])


def scaled(platform: Platform, speed_factor: float) -> Platform:
    """Return ``platform`` with every speed of its compute hosts multiplied by ``speed_factor``."""
    if speed_factor == 1:
        return platform
    hosts = [
        msgspec.structs.replace(host, speeds=tuple(speed * speed_factor for speed in host.speeds))
        for host in platform.hosts
    ]
    return Platform(hosts, platform.storages, platform.network)


def limited(platform: Platform, nb_hosts: int) -> Platform:
    """Return ``platform`` with its first ``nb_hosts`` compute hosts only, as Batsim's --mmax does.

    A platform that has no more hosts than that is returned as it is. Raises
    :class:`PlatformError` for less than one host.
    """
    if nb_hosts < 1:
        raise PlatformError(f"a platform limited to {nb_hosts} hosts: expected 1 or more")
    if nb_hosts >= len(platform.hosts):
        return platform
    return Platform(platform.hosts[:nb_hosts], platform.storages, platform.network)
