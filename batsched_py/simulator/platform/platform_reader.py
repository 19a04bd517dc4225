"""Reads SimGrid's platform files: hosts with speeds and properties, links and routes.

Hosts are read first; an element that would change their speed is refused by name. Then comes the
network: an unsupported element makes a network without routes, which reports the element when a
route is asked for, because a job that only computes never uses routes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from batsched_py.errors import PlatformError
from batsched_py.files.readers import read_bytes
from batsched_py.simulator.platform.attribute_values import (
    make_host_names,
    read_attribute,
    read_properties,
    read_speed,
)
from batsched_py.simulator.platform.hosts import MASTER_HOST, MAX_HOSTS, STORAGE, Host, Platform
from batsched_py.simulator.platform.network_reader import IGNORED, ROUTES, ZONES, read_network
from batsched_py.support.old_names import NEW_NAMES, hint_new_name

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NETWORK = ROUTES | {"link", "bypassRoute", "bypassZoneRoute", "bypassASroute", "router"}
_NETWORK |= {"backbone", "host_link", "link_ctn", "trace"}
_TRACES_OF_LINKS = {"BANDWIDTH", "LATENCY", "LINK_AVAIL"}
_FILES_OF_HOSTS = ("availability_file", "speed_file", "state_file")
_SMALL_NUMBER = re.compile("[0-9]{1,9}")
_PARTS = re.compile("[0-9]+|[^0-9]+")
_BLANK = b" \t\r\n"
_MOST_MARKS = 4_000_000
"""``<`` in a file: enough for :data:`MAX_HOSTS` hosts, one by one, with their links."""
_LONGEST = 300
"""Characters of an error: attributes may be of any length."""


def read_platform(
    path: str | Path,
    master_host: str = MASTER_HOST,
    roles: Mapping[str, str] | None = None,
    *,
    natural: bool = False,
    content: bytes | None = None,
) -> Platform:
    """Read a SimGrid platform file; ``master_host`` is left out, as Batsim does.

    ``roles`` gives hosts by name further roles, as Batsim's ``-r`` does: those with the role
    ``storage`` store, and one, ``master_host`` or that of the file, is the master. In ``natural``
    order of names, which is Batsim 5's, digits in them count as numbers. ``content`` is that of
    the file if :func:`read_content` has read it already. Raises
    :class:`PlatformError`, naming the file and the element, for a file that is missing, has
    entities, elements that are not supported, no hosts, no master host or two, or one that no
    message reaches, and :class:`NotXmlError` for what no simulator can read.
    """
    roles = roles or {}
    root = _parse(read_content(path) if content is None else content, path)
    if root is None or root.tag != "platform":
        raise PlatformError(f"{path}: the root element must be <platform>")
    hosts: dict[str, Host] = {}
    try:
        for element in root:
            _read(element, {}, hosts, "")
        for name in roles:
            if name not in hosts:
                raise PlatformError(f"there is no host {name!r} to give the role {roles[name]!r}")
        computing, storing, master = _by_role(
            hosts, {master_host: "master", **roles}, natural=natural
        )
        network = read_network(root)
        network.check_master(master)
    except PlatformError as error:
        raise PlatformError(f"{path}: {_short(str(error))}") from None
    except RecursionError:
        raise PlatformError(f"{path}: the zones are nested too deeply") from None
    if network.problem is not None:
        network.problem = f"{path}: {_short(network.problem)}: use real Batsim"
    return Platform(computing, storing, network)


class NotXmlError(PlatformError):
    """The error for a platform file that is not well-formed XML, which no simulator can read."""


def read_content(path: str | Path) -> bytes:
    """Return the content of a platform file; raises :class:`PlatformError`."""
    content = read_bytes(path, PlatformError)
    if content.count(b"<") > _MOST_MARKS:
        raise PlatformError(f"{path}: more than {_MOST_MARKS} elements and ends of them")
    return content


def _short(text: str) -> str:
    """Leave out the middle of what is too long to be read."""
    return text if len(text) <= _LONGEST else f"{text[:200]} ... {text[-80:]}"


def _parse(content: bytes, path: str | Path) -> Element | None:
    """Return the root of an XML file without entities and without default values."""
    from defusedxml import ElementTree
    from defusedxml.common import DefusedXmlException

    # as Batsim, some of whose own platforms begin with an empty line
    if (rest := content.lstrip(_BLANK)).startswith(b"<?xml"):
        content = rest
    parser = ElementTree.DefusedXMLParser()
    parser.parser.AttlistDeclHandler = _refuse_defaults
    try:
        parser.feed(content)  # at once: in parts, a long attribute takes for ever
        root: Element | None = parser.close()
    except PlatformError as error:
        raise PlatformError(f"{path}: {error}") from None
    except DefusedXmlException as error:
        reason = _short(str(error))
        raise PlatformError(f"{path}: entities are not allowed in a platform ({reason})") from None
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # of unusual encodings, too
        colons = (old for old in NEW_NAMES if ":" in old and f"<{old}".encode() in content)
        hint = hint_new_name(next(colons, None))
        raise NotXmlError(f"{path}: not a well-formed XML file: {error}{hint}") from None
    return root


def _refuse_defaults(element: str, attribute: str, *declared: Any) -> None:
    """Refuse a default value, which may be long and given to any number of elements."""
    raise PlatformError(
        f"<!ATTLIST {_short(element)} {_short(attribute)}>: attributes must be given where they "
        "are used"
    )


def _read(
    element: Element, zone_properties: dict[str, str], hosts: dict[str, Host], zone: str
) -> None:
    """Collect the hosts below ``element``, which is in the ``zone`` of that id."""
    tag = element.tag
    if tag in ZONES:
        inherited = _inherited(element, zone_properties)
        for child in element:
            _read(child, inherited, hosts, element.get("id", zone))
    elif tag in ("host", "peer"):
        _add(hosts, [read_attribute(element, "id")], element, zone_properties, zone)
    elif tag in ("cluster", "cabinet"):
        cluster = element.get("id", zone)
        if tag == "cluster":  # which is a zone, too
            zone_properties = _inherited(element, zone_properties)
        _add(hosts, make_host_names(element), element, zone_properties, cluster)
    elif tag == "trace_connect":
        if (kind := element.get("kind")) not in _TRACES_OF_LINKS:
            raise PlatformError(
                f"<trace_connect> of kind {kind!r}: hosts whose speed changes are "
                "not supported here; real Batsim reads them"
            )
    elif tag not in _NETWORK and tag not in IGNORED:
        raise PlatformError(
            f"<{tag}> is not supported here: expected zone, cluster, host, links, routes; "
            "real Batsim reads the rest"
        )


def _inherited(zone: Element, outer: dict[str, str]) -> dict[str, str]:
    """Return the properties of a zone, then those of the zones around it that it does not set."""
    own = read_properties(zone)
    return own | outer | own


def _add(
    hosts: dict[str, Host],
    names: Iterable[str],
    element: Element,
    zone_properties: dict[str, str],
    cluster: str,
) -> None:
    """Add the hosts of an element, which share all but the name."""
    first: Host | None = None
    for name in names:
        if name in hosts:
            raise PlatformError(f"host {name!r} is defined twice")
        if len(hosts) >= MAX_HOSTS:
            raise PlatformError(f"more than {MAX_HOSTS} hosts")
        if first is None:
            first = _host(name, element, zone_properties)
        hosts[name] = replace(first, name=name, cluster=cluster)


def _host(name: str, element: Element, zone_properties: dict[str, str]) -> Host:
    cores = element.get("core", "1")
    if not _SMALL_NUMBER.fullmatch(cores) or int(cores) < 1:
        raise PlatformError(f"host {name!r} has core {cores!r}: expected a number of cores")
    for file in _FILES_OF_HOSTS:
        if element.get(file):
            raise PlatformError(f"host {name!r} has a {file}, which is not supported here")
    speeds = tuple(read_speed(text, name) for text in read_attribute(element, "speed").split(","))
    pstate = element.get("pstate", "0")
    if not _SMALL_NUMBER.fullmatch(pstate) or int(pstate) >= len(speeds):
        raise PlatformError(
            f"host {name!r} has pstate {pstate!r}: expected a number below {len(speeds)}, the "
            "number of its speeds"
        )
    return Host(
        name, speeds, read_properties(element), zone_properties, int(pstate), cores=int(cores)
    )


def _by_role(
    hosts: Mapping[str, Host], given: Mapping[str, str], *, natural: bool
) -> tuple[list[Host], list[Host], str]:
    """Return the hosts that compute and those that store, both by name, and the master's name.

    ``given`` has the roles that are not in the file. As in Batsim, they come after those in it, and
    a host must come out with one.
    """
    computing, storing, masters = [], [], []
    for name in sorted(hosts, key=_natural) if natural else sorted(hosts):
        host = hosts[name]
        texts = (host.properties.get("role"), given.get(name))
        role = ",".join(text for text in texts if text is not None)
        if role == "master":
            masters.append(name)
        elif role == STORAGE:
            storing.append(replace(host, properties={**host.properties, "role": STORAGE}))
        elif role in ("", "compute_node"):
            if not host.speed:
                raise PlatformError(
                    f"host {name!r} computes with speed 0 in pstate {host.pstate}, in which it "
                    "begins: expected more, such as '1Gf'; storages, the master host and pstates "
                    "to sleep in may have speed 0"
                )
            if natural and role:
                host = replace(host, properties={**host.properties, "role": role})
            computing.append(host)
        else:
            raise PlatformError(
                f"host {name!r} has the role {role!r}: expected one of compute_node, storage, "
                "master, once"
            )
    if not masters:
        wanted = "".join(f" {name!r}" for name, role in given.items() if role == "master")
        raise PlatformError(f"there is no master host{wanted}: add one, which will not compute")
    if len(masters) > 1:
        raise PlatformError(f"there are two master hosts, {masters[0]!r} and {masters[1]!r}")
    if not computing:
        raise PlatformError("there are no hosts to compute on")
    return computing, storing, masters[0]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key for order of names in which digits are numbers."""
    return [
        (int(part), "") if part[0] in "0123456789" else (-1, part) for part in _PARTS.findall(name)
    ]
