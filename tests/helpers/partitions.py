"""Machines with partitions, as texts of machine files and as what runs on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

from batsched_py.decision_process import DecisionProcess
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload.log_partitions import with_whole_nodes
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.machine_file import read_machine

OVER = """
    [[nodes]]
    count = 8
    [[partitions]]
    name = "all"
    [[partitions]]
    name = "few"
    nodes = "4-7"
    tier = TIER
"""
"""Of eight nodes, four are in a second partition too."""


def machine_of(text: str, node_factor: float = 1.0) -> MachineDescription:
    """Return what a machine file of this text says."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.toml"
        path.write_text(dedent(text))
        return read_machine(path, node_factor)


def run_on(
    described: MachineDescription,
    make: Callable[[], Any],
    jobs: Sequence[tuple[Any, DrawnJob]],
) -> Outcome:
    """Simulate jobs, each with the name of its partition, under the policy that ``make`` makes."""
    load = workload([job for _, job in jobs], described.nb_processors)
    for made, (partition, _) in zip(load.jobs, jobs, strict=True):
        made.extra["partition"] = partition
    load = with_whole_nodes(load, described)
    simulator = Simulator(make_homogeneous(described.nb_processors, 1.0), [load], Options())
    process = DecisionProcess(adapt_to_partitions(make, described), description=described)
    return simulator.run(process.answer)
