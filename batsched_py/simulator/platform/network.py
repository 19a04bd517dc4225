"""The network between hosts: links, and the route from one host to another.

A network is a tree of zones, as SimGrid's are. A zone knows the way between its own members: hosts,
routers and zones. The way between hosts of different zones is put together at the zone that both
are in: from the source to a gateway, through that zone, and from a gateway to the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import PlatformError, located

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Link:
    """A link: its bandwidth (bytes/s), its latency (s), and whether messages do not share it."""

    name: str
    bandwidth: float
    latency: float
    fatpipe: bool = False


class Hop(NamedTuple):
    """A route between two members of a zone; ``gateways`` are its ends if members are zones.

    Its ``links`` are indices into ``Network.links``, its ``latency`` is in seconds. The whole route
    between two hosts is one too. A link is here once, unless the platform file itself lists it
    twice on one way.
    """

    links: tuple[int, ...]
    latency: float
    gateways: tuple[str, str] | None = None


NOTHING = Hop((), 0.0)


@dataclass(slots=True)
class Traffic:
    """The load of a set of messages on the network, summed over the messages.

    ``weights`` are the bytes over each link, ``latency`` is the longest (s), and ``window`` the
    largest latency x bytes (s x bytes), which the TCP window limits. On a link that its users do
    not share, each message may take all of it: the largest counts.
    """

    weights: dict[int, float] = field(default_factory=dict)
    latency: float = 0.0
    window: float = 0.0
    links: Sequence[Link] = field(default=(), compare=False)

    def add(self, links: Iterable[int], total: float, peak: float) -> None:
        """Add messages that use links: their bytes in total, and the bytes of the largest."""
        weights = self.weights
        for link in links if peak else ():
            before = weights.get(link, 0.0)
            weights[link] = max(before, peak) if self.links[link].fatpipe else before + total

    def delay(self, latency: float, amount: float) -> None:
        """Take the latency (s) of a message of ``amount`` bytes into account."""
        self.latency = max(self.latency, latency)
        self.window = max(self.window, latency * amount)

    def send(self, route: Hop, amount: float) -> None:
        """Add a message of ``amount`` bytes over a route."""
        self.add(route.links, amount, amount)
        self.delay(route.latency, amount)


@dataclass(slots=True)
class Zone:
    """A zone without routes between its members (the routing ``None``)."""

    name: str
    parent: str | None = None

    def find_hop(self, source: str, target: str) -> Hop:
        """Return the way from one member to another; raises :class:`PlatformError` if none."""
        raise PlatformError(f"zone {self.name!r} has the routing 'None': there are no routes in it")


@dataclass(slots=True)
class FullZone(Zone):
    """A zone with an explicit route for each pair of members.

    ``loopback`` is the way of a host to itself that has none of its own. Where no way is given,
    messages take no time, as in SimGrid; ``without_route`` names the first such pair that was
    asked for.
    """

    hops: dict[tuple[str, str], Hop] = field(default_factory=dict)
    loopback: Hop | None = None
    without_route: str | None = None

    def find_hop(self, source: str, target: str) -> Hop:
        """Return the way from one member to another."""
        hop = self.hops.get((source, target))
        if hop is None and source == target:
            hop = self.loopback
        if hop is None:
            self.without_route = self.without_route or (
                f"zone {self.name!r} has no route from {source!r} to {target!r}"
            )
            return NOTHING
        return hop


@dataclass(slots=True)
class VivaldiZone(Zone):
    """A zone with latencies by distance: its members have coordinates in ms."""

    coordinates: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def find_hop(self, source: str, target: str) -> Hop:
        """Return the way from one member to another; raises :class:`PlatformError` if none."""
        for name in (source, target):
            if name not in self.coordinates:
                raise PlatformError(f"{name!r} has no coordinates, which zone {self.name!r} needs")
        (x1, y1, z1), (x2, y2, z2) = self.coordinates[source], self.coordinates[target]
        return Hop((), (hypot(x1 - x2, y1 - y2) + abs(z1) + abs(z2)) / 1000)


@dataclass(slots=True)
class Cluster(Zone):
    """A cluster: each host has a link up and a link down, over a backbone if there is one.

    ``up`` and ``down`` are the links of each host (the same link, if its ways share it), and
    ``loopback`` those that a host uses to itself. Without them a message to itself goes up and
    down again, which follows from how the star is built and was not measured. The members that
    have no links are routers, which stand in the middle, behind the backbone.
    """

    up: dict[str, int] = field(default_factory=dict)
    down: dict[str, int] = field(default_factory=dict)
    loopback: dict[str, int] = field(default_factory=dict)
    backbone: int | None = None
    link_latency: float = 0.0
    backbone_latency: float = 0.0
    loopback_latency: float = 0.0
    _own: frozenset[int] = field(default=frozenset(), compare=False, repr=False)

    def owns(self, links: Iterable[int]) -> bool:
        """Return whether any of ``links`` belongs to one host only."""
        if not self._own:
            self._own = frozenset([*self.up.values(), *self.down.values()])
        return not self._own.isdisjoint(links)

    def find_hop(self, source: str, target: str) -> Hop:
        """Return the way from one member to another."""
        if source == target and source in self.loopback:
            return Hop((self.loopback[source],), self.loopback_latency)
        links = [self.up[source]] if source in self.up else []
        if self.backbone is not None and (source in self.up or target in self.down):
            links.append(self.backbone)
        if target in self.down and self.down[target] not in links:
            links.append(self.down[target])
        backbones = 1 if self.backbone in links else 0
        latency = self.link_latency * (len(links) - backbones) + self.backbone_latency * backbones
        return Hop(tuple(links), latency)


@dataclass(slots=True)
class Network:
    """The network of a platform: links, zones by name, and in ``places`` the zone of each host.

    A network without zones is one where messages take no time. ``problem`` explains why there are
    no routes; it is raised only when one is needed, so that jobs without messages can run.
    """

    links: list[Link] = field(default_factory=list)
    zones: dict[str, Zone] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    problem: str | None = None
    _routes: dict[tuple[str, str], Hop] = field(default_factory=dict, compare=False, repr=False)

    def find_route(self, source: str, target: str) -> Hop:
        """Return the route between two hosts.

        Raises :class:`PlatformError` if there is none, or if this kind of network is not known.
        """
        if self.problem is not None:
            raise PlatformError(self.problem)
        if not self.zones:
            return NOTHING
        route = self._routes.get((source, target))
        if route is None:
            route = self._find(source, target)
            if not isinstance(self._zone_of(source), Cluster):  # those are as fast to find again
                self._routes[source, target] = route
        return route

    def add_up_traffic(self, hosts: Sequence[str], sent: Floats | float) -> Traffic:
        """Return the load of messages between executors; ``hosts`` names the host of each.

        ``sent`` is the matrix of the bytes (row sends to column), or the bytes of every ordered
        pair of different executors. Raises :class:`PlatformError` as :meth:`find_route` does.
        """
        if self.problem is not None:
            raise PlatformError(self.problem)
        if not self.zones:
            return Traffic()
        if not isinstance(sent, np.ndarray):
            sent = np.full((len(hosts), len(hosts)), max(sent, 0.0))
            np.fill_diagonal(sent, 0.0)
        else:
            sent = np.maximum(sent, 0.0)
        load = Traffic(links=self.links)
        clusters = self._clusters(hosts)
        if not clusters:
            self._add_pairs(load, hosts, hosts, sent)
        for (up, sources), (down, targets) in product(clusters, repeat=2):
            ends = [hosts[at] for at in sources], [hosts[at] for at in targets]
            block = sent if len(clusters) == 1 else sent[np.ix_(sources, targets)]
            if up is down:
                self._add_to_itself(load, ends[0], block)
            if block.any():
                self._add_flows(load, up, down, *ends, block)
        return load

    def check_master(self, name: str) -> None:
        """Raise :class:`PlatformError` if Batsim, on the host ``name``, could not send a message.

        It sends them to itself, too, and aborts in zones that have no routes or ask for
        coordinates.
        """
        zone = self.zones.get(self.places.get(name, ""))
        if zone is None or isinstance(zone, FullZone):
            return  # SimGrid lets a host without a route to itself send to itself
        with located("the master host cannot be here", PlatformError):
            zone.find_hop(name, name)

    @property
    def without_route(self) -> str | None:
        """The first pair of hosts without a route, between which messages took no time."""
        zones = (zone for zone in self.zones.values() if isinstance(zone, FullZone))
        return next((text for zone in zones if (text := zone.without_route)), None)

    # Routes --------------------------------------------------------------------------------------

    def _zone_of(self, name: str) -> Zone:
        place = self.places.get(name)
        if place is None:
            raise PlatformError(f"the network has no host {name!r}")
        return self.zones[place]

    def _find(self, source: str, target: str) -> Hop:
        """Put a route together; gateways are inside of what they lead to, so that this ends."""
        zone = self._zone_of(source)
        if zone is self._zone_of(target):
            return zone.find_hop(source, target)
        zone, inner, outer = self._meeting(source, target)
        hop = zone.find_hop(inner, outer)
        begin = end = NOTHING
        if inner != source or outer != target:
            if hop.gateways is None:
                raise PlatformError(
                    f"zone {zone.name!r} has no zoneRoute from {inner!r} to {outer!r}, which "
                    f"messages from {source!r} to {target!r} need"
                )
            first, last = hop.gateways
            if first != source and inner != source:
                begin = self._find(source, first)
            if last != target and outer != target:
                end = self._find(last, target)
        return Hop(begin.links + hop.links + end.links, begin.latency + hop.latency + end.latency)

    def _meeting(self, source: str, target: str) -> tuple[Zone, str, str]:
        """Return the innermost zone that has both, and its members that they are, or are in."""
        path, other = self._path(source), self._path(target)
        depth = 0
        while path[depth + 1] == other[depth + 1] and depth + 2 < min(len(path), len(other)):
            depth += 1
        if path[depth] != other[depth]:
            raise PlatformError(f"no zone has both {source!r} and {target!r}")
        return self.zones[path[depth]], path[depth + 1], other[depth + 1]

    def _path(self, name: str) -> list[str]:
        """Return the zones that ``name`` is in, outermost first, and ``name`` itself."""
        path = [name]
        zone: Zone | None = self._zone_of(name)
        while zone is not None:
            path.append(zone.name)
            zone = None if zone.parent is None else self.zones[zone.parent]
        return path[::-1]

    # Traffic -------------------------------------------------------------------------------------

    def _clusters(self, hosts: Sequence[str]) -> list[tuple[Cluster, list[int]]]:
        """Return which executors are in which cluster: nothing if some are in none."""
        clusters: dict[str, tuple[Cluster, list[int]]] = {}
        for at, name in enumerate(hosts):
            zone = self._zone_of(name)
            if not isinstance(zone, Cluster) or name not in zone.up:
                return []
            clusters.setdefault(zone.name, (zone, []))[1].append(at)
        return list(clusters.values())

    def _add_pairs(
        self, load: Traffic, sources: Sequence[str], targets: Sequence[str], sent: Floats
    ) -> None:
        """Add messages pair by pair: slow, for any network."""
        for source, row in zip(sources, sent.tolist(), strict=True):
            for target, amount in zip(targets, row, strict=True):
                if amount > 0:
                    load.send(self.find_route(source, target), amount)

    def _add_to_itself(self, load: Traffic, hosts: Sequence[str], sent: Floats) -> None:
        """Add what hosts send to themselves, and strike it from ``sent``."""
        places: dict[str, list[int]] = {}
        for at, name in enumerate(hosts):
            places.setdefault(name, []).append(at)
        if len(places) == len(hosts) and not sent.diagonal().any():
            return
        for name, executors in places.items():
            own = np.ix_(executors, executors)
            self._add_pairs(load, [name] * len(executors), [name] * len(executors), sent[own])
            sent[own] = 0.0

    def _add_flows(
        self,
        load: Traffic,
        up: Cluster,
        down: Cluster,
        sources: Sequence[str],
        targets: Sequence[str],
        sent: Floats,
    ) -> None:
        """Add by host what goes inside a cluster, or from one to another.

        All messages go the same way but for the hosts' own links, unless a gateway is a host.
        """
        target = next(name for name in targets if name != sources[0])
        route = self.find_route(sources[0], target)
        middle = route.links[1:-1]
        ends = [up.up[sources[0]], down.down[target]]
        if [*route.links[:1], *route.links[-1:]] != ends or up.owns(middle) or down.owns(middle):
            self._add_pairs(load, sources, targets, sent)
            return
        for links, hosts, axis in ((up.up, sources, 1), (down.down, targets, 0)):
            totals, peaks = sent.sum(axis).tolist(), sent.max(axis).tolist()
            for host, total, peak in zip(hosts, totals, peaks, strict=True):
                load.add((links[host],), total, peak)
        load.add(middle, float(sent.sum()), peak := float(sent.max()))
        load.delay(route.latency, peak)
