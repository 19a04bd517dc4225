"""Write the platform files of this folder: equal hosts and no network time.

All hosts have one Vivaldi coordinate, so messages take no simulated time and Batsim's times come
out exact. Host names are zero-padded, so Batsim's resource ids (by name) are in number order.

Usage: python platforms/generate.py [NODES [GFLOPS]]   (without arguments: every file here)
"""

from __future__ import annotations

import sys
from pathlib import Path

from batsched_py.files import write_whole

SIZES = {64: "the sample log", 100: "KTH-SP2", 128: "SDSC-SP2"}


def platform_xml(nodes: int, gflops: float = 1.0) -> str:
    """Return a SimGrid platform of ``nodes`` hosts of ``gflops`` Gflop/s and a master host."""
    width = len(str(nodes - 1))
    hosts = "\n".join(
        f'    <host id="node{i:0{width}d}" coordinates="0 0 0" speed="{gflops:g}Gf"/>'
        for i in range(nodes)
    )
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- {nodes} hosts of {gflops:g} Gflop/s without latency; made by platforms/generate.py -->
<platform version="4.1">
  <zone id="AS0" routing="Vivaldi">
    <host id="master_host" coordinates="0 0 0" speed="1Gf"/>
{hosts}
  </zone>
</platform>
"""


def main() -> None:
    """Write one platform to the terminal, or all files of the folder."""
    if len(sys.argv) > 1:
        print(platform_xml(int(sys.argv[1]), *map(float, sys.argv[2:3])), end="")
        return
    for nodes in SIZES:
        write_whole(Path(__file__).parent / f"ideal_{nodes}.xml", platform_xml(nodes))


if __name__ == "__main__":
    main()
