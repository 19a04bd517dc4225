"""Write the ideal platforms of this folder.

Usage: python platforms/generate.py [NODES [GFLOPS]]   (without arguments: those that are here)
"""

from __future__ import annotations

import sys
from pathlib import Path

from batsched_py.simulator.platform.platform_writer import homogeneous_xml
from batsched_py.support.atomic_files import write_whole

SIZES = {64: "the sample log", 100: "KTH-SP2", 128: "SDSC-SP2"}


def main() -> None:
    """Write one platform to the terminal, or all ideal ones of the folder."""
    if len(sys.argv) > 1:
        print(homogeneous_xml(int(sys.argv[1]), *map(float, sys.argv[2:3])), end="")
        return
    folder = Path(__file__).parent
    for nodes in SIZES:
        write_whole(folder / f"ideal_{nodes}.xml", homogeneous_xml(nodes))


if __name__ == "__main__":
    main()
