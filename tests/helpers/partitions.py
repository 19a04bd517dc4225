"""Machines with partitions, as texts of machine files and as what runs on them."""

from __future__ import annotations

import json
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
from batsched_py.workload.machine_file import MachineChanges, read_machine


def entry(table: str, **values: Any) -> str:
    """Return an entry of a machine file, such as ``entry("nodes", count=8)``."""
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    return f"[[{table}]]\n{''.join(lines)}"


def partition(name: str, nodes: str | None = None, **values: Any) -> str:
    """Return a partition of a machine file, of all nodes if none are given."""
    return entry("partitions", name=name, **({"nodes": nodes} if nodes else {}), **values)


def over(tier: int) -> str:
    """Return eight nodes, of which four are in a second partition too."""
    return entry("nodes", count=8) + partition("all") + partition("few", "4-7", tier=tier)


def machine_of(text: str, node_factor: float = 1.0) -> MachineDescription:
    """Return what a machine file of this text says."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.toml"
        path.write_text(dedent(text))
        return read_machine(path, MachineChanges(node_factor=node_factor))


def run_on(
    described: MachineDescription,
    make: Callable[[], Any],
    jobs: Sequence[tuple[Any, DrawnJob]],
) -> Outcome:
    """Simulate jobs, each with its partition or fields, under the policy that ``make`` makes."""
    load = workload([job for _, job in jobs], described.nb_processors)
    for made, (partition, _) in zip(load.jobs, jobs, strict=True):
        made.extra |= partition if isinstance(partition, dict) else {"partition": partition}
    load = with_whole_nodes(load, described)
    simulator = Simulator(make_homogeneous(described.nb_processors, 1.0), [load], Options())
    process = DecisionProcess(adapt_to_partitions(make, described), description=described)
    return simulator.run(process.answer)
