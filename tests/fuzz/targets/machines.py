"""Machine files: what is read is a machine, and jobs run on it."""

from __future__ import annotations

from pathlib import Path

from batsched_py.errors import BatschedError, InputError
from batsched_py.run.simulate import simulate
from batsched_py.workload.machine_file import read_machine
from fuzz.contract import Target, refusal
from fuzz.targets.small_inputs import BUDGETS, jobs

MACHINE = Path("machine.toml")
_LARGE = 10_000
"""Processors of a machine on which nothing is simulated here."""
_MACHINES = (
    b"""field = "queue"
processors = "cores"
nodes = [{name = "thin", count = 3, cores = 4}, {count = 1, cores = 2}]
partitions = [
 {name = "a", number = 1, nodes = "0-2", whole_nodes = true, max_walltime = "7 d", max_nodes = 2},
 {name = "b", nodes = "1-3", tier = 2, priority = 0.5, max_running_jobs_per_user = 1},
]
outages = [{begin = 5, end = 9.5, nodes = "0 3", planned = false, reason = "fire"}]
""",
    b"""processors = "nodes"
nodes = [{count = 8, cores = 4}]
partitions = [{name = "all", over_walltime = "cut", default_walltime = 60, max_processors = 4}]
outages = [{begin = 2, end = 30}, {begin = 20, end = 40, nodes = "1"}]
""",
)
_WORDS = ("reject", "max_processors_per_user")


def check_machine(data: bytes) -> str:
    """Partitions are parts of the machine, and every job runs or is refused."""
    MACHINE.write_bytes(data)
    try:
        described = read_machine(MACHINE)
    except InputError as error:
        return refusal(error, str(MACHINE))
    except BatschedError as error:
        return refusal(error)
    size = described.nb_processors
    for part in described.partitions:
        assert part.processors.size % part.unit == 0, "a part of a node"
        assert part.processors.bounds[-1] <= size, "beyond the machine"
    if size > _LARGE:
        return "a large machine"
    load = jobs()
    for job, part in zip(load.jobs, 3 * described.partitions, strict=False):
        job.size = part.whole_nodes(job.size)
        job.extra["partition"] = part.name
    try:
        result = simulate(load, machine=MACHINE, budgets=BUDGETS, progress=False)
    except BatschedError as error:
        return refusal(error)
    assert len(result.jobs) == len(load.jobs), "a job is missing"
    return ""


TARGETS = (Target("machine", lambda: _MACHINES, check_machine, _WORDS),)
