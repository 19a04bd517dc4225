"""Writing SimGrid platform files."""

from __future__ import annotations

import re
from pathlib import Path

from batsched_py.errors import PlatformError
from batsched_py.support.json_values import whole

_SPEED = re.compile(
    r"""(<(?:host|cluster|cabinet|peer)\s(?:[^<>"']|"[^"]*"|'[^']*')*?\bspeed\s*=\s*)"""
    r"""(["'])(.*?)\2""",
    re.DOTALL,
)
_COMMENT = re.compile(r"(<!--.*?-->)", re.DOTALL)
_NUMBER = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)(.*)", re.DOTALL)


def homogeneous_xml(nodes: int, gflops: float = 1.0) -> str:
    """Return a platform of ``nodes`` hosts of ``gflops`` Gflop/s and a master host.

    All hosts have one Vivaldi coordinate, so messages take no simulated time and Batsim's times
    come out exact. Host names are zero-padded, so that Batsim's resource ids, which follow the
    order of the names, are in number order.
    """
    width = len(str(nodes - 1))
    speed = f"{whole(gflops)!r}Gf"
    hosts = "\n".join(
        f'    <host id="node{i:0{width}d}" coordinates="0 0 0" speed="{speed}"/>'
        for i in range(nodes)
    )
    return _latency_free(f"{nodes} hosts of {whole(gflops)!r} Gflop/s", hosts)


def cluster_xml(nodes: int, gflops: float = 1.0) -> str:
    """Return a cluster of ``nodes`` hosts whose messages share links and a backbone.

    Each host has a link of 1.25 GB/s and 10 us for each direction, the backbone has 10 GB/s and
    20 us. The numbers in the names have the same width, so that resource ids are in number order.
    """
    first = 10 ** len(str(nodes))
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- a cluster of {nodes} hosts of {whole(gflops)!r} Gflop/s with a network; made by batsched_py -->
<platform version="4.1">
  <zone id="AS0" routing="Full">
    <cluster id="cluster" prefix="node" suffix="" radical="{first}-{first + nodes - 1}"
             speed="{whole(gflops)!r}Gf" bw="1.25GBps" lat="10us" bb_bw="10GBps" bb_lat="20us"/>
    <zone id="front" routing="Full"><host id="master_host" speed="1Gf"/></zone>
    <link id="to_front" bandwidth="1.25GBps" latency="10us"/>
    <zoneRoute src="cluster" dst="front" gw_src="nodecluster_router" gw_dst="master_host">
      <link_ctn id="to_front"/>
    </zoneRoute>
  </zone>
</platform>
"""


def energy_xml(nodes: int) -> str:
    """Return a platform of ``nodes`` hosts that can run at half speed and sleep, without latency.

    The watts are round numbers of the size of a server's. Pstate 0 is 1 Gflop/s, 1 is half of
    it, 2 is sleep; a host passes pstate 3 while it is switched off (20 s) and 4 while it is
    switched on (125 s).
    """
    width = len(str(nodes - 1))
    hosts = "\n".join(_energy_host(f"node{i:0{width}d}") for i in range(nodes))
    return _latency_free(f"{nodes} hosts with pstates, powers and sleep,", hosts)


def _latency_free(what: str, hosts: str) -> str:
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- {what} without latency; made by batsched_py -->
<platform version="4.1">
  <zone id="AS0" routing="Vivaldi">
    <host id="master_host" coordinates="0 0 0" speed="1Gf"/>
{hosts}
  </zone>
</platform>
"""


def _energy_host(name: str) -> str:
    watts = "95:105:220,80:88:140,9:9:9,120:120:120,125:125:125"
    return f"""    <host id="{name}" coordinates="0 0 0" speed="1Gf,0.5Gf,1f,0.05f,0.008f">
      <prop id="wattage_per_state" value="{watts}"/>
      <prop id="wattage_off" value="5"/>
      <prop id="sleep_pstates" value="2:3:4"/>
    </host>"""


def scaled_xml(path: str | Path, factor: float) -> str:
    """Return the text of a platform file with every speed multiplied by ``factor``.

    Nothing else changes: network, properties and comments stay as they are written.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PlatformError(f"{path}: {error}") from None
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
