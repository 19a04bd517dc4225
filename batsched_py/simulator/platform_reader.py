"""Reading SimGrid's platform files: hosts with speeds and properties, links and routes.

Hosts are read first, and what would change how fast they are is refused by name. Then the network:
what is not supported there makes a network without routes, which says why when one is asked for,
because a job that only computes never uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from batsched_py.errors import PlatformError
from batsched_py.simulator.network import (
    Cluster,
    FullZone,
    Hop,
    Link,
    Network,
    VivaldiZone,
    Zone,
)
from batsched_py.simulator.platform import MASTER_HOST, MAX_HOSTS, Host, Platform

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ROLES = {"", "compute_node", "master", "storage"}
_ZONES = {"zone", "AS"}
_ROUTES = {"route", "zoneRoute", "ASroute"}
_IGNORED = {"config", "prop"}
_NETWORK = _ROUTES | {"link", "bypassRoute", "bypassZoneRoute", "bypassASroute", "router"}
_NETWORK |= {"backbone", "host_link", "link_ctn", "trace"}
_TRACES_OF_LINKS = {"BANDWIDTH", "LATENCY", "LINK_AVAIL"}
_FILES_OF_HOSTS = ("availability_file", "speed_file", "state_file")
_FILES_OF_LINKS = ("bandwidth_file", "latency_file", "state_file")

_VALUE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*")
_RADICAL = re.compile(r"(\d+)(?:-(\d+))?")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_BINARY = {f"{prefix}i": 1024.0**at for at, prefix in enumerate("KMGTPEZ", 1)}
_SPEED_UNITS = {
    f"{prefix}{unit}": scale for prefix, scale in _PREFIXES.items() for unit in ("", "f", "flops")
}
_BANDWIDTH_UNITS = {"": 1.0} | {
    f"{prefix}{unit}": scale / bits
    for prefix, scale in (_PREFIXES | _BINARY).items()
    for unit, bits in (("Bps", 1), ("bps", 8))
}
_TIME_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
_TIME_UNITS |= {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_LOOPBACK = Link("__loopback__", 498e6, 15e-6, fatpipe=True)  # SimGrid's, of a host to itself


def read_platform(
    path: str | Path, master_host: str = MASTER_HOST, roles: Mapping[str, str] | None = None
) -> Platform:
    """Read a SimGrid platform file; ``master_host`` is left out, as Batsim does.

    ``roles`` gives hosts by name further roles, separated by commas, as Batsim's ``-r`` does: those
    with the role ``storage`` store, those with the role ``master`` are left out. Raises
    :class:`PlatformError`, naming the file and the element, for a file that is missing, not XML,
    has entities, elements that are not supported, no hosts, or no master host.
    """
    root = _parse(path)
    if root is None or root.tag != "platform":
        raise PlatformError(f"{path}: the root element must be <platform>")
    hosts: dict[str, Host] = {}
    try:
        for element in root:
            _read(element, {}, hosts)
        computing, storing = _by_role(hosts, master_host, roles or {})
        network = _network(root)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None
    except RecursionError:
        raise PlatformError(f"{path}: the zones are nested too deeply") from None
    if network.problem is not None:
        network.problem = f"{path}: {network.problem}: use real Batsim"
    return Platform(computing, storing, network)


def _parse(path: str | Path) -> Element | None:
    """Return the root of an XML file without entities."""
    from defusedxml import ElementTree
    from defusedxml.common import DefusedXmlException

    try:
        root: Element | None = ElementTree.parse(path).getroot()
    except OSError as error:
        raise PlatformError(f"{path}: {error.strerror}") from None
    except DefusedXmlException as error:
        raise PlatformError(f"{path}: entities are not allowed in a platform ({error})") from None
    except ElementTree.ParseError as error:
        raise PlatformError(f"{path}: not a well-formed XML file: {error}") from None
    return root


# Hosts -------------------------------------------------------------------------------------------


def _read(element: Element, zone_properties: dict[str, str], hosts: dict[str, Host]) -> None:
    """Collect the hosts below ``element``."""
    tag = element.tag
    if tag in _ZONES:
        inherited = zone_properties | _properties(element)
        for child in element:
            _read(child, inherited, hosts)
    elif tag in ("host", "peer"):
        _add(hosts, _attribute(element, "id"), element, zone_properties)
    elif tag in ("cluster", "cabinet"):
        for name in _names(element):
            _add(hosts, name, element, zone_properties)
    elif tag == "trace_connect":
        if (kind := element.get("kind")) not in _TRACES_OF_LINKS:
            raise PlatformError(
                f"<trace_connect> of kind {kind!r}: hosts whose speed changes are "
                "not supported here; real Batsim reads them"
            )
    elif tag not in _NETWORK and tag not in _IGNORED:
        raise PlatformError(
            f"<{tag}> is not supported here: expected zone, cluster, host, links, routes; "
            "real Batsim reads the rest"
        )


def _names(element: Element) -> Iterator[str]:
    """Yield the names of the hosts of a cluster."""
    prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
    for number in _numbers(_attribute(element, "radical")):
        yield f"{prefix}{number}{suffix}"


def _add(
    hosts: dict[str, Host], name: str, element: Element, zone_properties: dict[str, str]
) -> None:
    if name in hosts:
        raise PlatformError(f"host {name!r} is defined twice")
    if len(hosts) >= MAX_HOSTS:
        raise PlatformError(f"more than {MAX_HOSTS} hosts")
    if element.get("core", "1") != "1":
        raise PlatformError(f"host {name!r} has several cores: give one host per core")
    for file in _FILES_OF_HOSTS:
        if element.get(file):
            raise PlatformError(f"host {name!r} has a {file}, which is not supported here")
    speeds = tuple(
        _value(text, _SPEED_UNITS, f"host {name!r} has speed", "1Gf")
        for text in _attribute(element, "speed").split(",")
    )
    pstate = element.get("pstate", "0")
    if not pstate.isdecimal() or int(pstate) >= len(speeds):
        raise PlatformError(
            f"host {name!r} has pstate {pstate!r}: expected a number below {len(speeds)}, the "
            "number of its speeds"
        )
    hosts[name] = Host(name, speeds, _properties(element), zone_properties, int(pstate))


def _by_role(
    hosts: Mapping[str, Host], master_host: str, roles: Mapping[str, str]
) -> tuple[list[Host], list[Host]]:
    """Return the hosts that compute and those that store, both by name."""
    for name in roles:
        if name not in hosts:
            raise PlatformError(f"there is no host {name!r} to give the role {roles[name]!r}")
    computing, storing, has_master = [], [], False
    for name in sorted(hosts):
        host = hosts[name]
        given = {*host.properties.get("role", "").split(","), *roles.get(name, "").split(",")}
        own = {role.strip() for role in given}
        if own - _ROLES or {"compute_node", "storage"} <= own:
            raise PlatformError(
                f"host {name!r} has the role {','.join(sorted(own - {''}))!r}: expected one of "
                "compute_node, storage, master"
            )
        if name == master_host or "master" in own:
            has_master = True
        elif "storage" in own:
            host.properties["role"] = "storage"
            storing.append(host)
        else:
            computing.append(host)
    if not has_master:
        raise PlatformError(
            f"there is no master host {master_host!r}: add one, which will not compute"
        )
    if not computing:
        raise PlatformError("there are no hosts to compute on")
    return computing, storing


def _properties(element: Element) -> dict[str, str]:
    return {prop.get("id", ""): prop.get("value", "") for prop in element.findall("prop")}


def _attribute(element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise PlatformError(f"<{element.tag} {element.attrib}> has no attribute {name!r}")
    return value


def _value(
    text: str, units: Mapping[str, float], what: str, example: str, least: float = 1e-300
) -> float:
    """Return a number with a unit; raises :class:`PlatformError` for infinite and small ones."""
    match = _VALUE.fullmatch(text)
    try:
        value = float(match[1]) * units[match[2]] if match else -1.0
    except (KeyError, ValueError):
        value = -1.0
    if not least <= value < float("inf"):
        raise PlatformError(f"{what} {text!r}: expected such as {example!r}")
    return value


def _numbers(radical: str) -> list[int]:
    """Expand a radical such as ``0-3,7``; a huge one is refused before it is built."""
    numbers: list[int] = []
    for part in radical.split(","):
        match = _RADICAL.fullmatch(part.strip())
        if not match:
            raise PlatformError(f"radical {radical!r}: expected numbers and ranges as '0-99,104'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first >= MAX_HOSTS - len(numbers):
            raise PlatformError(f"radical {radical!r}: reversed, or more than {MAX_HOSTS} hosts")
        numbers.extend(range(first, last + 1))
    return numbers


# Network -----------------------------------------------------------------------------------------


def _network(root: Element) -> Network:
    """Return the network of a platform, without routes if it cannot be read."""
    reader = _NetworkReader()
    try:
        tops = [element for element in root if element.tag in _ZONES or element.tag == "cluster"]
        for element in root:
            if element.tag not in _IGNORED and element not in tops:
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
        if len(self.zones) == 1 and _is_one_place(next(iter(self.zones.values()))):
            return Network()
        return Network(self.links, self.zones, self.places)

    def read(self, element: Element, parent: str | None) -> None:
        """Read a zone and what is in it."""
        name = _attribute(element, "id")
        if name in self.zones:
            raise PlatformError(f"zone {name!r} is defined twice")
        if element.tag == "cluster":
            self.zones[name] = self._cluster(element, name, parent)
            return
        zone = self.zones[name] = _zone(element, name, parent)
        for child in element:
            if child.tag in _ZONES or child.tag == "cluster":
                if isinstance(zone, VivaldiZone):
                    raise PlatformError(f"zones inside of the Vivaldi zone {name!r}")
                self.read(child, name)
            else:
                self._member(zone, child)
        if isinstance(zone, FullZone) and not any(z.parent == name for z in self.zones.values()):
            if self.loopback is None:
                self.loopback = self._link(_LOOPBACK)
            zone.loopback = Hop((self.loopback,), _LOOPBACK.latency)

    def _member(self, zone: Zone, element: Element) -> None:
        if element.tag in ("host", "router"):
            name = _attribute(element, "id")
            self._place(name, zone.name)
            if isinstance(zone, VivaldiZone) and (text := element.get("coordinates")) is not None:
                zone.coordinates[name] = _coordinates(text, name)
        elif element.tag == "link":
            self._links(element)
        elif element.tag in _ROUTES and isinstance(zone, FullZone):
            self.routes.append((zone, element))
        elif element.tag not in _IGNORED and element.tag != "trace":
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
        name = _attribute(element, "id")
        for file in _FILES_OF_LINKS:
            if element.get(file):
                raise PlatformError(f"link {name!r} has a {file}")
        bandwidth = _bandwidth(_attribute(element, "bandwidth"), f"link {name!r}")
        latency = _latency(element.get("latency", "0"), f"link {name!r}")
        policy = element.get("sharing_policy", "SHARED")
        if policy == "SPLITDUPLEX":
            for way in ("UP", "DOWN"):
                self._link(Link(f"{name}_{way}", bandwidth, latency))
            self.duplex.add(name)
        elif policy in ("SHARED", "FATPIPE"):
            self._link(Link(name, bandwidth, latency, policy == "FATPIPE"))
        else:
            raise PlatformError(
                f"link {name!r} has the sharing policy {policy!r}: expected SHARED, FATPIPE or "
                "SPLITDUPLEX"
            )

    # Routes --------------------------------------------------------------------------------------

    def _route(self, zone: FullZone, element: Element) -> None:
        source, target = _attribute(element, "src"), _attribute(element, "dst")
        where = f"the route from {source!r} to {target!r}"
        gateways = None
        if element.tag != "route":
            gateways = (_attribute(element, "gw_src"), _attribute(element, "gw_dst"))
        self._check_ends(zone, (source, target), gateways, where)
        steps = [
            (_attribute(link, "id"), link.get("direction", "NONE"))
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
        for gateway in gateways or ():
            if gateway not in self.places:
                raise PlatformError(f"{where}: there is no gateway {gateway!r}")

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
        what = f"cluster {name!r}"
        if (topology := element.get("topology", "FLAT").upper()) != "FLAT":
            raise PlatformError(f"{what} has the topology {topology!r}")
        if element.get("limiter_link"):
            raise PlatformError(f"{what} has a limiter_link")
        bandwidth = _bandwidth(_attribute(element, "bw"), what)
        cluster = Cluster(name, parent, link_latency=_latency(_attribute(element, "lat"), what))
        policy = element.get("sharing_policy", "SPLITDUPLEX")
        if policy not in ("SHARED", "FATPIPE", "SPLITDUPLEX"):
            raise PlatformError(f"{what} has the sharing policy {policy!r}")
        self._backbone(cluster, element, what)
        loopback = self._loopback(cluster, element, what)
        for number, host in zip(
            _numbers(_attribute(element, "radical")), _names(element), strict=True
        ):
            self._place(host, name)
            link = Link(f"{name}_link_{number}", bandwidth, cluster.link_latency)
            if policy == "SPLITDUPLEX":
                cluster.up[host], cluster.down[host] = (
                    self._link(Link(f"{link.name}_{way}", bandwidth, link.latency))
                    for way in ("UP", "DOWN")
                )
            else:
                shared = Link(link.name, bandwidth, link.latency, policy == "FATPIPE")
                cluster.up[host] = cluster.down[host] = self._link(shared)
            if loopback:
                own = Link(f"{link.name}_loopback", loopback, cluster.loopback_latency, True)
                cluster.loopback[host] = self._link(own)
        prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
        self._place(element.get("router_id") or f"{prefix}{name}_router{suffix}", name)
        return cluster

    def _backbone(self, cluster: Cluster, element: Element, what: str) -> None:
        if not element.get("bb_bw") and not element.get("bb_lat"):
            return
        policy = element.get("bb_sharing_policy", "SHARED")
        if policy not in ("SHARED", "FATPIPE"):
            raise PlatformError(f"{what} has the bb_sharing_policy {policy!r}")
        cluster.backbone_latency = _latency(element.get("bb_lat") or "0", what)
        bandwidth = _bandwidth(_attribute(element, "bb_bw"), f"the backbone of {what}")
        link = Link(
            f"{cluster.name}_backbone", bandwidth, cluster.backbone_latency, policy == "FATPIPE"
        )
        cluster.backbone = self._link(link)

    def _loopback(self, cluster: Cluster, element: Element, what: str) -> float | None:
        """Return the bandwidth of the hosts' loopbacks, None if they have none."""
        if not element.get("loopback_bw") and not element.get("loopback_lat"):
            return None
        cluster.loopback_latency = _latency(element.get("loopback_lat") or "0", what)
        return _bandwidth(_attribute(element, "loopback_bw"), f"the loopback of {what}")


_BACK = {"UP": "DOWN", "DOWN": "UP"}


def _zone(element: Element, name: str, parent: str | None) -> Zone:
    routing = element.get("routing", "")
    if routing == "Full":
        return FullZone(name, parent)
    if routing == "Vivaldi":
        return VivaldiZone(name, parent)
    if routing == "None":
        return Zone(name, parent)
    raise PlatformError(f"routing {routing!r} of zone {name!r} is not supported")


def _is_one_place(zone: Zone) -> bool:
    """Whether messages between any two members take no time."""
    if isinstance(zone, VivaldiZone):
        places = set(zone.coordinates.values())
        return len(places) == 1 and places.pop()[2] == 0
    return type(zone) is Zone


def _coordinates(text: str, name: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(number) for number in text.split())
    except ValueError:
        raise PlatformError(f"{name!r} has the coordinates {text!r}: expected 'x y z'") from None
    return x, y, z


def _bandwidth(text: str, what: str) -> float:
    return _value(text, _BANDWIDTH_UNITS, f"{what} has bandwidth", "125MBps")


def _latency(text: str, what: str) -> float:
    return _value(text, _TIME_UNITS, f"{what} has latency", "50us", least=0.0)
