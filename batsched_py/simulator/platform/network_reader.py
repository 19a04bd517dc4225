"""Reads the network of SimGrid's platform files: links, zones and routes.

An unsupported element makes a network without routes. It reports the element when a route is
asked for, because a job that only computes never uses routes.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.attribute_values import (
    make_host_names,
    parse_radical,
    read_attribute,
    read_bandwidth,
    read_latency,
)
from batsched_py.simulator.platform.network import (
    Cluster,
    FullZone,
    Hop,
    Link,
    Network,
    VivaldiZone,
    Zone,
)
from batsched_py.support.old_names import hint_new_name

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

ZONES = {"zone", "AS"}
ROUTES = {"route", "zoneRoute", "ASroute"}
IGNORED = {"config", "prop"}
_FILES = ("bandwidth_file", "latency_file", "state_file")
_LOOPBACK = Link("__loopback__", 498e6, 15e-6, fatpipe=True)  # SimGrid's, of a host to itself


def read_network(root: Element) -> Network:
    """Return the network of a platform, without routes if it cannot be read."""
    reader = _NetworkReader()
    try:
        tops = [element for element in root if element.tag not in IGNORED]
        for element in tops:
            if element.tag not in ZONES and element.tag != "cluster":
                raise PlatformError(f"<{element.tag}> outside of a zone is not supported")
        if len(tops) != 1:
            raise PlatformError(f"{len(tops)} outermost zones are not supported: expected one")
        reader.read(tops[0], None)
        return reader.network()
    except PlatformError as error:
        return Network(problem=f"the network cannot be simulated here: {error}")


class _NetworkReader:
    """Collects links, zones, and which zone every host and router is in."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.link_numbers: dict[str, int] = {}
        self.duplex: set[str] = set()
        self.zones: dict[str, Zone] = {}
        self.places: dict[str, str] = {}
        self.routes: list[tuple[FullZone, Element]] = []
        self.loopback: int | None = None

    def network(self) -> Network:
        """Return what was read: the plainest network if messages take no time in it."""
        for zone, element in self.routes:  # links may be defined after them, and in other zones
            self._route(zone, element)
        if len(self.zones) == 1 and self._is_one_place(next(iter(self.zones.values()))):
            return Network()
        return Network(self.links, self.zones, self.places)

    def _is_one_place(self, zone: Zone) -> bool:
        """Whether messages between any two members take no time."""
        if not isinstance(zone, VivaldiZone) or len(zone.coordinates) < len(self.places):
            return False
        places = set(zone.coordinates.values())
        return len(places) == 1 and places.pop()[2] == 0

    def read(self, element: Element, parent: str | None) -> None:
        """Read a zone and what is in it."""
        name = read_attribute(element, "id")
        if name in self.zones:
            raise PlatformError(f"zone {name!r} is defined twice")
        if element.tag == "cluster":
            self.zones[name] = self._cluster(element, name, parent)
            return
        zone = self.zones[name] = _zone(element, name, parent)
        is_innermost = True
        for child in element:
            if child.tag in ZONES or child.tag == "cluster":
                is_innermost = False
                if isinstance(zone, VivaldiZone):
                    raise PlatformError(f"zones inside of the Vivaldi zone {name!r}")
                self.read(child, name)
            else:
                self._member(zone, child)
        if isinstance(zone, FullZone) and is_innermost:
            if self.loopback is None:
                self.loopback = self._link(_LOOPBACK)
            zone.loopback = Hop((self.loopback,), _LOOPBACK.latency)

    def _member(self, zone: Zone, element: Element) -> None:
        if element.tag in ("host", "router"):
            name = read_attribute(element, "id")
            self._place(name, zone.name)
            if isinstance(zone, VivaldiZone) and (text := element.get("coordinates")) is not None:
                zone.coordinates[name] = _coordinates(text, name)
        elif element.tag == "link":
            self._links(element)
        elif element.tag in ROUTES and isinstance(zone, FullZone):
            self.routes.append((zone, element))
        elif element.tag not in IGNORED and element.tag != "trace":
            raise PlatformError(f"<{element.tag}> in zone {zone.name!r} is not supported")

    def _place(self, name: str, zone: str) -> None:
        if name in self.places:
            raise PlatformError(f"{name!r} is defined twice")
        self.places[name] = zone

    # Links ---------------------------------------------------------------------------------------

    def _link(self, link: Link) -> int:
        if link.name in self.link_numbers or link.name in self.duplex:
            raise PlatformError(f"link {link.name!r} is defined twice")
        number = self.link_numbers[link.name] = len(self.links)
        self.links.append(link)
        return number

    def _links(self, element: Element) -> None:
        """Add the link of an element, or both of a split-duplex one."""
        name = read_attribute(element, "id")
        for file in _FILES:
            if element.get(file):
                raise PlatformError(f"link {name!r} has a {file}")
        bandwidth = read_bandwidth(read_attribute(element, "bandwidth"), f"link {name!r}")
        latency = read_latency(element.get("latency", "0"), f"link {name!r}")
        policy = element.get("sharing_policy", "SHARED")
        if policy == "SPLITDUPLEX":
            for way in ("UP", "DOWN"):
                self._link(Link(f"{name}_{way}", bandwidth, latency))
            self.duplex.add(name)
        elif policy in ("SHARED", "FATPIPE"):
            self._link(Link(name, bandwidth, latency, policy == "FATPIPE"))
        else:
            raise PlatformError(
                f"link {name!r} has the sharing policy {policy!r}{hint_new_name(policy)}: expected "
                "SHARED, FATPIPE or SPLITDUPLEX"
            )

    # Routes --------------------------------------------------------------------------------------

    def _route(self, zone: FullZone, element: Element) -> None:
        source, target = read_attribute(element, "src"), read_attribute(element, "dst")
        where = f"the route from {source!r} to {target!r}"
        gateways = None
        if element.tag != "route":
            gateways = (read_attribute(element, "gw_src"), read_attribute(element, "gw_dst"))
        self._check_ends(zone, (source, target), gateways, where)
        steps = [
            (read_attribute(link, "id"), link.get("direction", "NONE"))
            for link in element
            if link.tag != "prop"
        ]
        self._add_hop(zone, (source, target), [self._step(*s, where) for s in steps], gateways)
        if source != target and element.get("symmetrical", "YES").upper() in ("YES", "TRUE", "1"):
            back = [self._step(name, _BACK.get(way, way), where) for name, way in reversed(steps)]
            turned = None if gateways is None else gateways[::-1]
            self._add_hop(zone, (target, source), back, turned)

    def _check_ends(
        self,
        zone: FullZone,
        ends: tuple[str, str],
        gateways: tuple[str, str] | None,
        where: str,
    ) -> None:
        for end in ends:
            inside = self.places.get(end) == zone.name
            if end in self.zones:
                inside = gateways is not None and self.zones[end].parent == zone.name
            if not inside:
                raise PlatformError(f"{where}: {end!r} is not in zone {zone.name!r}")
        for end, gateway in zip(ends, gateways or (), strict=False):
            if gateway not in self.places:
                raise PlatformError(f"{where}: there is no gateway {gateway!r}")
            if end in self.zones and not self._is_inside(gateway, end):
                raise PlatformError(f"{where}: the gateway {gateway!r} is not in zone {end!r}")

    def _is_inside(self, name: str, zone: str) -> bool:
        """Whether a host or router is in a zone, or in one inside of it."""
        place: str | None = self.places[name]
        while place is not None and place != zone:
            place = self.zones[place].parent
        return place is not None

    def _step(self, name: str, way: str, where: str) -> int:
        full_name = name if way == "NONE" else f"{name}_{way}"
        if full_name not in self.link_numbers:
            wants = " with the direction UP or DOWN" if name in self.duplex else ""
            raise PlatformError(f"{where}: there is no link {full_name!r}{wants}")
        return self.link_numbers[full_name]

    def _add_hop(
        self,
        zone: FullZone,
        ends: tuple[str, str],
        links: list[int],
        gateways: tuple[str, str] | None,
    ) -> None:
        if ends in zone.hops:
            raise PlatformError(f"the route from {ends[0]!r} to {ends[1]!r} is defined twice")
        latency = sum(self.links[link].latency for link in links)
        zone.hops[ends] = Hop(tuple(links), latency, gateways)

    # Clusters ------------------------------------------------------------------------------------

    def _cluster(self, element: Element, name: str, parent: str | None) -> Cluster:
        description = f"cluster {name!r}"
        if (topology := element.get("topology", "FLAT").upper()) != "FLAT":
            raise PlatformError(f"{description} has the topology {topology!r}")
        if element.get("limiter_link"):
            raise PlatformError(f"{description} has a limiter_link")
        bandwidth = read_bandwidth(read_attribute(element, "bw"), description)
        cluster = Cluster(
            name, parent, link_latency=read_latency(read_attribute(element, "lat"), description)
        )
        policy = element.get("sharing_policy", "SPLITDUPLEX")
        if policy not in ("SHARED", "FATPIPE", "SPLITDUPLEX"):
            raise PlatformError(
                f"{description} has the sharing policy {policy!r}{hint_new_name(policy)}"
            )
        self._backbone(cluster, element, description)
        loopback = self._loopback(cluster, element, description)
        for number, host in zip(
            parse_radical(read_attribute(element, "radical")), make_host_names(element), strict=True
        ):
            self._place(host, name)
            link = Link(f"{name}_link_{number}", bandwidth, cluster.link_latency)
            if policy == "SPLITDUPLEX":
                cluster.up[host], cluster.down[host] = (
                    self._link(Link(f"{link.name}_{way}", bandwidth, link.latency))
                    for way in ("UP", "DOWN")
                )
            else:
                # SimGrid 3.32 reads FATPIPE here, and makes a link that is shared.
                cluster.up[host] = cluster.down[host] = self._link(link)
            if loopback:
                itself = Link(f"{link.name}_loopback", loopback, cluster.loopback_latency, True)
                cluster.loopback[host] = self._link(itself)
        prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
        self._place(element.get("router_id") or f"{prefix}{name}_router{suffix}", name)
        return cluster

    def _backbone(self, cluster: Cluster, element: Element, description: str) -> None:
        if not element.get("bb_bw") and not element.get("bb_lat"):
            return
        policy = element.get("bb_sharing_policy", "SHARED")
        if policy not in ("SHARED", "FATPIPE"):
            raise PlatformError(f"{description} has the bb_sharing_policy {policy!r}")
        cluster.backbone_latency = read_latency(element.get("bb_lat") or "0", description)
        bandwidth = read_bandwidth(
            read_attribute(element, "bb_bw"), f"the backbone of {description}"
        )
        link = Link(
            f"{cluster.name}_backbone", bandwidth, cluster.backbone_latency, policy == "FATPIPE"
        )
        cluster.backbone = self._link(link)

    def _loopback(self, cluster: Cluster, element: Element, description: str) -> float | None:
        """Return the bandwidth of the hosts' loopbacks, None if they have none."""
        if not element.get("loopback_bw") and not element.get("loopback_lat"):
            return None
        cluster.loopback_latency = read_latency(element.get("loopback_lat") or "0", description)
        return read_bandwidth(
            read_attribute(element, "loopback_bw"), f"the loopback of {description}"
        )


_BACK = {"UP": "DOWN", "DOWN": "UP"}


def _zone(element: Element, name: str, parent: str | None) -> Zone:
    routing = element.get("routing", "")
    kinds: dict[str, type[Zone]] = {"full": FullZone, "vivaldi": VivaldiZone, "none": Zone}
    if routing.lower() not in kinds:
        raise PlatformError(f"routing {routing!r} of zone {name!r} is not supported")
    return kinds[routing.lower()](name, parent)


def _coordinates(text: str, name: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(number) for number in text.split())
    except ValueError:
        x = y = z = inf
    if not all(map(isfinite, (x, y, z))):
        raise PlatformError(f"{name!r} has the coordinates {text!r}: expected 'x y z'")
    return x, y, z
