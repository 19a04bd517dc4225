"""Write the platform files of this folder.

Usage: python platforms/generate.py [NODES [GFLOPS]]   (without arguments: every file here)
"""

from __future__ import annotations

import sys
from pathlib import Path

from batsched_py.simulator.platform.platform_writer import (
    cluster_xml,
    energy_xml,
    homogeneous_xml,
)
from batsched_py.support.atomic_files import write_whole

SIZES = {64: "the sample log", 100: "KTH-SP2", 128: "SDSC-SP2"}


def main() -> None:
    """Write one platform to the terminal, or all files of the folder."""
    if len(sys.argv) > 1:
        print(homogeneous_xml(int(sys.argv[1]), *map(float, sys.argv[2:3])), end="")
        return
    folder = Path(__file__).parent
    for nodes in SIZES:
        write_whole(folder / f"ideal_{nodes}.xml", homogeneous_xml(nodes))
    write_whole(folder / "cluster_128.xml", cluster_xml(128))
    write_whole(folder / "energy_16.xml", energy_xml(16))


if __name__ == "__main__":
    main()
