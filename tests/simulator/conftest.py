"""What several tests of the simulator need."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.platform.platform_reader import read_platform


@pytest.fixture(scope="session")
def ref_cluster(shared: Path) -> Platform:
    """Eight hosts of 1 or 0.5 Gflop/s behind a backbone, of which SimGrid was measured."""
    return read_platform(shared / "oracles" / "simgrid_l07" / "ref_cluster.xml")
