"""Writes SimGrid's platform files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.hosts import ZONE, Host
from batsched_py.support.json_values import whole
from batsched_py.workload.host_power import WATTS

_SPEED = re.compile(
    r"""(<(?:host|cluster|cabinet|peer)\s(?:[^<>"']|"[^"]*"|'[^']*')*?\bspeed\s*=\s*)"""
    r"""(["'])(.*?)\2""",
    re.DOTALL,
)
_COMMENT = re.compile(r"(<!--.*?-->)", re.DOTALL)
_WATTS = re.compile(r"[0-9]+(\.[0-9]+)?:[0-9]+(\.[0-9]+)?")
_NUMBER = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)(.*)", re.DOTALL)


def make_homogeneous_xml(nodes: int, gflops: float = 1.0, watts: str | None = None) -> str:
    """Return the text of a platform file: ``nodes`` hosts of ``gflops`` Gflop/s, a master host.

    ``watts`` are those of a host that is idle and of one that computes, as ``95:220``; with them
    energy can be simulated.

    All hosts have one Vivaldi coordinate, so messages take no simulated time and Batsim's times
    come out exact. Host names are zero-padded, so that Batsim's resource ids, which follow the
    order of the names, are in number order.
    """
    speed, which = f"{whole(gflops)!r}Gf", f"{whole(gflops)!r} Gflop/s"
    if watts is None:
        return _hosts_xml([(speed, {})] * nodes, which)
    if not _WATTS.fullmatch(watts):
        raise PlatformError(f"watts {watts!r}: expected those idle and computing, such as '95:220'")
    return _hosts_xml([(speed, {WATTS: watts})] * nodes, f"{which} and {watts} W")


def make_hosts_xml(hosts: Sequence[Host]) -> str:
    """Return a text as :func:`make_homogeneous_xml`, with the pstates and properties of hosts."""
    speeds = [",".join(f"{speed!r}f" for speed in host.speeds) for host in hosts]
    properties = [host.properties for host in hosts]
    return _hosts_xml(list(zip(speeds, properties, strict=True)), "given speeds")


def _hosts_xml(described: Sequence[tuple[str, dict[str, str]]], which: str) -> str:
    """Return a file with a host for each text with speeds and its properties."""
    width, hosts = len(str(len(described) - 1)), ""
    for i, (speed, properties) in enumerate(described):
        inside = "".join(f'<prop id="{name}" value="{of}"/>' for name, of in properties.items())
        end = f">{inside}</host>" if inside else "/>"
        hosts += f'\n    <host id="node{i:0{width}d}" coordinates="0 0 0" speed="{speed}"{end}'
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- {len(described)} hosts of {which} without latency; made by batsched_py -->
<platform version="4.1">
  <zone id="{ZONE}" routing="Vivaldi">
    <host id="master_host" coordinates="0 0 0" speed="1Gf"/>{hosts}
  </zone>
</platform>
"""


def scale_xml(content: bytes, path: str | Path, factor: float) -> str:
    """Return the text of the platform file ``path`` with every speed multiplied by ``factor``.

    ``content`` is that of the file. Nothing else changes: network, properties and comments stay as
    they are written. Raises :class:`PlatformError` for a text that is not in UTF-8.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise PlatformError(f"{path}: expected a text in UTF-8: {error}") from None
    if factor == 1:
        return text

    def scale(match: re.Match[str]) -> str:
        speeds = ",".join(_scaled(speed, factor, path) for speed in match[3].split(","))
        return f"{match[1]}{match[2]}{speeds}{match[2]}"

    parts = _COMMENT.split(text)
    return "".join(part if part.startswith("<!--") else _SPEED.sub(scale, part) for part in parts)


def _scaled(speed: str, factor: float, path: str | Path) -> str:
    match = _NUMBER.fullmatch(speed)
    if match is None:
        raise PlatformError(f"{path}: speed {speed!r} cannot be scaled: expected such as '1Gf'")
    return f"{whole(float(match[1]) * factor)!r}{match[2]}"
