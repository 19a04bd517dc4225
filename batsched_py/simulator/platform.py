"""Platform descriptions: the part of SimGrid's XML that compute-only studies need.

Read are ``platform``, ``zone``/``AS``, ``cluster`` and ``host`` with speed and pstates, and their
properties. Links, routes and coordinates are accepted and ignored, because a job that only
computes never uses them. Anything else is refused by name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import PlatformError
from batsched_py.workload.jobs import REFERENCE_SPEED

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MASTER_HOST = "master_host"
MAX_HOSTS = 1_000_000
_ROLES = ("", "compute_node", "master")
_NETWORK = {"link", "route", "zoneRoute", "ASroute", "bypassRoute", "bypassASroute", "router"}
_NETWORK |= {"backbone", "host_link", "link_ctn", "config", "cabinet", "peer"}
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_SPEED = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kMGTPEZ]?)(f|flops)?\s*")
_RADICAL = re.compile(r"(\d+)(?:-(\d+))?")


class Host(msgspec.Struct, frozen=True):
    """A compute host: its speed in flop/s in each pstate, and its properties."""

    name: str
    speeds: tuple[float, ...]
    properties: dict[str, str] = {}
    zone_properties: dict[str, str] = {}


class Platform(msgspec.Struct):
    """The compute hosts in the order of their resource ids.

    Batsim numbers hosts by lexicographic order of their names, which is not the numeric one.
    """

    hosts: list[Host]

    @property
    def uniform_speed(self) -> float | None:
        """The speed (flop/s, pstate 0) of every host, None if they differ."""
        speeds = {host.speeds[0] for host in self.hosts}
        return speeds.pop() if len(speeds) == 1 else None


def homogeneous(nb_hosts: int, speed_factor: float = 1.0) -> Platform:
    """Return ``nb_hosts`` equal hosts of ``speed_factor`` Gflop/s.

    The names are zero-padded, so that name order is number order. Raises :class:`PlatformError`
    for a number of hosts or a factor that no platform can have.
    """
    if not 0 < nb_hosts <= MAX_HOSTS:
        raise PlatformError(f"a platform of {nb_hosts} hosts: expected 1 to {MAX_HOSTS}")
    if not 0 < speed_factor < float("inf"):
        raise PlatformError(f"a speed factor of {speed_factor}: expected a positive number")
    width = len(str(nb_hosts - 1))
    speeds = (REFERENCE_SPEED * speed_factor,)
    return Platform([Host(f"node{i:0{width}d}", speeds) for i in range(nb_hosts)])


def scaled(platform: Platform, speed_factor: float) -> Platform:
    """Return ``platform`` with every speed multiplied by ``speed_factor``."""
    if speed_factor == 1:
        return platform
    hosts = [
        msgspec.structs.replace(host, speeds=tuple(speed * speed_factor for speed in host.speeds))
        for host in platform.hosts
    ]
    return Platform(hosts)


def read_platform(path: str | Path, master_host: str = MASTER_HOST) -> Platform:
    """Read a SimGrid platform file; ``master_host`` is left out, as Batsim does.

    Raises :class:`PlatformError`, naming the file and the element, for a file that is missing,
    not XML, has entities, elements that are not supported, no hosts, or no master host.
    """
    root = _parse(path)
    if root is None or root.tag != "platform":
        raise PlatformError(f"{path}: the root element must be <platform>")
    hosts: dict[str, Host] = {}
    try:
        for element in root:
            _read(element, {}, hosts)
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None
    except RecursionError:
        raise PlatformError(f"{path}: the zones are nested too deeply") from None
    masters = [host for host in hosts.values() if host.properties.get("role") == "master"]
    for host in masters:
        del hosts[host.name]
    if hosts.pop(master_host, None) is None and not masters:
        raise PlatformError(
            f"{path}: there is no master host {master_host!r}: add one, which will not compute"
        )
    if not hosts:
        raise PlatformError(f"{path}: there are no hosts to compute on")
    return Platform([hosts[name] for name in sorted(hosts)])


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


def _read(element: Element, zone_properties: dict[str, str], hosts: dict[str, Host]) -> None:
    """Collect the hosts below ``element``."""
    if element.tag in ("zone", "AS"):
        inherited = zone_properties | _properties(element)
        for child in element:
            _read(child, inherited, hosts)
    elif element.tag == "host":
        _add(hosts, _attribute(element, "id"), element, zone_properties)
    elif element.tag == "cluster":
        prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
        for number in _numbers(_attribute(element, "radical")):
            _add(hosts, f"{prefix}{number}{suffix}", element, zone_properties)
    elif element.tag not in _NETWORK and element.tag != "prop":
        raise PlatformError(
            f"<{element.tag}> is not supported here: expected zone, cluster, host, links, routes; "
            "real Batsim reads the rest"
        )


def _add(
    hosts: dict[str, Host], name: str, element: Element, zone_properties: dict[str, str]
) -> None:
    if name in hosts:
        raise PlatformError(f"host {name!r} is defined twice")
    if len(hosts) >= MAX_HOSTS:
        raise PlatformError(f"more than {MAX_HOSTS} hosts")
    if element.get("core", "1") != "1":
        raise PlatformError(f"host {name!r} has several cores: give one host per core")
    speeds = tuple(_speed(text, name) for text in _attribute(element, "speed").split(","))
    properties = _properties(element)
    role = properties.get("role", "")
    if role not in _ROLES:
        raise PlatformError(
            f"host {name!r} has the role {role!r}: only hosts that compute are supported here"
        )
    hosts[name] = Host(name, speeds, properties, zone_properties)


def _properties(element: Element) -> dict[str, str]:
    return {prop.get("id", ""): prop.get("value", "") for prop in element.findall("prop")}


def _attribute(element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise PlatformError(f"<{element.tag} {element.attrib}> has no attribute {name!r}")
    return value


def _speed(text: str, host: str) -> float:
    match = _SPEED.fullmatch(text)
    try:
        speed = float(match[1]) * _UNITS[match[2]] if match else 0.0
    except ValueError:
        speed = 0.0
    if not speed > 0:
        raise PlatformError(f"host {host!r} has speed {text!r}: expected such as '1Gf'")
    return speed


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
