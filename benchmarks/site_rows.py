"""Rows of a site: multifactor priorities, and policies on the partitions of a machine file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loop_rows import against_easy, loop, per_job
from measuring import Bench, Measured, cpu, row

from batsched_py import Workload, simulate
from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.workload.machine_description import PARTITION


@row("multifactor", "multifactor against EASY, per job")
def _(bench: Bench) -> Measured:
    load = bench.workload()
    return bench.paired(lambda: loop(load), lambda: loop(load, Multifactor), per_job(load))


row("overload-multifactor", "multifactor, gaps x 0.3, the first 3,000 jobs, against EASY")(
    against_easy(Multifactor, 3_000)
)


def on_partitions(policy: str, parts: Sequence[tuple[float, float]]) -> Callable[[Bench], Measured]:
    """Return the measurement of a policy on partitions against the same on a machine of one.

    A partition is from one share of the processors to another; job n is of the partition n modulo
    their number. Both are measured with all that a run prepares.
    """

    def seconds(load: Workload, **how: Any) -> float:
        return cpu(lambda: simulate(load, scheduler=policy, progress=False, **how))

    def measure(bench: Bench) -> Measured:
        load = bench.workload()
        file = bench.folder / f"{policy}.toml"
        text = f"[[nodes]]\ncount = {load.nb_res}\n"
        for name, (first, last) in enumerate(parts):
            nodes = f"{int(first * load.nb_res)}-{int(last * load.nb_res) - 1}"
            text += f'[[partitions]]\nname = "{name}"\nnodes = "{nodes}"\n'
        file.write_text(text)
        for number, job in enumerate(load.jobs):
            job.extra = {PARTITION: str(number % len(parts))}
        return bench.paired(
            lambda: seconds(load), lambda: seconds(load, machine=str(file)), per_job(load), rounds=2
        )

    return measure


row("queues-easy", "EASY on four partitions of all processors, against one")(
    on_partitions("easy", 4 * [(0, 1)])
)
row("partitions-easy", "EASY on two partitions that overlap, against one")(
    on_partitions("easy", [(0, 1), (0.5, 1)])
)
row("queues-multifactor", "multifactor on four partitions of all processors, against one")(
    on_partitions("multifactor", 4 * [(0, 1)])
)
row("partitions-multifactor", "multifactor on two partitions that overlap, against one")(
    on_partitions("multifactor", [(0, 1), (0.5, 1)])
)
