"""Users who submit given jobs and withdraw some of them at given times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

from batsched_py import EndedJob, Withdraw, WorkloadJob
from batsched_py.decision_process import DecisionProcess
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload import Workload
from batsched_py.workload.machine_description import MachineDescription


class Withdrawing:
    """Users who withdraw jobs at times by id, and note when each job started."""

    def __init__(self, load: Workload, withdrawals: Mapping[str, float]) -> None:
        self.profiles = load.profiles
        acts: list[tuple[float, WorkloadJob | Withdraw]] = []
        acts += [(job.submit_time, job) for job in load.jobs]
        acts += [(time, Withdraw(job_id)) for job_id, time in withdrawals.items()]
        self._acts = sorted(acts, key=lambda act: act[0])
        self.starts: dict[str, float | None] = {}
        self.states: dict[str, str] = {}

    def next_submission(self) -> float:
        return self._acts[0][0] if self._acts else inf

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        while self._acts and self._acts[0][0] <= now:
            yield self._acts.pop(0)[1]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.starts[job.id], self.states[job.id] = job.start_time, state


def run_withdrawing(
    make: Callable[[], Any],
    jobs: Sequence[DrawnJob],
    withdrawals: Mapping[int, float],
    nodes: int = 4,
    *,
    described: MachineDescription | None = None,
    fields: Mapping[int, dict[str, Any]] | None = None,
    **options: Any,
) -> list[float | None]:
    """Return the start of each job, None if it was withdrawn (or rejected) before.

    ``withdrawals`` are times by the place of a job, ``fields`` its further fields. Both drivers
    must give the same.
    """
    names = [f"{place:04d}" for place in range(len(jobs))]
    given = {names[place]: time for place, time in withdrawals.items()}

    def users() -> Withdrawing:
        load = workload(jobs, nodes, names=names)
        for place, more in (fields or {}).items():
            load.jobs[place].extra.update(more)
        return Withdrawing(load, given)

    one, other = users(), users()
    options |= {"description": described}
    direct = DirectSimulation(adapt_to_partitions(make, described), one, **options)
    direct.run(make_homogeneous(nodes), None)
    process = DecisionProcess(adapt_to_partitions(make, described), other, **options)
    dynamic = Options(dynamic_jobs=True, profile_reuse=True)
    Simulator(make_homogeneous(nodes), [], dynamic).run(process.answer)
    assert (one.starts, one.states) == (other.starts, other.states)
    return [one.starts[name] for name in names]
