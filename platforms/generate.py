"""Write the ideal platforms and the grids of this folder.

Usage: python platforms/generate.py [NODES [GFLOPS [IDLE:COMPUTING]] | SITES] [FILE.xml]
Without arguments: those that are here. IDLE and COMPUTING are the watts of a host, for -E.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

from batsched_py.files.writers import write_whole
from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml
from batsched_py.workload.grid_sites import TABLE_7_1, nb_processors, parse_sites

SIZES = {64: "the sample log", 100: "KTH-SP2", 128: "SDSC-SP2"}
CLUSTERS = (50, 64, 100, 128, 200, 256)
"""Hosts of KTH-SP2 and of SDSC-SP2, half as many, and twice as many."""
LINK = "1.25GBps"


def main() -> None:
    """Write one platform to a file or the terminal, or all that are made here."""
    *asked, last = sys.argv[1:] or [""]
    if asked and last.endswith(".xml"):
        write_whole(Path(last), platform_xml(*asked))
        return
    if last:
        print(platform_xml(*asked, last), end="")
        return
    folder = Path(__file__).parent
    for nodes in SIZES:
        write_whole(folder / f"ideal_{nodes}.xml", make_homogeneous_xml(nodes))
    for nodes in CLUSTERS:
        write_whole(folder / f"cluster_{nodes}.xml", cluster_xml(nodes))
    for name in TABLE_7_1:
        write_whole(folder / f"{name}.xml", grid_xml(name))


def platform_xml(which: str, *further: str) -> str:
    """Return a platform: a number of hosts, or the grid sites that ``which`` describes."""
    if which.isdecimal():
        return make_homogeneous_xml(int(which), float(further[0]) if further else 1.0, *further[1:])
    return grid_xml(which, *further)


def cluster_xml(nodes: int) -> str:
    """Return a platform whose hosts share a backbone, all links with latency."""
    first = max(1000, 10 ** len(str(nodes)))
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- a cluster of {nodes} hosts of 1 Gflop/s with a network; made by batsched_py -->
<platform version="4.1">
  <zone id="AS0" routing="Full">
    <cluster id="cluster" prefix="node" suffix="" radical="{first}-{first + nodes - 1}"
             speed="1Gf" bw="{LINK}" lat="10us" bb_bw="10GBps" bb_lat="20us"/>
    <zone id="front" routing="Full"><host id="master_host" speed="1Gf"/></zone>
    <link id="to_front" bandwidth="{LINK}" latency="10us"/>
    <zoneRoute src="cluster" dst="front" gw_src="nodecluster_router" gw_dst="master_host">
      <link_ctn id="to_front"/>
    </zoneRoute>
  </zone>
</platform>
"""


def grid_xml(described: str) -> str:
    """Return a platform with a cluster for each of the ``described`` sites, and a master host.

    Hosts are numbered through, with as many digits each, so that Batsim's resource ids, which
    follow the order of the names, are those of the sites. Without latency Batsim's own messages
    take no time.
    """
    sites = parse_sites(described)
    first = 10 ** len(str(nb_processors(sites)))
    gateways = {"front": "master_host"}
    elements = []
    for site in sites:
        elements.append(
            f'<cluster id="{site.name}" prefix="node" suffix="" '
            f'radical="{first}-{first + site.size - 1}"\n'
            f'             speed="{site.speed:g}Gf" bw="{LINK}" lat="0us"/>'
        )
        gateways[site.name] = f"node{site.name}_router"
        first += site.size
    elements.append('<zone id="front" routing="Full"><host id="master_host" speed="1Gf"/></zone>')
    elements.append(f'<link id="between" bandwidth="{LINK}" latency="0us"/>')
    elements += [
        f'<zoneRoute src="{a}" dst="{b}" gw_src="{gateways[a]}" gw_dst="{gateways[b]}">'
        '<link_ctn id="between"/></zoneRoute>'
        for a, b in combinations(gateways, 2)
    ]
    lines = "\n    ".join(elements)
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- the sites {described}, each a cluster, without latency; made by batsched_py -->
<platform version="4.1">
  <zone id="AS0" routing="Full">
    {lines}
  </zone>
</platform>
"""


if __name__ == "__main__":
    main()
